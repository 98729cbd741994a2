/* SPDX-License-Identifier: MIT */
/*
 * Accesses to an address of the target: mem:0x601040, mem:0x601040/8:w, mem:0x401136:x:u, as perf writes them.
 */
#include "event_internal.h"

#include <ctype.h>
#include <errno.h>
#include <linux/hw_breakpoint.h>
#include <stdlib.h>
#include <string.h>

static const char prefix[] = "mem:";

bool breakpoint_is(const char *text)
{
	return !strncmp(text, prefix, strlen(prefix));
}

static int malformed(const struct event *event, const char *at, const char *what,
		     struct error *error)
{
	error_marked(error, event->asked, (size_t)(at - event->name), "%s", what);
	return error_remedy(error,
			    "write it as in mem:0x601040/4:rw (r, w or both, or x; 1, 2, 4 or 8 "
			    "bytes)");
}

/* False: there is no number, or it is too large. */
static bool take_number(const char **at, uint64_t *number)
{
	const bool is_hex = (*at)[0] == '0' && ((*at)[1] == 'x' || (*at)[1] == 'X');
	char *end;
	if (!isdigit((unsigned char)(*at)[0]) || (is_hex && !isxdigit((unsigned char)(*at)[2])))
		return false;
	errno = 0;
	*number = strtoull(*at, &end, is_hex ? 16 : 10);
	*at = end;
	return !errno;
}

/* Letters of r, w and x, each once, up to the next colon. False: they are something else. */
static bool take_access(const char **at, uint32_t *access)
{
	const size_t nr = strcspn(*at, ":");
	uint32_t found = 0;
	if (!nr || strspn(*at, "rwx") < nr)
		return false;
	for (size_t i = 0; i < nr; i++) {
		const uint32_t bit = (*at)[i] == 'r'   ? HW_BREAKPOINT_R
				     : (*at)[i] == 'w' ? HW_BREAKPOINT_W
						       : HW_BREAKPOINT_X;
		if (found & bit)
			return false;
		found |= bit;
	}
	*access = found;
	*at += nr;
	return true;
}

static bool is_a_length(uint64_t bytes)
{
	return bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8;
}

static int take_modifiers(struct event *event, const char *at, struct error *error)
{
	const size_t nr = strlen(at + 1);
	int bad = event_add_modifiers(event, at + 1, nr);
	if (bad >= 0 || !nr)
		return malformed(event, at + 1 + (bad < 0 ? 0 : bad), "bad modifiers", error);
	event->name[at - event->name] = '\0';
	return 0;
}

int breakpoint_parse(struct event *event, struct error *error)
{
	const char *at = event->name + strlen(prefix);
	uint64_t address, bytes = 0;
	event->breakpoint = HW_BREAKPOINT_RW;
	if (!take_number(&at, &address))
		return malformed(event, at, "no address", error);
	if (*at == '/') {
		const char *length = ++at;
		if (!take_number(&at, &bytes) || !is_a_length(bytes))
			return malformed(event, length, "no length", error);
	}
	if (*at == ':') {
		const char *letters = at + 1;
		if (take_access(&letters, &event->breakpoint))
			at = letters;
	}
	const bool is_of_code = event->breakpoint & HW_BREAKPOINT_X;
	if (is_of_code && event->breakpoint != HW_BREAKPOINT_X)
		return malformed(event, at, "x is for code, r and w are for data", error);
	event->type = PERF_TYPE_BREAKPOINT;
	event->config1 = address;
	/* Of code the kernel wants the size of a register, whatever the instruction. */
	event->config2 = is_of_code ? sizeof(long) : bytes ? bytes : HW_BREAKPOINT_LEN_4;
	if (*at == ':')
		return take_modifiers(event, at, error);
	return *at ? malformed(event, at, "no breakpoint", error) : 0;
}
