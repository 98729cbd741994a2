/* SPDX-License-Identifier: MIT */
/*
 * A program that maps one new file after the other, each once, with a path of 3,500 bytes: for ever in other
 * places of memory, as a loader of plug-ins might.
 *
 *     paths DIRECTORY    makes them, and removes them again, in DIRECTORY
 *
 *     main > map_next > look    100 %
 */
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "workload.h"

enum { NR_DIRECTORYS = 14, NAME_BYTES = 240 };

static FRAME void look(void)
{
	work(10);
}

static FRAME void map_next(const char *directory, unsigned number)
{
	char path[PATH_MAX];
	snprintf(path, sizeof(path), "%s/%u", directory, number);
	int fd = open(path, O_RDWR | O_CREAT, 0755);
	if (fd < 0 || ftruncate(fd, 4096) < 0)
		_exit(1);
	void *code = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	look();
	munmap(code, 4096);
	close(fd);
	unlink(path);
}

int main(int argc, char **argv)
{
	char directory[PATH_MAX];
	workload_start(0, NULL);
	if (argc < 2 || strlen(argv[1]) > 200)
		return 1;
	strcpy(directory, argv[1]);
	for (int i = 0; i < NR_DIRECTORYS; i++) {
		size_t size = strlen(directory);
		directory[size] = '/';
		memset(directory + size + 1, 'x', NAME_BYTES);
		directory[size + 1 + NAME_BYTES] = '\0';
		mkdir(directory, 0755);
	}
	workload_ready();
	for (unsigned i = 0;; i++)
		map_next(directory, i);
}
