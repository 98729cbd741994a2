/* SPDX-License-Identifier: MIT */
/* Main's side of the child that asks debuginfod servers: what children of all kinds get out of it. The servers' name says of which. */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include <ctop/files/fetcher.h>
#include <ctop/ipc/channel.h>
#include <ctop/ipc/fetcher_protocol.h>
#include <ctop/jail/jail.h>

#include "test.h"

static const char data[] = "what a debug file has";

/* ---- the child ---- */

static void report(struct channel *channel, struct fetch_report report)
{
	channel_send(channel, &report, sizeof(report), -1);
}

static void report_for_ever(struct channel *channel)
{
	const struct fetch_report nothing_new = {.done = 1, .total = 2};
	int result = 0;
	while (!result || result == -ENOBUFS || result == -EAGAIN) {
		result = channel_send(channel, &nothing_new, sizeof(nothing_new), -1);
		if (!result || result == -ENOBUFS)
			result = channel_flush(channel);
	}
}

static int child(void)
{
	struct channel *channel = channel_new(JAIL_CHANNEL_FD, CHANNEL_CHILD);
	struct pollfd wait = {.fd = JAIL_CHANNEL_FD, .events = POLLIN};
	struct fetch_question question;
	int fd = -1;
	if (channel_say_hello(channel, 0) || poll(&wait, 1, -1) != 1 ||
	    channel_receive(channel, &question, sizeof(question), &fd) != (ssize_t)sizeof(question))
		return 1;
	if (!strcmp(question.urls, "has it") && write(fd, data, strlen(data)) > 0)
		report(channel, (struct fetch_report){.is_last = 1});
	else if (!strcmp(question.urls, "silent"))
		report(channel, (struct fetch_report){.is_last = 1, .error = -ETIMEDOUT});
	else if (!strcmp(question.urls, "too much"))
		report(channel, (struct fetch_report){.done = UINT64_MAX});
	else if (!strcmp(question.urls, "for ever"))
		report_for_ever(channel);
	else if (!strcmp(question.urls, "waits"))
		pause(); /* until main ends it */
	channel_free(channel);
	return 0;
}

/* ---- main ---- */

struct taken {
	unsigned nr;
	int error;
	char text[64];
};

static void take(void *context, int error, int fd)
{
	struct taken *taken = context;
	taken->nr++;
	taken->error = error;
	CHECK_EQ(fd < 0, error != 0);
	if (fd < 0)
		return;
	CHECK(pread(fd, taken->text, sizeof(taken->text) - 1, 0) >= 0);
	close(fd);
}

static const uint8_t build_id[20] = {1, 2, 3, 4};

static void serve(struct fetcher *fetcher)
{
	while (fetcher_fd(fetcher) >= 0) {
		struct pollfd wait = {.fd = fetcher_fd(fetcher), .events = POLLIN};
		CHECK(poll(&wait, 1, fetcher_timeout_ms(fetcher)) >= 0);
		fetcher_serve(fetcher);
	}
}

static void ask_of(struct fetcher *fetcher, struct taken *taken)
{
	const int result = fetcher_ask(fetcher, build_id, sizeof(build_id), take, taken);
	if (result == -ENOEXEC)
		SKIP("emulated, a program cannot execute itself");
	CHECK_EQ(result, 0);
}

static struct taken ask(const char *servers)
{
	struct taken taken = {0};
	struct fetcher *fetcher = fetcher_new(servers);
	ask_of(fetcher, &taken);
	serve(fetcher);
	CHECK_EQ(taken.nr, 1);
	fetcher_free(fetcher);
	return taken;
}

static void what_a_child_brings(void)
{
	struct taken taken = ask("has it");
	CHECK_EQ(taken.error, 0);
	CHECK_STR(taken.text, data);
	CHECK_EQ(ask("silent").error, -ETIMEDOUT);
	CHECK_EQ(ask("ends without a word").error, -EIO);
}

static void one_that_has_fallen_is_ended(void)
{
	CHECK_EQ(ask("too much").error, -EIO);
	CHECK_EQ(ask("for ever").error, -EIO);
}

static void servers_that_are_silent_are_asked_no_more(void)
{
	enum { NR = 5 };
	struct taken taken[NR] = {0};
	struct fetcher *fetcher = fetcher_new("silent");
	for (unsigned i = 0; i < NR; i++)
		ask_of(fetcher, &taken[i]);
	serve(fetcher);
	for (unsigned i = 0; i < NR; i++) {
		CHECK_EQ(taken[i].nr, 1);
		CHECK_EQ(taken[i].error, i < 2 ? -ETIMEDOUT : -ECANCELED);
	}
	CHECK_EQ(fetcher_ask(fetcher, build_id, sizeof(build_id), take, &taken[0]), -ECANCELED);
	fetcher_free(fetcher);
}

static void what_is_forgotten_counts_for_nothing(void)
{
	struct taken taken = {0};
	struct fetcher *fetcher = fetcher_new("waits");
	for (unsigned i = 0; i < 5; i++) {
		ask_of(fetcher, &taken);
		fetcher_forget(fetcher, &taken);
		serve(fetcher);
	}
	CHECK_EQ(taken.nr, 0);
	ask_of(fetcher, &taken);
	fetcher_free(fetcher);
}

int main(int argc, char **argv)
{
	if (argc == 2 && !strncmp(argv[1], "--child=fetcher:", strlen("--child=fetcher:")))
		return child();
	RUN(what_a_child_brings);
	RUN(one_that_has_fallen_is_ended);
	RUN(servers_that_are_silent_are_asked_no_more);
	RUN(what_is_forgotten_counts_for_nothing);
	return test_done();
}
