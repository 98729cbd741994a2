/* SPDX-License-Identifier: MIT */
#include <ctop/ipc/goroutines_protocol.h>

#include <stddef.h>
#include <string.h>

static bool is_inside(uint16_t offset, size_t size)
{
	return offset + size <= GOROUTINE_BYTES_MAX;
}

static bool is_line(const char *reason)
{
	if (!memchr(reason, '\0', GOROUTINE_REASON_BYTES))
		return false;
	for (; *reason; reason++)
		if (*reason < ' ' || *reason > '~' || *reason == '[' || *reason == ']' ||
		    *reason == ';')
			return false;
	return true;
}

bool goroutine_layout_is_sane(const struct goroutine_layout *layout)
{
	for (int i = 0; i < GOROUTINE_REASONS; i++)
		if (!is_line(layout->reasons[i]))
			return false;
	return is_inside(layout->stack_hi, 8) && is_inside(layout->sp, 8) &&
	       is_inside(layout->pc, 8) && is_inside(layout->status, 4) &&
	       is_inside(layout->id, 8) && is_inside(layout->reason, 1) &&
	       is_inside(layout->sequence, 1) && is_inside(layout->creator, 8) && layout->nr &&
	       layout->addresses && layout->entry;
}
