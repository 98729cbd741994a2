/* SPDX-License-Identifier: MIT */
#include <ctop/system/process_memory.h>

#include <stdbool.h>
#include <sys/uio.h>

#include <ctop/base/privilege.h>

#define PAGE_BYTES ((uint64_t)4096)

/* Addresses of another process: nothing is read through the pointers here. */
static struct iovec place(uint64_t address, size_t size)
{
	return (struct iovec){.iov_base = (void *)(uintptr_t)address, .iov_len = size};
}

static size_t copy(int32_t pid, const struct iovec *there, size_t nr, void *bytes, size_t most)
{
	const struct iovec here = {.iov_base = bytes, .iov_len = most};
	const struct privilege_before before = privilege_raise(PRIVILEGE_INSPECT);
	const ssize_t got = process_vm_readv(pid, &here, 1, there, nr, 0);
	privilege_restore(&before);
	return got > 0 ? (size_t)got : 0;
}

/* A part for each page, since a part is read in whole or not at all. */
size_t process_read(int32_t pid, uint64_t address, void *bytes, size_t most)
{
	enum { PARTS_MOST = 32 };
	struct iovec there[PARTS_MOST];
	size_t nr = 0, size = 0;
	while (nr < PARTS_MOST && size < most && address + size >= address) {
		const uint64_t at = address + size;
		size_t part = (size_t)(PAGE_BYTES - at % PAGE_BYTES);
		part = part < most - size ? part : most - size;
		there[nr++] = place(at, part);
		size += part;
	}
	return copy(pid, there, nr, bytes, most);
}

size_t process_read_pieces(int32_t pid, const uint64_t *addresses, size_t nr, void *bytes,
			   size_t size)
{
	struct iovec there[PROCESS_READ_PIECES];
	for (size_t i = 0; i < nr; i++)
		there[i] = place(addresses[i], size);
	return copy(pid, there, nr, bytes, nr * size) / size;
}
