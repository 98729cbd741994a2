/* SPDX-License-Identifier: MIT */
#include <ctop/file_kind.h>

#include <string.h>

enum { MAGIC_BYTES = 8 };

const uint8_t recording_magic[MAGIC_BYTES] = {0x8e, 'c', 't', 'o', 'p', '\r', '\n', 0x1a};

bool recording_is(const void *head, size_t size)
{
	return size >= sizeof(recording_magic) &&
	       memcmp(head, recording_magic, sizeof(recording_magic)) == 0;
}

bool perfdata_may_begin(const void *head, size_t size)
{
	/* As written here, by a machine of the other byte order, and before Linux 3.0. */
	static const char magics[3][MAGIC_BYTES] = {"PERFILE2", "2ELIFREP", "PERFFILE"};
	const size_t known = size < MAGIC_BYTES ? size : MAGIC_BYTES;
	for (size_t i = 0; i < 3; i++)
		if (!memcmp(head, magics[i], known))
			return true;
	return false;
}

bool perfdata_is(const void *head, size_t size)
{
	return size >= MAGIC_BYTES && perfdata_may_begin(head, size);
}
