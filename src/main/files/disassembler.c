/* SPDX-License-Identifier: MIT */
#include <ctop/files/listing.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <ctop/base/clock.h>
#include <ctop/ipc/channel.h>
#include <ctop/jail/jail.h>

/* The symbols and lines of the largest programs take seconds. */
#define PATIENCE_NS (30 * NS_PER_SECOND)

struct disassembler {
	struct jail_child child; /* pid 0: it does not run */
	int memory_fd;
	uint64_t since_ns;
	listing_taker *taker;
	void *context;
	struct listing_question question; /* scratch */
};

struct disassembler *disassembler_new(void)
{
	struct disassembler *disassembler = calloc(1, sizeof(*disassembler));
	if (disassembler)
		disassembler->memory_fd = -1;
	return disassembler;
}

static void end(struct disassembler *disassembler)
{
	if (disassembler->child.pid)
		jail_end(&disassembler->child);
	disassembler->child.pid = 0;
	if (disassembler->memory_fd >= 0)
		close(disassembler->memory_fd);
	disassembler->memory_fd = -1;
}

void disassembler_forget(struct disassembler *disassembler)
{
	end(disassembler);
}

void disassembler_free(struct disassembler *disassembler)
{
	if (!disassembler)
		return;
	end(disassembler);
	free(disassembler);
}

static int make_memory(void)
{
	int fd = memfd_create("listing", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd < 0)
		return -errno;
	if (ftruncate(fd, (off_t)LISTING_BYTES) == 0 &&
	    fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) == 0)
		return fd;
	int error = -errno;
	close(fd);
	return error;
}

/* The child's own check of a start is by its name: one that was cut proves nothing. */
static void set_question(struct listing_question *question,
			 const struct disassembler_request *request)
{
	memset(question, 0, sizeof(*question));
	question->source = request->source;
	question->bytes = request->bytes;
	question->memory_start = request->memory_start;
	question->start = request->start;
	question->has_debug = request->debug_fd >= 0;
	question->has_common = request->common_fd >= 0;
	question->split_unit = request->split_unit;
	question->has_name = request->name != NULL;
	question->wants_calls = request->wants_calls;
	snprintf(question->name, sizeof(question->name), "%s", request->name ? request->name : "");
}

int disassembler_ask(struct disassembler *disassembler, const struct disassembler_request *request,
		     listing_taker *taker, void *context)
{
	static const char word = 0;
	end(disassembler);
	disassembler->taker = taker;
	disassembler->context = context;
	disassembler->memory_fd = make_memory();
	int result = disassembler->memory_fd < 0 ? disassembler->memory_fd
						 : jail_spawn("disassembler", &disassembler->child);
	if (result) {
		disassembler->child.pid = 0;
		end(disassembler);
		return result;
	}
	disassembler->since_ns = clock_now_ns();
	set_question(&disassembler->question, request);
	struct channel *channel = disassembler->child.channel;
	result = channel_send(channel, &disassembler->question, sizeof(disassembler->question),
			      request->fd);
	if (!result && request->debug_fd >= 0)
		result = channel_send(channel, &word, sizeof(word), request->debug_fd);
	if (!result && request->common_fd >= 0)
		result = channel_send(channel, &word, sizeof(word), request->common_fd);
	if (!result && request->split_unit)
		result = channel_send(channel, &word, sizeof(word), request->split_fd);
	if (!result)
		result = channel_send(channel, &word, sizeof(word), disassembler->memory_fd);
	if (result)
		end(disassembler);
	return result;
}

int disassembler_fd(const struct disassembler *disassembler)
{
	return disassembler->child.pid ? channel_fd(disassembler->child.channel) : -1;
}

int disassembler_timeout_ms(const struct disassembler *disassembler)
{
	const uint64_t until = disassembler->since_ns + PATIENCE_NS, now = clock_now_ns();
	if (!disassembler->child.pid)
		return -1;
	return now >= until ? 0 : (int)((until - now) / NS_PER_MS) + 1;
}

/* The child has unmapped it, and its end is on its way. That it can be sealed proves that nobody has it mapped to write any more. */
static int take(struct disassembler *disassembler, const struct listing_answer *answer,
		struct listing **listing)
{
	if (fcntl(disassembler->memory_fd, F_ADD_SEALS, F_SEAL_WRITE) < 0)
		return -EIO;
	void *memory = mmap(NULL, LISTING_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE,
			    disassembler->memory_fd, 0);
	return memory == MAP_FAILED ? -errno : listing_take(answer, memory, listing);
}

void disassembler_serve(struct disassembler *disassembler)
{
	struct listing_answer answer = {0};
	struct listing *listing = NULL;
	int unused = -1, result;
	if (!disassembler->child.pid)
		return;
	ssize_t got =
		channel_receive(disassembler->child.channel, &answer, sizeof(answer), &unused);
	if (got == -EAGAIN && disassembler_timeout_ms(disassembler))
		return;
	jail_end(&disassembler->child);
	disassembler->child.pid = 0;
	if (got == -EAGAIN)
		result = -ETIMEDOUT;
	else if (got != (ssize_t)sizeof(answer) || answer.error > 0 || answer.error <= -4096)
		result = -EIO;
	else
		result = answer.error ? answer.error : take(disassembler, &answer, &listing);
	end(disassembler);
	disassembler->taker(disassembler->context, result, listing);
}
