/* SPDX-License-Identifier: MIT */
#include "process_code.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include <ctop/base/privilege.h>
#include <ctop/ipc/protocol.h>
#include <ctop/kernel/maps.h>
#include <ctop/system/proc_text.h>

/* Kernel's own names for memory without a file (proc_pid_maps(5)), and what is shared without one. */
static bool has_no_file(const struct maps_line *line)
{
	static const char *const names[] = {
		"[anon:", "[anon_shmem:", "/memfd:", "/dev/zero", "/SYSV", "//anon"};
	if (line->path_bytes == 0)
		return line->inode == 0;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const size_t length = strlen(names[i]);
		if (line->path_bytes >= length && memcmp(line->path, names[i], length) == 0)
			return true;
	}
	return false;
}

/* How far from an address on all is code without a file, up to the end. Its first byte is not: the address itself. */
static uint64_t end_of_code(int32_t pid, uint64_t start, uint64_t end)
{
	char path[64], text[4096 + 128];
	uint64_t at = start;
	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	FILE *maps = proc_fopen(path);
	bool goes_on = false;
	while (maps && at < end && fgets(text, sizeof(text), maps)) {
		struct maps_line line;
		size_t first = 0;
		const size_t size = strcspn(text, "\n");
		const bool is_rest = goes_on; /* of a line that does not fit: what a name says */
		goes_on = text[size] != '\n';
		if (is_rest || maps_next(text, size, &first, &line) <= 0 || line.end <= at)
			continue;
		if (line.start > at || !line.executable || !has_no_file(&line))
			break;
		at = line.end;
	}
	if (maps)
		fclose(maps);
	return at < end ? at : end;
}

ssize_t process_code_read(int32_t pid, uint64_t start, uint64_t end, void *bytes)
{
	const uint64_t readable = end_of_code(pid, start, end);
	if (readable == start)
		return -EACCES;
	struct iovec here = {.iov_base = bytes, .iov_len = readable - start};
	/* Addresses of another process: nothing is read through the pointer here. */
	struct iovec there = {.iov_base = (void *)(uintptr_t)start, .iov_len = readable - start};
	const struct privilege_before before = privilege_raise(PRIVILEGE_INSPECT);
	const ssize_t got = process_vm_readv(pid, &here, 1, &there, 1, 0);
	const int error = errno;
	privilege_restore(&before);
	return got < 0 ? -error : got == 0 ? -ENODATA : got;
}
