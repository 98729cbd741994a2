/* SPDX-License-Identifier: MIT */
/* The file of a module: named by the kernel, or, of a recording, proved by its build-id. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include <ctop/base/privilege.h>
#include <ctop/files/locate.h>

#include "broker_internal.h"

static struct locate_request claim_of(const struct job *job)
{
	const struct module_row *row = &job->copy.row;
	return (struct locate_request){
		.pid = job->broker->recorded ? 0 : row->pid,
		/* Ours, and no file that a row calls so. */
		.path = row->kind == MODULE_VDSO ? "[vdso]" : job->copy.path,
		.start = row->start,
		.end = row->end,
		.file_offset = row->file_offset,
		.device_major = row->identity.device_major,
		.device_minor = row->identity.device_minor,
		.inode = row->identity.inode,
		.generation = row->identity.generation,
		.build_id = row->identity.build_id,
		.build_id_size = row->identity.build_id_size,
	};
}

/* Of what the child claims nothing is left but the build-id, which the file itself must prove to have. */
static struct locate_request named_of(const struct job *job)
{
	struct locate_request request = claim_of(job);
	request.pid = job->named.pid;
	request.start = job->named.start;
	request.end = job->named.end;
	request.file_offset = job->named.file_offset;
	request.device_major = job->named.device_major;
	request.device_minor = job->named.device_minor;
	request.inode = job->named.inode;
	request.generation = job->named.generation;
	return request;
}

/* The one that all get from now on; takes fd over. */
static void give(struct job *job, int fd)
{
	struct broker *broker = job->broker;
	struct kept_file *file = find_kept(broker, &job->key);
	if (file && file->fd >= 0) { /* asked for twice at a time */
		close(fd);
		job->identity = file->identity;
		job_answer(job, file->fd);
		return;
	}
	file = keep(broker, &job->key, fd);
	if (file)
		file->identity = job->identity;
	job_answer(job, fd);
	if (!file)
		close(fd);
}

static void refuse(struct job *job, int error)
{
	if (job->broker->recorded)
		note_absent(job->broker, &job->copy, error);
	else if (job->copy.row.kind == MODULE_FILE)
		note_gone(job->broker, job->copy.path, error);
	job_answer(job, error);
}

static bool has_build_id(const struct prober_answer *answer, const uint8_t *build_id, size_t size)
{
	return !answer->error && size && answer->build_id_size == size &&
	       memcmp(answer->build_id, build_id, size) == 0;
}

/* What came by name is given if it is what the row says, else job->unproved() goes on. */
static void take_proof(void *context, const struct prober_answer *answer)
{
	struct job *job = context;
	int fd = job->fd;
	job->fd = -1;
	if (has_build_id(answer, job->copy.row.identity.build_id,
			 job->copy.row.identity.build_id_size)) {
		if (job->looking_for != OPENER_MODULE && job->looking_for != OPENER_RECORDED_MODULE)
			note_absent(job->broker, &job->copy, 0);
		give(job, fd);
		return;
	}
	close(fd);
	job->unproved(job);
}

static void prove(struct job *job, int fd, void (*unproved)(struct job *job))
{
	job->fd = fd;
	job->unproved = unproved;
	job_prove(job, fd, false, take_proof);
}

/* ---- live ---- */

static void stale(struct job *job)
{
	refuse(job, -ESTALE);
}

static void look_at_maps(struct job *job);

static void take_named(void *context, const struct opener_answer *answer, int fd)
{
	struct job *job = context;
	struct kept_file *ahead = fd < 0 ? find_kept(job->broker, &job->key) : NULL;
	if (ahead && ahead->fd >= 0) { /* it came meanwhile, and that was the last moment */
		use_kept(job->broker, ahead);
		job->identity = ahead->identity;
		job_answer(job, ahead->fd);
		return;
	}
	job->identity = answer->identity;
	/* Mapped last by one that has gone: who asks may have it mapped yet. */
	if (fd < 0 && !job->looked_at_maps && job->named.pid != job->copy.row.pid &&
	    is_in_profile(job->broker, job->copy.row.pid))
		look_at_maps(job);
	else if (fd < 0)
		refuse(job, answer->error);
	else if (answer->by_name)
		prove(job, fd, stale);
	else
		give(job, fd);
}

static void open_named(struct job *job)
{
	const struct opener_request request = {.kind = OPENER_MODULE, .request = named_of(job)};
	job->looking_for = OPENER_MODULE;
	job_open(job, &request, take_named);
}

/* Says which file the row's is. What was refused before the kernel had named it is refused by its new key, too. */
static bool find_named(struct job *job)
{
	struct broker *broker = job->broker;
	const struct kept_file *before = find_kept(broker, &job->key);
	const unsigned refused = before ? before->refused : 0;
	bool named;
	job->key = key_of(broker, &job->copy, &job->named, &named);
	struct kept_file *file = named ? find_kept(broker, &job->key) : NULL;
	if (named && refused && !file)
		file = keep(broker, &job->key, -1);
	if (file)
		file->refused |= refused;
	return named;
}

static void take_maps_for_module(void *context, const struct opener_answer *answer, int fd)
{
	struct job *job = context;
	(void)answer;
	take_maps(job->broker, job->copy.row.pid, fd);
	if (fd >= 0)
		close(fd);
	if (find_named(job))
		open_named(job);
	else
		refuse(job, -ESTALE);
}

/* No record said it: it was there before the records began, or they were lost. */
static void look_at_maps(struct job *job)
{
	const struct opener_request request = {
		.kind = OPENER_MAPS,
		.request = {.pid = job->copy.row.pid},
	};
	job->looked_at_maps = true;
	job_open(job, &request, take_maps_for_module);
}

static void take_vdso(void *context, const struct opener_answer *answer, int fd)
{
	struct job *job = context;
	if (fd < 0)
		refuse(job, answer->error);
	else
		give(job, fd);
}

static void answer_live(struct job *job)
{
	const struct opener_request vdso = {.kind = OPENER_MODULE, .request = claim_of(job)};
	if (job->copy.row.kind == MODULE_VDSO)
		job_open(job, &vdso, take_vdso);
	else if (find_named(job))
		open_named(job);
	else if (is_in_profile(job->broker, job->copy.row.pid))
		look_at_maps(job);
	else
		refuse(job, -ESRCH);
}

/* ---- recorded ---- */

static void look_for(struct job *job, enum opener_kind kind);

/* The next place of this kind; behind the last, the next kind: a debug file stands in. */
static void next_candidate(struct job *job)
{
	job->candidate++;
	look_for(job, job->looking_for);
}

static void next_kind(struct job *job)
{
	job->candidate = 0;
	if (job->copy.row.kind != MODULE_FILE || !job->copy.row.identity.build_id_size ||
	    job->looking_for == OPENER_CACHED_DEBUG)
		refuse(job, job->error);
	else
		look_for(job, job->looking_for == OPENER_RECORDED_MODULE ? OPENER_DEBUG_BUILD_ID
									 : OPENER_CACHED_DEBUG);
}

static void not_proved(struct job *job)
{
	if (job->looking_for == OPENER_RECORDED_MODULE)
		job->error = -ESTALE;
	next_candidate(job);
}

static void take_recorded(void *context, const struct opener_answer *answer, int fd)
{
	struct job *job = context;
	if (fd >= 0 && answer->by_name) {
		prove(job, fd, not_proved);
	} else if (fd >= 0) {
		give(job, fd);
	} else {
		if (job->looking_for == OPENER_RECORDED_MODULE && !job->error)
			job->error = answer->error;
		next_kind(job);
	}
}

static void look_for(struct job *job, enum opener_kind kind)
{
	const struct opener_request request = {
		.kind = kind,
		.candidate = job->candidate,
		.request = claim_of(job),
	};
	job->looking_for = kind;
	job_open(job, &request, take_recorded);
}

/* What the tables say of the kernel that was recorded. row and release are what it borrows. */
static struct recorded_kernel kernel_of(const struct tables *tables, struct module_row *row,
					char release[128])
{
	struct tables_reader reader;
	tables_reader_init(&reader, tables);
	tables_reader_refresh(&reader);
	*row = (struct module_row){0};
	/* The last one knows most. */
	for (uint32_t i = reader.nr[TABLE_MODULES]; i-- > 1 && row->kind != MODULE_KERNEL;)
		if (!tables_module(&reader, (struct module_id){i}, row))
			break;
	recorded_info(tables, "kernel", release);
	const bool found = row->kind == MODULE_KERNEL;
	return (struct recorded_kernel){
		.build_id = row->identity.build_id,
		.build_id_size = found && row->identity.build_id_size <= BUILD_ID_MAX
					 ? row->identity.build_id_size
					 : 0,
		.text_address = found ? row->start : 0,
		.release = release,
	};
}

static int open_vdso(const struct tables *tables)
{
	struct module_row row;
	char release[128];
	const struct recorded_kernel kernel = kernel_of(tables, &row, release);
	return locate_recorded_vdso(&kernel);
}

static void answer_recorded(struct job *job, const struct tables *tables)
{
	if (job->copy.row.kind == MODULE_VDSO && !job->copy.row.identity.build_id_size) {
		int fd = open_vdso(tables);
		if (fd < 0)
			refuse(job, fd);
		else
			give(job, fd);
		return;
	}
	look_for(job, OPENER_RECORDED_MODULE);
}

/* ---- what has no file ---- */

static int open_kernel(const struct broker *broker, const struct tables *tables)
{
	struct module_row row;
	char release[128];
	if (broker->recorded) {
		const struct recorded_kernel kernel = kernel_of(tables, &row, release);
		return locate_recorded_kernel(&kernel);
	}
	int fd = privilege_openat(PRIVILEGE_KERNEL_NAMES, AT_FDCWD, "/proc/kallsyms",
				  O_RDONLY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* Else the kernel prints them, as it is asked to each time without a cache. */
static void take_kept_names(void *context, const struct opener_answer *answer, int fd)
{
	struct job *job = context;
	job->broker->kernel_names.from = fd < 0 ? KERNEL_NAMES_NOT_KEPT : answer->kernel_names;
	job_answer(job, fd < 0 ? job->fd : fd);
	if (fd >= 0)
		close(fd);
}

/* Once: who asks again misses something in them. */
static void answer_kernel(struct job *job, const struct tables *tables)
{
	const struct opener_request kept = {.kind = OPENER_KERNEL_NAMES};
	enum kernel_names_from *from = &job->broker->kernel_names.from;
	struct opener *opener = job->broker->kernel_names.opener;
	int fd = open_kernel(job->broker, tables);
	if (fd < 0) {
		refuse(job, fd);
		return;
	}
	job->fd = fd;
	if (*from == KERNEL_NAMES_CACHED || *from == KERNEL_NAMES_KEPT)
		*from = KERNEL_NAMES_COMPLETED;
	if (*from || !opener || opener_ask(opener, &kept, take_kept_names, job))
		job_answer(job, fd); /* which closes it */
}

/* ---- requests ---- */

static void begin(struct job *job, const struct tables *tables)
{
	struct broker *broker = job->broker;
	bool named;
	job->key = key_of(broker, &job->copy, &job->named, &named);
	struct kept_file *file = find_kept(broker, &job->key);
	if (file && file->refused & job->reader) {
		job_answer(job, -EUCLEAN);
		return;
	}
	if (file && file->fd >= 0 && job->copy.row.kind == MODULE_ANON &&
	    !process_start_same(file->started_ns, job->copy.row.started_ns)) {
		close(file->fd); /* of who had its number before */
		file->fd = -1;
	}
	if (file && file->fd >= 0) {
		use_kept(broker, file);
		job->identity = file->identity;
		job_answer(job, file->fd);
		return;
	}
	switch (job->copy.row.kind) {
	case MODULE_KERNEL:
		answer_kernel(job, tables);
		return;
	case MODULE_ANON:
		generated_look_for(job, tables);
		return;
	case MODULE_FILE:
	case MODULE_VDSO:
		if (broker->recorded)
			answer_recorded(job, tables);
		else
			answer_live(job);
		return;
	default:
		job_answer(job, -EINVAL);
	}
}

int broker_answer_module(struct broker *broker, struct channel *channel, enum broker_reader reader,
			 const struct message_module *request, const struct tables *tables)
{
	struct job *job = job_new(broker, channel, reader, MESSAGE_MODULE);
	if (!job)
		return -EPROTO; /* it asks for more than any honest child does */
	job->request = *request;
	if (!tables || !copy_module(tables, request->module, &job->copy))
		job_answer(job, -ENOENT);
	/* A map of generated code grows, and is asked for again and again: one at a time. */
	else if (job->copy.row.kind != MODULE_ANON &&
		 !may_ask_again(broker, reader, request, MESSAGE_MODULE))
		job_answer(job, -EDQUOT);
	else
		begin(job, tables);
	return 0;
}
