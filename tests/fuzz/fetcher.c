/* SPDX-License-Identifier: MIT */
/*
 * Main's side of the child that asks debuginfod servers, which has fallen to one of them: whatever it reports, each question is answered once at
 * most, a file comes with no error and can be read, what is told is safe to show, and a child that reports for ever is ended.
 *
 * The input is steps, a byte each and what it takes: see take_step(). No process is started: jail_spawn() and jail_end() are replaced by the
 * linker (fuzz.mk).
 */
#include <errno.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <ctop/files/fetcher.h>
#include <ctop/ipc/channel.h>
#include <ctop/ipc/fetcher_protocol.h>
#include <ctop/jail/jail.h>

#include "fuzz.h"

enum { STEPS_MAX = 3000, QUESTIONS_MAX = 64, REPORTS_MAX = 1025 };

static struct {
	struct channel *channel; /* NULL: none runs */
	int file_fd;		 /* what main gave it to write to; -1 */
	unsigned nr_reports;
} child;

static struct question {
	bool was_asked, is_answered, is_forgotten;
} questions[QUESTIONS_MAX];
static unsigned nr_questions;

/* ---- instead of a process ---- */

static void child_leaves(void)
{
	if (child.channel)
		channel_free(child.channel);
	if (child.file_fd >= 0)
		close(child.file_fd);
	child.channel = NULL;
	child.file_fd = -1;
}

int __wrap_jail_spawn(const char *role, struct jail_child *started);
int __wrap_jail_spawn(const char *role, struct jail_child *started)
{
	int main_fd, child_fd;
	REQUIRE(!strncmp(role, "fetcher:", strlen("fetcher:")));
	child_leaves();
	REQUIRE(channel_pair(&main_fd, &child_fd) == 0);
	child.channel = channel_new(child_fd, CHANNEL_CHILD);
	child.nr_reports = 0;
	*started = (struct jail_child){.pid = 0x7ffffff0,
				       .pid_fd = -1,
				       .stderr_fd = -1,
				       .channel = channel_new(main_fd, CHANNEL_MAIN)};
	REQUIRE(child.channel && started->channel);
	return 0;
}

void __wrap_jail_end(struct jail_child *ended);
void __wrap_jail_end(struct jail_child *ended)
{
	channel_free(ended->channel);
	*ended = (struct jail_child){.pid_fd = -1, .stderr_fd = -1};
}

/* What main asked it, if it did. */
static void hear(void)
{
	struct fetch_question heard;
	int fd = -1;
	while (child.channel && channel_receive(child.channel, &heard, sizeof(heard), &fd) ==
					(ssize_t)sizeof(heard)) {
		REQUIRE(fd >= 0 && child.file_fd < 0);
		child.file_fd = fd;
		REQUIRE(heard.build_id_size >= 8 && heard.build_id_size <= BUILD_ID_MAX);
		REQUIRE(memchr(heard.source, '\0', sizeof(heard.source)));
		REQUIRE(heard.source[0] == '/' || !heard.source[0]);
		for (const char *at = heard.source; *at; at++)
			REQUIRE((unsigned char)*at >= ' ' && *at != 0x7f);
	}
}

/* ---- main's questions ---- */

static void take(void *context, int error, int fd)
{
	struct question *question = context;
	struct stat status;
	REQUIRE(question->was_asked && !question->is_answered && !question->is_forgotten);
	question->is_answered = true;
	REQUIRE((error == 0) == (fd >= 0) && error <= 0 && error > -4096);
	REQUIRE(strlen(fetcher_why(error)) > 0);
	if (fd < 0)
		return;
	REQUIRE(fstat(fd, &status) == 0 && S_ISREG(status.st_mode));
	close(fd);
}

static void ask(struct fetcher *fetcher, struct input *input, bool source)
{
	static const uint8_t build_id[BUILD_ID_MAX] = {1, 2, 3};
	char path[64] = "/";
	size_t size = input_u8(input);
	if (nr_questions == QUESTIONS_MAX)
		return;
	struct question *question = &questions[nr_questions++];
	int result;
	question->was_asked = true;
	if (source) {
		const uint8_t *bytes = input_bytes(input, &size);
		size = size < sizeof(path) - 2 ? size : sizeof(path) - 2;
		memcpy(path + 1, bytes, size);
		result = fetcher_ask_source(fetcher, build_id, 20, path, take, question);
	} else {
		result = fetcher_ask(fetcher, build_id, size, take, question);
	}
	if (result)
		question->is_answered = true;
}

static void forget(struct fetcher *fetcher, unsigned number)
{
	if (number >= nr_questions || questions[number].is_answered)
		return;
	fetcher_forget(fetcher, &questions[number]);
	questions[number].is_forgotten = true;
}

/* ---- what the child does ---- */

static void say(const void *bytes, size_t size, int fd)
{
	if (child.channel && !channel_send(child.channel, bytes, size, fd))
		child.nr_reports++;
}

static void report(struct input *input)
{
	struct fetch_report report;
	input_take(input, &report, sizeof(report));
	say(&report, sizeof(report), -1);
}

static void say_anything(struct input *input)
{
	size_t size = input_u8(input);
	const uint8_t *bytes = input_bytes(input, &size);
	if (child.channel && size)
		send(channel_fd(child.channel), bytes, size, MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* A report with a descriptor, which nobody awaits. */
static void send_file(void)
{
	const struct fetch_report nothing_new = {.done = 1};
	say(&nothing_new, sizeof(nothing_new), STDERR_FILENO);
}

static void write_file(struct input *input)
{
	size_t size = input_u8(input);
	const uint8_t *bytes = input_bytes(input, &size);
	if (child.file_fd >= 0)
		REQUIRE(write(child.file_fd, bytes, size) == (ssize_t)size);
}

/* At one step: main has not seen any of it yet. */
static void report_much(void)
{
	const struct fetch_report nothing_new = {.done = 1, .total = 2};
	for (unsigned i = 0; i < 40; i++)
		say(&nothing_new, sizeof(nothing_new), -1);
}

static void take_step(struct fetcher *fetcher, struct input *input)
{
	switch (input_u8(input) % 9) {
	case 0:
		ask(fetcher, input, false);
		break;
	case 1:
		ask(fetcher, input, true);
		break;
	case 2:
		report(input);
		break;
	case 3:
		say_anything(input);
		break;
	case 4:
		child_leaves();
		break;
	case 5:
		write_file(input);
		break;
	case 6:
		send_file();
		break;
	case 7:
		forget(fetcher, input_u8(input));
		break;
	case 8:
		report_much();
		break;
	}
}

static void check_telling(const struct fetcher *fetcher)
{
	struct text text = {0};
	fetcher_tell(fetcher, &text);
	for (const char *at = text_string(&text); *at; at++)
		REQUIRE((unsigned char)*at >= ' ' && *at != 0x7f);
	text_release(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct input input = {bytes, size};
	const int open_before = fuzz_open_descriptors();
	memset(questions, 0, sizeof(questions));
	nr_questions = 0;
	child.file_fd = -1;
	struct fetcher *fetcher = fetcher_new("http://127.0.0.1:1");
	REQUIRE(fetcher != NULL);
	for (unsigned i = 0; i < STEPS_MAX && input.left; i++) {
		take_step(fetcher, &input);
		fetcher_serve(fetcher);
		hear();
		check_telling(fetcher);
		REQUIRE(child.nr_reports <= REPORTS_MAX || fetcher_fd(fetcher) < 0);
	}
	fetcher_free(fetcher);
	child_leaves();
	REQUIRE(fuzz_open_descriptors() == open_before);
	return 0;
}
