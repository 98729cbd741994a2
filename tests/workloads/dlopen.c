/* SPDX-License-Identifier: MIT */
/*
 * Loads and unloads two libraries in turn, which often land at the same address:
 *
 *     main > run_plugin > enter_one > hot_one     50 %, in plugin_one.so
 *     main > run_plugin > enter_two > hot_two     50 %, in plugin_two.so
 *
 * Each is called for about 20 ms between its dlopen and dlclose, which cost less than 2 %.
 */
#include <dlfcn.h>
#include <limits.h>
#include <string.h>

#include "workload.h"

static FRAME void run_plugin(const char *directory, const char *name)
{
	char path[PATH_MAX], entry[32];
	snprintf(path, sizeof(path), "%s/plugin_%s.so", directory, name);
	snprintf(entry, sizeof(entry), "enter_%s", name);
	void *plugin = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!plugin) {
		fprintf(stderr, "%s\n", dlerror());
		_exit(1);
	}
	void (*enter)(void) = (void (*)(void))dlsym(plugin, entry);
	if (!enter)
		_exit(1);
	enter();
	dlclose(plugin);
}

int main(int argc, char **argv)
{
	char directory[PATH_MAX / 2];
	ssize_t length = readlink("/proc/self/exe", directory, sizeof(directory) - 1);
	if (length < 0)
		return 1;
	directory[length] = '\0';
	*strrchr(directory, '/') = '\0';
	workload_start(argc, argv);
	workload_ready();
	for (;;) {
		run_plugin(directory, "one");
		run_plugin(directory, "two");
	}
}
