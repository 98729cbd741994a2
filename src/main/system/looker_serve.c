/* SPDX-License-Identifier: MIT */
/* The looker's side, and what main believes of its answers. */
#include "looker_protocol.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <ctop/base/privilege.h>
#include <ctop/ipc/datagram.h>
#include <ctop/system/process_memory.h>

static bool is_sane_object(const struct wait_object *object, int32_t pid)
{
	return (unsigned)object->kind <= WAIT_ON_PROCESS && object->pid == pid &&
	       object->holder >= 0 && memchr(object->text, 0, sizeof(object->text));
}

static bool is_sane_look(const struct looker_answer *answer, const struct looker_request *request)
{
	const int32_t result = answer->result;
	const struct wait_look *look = &answer->look;
	if (look->stack_bytes > request->size || (unsigned)look->kind >= NR_WAIT_KINDS)
		return false;
	return result == 0 || result == -EAGAIN || result == -EACCES || result == -ENOTSUP;
}

bool looker_answer_is_sane(const struct looker_answer *answer, size_t bytes,
			   const struct looker_request *request)
{
	if (bytes != sizeof(*answer))
		return false;
	switch (request->kind) {
	case LOOKER_LOOK:
		return is_sane_look(answer, request) &&
		       (answer->result || is_sane_object(&answer->look.object, request->pid));
	case LOOKER_OBJECT:
		return is_sane_object(&answer->look.object, request->pid);
	case LOOKER_READ:
		return answer->nr <= request->size;
	case LOOKER_PIECES:
		return answer->nr <= request->nr;
	}
	return false;
}

size_t looker_request_bytes(const struct looker_request *request)
{
	return offsetof(struct looker_request, addresses) +
	       request->nr * sizeof(request->addresses[0]);
}

static void name_sockets(struct socket_names *names, struct wait_object *object)
{
	if (names && object->kind == WAIT_ON_FILE)
		socket_names_put(names, object->pid, object->text, sizeof(object->text));
}

struct looker_answer looker_answer_to(const struct looker_request *request,
				      struct socket_names *names, uint8_t *bytes)
{
	struct looker_answer answer = {0};
	switch (request->kind) {
	case LOOKER_LOOK:
		answer.result =
			wait_look_read(request->pid, request->tid, request->state, &request->before,
				       &answer.look, bytes, request->size);
		break;
	case LOOKER_OBJECT:
		answer.look.object = wait_object_read(request->pid, &request->call);
		break;
	case LOOKER_READ:
		answer.nr = process_read(request->pid, request->addresses[0], bytes, request->size);
		if (request->then_size &&
		    process_read(request->pid, request->addresses[1], bytes + request->size,
				 request->then_size) != request->then_size)
			answer.nr = 0;
		break;
	case LOOKER_PIECES:
		answer.nr = process_read_pieces(request->pid, request->addresses, request->nr,
						bytes, request->size);
		break;
	}
	name_sockets(names, &answer.look.object);
	return answer;
}

/* What it reads tells it nothing to do: it needs a descriptor of /proc at a time, and writes no file. */
static void give_up_the_rest(void)
{
	enum { DESCRIPTORS = 8 };
	const struct rlimit nothing = {0, 0}, few = {DESCRIPTORS, DESCRIPTORS};
	prctl(PR_SET_DUMPABLE, 0);
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	setrlimit(RLIMIT_CORE, &nothing);
	setrlimit(RLIMIT_FSIZE, &nothing);
	setrlimit(RLIMIT_NPROC, &nothing);
	setrlimit(RLIMIT_NOFILE, &few);
	privilege_keep_for_looks();
}

void looker_run(int fd, uint8_t *bytes)
{
	struct looker_request request;
	struct socket_names *names = socket_names_new();
	give_up_the_rest();
	while (datagram_receive(fd, &request, sizeof(request), 0, NULL, NULL) > 0) {
		const struct looker_answer answer = looker_answer_to(&request, names, bytes);
		if (datagram_send(fd, &answer, sizeof(answer), -1, 0))
			return;
	}
}
