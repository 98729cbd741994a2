/* SPDX-License-Identifier: MIT */
#include <ctop/base/promptness.h>

#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <ctop/base/clock.h>
#include <ctop/base/privilege.h>

/* The least that the kernel grants. */
#define SLICE_NS (NS_PER_MS / 10)
enum { PROMPT_NICE = -20 };
/* Says that the nice value was the user's before it could be ours: to whoever ends it, behind a fork() and an exec as well. */
#define USERS_SLICE_NS (SLICE_NS + 1)
/* Not ours; to take it back is a privilege. */
#define RESET_ON_FORK UINT64_C(1)

/* struct sched_attr of linux/sched/types.h, in its first version: libc's headers have it late, and not beside theirs. */
struct attributes {
	uint32_t size, policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t slice_ns; /* of SCHED_OTHER; the other policies' run time */
	uint64_t deadline_ns, period_ns;
};

static int set(struct attributes attributes)
{
	return (int)syscall(SYS_sched_setattr, 0, &attributes, 0);
}

/* Another policy is the user's word, too. */
static bool is_ordinary(struct attributes *now)
{
	return syscall(SYS_sched_getattr, 0, now, sizeof(*now), 0) == 0 &&
	       now->policy == SCHED_OTHER;
}

void promptness_end(void)
{
	struct attributes now = {.size = 0};
	if (!is_ordinary(&now))
		return;
	/* Slices of 0: the kernel's. */
	set((struct attributes){
		.size = sizeof(now),
		.policy = SCHED_OTHER,
		.flags = now.flags & RESET_ON_FORK,
		.nice = now.nice == PROMPT_NICE && now.slice_ns != USERS_SLICE_NS ? 0 : now.nice,
	});
}

void promptness_ask(void)
{
	struct attributes now = {.size = 0};
	if (!is_ordinary(&now))
		return;
	const bool is_users = now.nice == PROMPT_NICE && now.slice_ns != SLICE_NS;
	const struct attributes asked = {
		.size = sizeof(asked),
		.policy = SCHED_OTHER,
		.flags = now.flags & RESET_ON_FORK,
		.nice = now.nice ? now.nice : PROMPT_NICE,
		.slice_ns = is_users ? USERS_SLICE_NS : SLICE_NS,
	};
	struct attributes less = asked;
	less.nice = now.nice;
	const struct privilege_before before = privilege_raise(PRIVILEGE_PROMPTNESS);
	if (set(asked))
		set(less);
	privilege_restore(&before);
}
