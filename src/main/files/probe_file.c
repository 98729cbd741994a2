/* SPDX-License-Identifier: MIT */
#include <ctop/files/probe_file.h>

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Where systems keep libraries; those of the machine's own kind first. */
static const char *const library_directories[] = {
#if defined(__x86_64__)
	"/lib/x86_64-linux-gnu",
	"/usr/lib/x86_64-linux-gnu",
#elif defined(__aarch64__)
	"/lib/aarch64-linux-gnu",
	"/usr/lib/aarch64-linux-gnu",
#endif
	"/lib64",
	"/usr/lib64",
	"/lib",
	"/usr/lib",
	"/usr/local/lib",
};

bool probe_file_is_better(const char *file, const char *name, const char *best)
{
	static const char ending[] = ".so";
	const size_t size = strlen(name), ending_size = strlen(ending);
	if (!strcmp(file, name))
		return true;
	if (strncmp(file, name, size) != 0 || strncmp(file + size, ending, ending_size) != 0)
		return false;
	const char *version = file + size + ending_size;
	if (*version && *version != '.')
		return false;
	if (!best[0] || !strcmp(best, name))
		return !best[0];
	const bool best_has_version = best[size + ending_size] != '\0';
	return *version && (!best_has_version || strlen(file) < strlen(best));
}

static bool find_library(const char *name, char *path, size_t size)
{
	for (size_t i = 0; i < sizeof(library_directories) / sizeof(*library_directories); i++) {
		char best[NAME_MAX + 1] = "";
		DIR *dir = opendir(library_directories[i]);
		for (const struct dirent *entry; dir && (entry = readdir(dir));)
			if (probe_file_is_better(entry->d_name, name, best))
				snprintf(best, sizeof(best), "%s", entry->d_name);
		if (dir)
			closedir(dir);
		if (!best[0])
			continue;
		return snprintf(path, size, "%s/%s", library_directories[i], best) < (int)size;
	}
	return false;
}

static bool find_program(const char *name, char *path, size_t size)
{
	const char *directories = getenv("PATH");
	while (directories && *directories) {
		const size_t length = strcspn(directories, ":");
		/* An empty directory is the current one: whoever means that writes ./NAME. */
		if (length && *directories == '/' &&
		    snprintf(path, size, "%.*s/%s", (int)length, directories, name) < (int)size &&
		    access(path, X_OK) == 0)
			return true;
		directories += length + (directories[length] == ':');
	}
	return false;
}

int probe_file_find(const char *name, char *path, size_t size)
{
	return find_library(name, path, size) || find_program(name, path, size) ? 0 : -ENOENT;
}
