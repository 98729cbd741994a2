/* SPDX-License-Identifier: MIT */
#include "capture.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <ctop/base/clock.h>
#include <ctop/base/text.h>

#include "seal.h"

/* Names, lines and the output of a large profile take so long beyond its duration on a slow machine; what takes longer hangs. */
#define MORE_NS (300 * NS_PER_SECOND)
/* Of a recording or an answer, which are memory. */
#define MOST_BYTES ((rlim_t)512 << 20)
enum { WORDS_MOST = 40, MEMORIES = 4, FIRST_MEMORY_FD = 3 };

/* Words of a command line, and the texts that were made for them. */
struct command_line {
	const char *words[WORDS_MOST];
	size_t nr;
	char seconds[32], hz[16], budget[32], recording[16], output[16], stats[16];
	struct text pids, cpus;
};

void capture_init(struct capture *capture, const struct options *options)
{
	*capture = (struct capture){.options = options,
				    .pid_fd = -1,
				    .recording_fd = -1,
				    .output_fd = -1,
				    .stats_fd = -1,
				    .words_fd = -1};
}

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

static void release(struct capture *capture)
{
	close_fd(&capture->pid_fd);
	close_fd(&capture->recording_fd);
	close_fd(&capture->output_fd);
	close_fd(&capture->stats_fd);
	close_fd(&capture->words_fd);
	capture->pid = 0;
}

/* ---- its command lines ---- */

static void add(struct command_line *command, const char *word)
{
	if (command->nr < WORDS_MOST - 1)
		command->words[command->nr++] = word;
}

static void add_value(struct command_line *command, const char *option, const char *value)
{
	add(command, option);
	add(command, value);
}

static const char *list(struct text *text, const struct int32_list *numbers)
{
	for (size_t i = 0; i < numbers->nr; i++)
		text_addf(text, "%s%" PRId32, i ? "," : "", numbers->items[i]);
	return text_string(text);
}

static void add_target(struct command_line *command, const struct capture *capture)
{
	const struct options *options = capture->options;
	if (options->cpus.nr)
		add_value(command, "-C", list(&command->cpus, &options->cpus));
	if (capture->pids->nr)
		add_value(command, "-p", list(&command->pids, capture->pids));
	else if (options->cgroup)
		add_value(command, "-G", options->cgroup);
	else
		add(command, "-a");
	if (options->no_inherit)
		add(command, "-i");
}

static void make_record(struct command_line *command, const struct capture *capture)
{
	const struct http_ask *ask = &capture->ask;
	snprintf(command->seconds, sizeof(command->seconds), "%" PRIu32 ".%03" PRIu32,
		 ask->duration_ms / 1000, ask->duration_ms % 1000);
	snprintf(command->hz, sizeof(command->hz), "%" PRIu32, ask->hz);
	add_value(command, "ctop", "record");
	add(command, "-q");
	add(command, "--no-keep-code");
	add_value(command, "--duration", command->seconds);
	add_value(command, "-F", command->hz);
	if (capture->options->budget_share > 0) {
		snprintf(command->budget, sizeof(command->budget), "%.6g%%",
			 100 * capture->options->budget_share);
		add_value(command, "--budget", command->budget);
	}
	if (http_endpoints[ask->endpoint].waits)
		add_value(command, "--time", "wall");
	add_value(command, "-o", command->recording);
	add_target(command, capture);
}

static void make_export(struct command_line *command, const struct capture *capture)
{
	const struct http_endpoint_row *endpoint = &http_endpoints[capture->ask.endpoint];
	const char *format = endpoint->format			  ? endpoint->format
			     : capture->ask.format == HTTP_FOLDED ? "folded"
								  : "pprof";
	add_value(command, "ctop", "export");
	add_value(command, format, command->recording);
	if (endpoint->waits && !endpoint->format)
		add_value(command, "--time", "wall");
	add_value(command, "-o", command->output);
	add_value(command, "--stats", command->stats);
}

/* ---- its processes ---- */

static int make_memory(const char *name)
{
	const int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
	return fd < 0 ? -errno : fd;
}

static int make_memories(struct capture *capture)
{
	const struct {
		int *fd;
		const char *name;
	} all[] = {{&capture->recording_fd, "recording"},
		   {&capture->output_fd, "answer"},
		   {&capture->stats_fd, "stats"},
		   {&capture->words_fd, "words"}};
	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
		*all[i].fd = make_memory(all[i].name);
		if (*all[i].fd < 0)
			return *all[i].fd;
	}
	return 0;
}

/* In the child of fork: 0 and 1 /dev/null, 2 the words, then the memories; all else is closed by exec. */
static void become(const struct capture *capture, const struct command_line *command)
{
	const int memories[MEMORIES] = {capture->recording_fd, capture->output_fd,
					capture->stats_fd, capture->words_fd};
	const struct rlimit most = {MOST_BYTES, MOST_BYTES};
	int kept[MEMORIES];
	sigset_t none;
	/* Out of the way of the numbers that they are to have. */
	const int null = fcntl(open("/dev/null", O_RDWR | O_CLOEXEC), F_DUPFD_CLOEXEC,
			       FIRST_MEMORY_FD + MEMORIES);
	for (size_t i = 0; i < MEMORIES; i++)
		kept[i] = fcntl(memories[i], F_DUPFD_CLOEXEC, FIRST_MEMORY_FD + MEMORIES);
	for (int i = 0; i < MEMORIES - 1; i++)
		if (dup2(kept[i], FIRST_MEMORY_FD + i) < 0)
			_exit(127);
	if (dup2(null, STDIN_FILENO) < 0 || dup2(null, STDOUT_FILENO) < 0 ||
	    dup2(kept[MEMORIES - 1], STDERR_FILENO) < 0)
		_exit(127);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
	/* ^C at the terminal is ours, whose end then ends it. */
	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	setrlimit(RLIMIT_FSIZE, &most);
	execve("/proc/self/exe", (char *const *)(uintptr_t)command->words, environ);
	_exit(127);
}

static int start(struct capture *capture)
{
	struct command_line command = {.nr = 0};
	snprintf(command.recording, sizeof(command.recording), "/dev/fd/%d", FIRST_MEMORY_FD);
	snprintf(command.output, sizeof(command.output), "/dev/fd/%d", FIRST_MEMORY_FD + 1);
	snprintf(command.stats, sizeof(command.stats), "/dev/fd/%d", FIRST_MEMORY_FD + 2);
	if (capture->exports)
		make_export(&command, capture);
	else
		make_record(&command, capture);
	const bool failed = command.pids.failed || command.cpus.failed;
	const uint64_t duration_ns = capture->exports ? 0 : capture->ask.duration_ms * NS_PER_MS;
	close_fd(&capture->pid_fd);
	capture->pid = failed ? -1 : fork();
	if (capture->pid == 0)
		become(capture, &command);
	int result = failed ? -ENOMEM : capture->pid < 0 ? -errno : 0;
	text_release(&command.pids);
	text_release(&command.cpus);
	if (result) {
		capture->pid = 0;
		return result;
	}
	capture->until_ns = clock_now_ns() + duration_ns + MORE_NS;
	capture->pid_fd = (int)syscall(SYS_pidfd_open, capture->pid, 0);
	return capture->pid_fd < 0 ? -errno : 0;
}

int capture_begin(struct capture *capture, const struct http_ask *ask,
		  const struct int32_list *pids)
{
	capture->ask = *ask;
	capture->exports = capture->forgotten = false;
	capture->pids = pids;
	int result = make_memories(capture);
	if (!result)
		result = start(capture);
	if (result)
		capture_end(capture);
	return result;
}

void capture_end(struct capture *capture)
{
	if (capture->pid > 0) {
		kill(capture->pid, SIGKILL);
		while (waitpid(capture->pid, NULL, 0) < 0 && errno == EINTR)
			;
	}
	release(capture);
}

uint32_t capture_left_s(const struct capture *capture)
{
	const uint64_t due_ns = capture->until_ns - MORE_NS, now = clock_now_ns();
	return capture->pid && now < due_ns ? (uint32_t)((due_ns - now) / NS_PER_SECOND) + 1 : 1;
}

int capture_timeout_ms(const struct capture *capture)
{
	const uint64_t now = clock_now_ns();
	if (!capture->pid)
		return -1;
	return now >= capture->until_ns ? 0 : (int)((capture->until_ns - now) / NS_PER_MS) + 1;
}

/* ---- what came of it ---- */

/* The number behind a key in statistics of our own (docs/recording-format.md); 0: none. */
static uint64_t number_behind(const char *text, const char *key)
{
	const char *at = strstr(text, key);
	return at ? strtoull(at + strlen(key), NULL, 10) : 0;
}

static void read_stats(const struct capture *capture, struct capture_result *result)
{
	char text[8192];
	const ssize_t got = pread(capture->stats_fd, text, sizeof(text) - 1, 0);
	text[got > 0 ? got : 0] = '\0';
	result->samples = number_behind(text, "\"samples\": ");
	result->lost = number_behind(text, "\"lost\": ");
	static const char *const dropped[] = {
		"\"overrun\": ", "\"disk\": ", "\"crash\": ", "\"damaged\": "};
	for (size_t i = 0; i < sizeof(dropped) / sizeof(*dropped); i++)
		result->dropped += number_behind(text, dropped[i]);
	static const char kernel[] = "\"kernel_cpu_seconds\": ";
	const char *seconds = strstr(text, kernel);
	const double kernel_s = seconds ? strtod(seconds + strlen(kernel), NULL) : 0;
	if (kernel_s > 0 && kernel_s < 1e9)
		result->kernel_ns = (uint64_t)(kernel_s * (double)NS_PER_SECOND);
	result->is_lowered = strstr(text, ": --budget leaves no more\"") != NULL;
}

/* What its process has said: a cause and a remedy, as at a terminal. */
static void fail(const struct capture *capture, struct capture_result *result, unsigned status)
{
	const ssize_t got = pread(capture->words_fd, result->text, sizeof(result->text) - 1, 0);
	result->status = status;
	result->text[got > 0 ? got : 0] = '\0';
	if (got > 0 && result->text[got - 1] == '\n')
		result->text[got - 1] = '\0';
	if (got <= 0)
		snprintf(result->text, sizeof(result->text), "ctop: the capture failed");
}

static void finish(struct capture *capture, struct capture_result *result)
{
	struct stat status;
	read_stats(capture, result);
	if (fstat(capture->output_fd, &status) || status.st_size <= 0 ||
	    seal_written(capture->output_fd)) {
		fail(capture, result, 500);
		return;
	}
	result->status = 200;
	result->bytes = (uint64_t)status.st_size;
	result->output_fd = capture->output_fd;
	capture->output_fd = -1;
}

/* Where its process is: 0: it runs, 1: it has ended well, -1: it has not. */
static int look(struct capture *capture, bool *too_late)
{
	int wait_status;
	pid_t ended;
	*too_late = clock_now_ns() >= capture->until_ns;
	if (*too_late || capture->forgotten)
		kill(capture->pid, SIGKILL);
	while ((ended = waitpid(capture->pid, &wait_status, WNOHANG)) < 0 && errno == EINTR)
		;
	if (ended == 0)
		return 0;
	capture->pid = 0;
	return WIFEXITED(wait_status) && WEXITSTATUS(wait_status) == 0 ? 1 : -1;
}

bool capture_serve(struct capture *capture, struct capture_result *result)
{
	bool too_late;
	*result = (struct capture_result){.output_fd = -1};
	const int end = look(capture, &too_late);
	if (end == 0)
		return false;
	if (end > 0 && !capture->exports && !capture->forgotten) {
		capture->exports = true;
		if (start(capture) == 0)
			return false;
	} else if (end > 0 && !capture->forgotten) {
		finish(capture, result);
	}
	if (!result->status)
		fail(capture, result, too_late ? 504 : 500);
	capture_end(capture);
	return true;
}
