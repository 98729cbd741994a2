/* SPDX-License-Identifier: MIT */
/* One of the two libraries that dlopen.c and crowd.c load; PLUGIN is `one` or `two`. */
#include "workload.h"

#define JOIN(a, b)	     a##b
#define NAME(prefix, plugin) JOIN(prefix, plugin)

static FRAME void NAME(hot_, PLUGIN)(void)
{
	work(200);
}

__attribute__((visibility("default"))) FRAME void NAME(enter_, PLUGIN)(void);

void NAME(enter_, PLUGIN)(void)
{
	for (int i = 0; i < 10; i++)
		NAME(hot_, PLUGIN)();
}

__attribute__((visibility("default"))) FRAME void NAME(later_, PLUGIN)(void);

/* Has a name that nobody needs until it is called. */
void NAME(later_, PLUGIN)(void)
{
	work(200);
}
