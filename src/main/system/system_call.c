/* SPDX-License-Identifier: MIT */
#include <ctop/system/system_call.h>

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <ctop/system/proc_text.h>

#include "system_call_names.h"

/* Above it a stack pointer is one of a 64-bit program. */
#define LOW_ADDRESSES (UINT64_C(1) << 32)

const char *system_call_name(long number)
{
	return number >= 0 && (size_t)number < nr_system_call_names ? system_call_names[number]
								    : NULL;
}

const char *system_call_text(long number, bool is_ours, char text[SYSTEM_CALL_TEXT_BYTES])
{
	const char *name = is_ours ? system_call_name(number) : NULL;
	if (name)
		return name;
	snprintf(text, SYSTEM_CALL_TEXT_BYTES, "call %ld", number);
	return text;
}

struct system_call system_call_parse(const char *text)
{
	struct system_call call = {.runs = strncmp(text, "running", strlen("running")) == 0};
	uint64_t sp, pc, first = 0, second = 0;
	if (sscanf(text, "%ld", &call.number) != 1)
		return call;
	call.is_told = true;
	const int wanted = call.number < 0 ? 2 : 4;
	const int nr = call.number < 0 ? sscanf(text, "%*d %" SCNx64 " %" SCNx64, &sp, &pc)
				       : sscanf(text,
						"%*d %" SCNx64 " %" SCNx64
						" %*x %*x %*x %*x %" SCNx64 " %" SCNx64,
						&first, &second, &sp, &pc);
	call.is_ours = nr == wanted && (sizeof(long) == 4 || sp >= LOW_ADDRESSES);
	call.arguments[0] = call.is_ours ? first : 0;
	call.arguments[1] = call.is_ours ? second : 0;
	call.sp = call.is_ours ? sp : 0;
	call.pc = call.is_ours ? pc : 0;
	return call;
}

struct system_call system_call_read(int32_t pid, int32_t tid)
{
	char what[48], text[256];
	snprintf(what, sizeof(what), "task/%d/syscall", tid);
	proc_text(pid, what, text, sizeof(text));
	return system_call_parse(text);
}
