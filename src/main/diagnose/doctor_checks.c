/* SPDX-License-Identifier: MIT */
#include <ctop/diagnose/doctor_checks.h>

#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <linux/capability.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <ctop/base/privilege.h>
#include <ctop/base/text.h>
#include <ctop/files/probe_target.h>
#include <ctop/ipc/channel.h>
#include <ctop/jail/jail.h>
#include <ctop/perf/catalog.h>
#include <ctop/perf/machine.h>
#include <ctop/perf/permission.h>
#include <ctop/system/proc_text.h>
#include <ctop/system/runtimes.h>

/* Of linux/capability.h since 5.8. */
#ifndef CAP_PERFMON
#define CAP_PERFMON 38
#endif

static struct check *add(struct checks *checks, const char *name, enum check_state state,
			 const char *format, ...) __attribute__((format(printf, 4, 5)));

static struct check *add(struct checks *checks, const char *name, enum check_state state,
			 const char *format, ...)
{
	/* The last one is written over when there are too many: of 30 targets, say. */
	struct check *check =
		&checks->items[checks->nr < CHECKS_MAX ? checks->nr++ : CHECKS_MAX - 1];
	va_list args;
	*check = (struct check){.name = name, .state = state};
	va_start(args, format);
	vsnprintf(check->finding, sizeof(check->finding), format, args);
	va_end(args);
	return check;
}

static void remedy(struct check *check, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static void remedy(struct check *check, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	vsnprintf(check->remedy, sizeof(check->remedy), format, args);
	va_end(args);
}

/* ---- small facts ---- */

static bool read_text(const char *path, char *text, size_t size)
{
	int fd = privilege_openat(PRIVILEGE_INSPECT, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
	ssize_t got = fd < 0 ? -1 : read(fd, text, size - 1);
	if (fd >= 0)
		close(fd);
	text[got > 0 ? got : 0] = '\0';
	return got > 0;
}

static long sysctl(const char *name, long fallback)
{
	char path[128];
	snprintf(path, sizeof(path), "kernel/%s", name);
	return machine_sysctl(path, fallback);
}

/* 0 or -errno of opening an event on ctop itself. */
static int try_event(const char *name, bool *user_only)
{
	struct event event;
	struct error error;
	int result = event_parse(name, strlen(name), &event, &error);
	return result ? result : catalog_try(&event, user_only);
}

/* ---- the kernel and its settings ---- */

static void check_kernel(struct checks *checks)
{
	struct utsname name;
	bool user_only;
	uname(&name);
	int result = try_event("cpu-clock:u", &user_only);
	const enum sampler_refusal refusal = permission_refused(result);
	if (!result) {
		add(checks, "kernel", CHECK_GOOD, "Linux %.64s, perf_event_open works",
		    name.release);
	} else if (result == -ENOSYS && refusal == SAMPLER_NOT_REFUSED) {
		remedy(add(checks, "kernel", CHECK_BAD, "Linux %.64s has no perf_event_open",
			   name.release),
		       "it needs CONFIG_PERF_EVENTS");
	} else {
		struct check *check =
			add(checks, "kernel", CHECK_BAD, "Linux %.64s refuses perf_event_open: %s",
			    name.release, strerror(-result));
		remedy(check, "%s", refusal_rows[refusal].remedy);
	}
	const bool is_filtered = machine_is_filtered();
	add(checks, "seccomp", is_filtered && result ? CHECK_BAD : CHECK_GOOD,
	    is_filtered ? "a filter is on, as in containers" : "no filter");
}

static void check_paranoid(struct checks *checks)
{
	const long level = permission_level();
	const enum permission lacking = permission_lacking();
	if (lacking == NR_PERMISSIONS) {
		add(checks, "paranoid", CHECK_GOOD, "kernel.perf_event_paranoid = %ld%s", level,
		    machine_may_sample() ? " does not bind this user" : "");
		return;
	}
	const struct permission_row *row = &permission_rows[lacking];
	struct check *check =
		add(checks, "paranoid", lacking == PERMISSION_OWN ? CHECK_BAD : CHECK_NOTE,
		    "kernel.perf_event_paranoid = %ld: %s", level, row->left);
	if (lacking == PERMISSION_OWN)
		remedy(check, "%s, or run it with sudo", row->command);
	else
		remedy(check, "for %s: %s", row->adds, row->command);
}

static void check_capabilities(struct checks *checks)
{
	static const struct {
		const char *name;
		unsigned number;
	} useful[] = {
		{"CAP_PERFMON", CAP_PERFMON},	  {"CAP_SYS_PTRACE", CAP_SYS_PTRACE},
		{"CAP_IPC_LOCK", CAP_IPC_LOCK},	  {"CAP_SYSLOG", CAP_SYSLOG},
		{"CAP_SYS_ADMIN", CAP_SYS_ADMIN},
	};
	char list[128] = "";
	for (size_t i = 0; i < sizeof(useful) / sizeof(useful[0]); i++) {
		size_t used = strlen(list);
		if (machine_has_capability(useful[i].number))
			snprintf(list + used, sizeof(list) - used, "%s%s", used ? ", " : "",
				 useful[i].name);
	}
	struct check *check = add(checks, "capabilities", list[0] ? CHECK_GOOD : CHECK_NOTE, "%s",
				  list[0] ? list : "none: own processes only");
	if (!list[0] && !machine_in_first_user_namespace())
		remedy(check,
		       "root of a user namespace has none over the kernel: run ctop outside of it");
	else if (!list[0])
		remedy(check, "for those of others: sudo make install SETCAP=1");
}

/* ---- limits ---- */

static void check_locked_memory(struct checks *checks)
{
	struct rlimit limit = {0};
	long kib = sysctl("perf_event_mlock_kb", 516);
	getrlimit(RLIMIT_MEMLOCK, &limit);
	if (machine_has_capability(CAP_IPC_LOCK)) {
		add(checks, "locked memory", CHECK_GOOD, "no limit for this user (CAP_IPC_LOCK)");
		return;
	}
	if (limit.rlim_cur == RLIM_INFINITY) {
		add(checks, "locked memory", CHECK_GOOD, "no limit");
		return;
	}
	remedy(add(checks, "locked memory", CHECK_NOTE,
		   "%ld KiB per CPU and %llu KiB more: rings are smaller than 8 MiB", kib,
		   (unsigned long long)limit.rlim_cur / 1024),
	       PERMISSION_RAISE_LOCKED);
}

static void check_descriptors(struct checks *checks)
{
	struct rlimit limit = {0};
	getrlimit(RLIMIT_NOFILE, &limit);
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	/* One an event, thread and CPU. */
	bool is_small = limit.rlim_max < 1024;
	struct check *check = add(checks, "descriptors", is_small ? CHECK_NOTE : CHECK_GOOD,
				  "%llu at most, one for each event, thread and CPU (%ld here)",
				  (unsigned long long)limit.rlim_max, cpus);
	if (is_small)
		remedy(check, "ulimit -n 4096");
}

static void check_rate(struct checks *checks, uint64_t frequency_hz)
{
	/* The kernel's default; it lowers it when sampling takes too long. */
	enum { DEFAULT_RATE = 100000 };
	long most = sysctl("perf_event_max_sample_rate", DEFAULT_RATE);
	bool is_too_low = frequency_hz > (uint64_t)most;
	struct check *check = add(
		checks, "sample rate", is_too_low || most < DEFAULT_RATE ? CHECK_NOTE : CHECK_GOOD,
		"at most %ld per second%s", most,
		most < DEFAULT_RATE ? " (it was lowered: sampling took the kernel too long)" : "");
	if (is_too_low)
		remedy(check, "ask for less with -F, or: sudo sysctl "
			      "kernel.perf_event_max_sample_rate=100000");
}

/* ---- what is there to see ---- */

static bool is_virtual(void)
{
	FILE *file = fopen("/proc/cpuinfo", "re");
	char line[8192];
	bool found = false;
	while (file && !found && fgets(line, sizeof(line), file))
		found = !strncmp(line, "flags", 5) && strstr(line, " hypervisor");
	if (file)
		fclose(file);
	return found;
}

static void check_counters(struct checks *checks)
{
	bool user_only;
	int result = try_event("cycles:u", &user_only);
	if (!result)
		add(checks, "counters", CHECK_GOOD, "the CPU's cycle counter can be sampled");
	else if (result == -EACCES || result == -EPERM)
		add(checks, "counters", CHECK_BAD, "not allowed to this user");
	else
		add(checks, "counters", CHECK_NOTE, "none%s: cpu-clock stands in for cycles",
		    is_virtual() ? " in this virtual machine" : "");
}

static void check_kernel_names(struct checks *checks)
{
	long restricted = sysctl("kptr_restrict", 0);
	const bool hidden = machine_hides_kernel();
	struct check *check = add(checks, "kernel names", hidden ? CHECK_NOTE : CHECK_GOOD,
				  "kernel.kptr_restrict = %ld: the kernel's functions %s",
				  restricted, hidden ? "have no names" : "have names");
	if (hidden)
		remedy(check,
		       restricted > 1 ? "sudo sysctl kernel.kptr_restrict=0" : "run it with sudo");
}

static void check_tracefs(struct checks *checks)
{
	bool user_only;
	struct event event;
	struct error error;
	static const char point[] = "sched:sched_switch";
	int result = event_parse(point, strlen(point), &event, &error);
	if (result == -EACCES || result == -ENODEV) {
		remedy(add(checks, "tracepoints", CHECK_NOTE, "%s", catalog_tracefs_cause(result)),
		       "%s", catalog_tracefs_remedy(result));
		return;
	}
	result = result ? result : catalog_try(&event, &user_only);
	add(checks, "tracepoints", result ? CHECK_NOTE : CHECK_GOOD, "%s",
	    result == -EINVAL || result == -ENOENT ? "this kernel has none of the scheduler's"
	    : result				   ? "they need the kernel's part"
						   : "can be sampled");
}

/* For a child to be started, and jailed. */
enum { HELLO_PATIENCE_MS = 10000 };

/* What ctop's own children, who read untrusted files, are kept in: one of them says it. */
static const char *namespaces_of_children(unsigned walls)
{
	if (!(walls & JAIL_NAMESPACES))
		return geteuid() == 0
			       ? "in ctop's namespaces: those of their own are refused to root here"
			       : "in ctop's namespaces: those of their own are root's";
	return walls & JAIL_EMPTY_ROOT ? "in namespaces of their own with an empty root"
				       : "in namespaces of their own, with ctop's root: an empty "
					 "one is refused here";
}

void checks_of_jail(struct checks *checks)
{
	struct jail_child child;
	char landlock[64] = "no Landlock";
	int result = jail_spawn("uprobe", &child);
	if (!result)
		result = channel_await_hello(child.channel, HELLO_PATIENCE_MS);
	if (result) {
		add(checks, "jail", CHECK_BAD, "ctop's children cannot be started: %s",
		    strerror(-result));
		if (child.pid)
			jail_end(&child);
		return;
	}
	const unsigned walls = channel_hello_word(child.channel);
	jail_end(&child);
	if (walls & JAIL_LANDLOCK)
		snprintf(landlock, sizeof(landlock), "Landlock %u%s", walls / JAIL_LANDLOCK_ABI,
			 walls & JAIL_SCOPES ? "" : " (no scopes)");
	add(checks, "jail", walls & JAIL_FILTER ? CHECK_GOOD : CHECK_NOTE,
	    "ctop's children run as %s, %s, %s, %s",
	    walls & JAIL_OWN_ID ? "users of their own"
	    : geteuid() == 0	? "nobody"
				: "this user, without privileges",
	    walls & JAIL_FILTER ? "behind a seccomp filter"
				: "with no seccomp filter: this kernel has none",
	    landlock, namespaces_of_children(walls));
}

static void check_debug_files(struct checks *checks)
{
	const char *urls = getenv("DEBUGINFOD_URLS");
	bool has_directory = access("/usr/lib/debug/.build-id", R_OK) == 0;
	add(checks, "debug files", CHECK_GOOD, "%s%s",
	    has_directory ? "some in /usr/lib/debug"
			  : "none in /usr/lib/debug: files name themselves",
	    urls && *urls ? "; DEBUGINFOD_URLS is set: ctop asks these servers with --debuginfod"
			  : "");
}

void checks_of_machine(struct checks *checks, uint64_t frequency_hz)
{
	check_kernel(checks);
	check_paranoid(checks);
	check_capabilities(checks);
	check_locked_memory(checks);
	check_descriptors(checks);
	check_rate(checks, frequency_hz);
	check_counters(checks);
	check_kernel_names(checks);
	check_tracefs(checks);
	check_debug_files(checks);
}

/* ---- the target ---- */

/* "mnt, pid": the namespaces that are not ours. -errno when it may not be known. */
static int other_namespaces(int32_t pid, char *list, size_t size)
{
	static const char *const kinds[] = {"mnt", "pid", "user"};
	list[0] = '\0';
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		char theirs[64], ours[64];
		struct stat their_status, our_status;
		size_t used = strlen(list);
		snprintf(theirs, sizeof(theirs), "/proc/%d/ns/%s", pid, kinds[i]);
		snprintf(ours, sizeof(ours), "/proc/self/ns/%s", kinds[i]);
		if (proc_stat(theirs, &their_status) || stat(ours, &our_status))
			return -errno;
		if (their_status.st_ino != our_status.st_ino)
			snprintf(list + used, size - used, "%s%s", used ? ", " : "", kinds[i]);
	}
	return 0;
}

static void find_runtime(void *context, const char *path)
{
	uint32_t *found = context;
	const int runtime = runtime_of_file(path);
	if (runtime >= 0)
		*found |= UINT32_C(1) << runtime;
}

/* Whether a word of its command line is like that. */
static bool was_started_with(int32_t pid, const char *pattern)
{
	char command[4096];
	const size_t size = proc_text(pid, "cmdline", command, sizeof(command));
	for (size_t at = 0; pattern && at < size; at += strlen(command + at) + 1)
		if (!fnmatch(pattern, command + at, 0))
			return true;
	return false;
}

/* What its functions need for names and callers, as far as it was not started with that. */
static void check_runtimes(struct checks *checks, int32_t pid)
{
	uint32_t found = 0;
	if (probe_target_each(pid, find_runtime, &found))
		return;
	for (int i = 0; i < NR_RUNTIMES; i++) {
		const struct runtime *runtime = &runtimes[i];
		if (!(found >> i & 1))
			continue;
		const bool names = !was_started_with(pid, runtime->names_word);
		const bool stacks = runtime->stacks && !was_started_with(pid, runtime->stacks_word);
		struct text text = {0};
		if (names)
			runtime_add_names_remedy(runtime, pid, &text);
		text_add(&text, names && stacks ? "; for callers, " : "");
		if (stacks)
			runtime_add_stacks_remedy(runtime, &text);
		struct check *check =
			add(checks, "runtime", names || stacks ? CHECK_NOTE : CHECK_GOOD,
			    "%d runs on %s%s", pid, runtime->name,
			    names || stacks ? ": its functions need this for names" : "");
		remedy(check, "%s", text_string(&text));
		text_release(&text);
	}
}

void checks_of_target(struct checks *checks, int32_t pid)
{
	char path[64], status[4096], namespaces[64];
	unsigned uid = 0, effective_uid = 0;
	struct stat owner;
	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	if (!read_text(path, status, sizeof(status)) || proc_stat(path, &owner)) {
		add(checks, "target", CHECK_BAD, "there is no process %d", pid);
		return;
	}
	const char *line = strstr(status, "\nUid:");
	if (!line || sscanf(line, " Uid: %u %u", &uid, &effective_uid) != 2)
		return;
	line = strstr(status, "\nThreads:");
	long threads = line ? strtol(line + strlen("\nThreads:"), NULL, 10) : 1;
	/* The files of a process that is closed to others are root's, proc_pid(5). */
	bool is_closed = owner.st_uid != effective_uid;
	bool is_theirs = uid != geteuid() || effective_uid != uid;
	bool may = machine_has_capability(CAP_SYS_PTRACE) || machine_may_sample() ||
		   (!is_theirs && !is_closed);
	int hidden = other_namespaces(pid, namespaces, sizeof(namespaces));
	struct check *check =
		add(checks, "target", may ? CHECK_GOOD : CHECK_BAD,
		    "%d: of uid %u%s%s, %ld thread%s, %s%s", pid, uid,
		    is_theirs && uid == geteuid() ? ", setuid" : "",
		    is_closed ? ", not dumpable" : "", threads, threads == 1 ? "" : "s",
		    hidden	    ? "namespaces hidden"
		    : namespaces[0] ? "in other namespaces: "
				    : "in our namespaces",
		    hidden ? "" : namespaces);
	if (!may)
		remedy(check, "%s",
		       refusal_rows[is_theirs ? SAMPLER_REFUSED_OTHERS : SAMPLER_REFUSED_CLOSED]
			       .remedy);
	check_runtimes(checks, pid);
}
