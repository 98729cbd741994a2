/* SPDX-License-Identifier: MIT */
/*
 * What a prober reads of a file that may be anything: the whole input is the file. Whatever it says, sizes are
 * within bounds and the names of the debug link and of a unit's file end.
 */
#include <sys/mman.h>

#include "fuzz.h"
#include "jailed/child/prober_look.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct prober_answer answer;
	int open_before = fuzz_open_descriptors();
	int fd = memfd_create("probed", MFD_CLOEXEC);
	REQUIRE(fd >= 0 && write(fd, bytes, size) == (ssize_t)size);
	prober_look(fd, &(struct prober_question){.sum_up = 0}, &answer);
	REQUIRE(answer.build_id_size <= sizeof(answer.build_id));
	REQUIRE(!answer.has_debuglink ||
		memchr(answer.debuglink, '\0', sizeof(answer.debuglink)) != NULL);
	prober_look(fd, &(struct prober_question){.sum_up = 1}, &answer);
	REQUIRE(answer.error == 0);
	prober_look(fd, &(struct prober_question){.unit = 0x1122334455667788}, &answer);
	REQUIRE(answer.has_unit <= 1 &&
		memchr(answer.split_name, '\0', sizeof(answer.split_name)) != NULL);
	close(fd);
	REQUIRE(fuzz_open_descriptors() == open_before);
	return 0;
}
