/* SPDX-License-Identifier: MIT */
#include <ctop/cli/commands.h>

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <ctop/base/text.h>
#include <ctop/diagnose/doctor_checks.h>
#include <ctop/output/save.h>
#include <ctop/session/disk.h>
#include <ctop/session/run.h>
#include <ctop/session/session.h>
#include <ctop/session/session_setup.h>
#include <ctop/session/target.h>
#include <ctop/session/worker.h>

/* What profiling would be like: found out by beginning it as ctop record does. */
struct trial {
	struct session *session; /* NULL: it did not begin */
	struct error error;
};

/* ---- trying ---- */

static int begin_no_epoch(void *context, const struct tables *tables, const struct symbols *symbols)
{
	(void)context;
	(void)tables;
	(void)symbols;
	return 0;
}

static int take_no_samples(void *context, const struct sample *samples, size_t nr)
{
	(void)context;
	(void)samples;
	(void)nr;
	return 0;
}

/* The process that would write the recording needs descriptors, too. */
static int try_writer(struct error *error)
{
	struct disk disk;
	int pipe_fd = -1;
	int fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return error_set(error, -errno, "cannot open '/dev/null': %s", strerror(errno));
	disk_init(&disk);
	int result = disk_start(&disk, fd, &pipe_fd);
	if (!result)
		close(pipe_fd);
	if (!result)
		result = disk_wait(&disk, -1);
	disk_release(&disk);
	return result ? worker_not_started(result, error) : 0;
}

/* Opens everything, lets nothing run. */
static void try_profile(struct trial *trial, const struct options *options)
{
	char word[] = "true";
	char *const command[] = {word, NULL};
	static const struct session_consumer consumer = {NULL, begin_no_epoch, take_no_samples};
	struct options tried = *options;
	/* It is held before its first instruction, and ends there. */
	if (!options_have_target(options))
		tried.argv = command;
	trial->session = session_open_live(&tried, false, &consumer, &trial->error);
	if (trial->session && try_writer(&trial->error)) {
		session_free(trial->session);
		trial->session = NULL;
	}
}

/* ---- checks ---- */

static void check_targets(struct checks *checks, const struct options *options)
{
	for (size_t i = 0; i < options->pids.nr; i++)
		checks_of_target(checks, options->pids.items[i]);
	for (size_t i = 0; i < options->tids.nr; i++)
		checks_of_target(checks, options->tids.items[i]);
	if (!options->process_name)
		return;
	struct target target;
	struct error error;
	if (!target_open(&target, options, &error))
		for (size_t i = 0; i < target.pids.nr; i++)
			checks_of_target(checks, target.pids.items[i]);
	target_release(&target);
}

static const char *state_name(enum check_state state)
{
	static const char *const names[] = {
		[CHECK_GOOD] = "ok", [CHECK_NOTE] = "note", [CHECK_BAD] = "bad"};
	return names[state];
}

/* ---- text ---- */

static void add_checks(struct text *out, const struct checks *checks)
{
	for (size_t i = 0; i < checks->nr; i++) {
		const struct check *check = &checks->items[i];
		text_addf(out, "%-5s %-14s ", state_name(check->state), check->name);
		text_add_safe(out, check->finding);
		text_add(out, "\n");
		if (check->remedy[0])
			text_addf(out, "%-20s   %s\n", "", check->remedy);
	}
}

static void add_trial(struct text *out, const struct trial *trial, size_t nr_events)
{
	if (!trial->session) {
		text_add(out, "\nprofiling would fail: ");
		text_add_safe(out, trial->error.cause);
		text_add(out, "\n  ");
		text_add_safe(out, trial->error.remedy);
		text_add(out, "\n");
		return;
	}
	const struct sampler *sampler = session_sampler(trial->session);
	text_add(out, "\nprofiling works:");
	for (size_t i = 0; i < nr_events; i++) {
		text_add(out, i ? ", " : " ");
		text_add_safe(out, sampler_opened(sampler, i)->name);
	}
	text_addf(out, "%s, rings of %u pages per CPU",
		  sampler_user_only(sampler) ? " in user code" : "", sampler_ring_pages(sampler));
	if (sampler_dump_bytes(sampler))
		text_addf(out, ", stack copies of %u bytes", sampler_dump_bytes(sampler));
	text_add(out, "\n");
	for (size_t i = 0; i < session_nr_fallbacks(trial->session); i++) {
		text_add(out, "  ");
		text_add_safe(out, session_fallback(trial->session, i));
		text_add(out, "\n");
	}
}

/* ---- JSON ---- */

static void json_field(struct text *out, const char *separator, const char *name, const char *value)
{
	text_addf(out, "%s\"%s\": ", separator, name);
	text_add_json(out, value);
}

static void json_checks(struct text *out, const struct checks *checks)
{
	text_add(out, " \"checks\": [");
	for (size_t i = 0; i < checks->nr; i++) {
		const struct check *check = &checks->items[i];
		json_field(out, i ? ",\n  {" : "\n  {", "name", check->name);
		json_field(out, ", ", "state", state_name(check->state));
		json_field(out, ", ", "finding", check->finding);
		json_field(out, ", ", "remedy", check->remedy);
		text_add(out, "}");
	}
	text_add(out, "\n ]");
}

static void json_trial(struct text *out, const struct trial *trial, size_t nr_events)
{
	if (!trial->session) {
		json_field(out, ",\n ", "cause", trial->error.cause);
		json_field(out, ",\n ", "remedy", trial->error.remedy);
		return;
	}
	const struct sampler *sampler = session_sampler(trial->session);
	text_add(out, ",\n \"events\": [");
	for (size_t i = 0; i < nr_events; i++) {
		text_add(out, i ? ", " : "");
		text_add_json(out, sampler_opened(sampler, i)->name);
	}
	text_addf(out, "],\n \"user_only\": %s,\n \"ring_pages\": %u,\n \"dump_bytes\": %u,\n",
		  sampler_user_only(sampler) ? "true" : "false", sampler_ring_pages(sampler),
		  sampler_dump_bytes(sampler));
	text_add(out, " \"steps_down\": [");
	for (size_t i = 0; i < session_nr_fallbacks(trial->session); i++) {
		text_add(out, i ? ", " : "");
		text_add_json(out, session_fallback(trial->session, i));
	}
	text_add(out, "]");
}

/* ---- the command ---- */

static int print(const struct checks *checks, const struct trial *trial,
		 const struct options *options, int signal_fd, struct error *error)
{
	struct text out = {0};
	size_t nr_events = options->nr_events ? options->nr_events : 1;
	if (options->json) {
		text_addf(&out, "{\"works\": %s,\n", trial->session ? "true" : "false");
		json_checks(&out, checks);
		json_trial(&out, trial, nr_events);
		text_add(&out, "}\n");
	} else {
		add_checks(&out, checks);
		add_trial(&out, trial, nr_events);
	}
	int result = out.failed ? error_set(error, -ENOMEM, "out of memory")
				: save_text(NULL, NULL, &out, signal_fd, error);
	text_release(&out);
	return result ? result : !trial->session;
}

int command_doctor(const struct options *options, struct error *error)
{
	struct checks checks = {.nr = 0};
	struct trial trial = {.session = NULL};
	int signal_fd;
	/* As record does. */
	int result = run_block_signals(&signal_fd);
	if (result)
		return error_set(error, result, "cannot watch signals: %s", strerror(-result));
	uint64_t frequency_hz =
		options->frequency_hz ? options->frequency_hz : DEFAULT_FREQUENCY_HZ;
	/* Before main closes itself to others, and to questions about itself. */
	checks_of_machine(&checks, options->count ? 0 : frequency_hz);
	checks_of_jail(&checks);
	check_targets(&checks, options);
	try_profile(&trial, options);
	result = print(&checks, &trial, options, signal_fd, error);
	session_free(trial.session);
	close(signal_fd);
	return result;
}
