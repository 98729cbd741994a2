/* SPDX-License-Identifier: MIT */
#include <ctop/diagnose/refusal.h>

#include <inttypes.h>
#include <linux/limits.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <ctop/diagnose/doctor_checks.h>
#include <ctop/perf/machine.h>
#include <ctop/perf/permission.h>
#include <ctop/system/proc_text.h>

/* What the fixes depend on. */
struct facts_of_refusal {
	char program[PATH_MAX]; /* this very file; "" when it is not known */
	char again
		[448]; /* the command line, as typed but for the program; "" when it is not known */
	int32_t only_pid; /* the one process that was named; 0 */
	bool knows_owner;
	uid_t uid, effective_uid;
	bool no_new_privileges; /* sudo and file capabilities give none */
};

/* ---- the command line ---- */

bool refusal_add_word(char *quoted, size_t size, const char *word)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
				    "_-+=:,./@%";
	size_t used = strlen(quoted), at = used;
	bool is_plain = *word && !word[strspn(word, plain)];
	char text[512];
	size_t nr = 0;
	for (const char *from = word; *from; from++) {
		const char *as = *from == '\'' && !is_plain ? "'\\''" : NULL;
		int added = as ? snprintf(&text[nr], sizeof(text) - nr, "%s", as)
			       : snprintf(&text[nr], sizeof(text) - nr, "%c", *from);
		nr += added > 0 ? (size_t)added : 0;
		if (nr >= sizeof(text))
			return false;
	}
	text[nr] = '\0';
	int added = snprintf(&quoted[at], size - at, "%s%s%s%s", used ? " " : "",
			     is_plain ? "" : "'", text, is_plain ? "" : "'");
	if (added > 0 && (size_t)added < size - at)
		return true;
	quoted[used] = '\0';
	return false;
}

static void read_program(struct facts_of_refusal *facts, const char *typed)
{
	static const char gone[] = " (deleted)";
	ssize_t size = readlink("/proc/self/exe", facts->program, sizeof(facts->program) - 1);
	facts->program[size > 0 ? size : 0] = '\0';
	size_t length = strlen(facts->program);
	bool is_gone =
		length > strlen(gone) && !strcmp(facts->program + length - strlen(gone), gone);
	if (!length || is_gone)
		snprintf(facts->program, sizeof(facts->program), "%s", typed);
}

/* A command line of binary rubbish, or one that is too long to be copied, is left out. */
static void read_command_line(struct facts_of_refusal *facts)
{
	char line[2048];
	size_t size = proc_text((int32_t)getpid(), "cmdline", line, sizeof(line));
	bool fits = size > 0 && size + 1 < sizeof(line);
	read_program(facts, size ? line : "ctop");
	fits = fits && refusal_add_word(facts->again, sizeof(facts->again), facts->program);
	for (size_t at = strlen(line) + 1; fits && at < size; at += strlen(&line[at]) + 1)
		fits = refusal_add_word(facts->again, sizeof(facts->again), &line[at]);
	/* Chosen in the picker. */
	if (fits && facts->only_pid && size <= strlen(line) + 1) {
		char pid[16];
		snprintf(pid, sizeof(pid), "%d", facts->only_pid);
		fits = refusal_add_word(facts->again, sizeof(facts->again), "-p") &&
		       refusal_add_word(facts->again, sizeof(facts->again), pid);
	}
	if (!fits)
		facts->again[0] = '\0';
}

/* ---- the target ---- */

static void read_owner(struct facts_of_refusal *facts)
{
	char status[4096];
	proc_text(facts->only_pid, "status", status, sizeof(status));
	const char *line = strstr(status, "\nUid:");
	facts->knows_owner =
		line && sscanf(line, "\nUid: %u %u", &facts->uid, &facts->effective_uid) == 2;
}

static void describe_owner(const struct facts_of_refusal *facts, char *text, size_t size)
{
	const struct passwd *user = getpwuid(facts->uid);
	if (user)
		snprintf(text, size, ", of %.40s%s", user->pw_name,
			 facts->uid == geteuid() ? " = you" : "");
	else
		snprintf(text, size, ", of uid %u%s", facts->uid,
			 facts->uid == geteuid() ? " = you" : "");
}

static void describe_target(const struct facts_of_refusal *facts, const struct options *options,
			    struct refusal *refusal)
{
	char *title = refusal->title;
	size_t size = sizeof(refusal->title);
	if (facts->only_pid) {
		char name[64], owner[80] = "";
		proc_line(facts->only_pid, "comm", name, sizeof(name));
		if (facts->knows_owner)
			describe_owner(facts, owner, sizeof(owner));
		snprintf(title, size, "ctop cannot sample process %d (%s%s)", facts->only_pid, name,
			 owner);
	} else if (options->argv) {
		snprintf(title, size, "ctop cannot sample the command %.200s", options->argv[0]);
	} else if (options->cgroup) {
		snprintf(title, size, "ctop cannot sample the cgroup %.200s", options->cgroup);
	} else if (options->system_wide) {
		snprintf(title, size, "ctop cannot sample whole CPUs");
	} else if (options->process_name) {
		snprintf(title, size, "ctop cannot sample %.200s", options->process_name);
	} else {
		snprintf(title, size, "ctop cannot sample the %s that were named",
			 options->tids.nr ? "threads" : "processes");
	}
}

/* ---- fixes ---- */

static struct refusal_fix *new_fix(struct refusal *refusal)
{
	size_t at =
		refusal->nr_fixes < REFUSAL_FIXES_MAX ? refusal->nr_fixes++ : REFUSAL_FIXES_MAX - 1;
	refusal->fixes[at] = (struct refusal_fix){.command = ""};
	return &refusal->fixes[at];
}

/* Something to do that is no one command. */
static void add_advice(struct refusal *refusal, const char *what)
{
	snprintf(new_fix(refusal)->reach, sizeof(refusal->fixes[0].reach), "%s", what);
}

static void add_capabilities(const struct facts_of_refusal *facts, struct refusal *refusal)
{
	char program[440] = "";
	if (!refusal_add_word(program, sizeof(program), facts->program))
		return;
	struct refusal_fix *fix = new_fix(refusal);
	/* The Makefile's, as SETCAP=1 installs it. */
	snprintf(fix->command, sizeof(fix->command),
		 "sudo setcap cap_perfmon,cap_sys_ptrace,cap_syslog,cap_ipc_lock=p %s", program);
	snprintf(fix->reach, sizeof(fix->reach),
		 "this binary only, after chown root:GROUP and chmod 0710: nobody reads it");
}

static void add_root(const struct facts_of_refusal *facts, struct refusal *refusal)
{
	struct refusal_fix *fix = new_fix(refusal);
	if (facts->again[0])
		snprintf(fix->command, sizeof(fix->command), "sudo %s", facts->again);
	snprintf(fix->reach, sizeof(fix->reach),
		 facts->again[0] ? "this run only" : "run it with sudo: this run only");
}

static void add_owner(const struct facts_of_refusal *facts, struct refusal *refusal)
{
	if (!facts->knows_owner || !facts->uid || !facts->again[0])
		return;
	struct refusal_fix *fix = new_fix(refusal);
	snprintf(fix->command, sizeof(fix->command), "sudo -u '#%u' %s", facts->uid, facts->again);
	snprintf(fix->reach, sizeof(fix->reach), "this run only, as the process's own user");
}

static void add_level(struct refusal *refusal, enum permission permission)
{
	const struct permission_row *row = &permission_rows[permission];
	struct refusal_fix *fix = new_fix(refusal);
	snprintf(fix->command, sizeof(fix->command), "%s", row->command);
	snprintf(fix->reach, sizeof(fix->reach), "all users, until reboot: %s", row->gives);
}

/* What lifts the level for this target: nothing below does for somebody else's process. */
static void add_level_for(const struct facts_of_refusal *facts, const struct options *options,
			  struct refusal *refusal)
{
	bool is_own = !facts->knows_owner ||
		      (facts->uid == geteuid() && facts->effective_uid == geteuid());
	if (options->system_wide || options->cgroup)
		add_level(refusal, PERMISSION_CPUS);
	else if (is_own)
		add_level(refusal, PERMISSION_OWN);
}

static void add_log(struct refusal *refusal)
{
	struct refusal_fix *fix = new_fix(refusal);
	snprintf(fix->command, sizeof(fix->command), "sudo journalctl -k");
	snprintf(fix->reach, sizeof(fix->reach),
		 "changes nothing: the log names the module and its rule");
}

static void add_way(const struct facts_of_refusal *facts, const struct options *options,
		    enum sampler_refusal kind, enum way way, struct refusal *refusal)
{
	switch (way) {
	case WAY_PROFILE:
		add_advice(refusal, "restart the container: docker run --security-opt "
				    "seccomp=FILE --cap-add PERFMON, with perf_event_open in FILE");
		break;
	case WAY_LOG:
		add_log(refusal);
		break;
	case WAY_LEAVE:
		add_advice(refusal, refusal_rows[SAMPLER_REFUSED_CONTAINER].remedy);
		break;
	case WAY_OWNER:
		add_owner(facts, refusal);
		break;
	case WAY_CAPABILITIES:
		add_capabilities(facts, refusal);
		break;
	case WAY_ROOT:
		add_root(facts, refusal);
		break;
	case WAY_LEVEL:
		if (kind == SAMPLER_REFUSED_ALL)
			add_level_for(facts, options, refusal);
		else
			add_level(refusal, refusal_rows[kind].lacks);
		break;
	case NR_WAYS:
		break;
	}
}

static void add_fixes(const struct facts_of_refusal *facts, const struct options *options,
		      enum sampler_refusal kind, struct refusal *refusal)
{
	const unsigned privileged = 1u << WAY_OWNER | 1u << WAY_CAPABILITIES | 1u << WAY_ROOT;
	unsigned ways = refusal_rows[kind].ways;
	/* Whoever has no rights outside gains none inside. */
	if (!machine_in_first_user_namespace())
		ways = (ways & 1u << WAY_PROFILE) | 1u << WAY_LEAVE;
	if (ways & privileged && facts->no_new_privileges) {
		add_advice(refusal, "nothing gains privileges here (no_new_privs): run it with "
				    "sudo in another shell");
		ways &= ~privileged;
	}
	for (enum way way = 0; way < NR_WAYS; way++)
		if (ways & 1u << way)
			add_way(facts, options, kind, way, refusal);
}

/* ---- what it is not ---- */

/* The checks of ctop doctor that found nothing, of what could have been the cause. */
static void add_others(const struct options *options, int32_t pid, struct refusal *refusal)
{
	static const char *const asked[] = {"seccomp", "paranoid", "locked memory", "descriptors",
					    "target"};
	struct checks checks = {.nr = 0};
	size_t used = 0;
	checks_of_machine(&checks, options->count ? 0 : options->frequency_hz);
	if (pid)
		checks_of_target(&checks, pid);
	for (size_t i = 0; i < checks.nr; i++) {
		const struct check *check = &checks.items[i];
		bool is_asked = false;
		for (size_t k = 0; k < sizeof(asked) / sizeof(*asked); k++)
			is_asked |= !strcmp(check->name, asked[k]);
		if (!is_asked || check->state != CHECK_GOOD)
			continue;
		int added = snprintf(refusal->others + used, sizeof(refusal->others) - used,
				     "%s%s ok", used ? ", " : "", check->name);
		used += added > 0 && (size_t)added < sizeof(refusal->others) - used ? (size_t)added
										    : 0;
	}
}

void refusal_describe(const struct options *options, const struct error *error,
		      struct refusal *refusal)
{
	struct facts_of_refusal facts = {
		.only_pid = options->pids.nr == 1 ? options->pids.items[0] : 0,
		.no_new_privileges = prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1,
	};
	*refusal = (struct refusal){.nr_fixes = 0};
	snprintf(refusal->cause, sizeof(refusal->cause), "%s", error->cause);
	snprintf(refusal->tried, sizeof(refusal->tried), "%s", error->tried);
	read_command_line(&facts);
	if (facts.only_pid)
		read_owner(&facts);
	describe_target(&facts, options, refusal);
	add_fixes(&facts, options, (enum sampler_refusal)error->refusal, refusal);
	add_others(options, facts.only_pid, refusal);
}
