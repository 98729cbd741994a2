/* SPDX-License-Identifier: MIT */
#include "broker_internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <ctop/base/clock.h>
#include <ctop/base/hash.h>
#include <ctop/base/text.h>
#include <ctop/base/vec.h>

struct broker *broker_new(void)
{
	struct broker *broker = calloc(1, sizeof(*broker));
	if (!broker)
		return NULL;
	broker->cgroup_fd = -1;
	broker->opened_ns = clock_now_ns();
	broker->opener = opener_new();
	broker->prober = prober_new();
	broker->mapped = mapped_files_new();
	if (broker->opener && broker->prober && broker->mapped)
		return broker;
	broker_free(broker);
	return NULL;
}

void broker_free(struct broker *broker)
{
	if (!broker)
		return;
	jobs_free(broker);
	ahead_free(broker);
	forget_asked(broker, BROKER_COLLECTOR | BROKER_SYMBOLIZER);
	opener_free(broker->opener);
	opener_free(broker->kernel_names.opener);
	prober_free(broker->prober);
	fetcher_free(broker->fetcher);
	mapped_files_free(broker->mapped);
	kept_free(broker);
	for (size_t i = 0; i < broker->unreadable.nr; i++)
		free(broker->unreadable.items[i]);
	free(broker->unreadable.items);
	free(broker->gone.items);
	index_release(&broker->gone.by_hash);
	free(broker);
}

void broker_serve_recorded(struct broker *broker, int64_t written_ns)
{
	broker->recorded = true;
	broker->written_ns = written_ns;
}

void broker_use_vmlinux(struct broker *broker, const char *path)
{
	broker->vmlinux = path;
}

int broker_use_debuginfod(struct broker *broker, const char *urls)
{
	broker->fetcher = fetcher_new(urls);
	return broker->fetcher ? 0 : -ENOMEM;
}

int broker_use_cache(struct broker *broker)
{
	broker->kernel_names.opener = opener_new();
	return broker->kernel_names.opener ? 0 : -ENOMEM;
}

enum kernel_names_from broker_kernel_names(const struct broker *broker)
{
	return broker->kernel_names.from;
}

bool broker_is_fetching(const struct broker *broker, struct text *out)
{
	if (!broker->fetcher || fetcher_fd(broker->fetcher) < 0)
		return false;
	if (out)
		fetcher_tell(broker->fetcher, out);
	return true;
}

struct mapped_files *broker_mapped_files(struct broker *broker)
{
	return broker->mapped;
}

void broker_take_cgroup(struct broker *broker, int cgroup_fd)
{
	broker->cgroup_fd = cgroup_fd;
}

/* ---- the loop's ---- */

size_t broker_poll(const struct broker *broker, struct pollfd *fds)
{
	const struct opener *names = broker->kernel_names.opener;
	const int awaited[BROKER_POLL_MAX] = {opener_fd(broker->opener), prober_fd(broker->prober),
					      broker->fetcher ? fetcher_fd(broker->fetcher) : -1,
					      names ? opener_fd(names) : -1};
	size_t nr = 0;
	for (size_t i = 0; i < BROKER_POLL_MAX; i++)
		if (awaited[i] >= 0)
			fds[nr++] = (struct pollfd){.fd = awaited[i], .events = POLLIN};
	return nr;
}

int broker_timeout_ms(const struct broker *broker)
{
	const struct opener *names = broker->kernel_names.opener;
	const int all[] = {opener_timeout_ms(broker->opener), prober_timeout_ms(broker->prober),
			   broker->fetcher ? fetcher_timeout_ms(broker->fetcher) : -1,
			   names ? opener_timeout_ms(names) : -1};
	int soonest = -1;
	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		if (all[i] >= 0 && (soonest < 0 || all[i] < soonest))
			soonest = all[i];
	return soonest;
}

void broker_serve(struct broker *broker)
{
	opener_serve(broker->opener);
	prober_serve(broker->prober);
	if (broker->fetcher)
		fetcher_serve(broker->fetcher);
	if (broker->kernel_names.opener)
		opener_serve(broker->kernel_names.opener);
}

int32_t broker_opener_pid(const struct broker *broker)
{
	return opener_pid(broker->opener);
}

int32_t broker_names_opener_pid(const struct broker *broker)
{
	return broker->kernel_names.opener ? opener_pid(broker->kernel_names.opener) : 0;
}

/* ---- what is reported ---- */

/* Reported of the first one only: a map that its maker got wrong is asked for again and again. */
void note_refused_map(struct broker *broker, int32_t pid, int code)
{
	if (code == -ENOENT || broker->notice[0])
		return;
	const char *why = code == -EPERM		      ? "it is not the process's own file"
			  : code == -EFBIG		      ? "it is too large"
			  : code == -EINVAL || code == -ELOOP ? "it is not a regular file"
			  : code == -EUCLEAN		      ? "it could not be read"
							      : strerror(-code);
	snprintf(broker->notice, sizeof(broker->notice),
		 "the perf map of process %d is not used: %s", pid, why);
}

void note_refused_code(struct broker *broker, int32_t pid, int code)
{
	if (broker->notice[0])
		return;
	snprintf(broker->notice, sizeof(broker->notice),
		 "code that process %d has made cannot be read: stacks through it may end early "
		 "(%s)",
		 pid,
		 code == -ETIMEDOUT
			 ? "the process lets who reads it wait"
			 : "kernel.yama.ptrace_scope, or another user's: run ctop as root");
}

static void add_absent(struct text *text, const struct absent *absent, const char *why)
{
	if (!absent->nr)
		return;
	text_addf(text, "%s%zu module%s %s (", text->size ? "; " : "", absent->nr,
		  absent->nr == 1 ? "" : "s", why);
	text_add_safe(text, absent->first);
	text_add(text, absent->nr > 1 ? ", ...)" : ")");
}

/* What is said of a file's modules, in one line. */
static void tell_recorded(struct broker *broker)
{
	struct text text = {0};
	add_absent(&text, &broker->others,
		   "without names: what is here is not proved to be what was recorded");
	add_absent(&text, &broker->missing, "without names: not here");
	add_absent(&text, &broker->hidden,
		   "without names: kernel.kptr_restrict hides the kernel's addresses");
	add_absent(&text, &broker->debug_only,
		   "with names, but without code: only the debug file is here");
	if (broker->maps_used.nr)
		text_addf(&text,
			  "%sgenerated code has names by /tmp/perf-%d.map%s, written in that "
			  "process's time",
			  text.size ? "; " : "", broker->maps_used.pid,
			  broker->maps_used.nr > 1 ? " and others" : "");
	snprintf(broker->notice, sizeof(broker->notice), "%s", text_string(&text));
	text_release(&text);
}

/* Each module of a file once, whoever asks for it. */
void note_absent(struct broker *broker, const struct module_copy *copy, int code)
{
	struct mapped_file ignored;
	bool named;
	const struct file_key key = key_of(broker, copy, &ignored, &named);
	struct kept_file *file = find_kept(broker, &key);
	if (!file)
		file = keep(broker, &key, -1);
	if (!file || file->is_told || code == -EUCLEAN || copy->row.kind == MODULE_ANON)
		return;
	file->is_told = true;
	struct absent *absent = code >= 0	  ? &broker->debug_only
				: code == -ENOENT ? &broker->missing
				: code == -EPERM && copy->row.kind != MODULE_FILE ? &broker->hidden
										  : &broker->others;
	if (!absent->nr++)
		snprintf(absent->first, sizeof(absent->first), "%.127s", copy->path);
	tell_recorded(broker);
}

void note_map_used(struct broker *broker, int32_t pid)
{
	if (broker->maps_used.nr && broker->maps_used.pid == pid)
		return; /* it is asked for again as long as there are nameless frames */
	if (!broker->maps_used.nr++)
		broker->maps_used.pid = pid;
	tell_recorded(broker);
}

const char *broker_notice(const struct broker *broker)
{
	return broker->notice;
}

/* Takes the text over. Out of memory only means that it is not reported. */
static void add_unreadable(struct broker *broker, struct text *text)
{
	enum { UNREADABLE_MAX = 1024 };
	char *copy = text->failed || broker->unreadable.nr >= UNREADABLE_MAX
			     ? NULL
			     : strdup(text_string(text));
	if (copy && !vec_reserve(&broker->unreadable, broker->unreadable.nr + 1))
		broker->unreadable.items[broker->unreadable.nr++] = copy;
	else
		free(copy);
	text_release(text);
}

static void note_unreadable(struct broker *broker, enum broker_reader reader, const char *path)
{
	struct text text = {0};
	text_addf(&text, "%s (%s)", path, reader == BROKER_COLLECTOR ? "stacks" : "names");
	add_unreadable(broker, &text);
}

/*
 * Whether a path is reported for the first time: both readers ask for a file, and again in each epoch. Paths are known by their
 * hashes, whose key nobody else knows. Beyond a number of them, or without memory, none is new.
 */
static bool is_newly_gone(struct broker *broker, const char *path)
{
	enum { PATHS_MAX = 65536 };
	const uint64_t hash = hash_bytes(path, strlen(path));
	struct index_probe probe = index_find(&broker->gone.by_hash, hash);
	uint32_t row;
	while (index_next(&broker->gone.by_hash, &probe, &row))
		if (broker->gone.items[row] == hash)
			return false;
	if (broker->gone.nr >= PATHS_MAX || vec_reserve(&broker->gone, broker->gone.nr + 1) ||
	    index_reserve(&broker->gone.by_hash))
		return false;
	index_add(&broker->gone.by_hash, hash, (uint32_t)broker->gone.nr);
	broker->gone.items[broker->gone.nr++] = hash;
	return true;
}

/* One line for all that there is no room for. */
static void count_gone(struct broker *broker)
{
	struct text text = {0};
	size_t at = broker->unreadable.more_at;
	text_addf(&text, "and %zu more (stacks and names: gone before they could be opened)",
		  ++broker->unreadable.nr_more);
	if (broker->unreadable.nr_more == 1) {
		broker->unreadable.more_at = broker->unreadable.nr;
		add_unreadable(broker, &text);
		return;
	}
	char *copy = text.failed ? NULL : strdup(text_string(&text));
	if (copy && at < broker->unreadable.nr) {
		free(broker->unreadable.items[at]);
		broker->unreadable.items[at] = copy;
	} else {
		free(copy);
	}
	text_release(&text);
}

void note_gone(struct broker *broker, const char *path, int code)
{
	enum { GONE_MAX = 16 };
	struct text text = {0};
	if (!is_newly_gone(broker, path))
		return;
	if (broker->gone.nr > GONE_MAX) {
		count_gone(broker);
		return;
	}
	text_addf(&text, "%s (stacks and names: %s)", path,
		  code == -ENOENT || code == -ESTALE || code == -ESRCH
			  ? "gone before it could be opened"
			  : strerror(-code));
	add_unreadable(broker, &text);
}

void note_refused_debug(struct broker *broker, const char *module, const char *name,
			const char *why)
{
	struct text text = {0};
	text_addf(&text, "%s (names: the debug file %s %s)", module, name, why);
	add_unreadable(broker, &text);
}

void note_split(struct broker *broker, const char *module, const char *name, const char *why)
{
	struct text text = {0};
	text_addf(&text, "%s (inlined functions: the file %s %s, and no package %s.dwp has them)",
		  module, name, why, module);
	add_unreadable(broker, &text);
}

void broker_set_unreadable(struct broker *broker, enum broker_reader reader,
			   const struct tables *tables, uint32_t module)
{
	struct module_copy copy;
	if (!copy_module(tables, module, &copy))
		return;
	struct mapped_file ignored;
	bool named;
	const struct file_key key = key_of(broker, &copy, &ignored, &named);
	struct kept_file *file = find_kept(broker, &key);
	if (!file)
		file = keep(broker, &key, -1);
	if (!file || file->refused & reader)
		return;
	file->refused |= reader;
	if (copy.row.kind == MODULE_ANON)
		note_refused_map(broker, copy.row.pid, -EUCLEAN);
	else
		note_unreadable(broker, reader, copy.path);
}

const char *const *broker_unreadable(const struct broker *broker, size_t *nr)
{
	*nr = broker->unreadable.nr;
	return (const char *const *)broker->unreadable.items;
}
