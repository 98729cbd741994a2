/* SPDX-License-Identifier: MIT */
#include "child_link.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <ctop/base/fault.h>
#include <ctop/disassembler/listing.h>
#include <ctop/ipc/channel.h>

/* A descriptor with a word beside it that says nothing. 0 or -errno. */
static int receive_file(struct channel *channel, int *fd)
{
	char word;
	int result = child_await_question(channel);
	*fd = -1;
	if (!result && (channel_receive(channel, &word, sizeof(word), fd) != 1 || *fd < 0))
		result = -EPROTO;
	return result;
}

static int receive_memory(struct channel *channel, void **memory)
{
	struct stat status;
	int fd;
	int result = receive_file(channel, &fd);
	if (result)
		return result;
	*memory = MAP_FAILED;
	if (fstat(fd, &status) == 0 && status.st_size == (off_t)LISTING_BYTES)
		*memory = mmap(NULL, LISTING_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	return *memory == MAP_FAILED ? -EPROTO : 0;
}

int disassembler_child_run(struct channel *channel)
{
	static struct listing_question question;
	struct listing_answer answer;
	void *memory;
	struct listing_fds fds = {-1, -1, -1, -1};
	int result = child_await_question(channel);
	if (!result && (channel_receive(channel, &question, sizeof(question), &fds.module) !=
				(ssize_t)sizeof(question) ||
			fds.module < 0))
		result = -EPROTO;
	if (!result && question.has_debug)
		result = receive_file(channel, &fds.debug);
	if (!result && question.has_common)
		result = receive_file(channel, &fds.common);
	if (!result && question.split_unit)
		result = receive_file(channel, &fds.split);
	if (!result)
		result = receive_memory(channel, &memory);
	if (!result) {
		question.name[sizeof(question.name) - 1] = '\0';
		fault_at("listing", "", channel);
		listing_make(&fds, &question, memory, &answer);
		/* Main seals it, which it can once nobody has it mapped: not only when this process has gone. */
		munmap(memory, LISTING_BYTES);
		result = channel_send(channel, &answer, sizeof(answer), -1);
	}
	channel_free(channel);
	return result;
}
