/* SPDX-License-Identifier: MIT */
#include <ctop/session/worker.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <ctop/base/clock.h>
#include <ctop/base/fault.h>
#include <ctop/base/text.h>
#include <ctop/jail/jail.h>
#include <ctop/system/proc_text.h>

/* The slowest honest piece of work seen is reading a large symbol table: 0.3 s. */
#define STUCK_CPU_NS	  (3 * NS_PER_SECOND)
#define HELLO_PATIENCE_NS (10 * NS_PER_SECOND)
/* Looks, a second apart, at one that neither moves nor asks for the CPU. A loop that waits for events turns 20 times a second. */
enum { STILL_LOOKS = 5 };

void worker_init(struct worker *worker)
{
	*worker = (struct worker){
		.pid_fd = -1, .stderr_fd = -1, .from_child = -1, .to_child = -1, .status_fd = -1};
}

/* A child that could cut the page would end main by SIGBUS: hence the seals. */
static int make_status(struct worker *worker)
{
	int fd = memfd_create("ctop-status", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd < 0)
		return -errno;
	void *page = MAP_FAILED;
	if (ftruncate(fd, sizeof(struct child_status)) == 0 &&
	    fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0)
		page = mmap(NULL, sizeof(struct child_status), PROT_READ | PROT_WRITE, MAP_SHARED,
			    fd, 0);
	if (page == MAP_FAILED) {
		int error = -errno;
		close(fd);
		return error;
	}
	worker->status_fd = fd;
	worker->status = page;
	atomic_store(&worker->status->busy_cpu, -1);
	return 0;
}

static int send_fd(struct worker *worker, enum message_kind kind, int fd)
{
	const struct message message = {.kind = kind};
	return protocol_send(worker->channel, &message, fd);
}

int worker_start(struct worker *worker, const char *role)
{
	struct jail_child child;
	int result = worker->status ? 0 : make_status(worker);
	if (!result)
		result = jail_spawn(role, &child);
	if (result)
		return result;
	worker->role = role;
	worker->pid = child.pid;
	worker->pid_fd = child.pid_fd;
	worker->stderr_fd = child.stderr_fd;
	worker->channel = child.channel;
	worker->started_ns = clock_now_ns();
	worker->from_child = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	worker->to_child = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (worker->from_child < 0 || worker->to_child < 0)
		return -errno;
	worker->seen_moves = 0;
	worker->seen_cpu_ns = 0;
	worker->nr_still = 0;
	worker->hung_up = false;
	worker->ended = false;
	worker->why = NULL;
	result = send_fd(worker, MESSAGE_STATUS, worker->status_fd);
	if (!result)
		result = send_fd(worker, MESSAGE_TO_MAIN, worker->from_child);
	if (!result)
		result = send_fd(worker, MESSAGE_TO_CHILD, worker->to_child);
	return result;
}

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

/* What belongs to one child, not to its successors. */
static void disconnect(struct worker *worker)
{
	channel_free(worker->channel);
	worker->channel = NULL;
	close_fd(&worker->pid_fd);
	close_fd(&worker->stderr_fd);
	close_fd(&worker->from_child);
	close_fd(&worker->to_child);
}

/* What libc or the loader said of its end: the last line, as far as it fits. Untrusted. */
static void read_last_words(struct worker *worker)
{
	char bytes[4096 + 1];
	ssize_t got =
		worker->stderr_fd < 0 ? -1 : read(worker->stderr_fd, bytes, sizeof(bytes) - 1);
	size_t size = got > 0 ? (size_t)got : 0;
	while (size && bytes[size - 1] == '\n')
		size--;
	bytes[size] = '\0';
	const char *end_of_line = memrchr(bytes, '\n', size);
	struct text text = {0};
	text_add_safe(&text, end_of_line ? end_of_line + 1 : bytes);
	const char *safe = text_string(&text);
	snprintf(worker->last_words, sizeof(worker->last_words), "%.*s",
		 (int)text_fit(safe, sizeof(worker->last_words) / 2), safe);
	text_release(&text);
}

enum { MOMENT_MS = 1000 };

static void reap(struct worker *worker, int *wait_status)
{
	struct rusage usage = {0};
	/* At once, or soon after SIGKILL. One that hangs in the kernel is left to whoever reaps after us. */
	struct pollfd gone = {.fd = worker->pid_fd, .events = POLLIN};
	*wait_status = SIGKILL;
	poll(&gone, 1, MOMENT_MS);
	wait4(worker->pid, wait_status, WNOHANG, &usage);
	worker->dead_cpu_ns +=
		(uint64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * NS_PER_SECOND +
		(uint64_t)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1000;
	worker->pid = 0;
	read_last_words(worker);
}

void worker_reap(struct worker *worker, int *wait_status, bool *too_often)
{
	reap(worker, wait_status);
	disconnect(worker);
	uint64_t now = clock_now_ns();
	uint64_t *oldest = &worker->deaths_ns[worker->nr_deaths++ % WORKER_MAX_DEATHS];
	*oldest = now;
	/* The slot after the newest holds the third last. */
	uint64_t third_last = worker->deaths_ns[worker->nr_deaths % WORKER_MAX_DEATHS];
	*too_often = fault_gives_up() ||
		     (worker->nr_deaths >= WORKER_MAX_DEATHS &&
		      (now - third_last < WORKER_DEATHS_WINDOW_NS || fault_counts_all_deaths()));
}

void worker_end(struct worker *worker)
{
	if (worker->pid)
		kill(worker->pid, SIGKILL);
	worker->ended = true;
}

bool worker_fell(const struct worker *worker, int wait_status)
{
	if (WIFSIGNALED(wait_status))
		return worker->ended || WTERMSIG(wait_status) != SIGKILL;
	return WEXITSTATUS(wait_status) != 0;
}

void worker_release(struct worker *worker)
{
	if (worker->pid) {
		int wait_status;
		kill(worker->pid, SIGKILL);
		reap(worker, &wait_status);
	}
	worker_abandon(worker);
}

void worker_abandon(struct worker *worker)
{
	disconnect(worker);
	worker->pid = 0;
	if (worker->status)
		munmap(worker->status, sizeof(*worker->status));
	worker->status = NULL;
	close_fd(&worker->status_fd);
}

void worker_signal(const struct worker *worker)
{
	static const uint64_t one = 1;
	if (worker->to_child >= 0 && write(worker->to_child, &one, sizeof(one)) < 0)
		return; /* full: it has not looked at the last one yet */
}

void worker_clear_signal(const struct worker *worker)
{
	uint64_t count;
	if (worker->from_child >= 0 && read(worker->from_child, &count, sizeof(count)) < 0)
		return; /* not signalled */
}

static uint64_t cpu_ns_of(pid_t pid)
{
	clockid_t clock;
	struct timespec used;
	if (!pid || clock_getcpuclockid(pid, &clock) || clock_gettime(clock, &used))
		return 0;
	return (uint64_t)used.tv_sec * NS_PER_SECOND + (uint64_t)used.tv_nsec;
}

uint64_t child_cpu_ns(pid_t pid)
{
	siginfo_t info = {0};
	/* Its number may be another's by now. */
	const bool is_ours =
		pid > 0 && waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0;
	return is_ours ? cpu_ns_of(pid) : 0;
}

static uint64_t running_cpu_ns(const struct worker *worker)
{
	return cpu_ns_of(worker->pid);
}

uint64_t worker_cpu_ns(const struct worker *worker)
{
	return worker->dead_cpu_ns + running_cpu_ns(worker);
}

uint64_t process_anon_bytes(pid_t pid)
{
	char path[64], line[256];
	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	FILE *file = proc_fopen(path);
	if (!file)
		return 0;
	unsigned long long kib = 0;
	while (fgets(line, sizeof(line), file))
		if (sscanf(line, "RssAnon: %llu kB", &kib) == 1)
			break;
	fclose(file);
	return kib * 1024;
}

uint64_t worker_anon_bytes(const struct worker *worker)
{
	return worker->pid ? process_anon_bytes(worker->pid) : 0;
}

static uint64_t moves_of(const struct worker *worker)
{
	return atomic_load(&worker->status->progress) + atomic_load(&worker->status->turns);
}

bool worker_end_if_stuck(struct worker *worker)
{
	if (!worker->pid)
		return false;
	uint64_t moves = moves_of(worker);
	uint64_t cpu_ns = running_cpu_ns(worker);
	if (moves != worker->seen_moves) {
		worker->seen_moves = moves;
		worker->seen_cpu_ns = cpu_ns;
		return false;
	}
	if (cpu_ns < worker->seen_cpu_ns + STUCK_CPU_NS)
		return false;
	worker_end(worker);
	worker->why = "hung and was killed";
	worker->seen_cpu_ns = cpu_ns;
	return true;
}

void worker_end_if_hung_up(struct worker *worker)
{
	if (!worker->pid || !worker->hung_up)
		return;
	worker_end(worker);
	worker->why = "closed its channel and was killed";
}

bool worker_end_if_silent(struct worker *worker)
{
	if (!worker->pid || !channel_held(worker->channel) ||
	    clock_now_ns() - worker->started_ns < HELLO_PATIENCE_NS)
		return false;
	worker_end(worker);
	worker->why = "did not start and was killed";
	return true;
}

/* What waits for a CPU would wait as its successor, too; what a debugger holds is the debugger's. */
static bool stands(char state)
{
	return state == 'S' || state == 'D' || state == 'T';
}

bool worker_end_if_still(struct worker *worker)
{
	struct stat_line line = {.state = 0};
	if (!worker->pid)
		return false;
	uint64_t moves = moves_of(worker);
	/* Looks are counted, not time: main may have been stopped as well. */
	if (moves != worker->still_moves || !proc_stat_line(worker->pid, worker->pid, &line) ||
	    !stands(line.state))
		worker->nr_still = 0;
	worker->still_moves = moves;
	if (!stands(line.state) || ++worker->nr_still < STILL_LOOKS)
		return false;
	worker_end(worker);
	/* Who was stopped did not fall. */
	worker->ended = line.state != 'T';
	worker->why = worker->ended ? "was stuck and was killed"
				    : "was stopped by a signal and was killed";
	worker->nr_still = 0;
	return true;
}

int worker_not_started(int result, struct error *error)
{
	error_set(error, result, "cannot start ctop's own processes: %s", strerror(-result));
	struct rlimit limit;
	if (result == -EMFILE && getrlimit(RLIMIT_NOFILE, &limit) == 0)
		error_remedy(error, "raise the limit: ulimit -n %llu",
			     (unsigned long long)limit.rlim_cur + 1024);
	else if (result == -EAGAIN)
		error_remedy(error, "the limit of processes of this user is reached: ulimit -u");
	return result;
}
