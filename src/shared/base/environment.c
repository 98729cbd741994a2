/* SPDX-License-Identifier: MIT */
#include <ctop/base/environment.h>

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

/*
 * TERM cannot be a path: curses refuses one with a slash. LINES, COLUMNS and ESCDELAY are numbers, COLORFGBG two. DEBUGINFOD_URLS is
 * handed to a process that is the caller's own.
 */
static const char *const believed[] = {
	"TERM",	    "LANG", "LC_ALL",	"LC_CTYPE",  "LINES",		"COLUMNS",
	"NO_COLOR", "TMUX", "ESCDELAY", "COLORFGBG", "DEBUGINFOD_URLS",
};

/* Who called, as sudo and its like say it: only root may believe that. */
static const char *const callers[] = {"SUDO_UID", "SUDO_GID", "PKEXEC_UID", "DOAS_USER"};

enum { NR_BELIEVED = sizeof(believed) / sizeof(*believed) };
enum { NR_CALLERS = sizeof(callers) / sizeof(*callers) };

static const char *find(const char *name)
{
	size_t size = strlen(name);
	for (char **variable = environ; variable && *variable; variable++)
		if (strncmp(*variable, name, size) == 0 && (*variable)[size] == '=')
			return *variable;
	return NULL;
}

static bool is_called_by_another(void)
{
	return geteuid() == 0 && (find("SUDO_UID") || find("PKEXEC_UID") || find("DOAS_USER"));
}

void environment_distrust(void)
{
	const bool is_secure = getauxval(AT_SECURE) != 0;
	if (!is_secure && !is_called_by_another())
		return;
	char **kept = calloc(NR_BELIEVED + NR_CALLERS + 1, sizeof(*kept));
	if (!kept) {
		environ = NULL;
		return;
	}
	size_t nr = 0;
	for (size_t i = 0; i < NR_BELIEVED; i++)
		if (find(believed[i]))
			kept[nr++] = (char *)(uintptr_t)find(believed[i]);
	for (size_t i = 0; i < NR_CALLERS && !is_secure; i++)
		if (find(callers[i]))
			kept[nr++] = (char *)(uintptr_t)find(callers[i]);
	environ = kept; /* as long as main lives */
}
