/* SPDX-License-Identifier: MIT */
#include <ctop/output/say.h>

#include <langinfo.h>
#include <locale.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

bool is_eight_bit_terminal(int fd)
{
	if (!isatty(fd))
		return false;
	/* Of the environment, whatever locale the program is in. One that is not installed is C. */
	locale_t locale = newlocale(LC_CTYPE_MASK, "", (locale_t)0);
	if (locale == (locale_t)0)
		return true;
	bool speaks_utf8 = strcmp(nl_langinfo_l(CODESET, locale), "UTF-8") == 0;
	freelocale(locale);
	return !speaks_utf8;
}

void say_text(const struct text *text)
{
	if (!is_eight_bit_terminal(STDERR_FILENO)) {
		fputs(text_string(text), stderr);
		return;
	}
	struct text ascii = {0};
	text_add_ascii(&ascii, text_string(text), text->size);
	fputs(text_string(&ascii), stderr);
	text_release(&ascii);
}

void say(const char *format, ...)
{
	char line[4096];
	va_list args;
	va_start(args, format);
	vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	struct text text = {0};
	text_add(&text, "ctop: ");
	text_add_safe(&text, line);
	text_add(&text, "\n");
	say_text(&text);
	text_release(&text);
}
