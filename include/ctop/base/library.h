/* SPDX-License-Identifier: MIT */
#ifndef CTOP_BASE_LIBRARY_H
#define CTOP_BASE_LIBRARY_H

/* Libraries that few runs or few processes need, loaded when they are: ctop does without where they are not installed, and starts sooner. */

#include <dlfcn.h>
#include <stdbool.h>
#include <string.h>

/* Stays loaded, and is found there when it is asked for again. NULL: it is not to be had. */
static inline void *library_load(const char *name)
{
	return dlopen(name, RTLD_NOW | RTLD_LOCAL);
}

/* Puts its address into a pointer to a function: dlsym() gives objects, and POSIX lets them be functions. */
static inline bool library_find(void *library, const char *name, void *function)
{
	void *symbol = dlsym(library, name);
	memcpy(function, &symbol, sizeof(symbol));
	return symbol != NULL;
}

#endif
