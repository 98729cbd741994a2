/* SPDX-License-Identifier: MIT */
#include "looker_protocol.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <ctop/base/clock.h>
#include <ctop/ipc/datagram.h>
#include <ctop/system/own_process.h>
#include <ctop/system/patience.h>
#include <ctop/system/trace_refusal.h>

/* Nearly all answers come so soon. */
enum { AT_ONCE_MS = 50 };
/* One that has no CPU is waited for longer. */
#define WAIT_MOST_NS (5 * NS_PER_SECOND)

struct silent {
	int32_t pid, tid;
};

struct looker {
	struct own_process process;
	bool is_main;		    /* nobody else may look: there is no process */
	struct socket_names *names; /* of main's own looks */
	uint8_t *
		bytes; /* NULL unless it runs: of its own, since the one before may still write into its */
	struct silent silent[LOOKER_SILENT_MAX];
	unsigned nr_silent;
	uint64_t nr_unasked;
	uint64_t before_cpu_ns; /* of those that have ended */
};

struct looker *looker_new(void)
{
	struct looker *looker = calloc(1, sizeof(*looker));
	if (looker)
		*looker = (struct looker){.process = OWN_PROCESS_NONE,
					  .is_main = trace_needs_ancestor()};
	if (looker && looker->is_main)
		looker->names = socket_names_new();
	return looker;
}

/* ---- the process ---- */

static uint64_t cpu_ns(const struct looker *looker)
{
	clockid_t clock;
	struct timespec used;
	if (!looker->process.pid || clock_getcpuclockid(looker->process.pid, &clock) ||
	    clock_gettime(clock, &used))
		return 0;
	return (uint64_t)used.tv_sec * NS_PER_SECOND + (uint64_t)used.tv_nsec;
}

int32_t looker_pid(const struct looker *looker)
{
	return (int32_t)looker->process.pid;
}

uint64_t looker_cpu_ns(const struct looker *looker)
{
	return looker->before_cpu_ns + cpu_ns(looker);
}

static void serve(void *context)
{
	struct looker *looker = context;
	looker_run(OWN_PROCESS_FD, looker->bytes);
}

static int start(struct looker *looker)
{
	if (looker->bytes)
		return 0;
	void *bytes = mmap(NULL, LOOKER_BYTES_MAX, PROT_READ | PROT_WRITE,
			   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (bytes == MAP_FAILED)
		return -errno;
	looker->bytes = bytes;
	const int result =
		looker->is_main ? 0
				: own_process_start(&looker->process, "ctop-looker", serve, looker);
	if (result) {
		munmap(bytes, LOOKER_BYTES_MAX);
		looker->bytes = NULL;
		return result;
	}
	/* Nobody's whom main starts later. */
	madvise(bytes, LOOKER_BYTES_MAX, MADV_DONTFORK);
	return 0;
}

static void end(struct looker *looker)
{
	if (!looker->bytes)
		return;
	looker->before_cpu_ns += cpu_ns(looker);
	own_process_end(&looker->process);
	munmap(looker->bytes, LOOKER_BYTES_MAX);
	looker->bytes = NULL;
}

void looker_free(struct looker *looker)
{
	if (!looker)
		return;
	end(looker);
	own_process_release(&looker->process);
	socket_names_free(looker->names);
	free(looker);
}

/* ---- who does not answer ---- */

uint64_t looker_nr_silent(const struct looker *looker)
{
	return looker->nr_silent;
}

uint64_t looker_nr_unasked(const struct looker *looker)
{
	return looker->nr_unasked;
}

static bool is_silent(const struct looker *looker, int32_t pid, int32_t tid)
{
	unsigned nr = 0;
	for (unsigned i = 0; i < looker->nr_silent; i++) {
		if (looker->silent[i].pid != pid)
			continue;
		if (looker->silent[i].tid == tid)
			return true;
		nr++;
	}
	return nr >= LOOKER_SILENT_OF_PROCESS || looker->nr_silent == LOOKER_SILENT_MAX;
}

static void give_up(struct looker *looker, const struct looker_request *request)
{
	end(looker);
	looker->silent[looker->nr_silent++] = (struct silent){request->pid, request->tid};
}

/* ---- questions ---- */

/* 0; -ETIMEDOUT; -EIO: it has ended. Most answer long before it has to be known how long it ran. */
static int wait_for_answer(const struct looker *looker)
{
	const int32_t pid = (int32_t)looker->process.pid;
	const uint64_t until_ns = clock_now_ns() + WAIT_MOST_NS;
	struct pollfd answer = {.fd = looker->process.fd, .events = POLLIN};
	struct patience patience = {0};
	int left_ms = AT_ONCE_MS;
	for (;;) {
		const int ready = poll(&answer, 1, left_ms);
		if (ready > 0)
			return answer.revents & POLLIN ? 0 : -EIO;
		if (ready < 0 && errno != EINTR)
			return -EIO;
		if (!patience.limit_ns)
			patience =
				patience_with(pid, (LOOKER_PATIENCE_MS - AT_ONCE_MS) * NS_PER_MS);
		if (left_ms == 0)
			return -ETIMEDOUT;
		left_ms = clock_now_ns() < until_ns ? patience_timeout_ms(&patience, pid) : 0;
	}
}

static int send_request(struct looker *looker, const struct looker_request *request)
{
	const int result = start(looker);
	return result ? result
		      : datagram_send(looker->process.fd, request, looker_request_bytes(request),
				      -1, MSG_DONTWAIT);
}

/* 0; or -EIO, -EPIPE and the like: it has ended; -ETIMEDOUT, -EPROTO: it does not answer, or nonsense. */
static int exchange(struct looker *looker, const struct looker_request *request,
		    struct looker_answer *answer)
{
	int result = send_request(looker, request);
	if (!result)
		result = wait_for_answer(looker);
	if (result)
		return result;
	const ssize_t got = datagram_receive(looker->process.fd, answer, sizeof(*answer),
					     MSG_DONTWAIT, NULL, NULL);
	if (got <= 0)
		return got < 0 ? (int)got : -EIO;
	return looker_answer_is_sane(answer, (size_t)got, request) ? 0 : -EPROTO;
}

/* 0: the answer is sane, and its bytes are there until the next question. */
static int ask(struct looker *looker, const struct looker_request *request,
	       struct looker_answer *answer)
{
	if (is_silent(looker, request->pid, request->tid))
		return -ETIMEDOUT;
	int result = looker->is_main ? start(looker) : exchange(looker, request, answer);
	if (!result && looker->is_main)
		*answer = looker_answer_to(request, looker->names, looker->bytes);
	/* Somebody has killed it, which is not the thread's fault: once. */
	if (result && looker->bytes && result != -ETIMEDOUT && result != -EPROTO) {
		end(looker);
		result = exchange(looker, request, answer);
	}
	if (result && looker->bytes)
		give_up(looker, request);
	else if (result)
		looker->nr_unasked++;
	return result ? -ETIMEDOUT : 0;
}

int looker_look(struct looker *looker, int32_t pid, int32_t tid, char state,
		const struct sched_stat *before, struct wait_look *look, uint8_t *stack,
		size_t most)
{
	const struct looker_request request = {.kind = LOOKER_LOOK,
					       .pid = pid,
					       .tid = tid,
					       .state = state,
					       .before = *before,
					       .size = most};
	struct looker_answer answer;
	assert(most <= LOOKER_BYTES_MAX);
	*look = (struct wait_look){.kind = WAIT_UNSEEN, .call = -1};
	if (ask(looker, &request, &answer))
		return -ETIMEDOUT;
	look->kind = answer.look.kind;
	if (answer.result)
		return answer.result;
	*look = answer.look;
	memcpy(stack, looker->bytes, look->stack_bytes);
	return 0;
}

struct wait_object looker_object(struct looker *looker, int32_t pid, int32_t tid,
				 const struct system_call *call)
{
	const struct looker_request request = {
		.kind = LOOKER_OBJECT, .pid = pid, .tid = tid, .call = *call};
	struct looker_answer answer;
	return ask(looker, &request, &answer) ? (struct wait_object){.pid = pid}
					      : answer.look.object;
}

size_t looker_read(struct looker *looker, int32_t pid, uint64_t address, void *bytes, size_t most)
{
	const struct looker_request request = {.kind = LOOKER_READ,
					       .pid = pid,
					       .size = most < LOOKER_BYTES_MAX ? most
									       : LOOKER_BYTES_MAX,
					       .nr = 1,
					       .addresses = {address}};
	struct looker_answer answer;
	if (ask(looker, &request, &answer))
		return 0;
	memcpy(bytes, looker->bytes, answer.nr);
	return answer.nr;
}

size_t looker_read_both(struct looker *looker, int32_t pid, uint64_t address, void *bytes,
			size_t most, uint64_t then, void *then_bytes, size_t then_size)
{
	const struct looker_request request = {.kind = LOOKER_READ,
					       .pid = pid,
					       .size = most,
					       .then_size = then_size,
					       .nr = 2,
					       .addresses = {address, then}};
	struct looker_answer answer;
	assert(most + then_size <= LOOKER_BYTES_MAX);
	if (ask(looker, &request, &answer))
		return 0;
	memcpy(bytes, looker->bytes, answer.nr);
	memcpy(then_bytes, looker->bytes + most, then_size);
	return answer.nr;
}

size_t looker_read_pieces(struct looker *looker, int32_t pid, const uint64_t *addresses, size_t nr,
			  void *bytes, size_t size)
{
	struct looker_request request = {.kind = LOOKER_PIECES, .pid = pid, .size = size, .nr = nr};
	struct looker_answer answer;
	assert(nr <= LOOKER_PIECES_MAX && nr * size <= LOOKER_BYTES_MAX);
	memcpy(request.addresses, addresses, nr * sizeof(*addresses));
	if (ask(looker, &request, &answer))
		return 0;
	memcpy(bytes, looker->bytes, answer.nr * size);
	return answer.nr;
}
