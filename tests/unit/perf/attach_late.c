/* SPDX-License-Identifier: MIT */
/* What users may attach to, and what is found and attached only once sampling runs. */
#include <stdarg.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>

#include "main/perf/sampler_internal.h"
#include "target.h"

/* ---- without privilege ---- */

static long paranoid(void)
{
	long value = 2;
	FILE *file = fopen("/proc/sys/kernel/perf_event_paranoid", "re");
	if (file && fscanf(file, "%ld", &value) != 1)
		value = 2;
	if (file)
		fclose(file);
	return value;
}

/* The paranoid level decides on what is allowed: these cases are of the distributions' default. */
static void require_level_2(void)
{
	require_root(); /* to become somebody else */
	if (paranoid() != 2)
		SKIP("kernel.perf_event_paranoid is not 2");
}

static void sample_own_child(void *context)
{
	(void)context;
	static struct rings rings;
	become_other_user();
	int32_t pid = start_spinning();
	struct sampler_options options = options_for(&pid, "cpu-clock");
	options.ring_pages = 0;
	struct sampler *sampler = open_or_explain(&options);
	CHECK(sampler_user_only(sampler));
	CHECK_STR(sampler_opened(sampler, 0)->name, "cpu-clock:u");
	CHECK(!sampler->holds_rings);
	CHECK(has_fallback(sampler, "user code only"));
	CHECK(has_fallback(sampler, "RLIMIT_MEMLOCK"));
	CHECK(sampler_ring_pages(sampler) < 2048);
	CHECK(sampler->attrs[0].exclude_kernel);
	rings_map(&rings, sampler);
	CHECK_EQ(sampler_enable(sampler), 0);
	rings_wait(&rings);
	CHECK(rings_drain(&rings, sampler_format(sampler), NULL, NULL) > 0);
	/* A successor maps again, and the events are redirected again. */
	CHECK_EQ(sampler_disable(sampler), 0);
	rings_unmap(&rings);
	rings_map(&rings, sampler);
	CHECK_EQ(sampler_enable(sampler), 0);
	rings_wait(&rings);
	CHECK(rings_drain(&rings, sampler_format(sampler), NULL, NULL) > 0);
	rings_unmap(&rings);
	sampler_free(sampler);
	end_process(pid);
}

static void user_samples_his_own_process(void)
{
	require_level_2();
	in_child(sample_own_child, NULL);
}

/* In libc's place: counts what the kernel would wait for, if it were told a second time. And may tell no ids. */
static unsigned nr_redirected;
static bool hides_ids;

int ioctl(int fd, unsigned long request, ...)
{
	va_list args;
	va_start(args, request);
	const long argument = va_arg(args, long);
	va_end(args);
	nr_redirected += request == PERF_EVENT_IOC_SET_OUTPUT;
	if (request == PERF_EVENT_IOC_ID && hides_ids) {
		errno = ENOMEM;
		return -1;
	}
	return (int)syscall(SYS_ioctl, fd, request, argument);
}

static void look_for_nobody_late(void *context)
{
	(void)context;
	static struct rings rings;
	become_other_user();
	int32_t pid = start_spinning();
	struct sampler_options options = options_for(&pid, "cpu-clock");
	options.ring_pages = 8;
	struct sampler *sampler = open_or_explain(&options);
	CHECK(!sampler->holds_rings);
	rings_map(&rings, sampler);
	nr_redirected = 0;
	CHECK_EQ(sampler_attach_late(sampler), 0);
	CHECK_EQ(nr_redirected, 0);
	/* But with rings that are new. */
	CHECK_EQ(sampler_redirect(sampler), 0);
	CHECK_EQ(nr_redirected, sampler_nr_ids(sampler));
	rings_unmap(&rings);
	sampler_free(sampler);
	end_process(pid);
}

static void events_are_told_of_their_ring_once(void)
{
	require_level_2();
	in_child(look_for_nobody_late, NULL);
}

/* ---- who has the numbers later ---- */

static void numbers_with_new_owners_are_not_attached_late(void)
{
	require_root();
	int32_t pid = start_spinning(), other = start_spinning();
	struct sampler_options options = options_for(&pid, "cpu-clock");
	struct sampler *sampler = open_or_explain(&options);
	const size_t nr_before = sampler_nr_ids(sampler);
	struct member *member = &sampler->family.members.items[0];
	/* As if the other had got its number: it did not start when the one attached did. */
	member->pid = other;
	member->started_ns = 1;
	CHECK_EQ(sampler_attach_late(sampler), 0);
	CHECK_EQ(sampler_nr_ids(sampler), nr_before);
	/* And if it is the same: it is looked at. */
	struct task_start start;
	CHECK(task_start_read(other, other, &start));
	member->started_ns = start.ns;
	CHECK_EQ(sampler_attach_late(sampler), 0);
	CHECK(sampler_nr_ids(sampler) > nr_before);
	sampler_free(sampler);
	end_process(pid);
	end_process(other);
}

static void find_somebody_elses_late(void *context)
{
	const int32_t theirs = *(const int32_t *)context;
	become_other_user();
	int32_t pid = start_spinning();
	struct sampler_options options = options_for(&pid, "cpu-clock");
	options.ring_pages = 8;
	struct sampler *sampler = open_or_explain(&options);
	const size_t nr_before = sampler_nr_ids(sampler);
	struct family *family = &sampler->family;
	CHECK_EQ(family_ask(family, theirs), 0);
	family->members.items[family->members.nr - 1].is_asked = false; /* found by a look */
	CHECK_EQ(sampler_attach_late(sampler), 0);
	CHECK_EQ(sampler_nr_ids(sampler), nr_before);
	CHECK(has_fallback(sampler, "1 descendant of the target may not be profiled"));
	sampler_free(sampler);
	end_process(pid);
}

static void descendants_refused_late_are_said(void)
{
	require_level_2();
	int32_t pid = start_spinning();
	in_child(find_somebody_elses_late, &pid);
	end_process(pid);
}

static void an_event_without_an_id_is_left_out(void)
{
	require_root();
	int32_t pid = start_spinning(), other = start_spinning();
	struct sampler_options options = options_for(&pid, "cpu-clock");
	struct sampler *sampler = open_or_explain(&options);
	CHECK_EQ(family_ask(&sampler->family, other), 0);
	hides_ids = true;
	CHECK_EQ(sampler_attach_late(sampler), -ENOMEM);
	hides_ids = false;
	CHECK_EQ(sampler->fds.nr, sampler->ids.nr);
	sampler_free(sampler);
	end_process(pid);
	end_process(other);
}

static void ask_for_what_is_not_his(void *context)
{
	int32_t root_pid = *(const int32_t *)context, own_pid, kernel_pid = 2;
	struct error error;
	become_other_user();
	own_pid = getpid();
	struct sampler_options options = options_for(&root_pid, "cpu-clock");
	options.ring_pages = 8;
	check_refused(&options, &error);
	CHECK(strstr(error.cause, "another user"));
	/* Strict: the reason is the owner, not the fallback on the way. */
	options.strict = true;
	check_refused(&options, &error);
	CHECK(strstr(error.cause, "another user"));
	options.strict = false;

	options.pids = &own_pid;
	options.events[0] = event_of("cpu-clock:k");
	check_refused(&options, &error);
	CHECK(strstr(error.cause, "samples the kernel"));
	options.events[0] = event_of("context-switches");
	check_refused(&options, &error);
	CHECK(strstr(error.cause, "happens in the kernel"));
	/* One that may be had and one that may not: the second is not opened empty. */
	options.nr_events = 2;
	options.events[0] = event_of("cpu-clock");
	options.events[1] = event_of("page-faults:k");
	check_refused(&options, &error);
	CHECK(strstr(error.cause, "samples the kernel"));

	options.nr_events = 1;
	options.nr_pids = 0;
	options.system_wide = true;
	check_refused(&options, &error);
	CHECK(strstr(error.cause, "whole CPUs"));
	options.system_wide = false;
	options.pids = &kernel_pid;
	options.nr_pids = 1;
	if (kill(kernel_pid, 0) == 0 || errno == EPERM) {
		check_refused(&options, &error);
		CHECK(strstr(error.cause, "kernel thread") || strstr(error.cause, "another user"));
	}
}

static void user_gets_nothing_that_is_not_his(void)
{
	require_level_2();
	int32_t pid = getpid();
	in_child(ask_for_what_is_not_his, &pid);
}

int main(void)
{
	RUN(user_samples_his_own_process);
	RUN(events_are_told_of_their_ring_once);
	RUN(numbers_with_new_owners_are_not_attached_late);
	RUN(descendants_refused_late_are_said);
	RUN(an_event_without_an_id_is_left_out);
	RUN(user_gets_nothing_that_is_not_his);
	return test_done();
}
