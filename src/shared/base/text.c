/* SPDX-License-Identifier: MIT */
#include <ctop/base/text.h>

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <ctop/base/vec.h>

void text_release(struct text *text)
{
	free(text->bytes);
	*text = (struct text){0};
}

void text_clear(struct text *text)
{
	text->size = 0;
	text->failed = false;
	if (text->bytes)
		text->bytes[0] = '\0';
}

const char *text_string(const struct text *text)
{
	return text->bytes ? text->bytes : "";
}

/* Room for more bytes and the NUL. After a failure nothing fits: no holes in the string. */
static bool make_room(struct text *text, size_t more)
{
	size_t wanted;
	if (text->failed)
		return false;
	if (more < text->capacity - text->size)
		return true;
	if (__builtin_add_overflow(text->size, more, &wanted) ||
	    __builtin_add_overflow(wanted, (size_t)1, &wanted) ||
	    vec_grow((void **)&text->bytes, &text->capacity, wanted, 1)) {
		text->failed = true;
		return false;
	}
	return true;
}

void text_add_bytes(struct text *text, const void *bytes, size_t size)
{
	if (!make_room(text, size))
		return;
	if (size)
		memcpy(text->bytes + text->size, bytes, size);
	text->size += size;
	text->bytes[text->size] = '\0';
}

void text_add(struct text *text, const char *string)
{
	text_add_bytes(text, string, strlen(string));
}

void text_addf(struct text *text, const char *format, ...)
{
	if (!make_room(text, 0))
		return;
	va_list args, again;
	va_start(args, format);
	va_copy(again, args);
	size_t room = text->capacity - text->size;
	int needed = vsnprintf(text->bytes + text->size, room, format, args);
	if (needed < 0) {
		text->bytes[text->size] = '\0';
		text->failed = true;
	} else if ((size_t)needed < room) {
		text->size += (size_t)needed;
	} else if (make_room(text, (size_t)needed)) {
		vsnprintf(text->bytes + text->size, (size_t)needed + 1, format, again);
		text->size += (size_t)needed;
	} else {
		text->bytes[text->size] = '\0';
	}
	va_end(again);
	va_end(args);
}

void text_add_hex(struct text *text, const void *bytes, size_t size)
{
	for (size_t i = 0; i < size; i++)
		text_addf(text, "%02x", ((const unsigned char *)bytes)[i]);
}
