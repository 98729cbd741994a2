/* SPDX-License-Identifier: MIT */
/*
 * The file that the kernel was made of, for its lines. Nothing that a child says counts: the kernel tells its build-id, and the file must
 * prove to have that.
 */
#include "broker_internal.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

static void look_for(struct job *job);

/* What the user has named is the first place, and is not passed over in silence. */
static void tell_named(const struct job *job, const char *why)
{
	if (job->broker->vmlinux && job->candidate == 0)
		note_refused_debug(job->broker, "[kernel]", job->broker->vmlinux, why);
}

static void take_word(void *context, const struct prober_answer *answer)
{
	struct job *job = context;
	uint8_t own[BUILD_ID_MAX];
	const size_t size = own_kernel_build_id(own);
	if (!answer->error && size && answer->build_id_size == size &&
	    memcmp(answer->build_id, own, size) == 0) {
		job_answer(job, job->fd); /* which closes it */
		return;
	}
	tell_named(job, "does not match: build-id mismatch");
	close(job->fd);
	job->fd = -1;
	job->candidate++;
	look_for(job);
}

static void take_candidate(void *context, const struct opener_answer *answer, int fd)
{
	struct job *job = context;
	job->fd = fd;
	if (fd >= 0) {
		job_prove(job, fd, false, take_word);
		return;
	}
	tell_named(job, answer->error == -EPERM ? "is of an owner who is not believed here"
						: "could not be opened");
	job_answer(job, -ENOENT);
}

static void look_for(struct job *job)
{
	uint8_t own[BUILD_ID_MAX];
	const struct opener_request request = {
		.kind = OPENER_VMLINUX,
		.candidate = job->candidate,
		.request = {.path = job->broker->vmlinux ? job->broker->vmlinux : "",
			    .build_id = own,
			    .build_id_size = own_kernel_build_id(own)},
		.debuglink = "",
	};
	job_open(job, &request, take_candidate);
}

void kernel_look_for(struct job *job)
{
	job->candidate = 0;
	/* Of a file's kernel it is not known that it is ours. */
	if (job->broker->recorded || job->request.which != DEBUG_FILE_OWN)
		job_answer(job, -ENOENT);
	else
		look_for(job);
}
