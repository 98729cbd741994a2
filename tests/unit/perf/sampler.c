/* SPDX-License-Identifier: MIT */
#include <sys/mman.h>
#include <sys/resource.h>

#include "main/perf/sampler_internal.h"
#include "target.h"

/* ---- samples, from the kernel to a struct ---- */

struct expected {
	const struct sampler *sampler;
	int32_t pid;
	size_t nr_kernel_chains, nr_dumps;
	uint64_t last_time_ns[RINGS_MAX];
};

static bool is_id(const struct sampler *sampler, uint64_t id)
{
	for (size_t i = 0; i < sampler_nr_ids(sampler); i++)
		if (sampler_ids(sampler)[i].id == id)
			return true;
	return false;
}

static void check_sample(void *context, const struct record *record, size_t ring)
{
	struct expected *expected = context;
	const struct sampler *sampler = expected->sampler;
	CHECK(record->time_ns >= expected->last_time_ns[ring]);
	expected->last_time_ns[ring] = record->time_ns;
	if (record->type != PERF_RECORD_SAMPLE)
		return;
	CHECK_EQ(record->pid, expected->pid);
	CHECK_EQ(record->tid, expected->pid);
	CHECK_EQ(record->cpu, sampler_rings(sampler)[ring].cpu);
	CHECK_EQ(record->sample.period, sampler_opened(sampler, 0)->period);
	CHECK(record->sample.ip != 0);
	CHECK(is_id(sampler, record->id));
	if (sampler_format(sampler)->sample_type & PERF_SAMPLE_STACK_USER) {
		CHECK_EQ(record->sample.regs_abi, PERF_SAMPLE_REGS_ABI_64);
		CHECK_EQ(record->sample.regs_mask, sampler_format(sampler)->regs_user);
		CHECK_EQ(record->sample.stack_asked, sampler_dump_bytes(sampler));
	}
	expected->nr_dumps += record->sample.stack_bytes > 0;
	for (size_t i = 0; i < record->sample.nr_chain; i++)
		expected->nr_kernel_chains += record->sample.chain[i] == PERF_CONTEXT_KERNEL;
}

static void sample_spinning(struct sampler_options *options, int32_t pid, struct expected *expected)
{
	static struct rings rings;
	struct sampler *sampler = open_or_explain(options);
	*expected = (struct expected){.sampler = sampler, .pid = pid};
	rings_map(&rings, sampler);
	CHECK_EQ(rings_drain(&rings, sampler_format(sampler), check_sample, expected), 0);
	CHECK_EQ(sampler_enable(sampler), 0);
	size_t nr = 0;
	while (nr < 50) { /* long enough for what switching on and off takes of it */
		rings_wait(&rings);
		nr += rings_drain(&rings, sampler_format(sampler), check_sample, expected);
	}
	CHECK_EQ(sampler_disable(sampler), 0);
	struct sampler_count read;
	int result = sampler_read(sampler, 0, &read);
	CHECK(result == 0 || result == -ENOTSUP);
	CHECK(read.count > 0);
	CHECK(read.enabled_ns > 0);
	CHECK(read.running_ns > read.enabled_ns * 9 / 10); /* nobody shares a clock */
	rings_unmap(&rings);
	sampler_free(sampler);
}

static void samples_come_with_registers_and_stack(void)
{
	require_root();
	int32_t pid = start_spinning();
	struct sampler_options options = options_for(&pid, "cpu-clock");
	struct expected expected;
	sample_spinning(&options, pid, &expected);
	CHECK(expected.nr_dumps >= 5);
	end_process(pid);
}

static void leaf_and_frame_pointer_modes_dump_nothing(void)
{
	require_root();
	static const enum call_graph modes[] = {CALL_GRAPH_NO, CALL_GRAPH_FP};
	int32_t pid = start_spinning();
	for (size_t i = 0; i < 2; i++) {
		struct sampler_options options = options_for(&pid, "cpu-clock");
		struct expected expected;
		options.call_graph = modes[i];
		options.ring_pages = 4; /* the watermark comes soon */
		sample_spinning(&options, pid, &expected);
		CHECK_EQ(expected.nr_dumps, 0);
	}
	end_process(pid);
}

static void format_says_what_samples_hold(void)
{
	require_root();
	int32_t pid = getpid();
	static const struct {
		enum call_graph mode;
		const char *event;
		bool dumps, chain;
	} cases[] = {
		{CALL_GRAPH_AUTO, "cpu-clock", true, true},
#if defined(__x86_64__)
		{CALL_GRAPH_DWARF, "cpu-clock:u", true, true},
#else
		{CALL_GRAPH_DWARF, "cpu-clock:u", true, false},
#endif
		{CALL_GRAPH_FP, "cpu-clock:u", false, true},
		{CALL_GRAPH_NO, "cpu-clock", false, false},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct sampler_options options = options_for(&pid, cases[i].event);
		options.call_graph = cases[i].mode;
		options.frequency_hz = 49; /* kernels allow less than 999 where samples cost much */
		struct sampler *sampler = open_or_explain(&options);
		uint64_t type = sampler_format(sampler)->sample_type;
		CHECK_EQ((type & PERF_SAMPLE_STACK_USER) != 0, cases[i].dumps);
		CHECK_EQ((type & PERF_SAMPLE_REGS_USER) != 0, cases[i].dumps);
		CHECK_EQ((type & PERF_SAMPLE_CALLCHAIN) != 0, cases[i].chain);
		CHECK_EQ(sampler_dump_bytes(sampler) != 0, cases[i].dumps);
		CHECK_STR(sampler_opened(sampler, 0)->name, cases[i].event);
		CHECK_EQ(sampler_nr_fallbacks(sampler), 0);
		CHECK_EQ(sampler_nr_ids(sampler), sampler_nr_rings(sampler));
		sampler_free(sampler);
	}
}

/* Rings belong to our own process: the target's end leaves them quiet, not hung up. */
static void rings_outlive_the_target(void)
{
	require_root();
	static struct rings rings;
	int32_t pid = start_spinning();
	struct sampler_options options = options_for(&pid, "cpu-clock");
	options.call_graph = CALL_GRAPH_NO;
	struct sampler *sampler = open_or_explain(&options);
	rings_map(&rings, sampler);
	CHECK_EQ(sampler_enable(sampler), 0);
	end_process(pid);
	CHECK(poll(rings.polls, rings.nr, 0) >= 0);
	for (size_t i = 0; i < rings.nr; i++)
		CHECK(!(rings.polls[i].revents & (POLLHUP | POLLERR)));
	CHECK_EQ(sampler_disable(sampler), 0);
	CHECK_EQ(sampler_redirect(sampler), 0);
	rings_unmap(&rings);
	sampler_free(sampler);
}

static void map_without_privilege(void *context)
{
	struct sampler *sampler = context;
	static struct rings rings;
	const struct rlimit none = {0, 0};
	CHECK_EQ(setrlimit(RLIMIT_MEMLOCK, &none), 0);
	become_other_user();
	rings_map(&rings, sampler);
	rings_unmap(&rings);
}

/* What the collector relies on: rings that main holds can be mapped by nobody, at any size, again and again. */
static void held_rings_are_mapped_without_privilege(void)
{
	require_root();
	int32_t pid = getpid();
	struct sampler_options options = options_for(&pid, "cpu-clock");
	options.ring_pages = 0;
	struct sampler *sampler = open_or_explain(&options);
	if (!sampler->holds_rings) {
		sampler_free(sampler);
		SKIP("no CAP_IPC_LOCK");
	}
	CHECK_EQ(sampler_ring_pages(sampler), 2048);
	in_child(map_without_privilege, sampler);
	in_child(map_without_privilege, sampler);
	sampler_free(sampler);
}

/* Of a clock it is known when a ring's quarter is full at the soonest; of page faults it is not. */
static void who_knows_the_rate_may_rest(void)
{
	int32_t pid = getpid();
	struct sampler_options options = options_for(&pid, "cpu-clock");
	options.ring_pages = 256; /* 1 MiB: a quarter holds 7 copies of 32 KiB */
	options.dump_bytes = 32768;
	options.frequency_hz = 100;
	struct sampler *sampler = open_or_explain(&options);
	CHECK_EQ(sampler_ring_pages(sampler), 256);
	CHECK(sampler_rest_ms(sampler) >= 70 && sampler_rest_ms(sampler) <= 80);
	sampler_free(sampler);
	options = options_for(&pid, "page-faults");
	sampler = open_or_explain(&options);
	CHECK_EQ(sampler_rest_ms(sampler), 0);
	sampler_free(sampler);
}

static void asked_cpus_have_a_ring_each(void)
{
	require_root();
	int32_t pid = getpid(), cpu = sched_getcpu(), twice[] = {cpu, cpu}, beyond = 100000;
	struct sampler_options options = options_for(&pid, "cpu-clock");
	options.cpus = twice;
	options.nr_cpus = 2;
	struct sampler *sampler = open_or_explain(&options);
	CHECK_EQ(sampler_nr_rings(sampler), 1);
	CHECK_EQ(sampler_rings(sampler)[0].cpu, cpu);
	sampler_free(sampler);
	struct error error;
	options.cpus = &beyond;
	options.nr_cpus = 1;
	check_refused(&options, &error);
	CHECK_STR(error.cause, "CPU 100000 is not online");
}

static void same_process_twice_is_attached_once(void)
{
	require_root();
	int32_t pids[] = {getpid(), getpid()};
	struct sampler_options options = options_for(pids, "page-faults");
	options.nr_pids = 2;
	options.tids = pids;
	options.nr_tids = 1;
	struct sampler *sampler = open_or_explain(&options);
	CHECK_EQ(sampler_nr_ids(sampler), sampler_nr_rings(sampler));
	for (size_t i = 0; i < sampler_nr_ids(sampler); i++)
		sampler_close_id(sampler, sampler_ids(sampler)[i].id);
	struct sampler_count read;
	sampler_read(sampler, 0, &read);
	CHECK_EQ(read.count, 0);
	sampler_free(sampler);
}

static void whole_machine_is_one_event_a_cpu(void)
{
	require_root();
	struct sampler_options options = options_for(NULL, "cpu-clock");
	options.system_wide = true;
	struct sampler *sampler = open_or_explain(&options);
	CHECK_EQ(sampler_nr_ids(sampler), sampler_nr_rings(sampler));
	CHECK_EQ(sampler_ids(sampler)[0].tid, -1);
	CHECK(!sampler_filters_pids(sampler));
	sampler_free(sampler);
}

/* Everybody's samples come at once: their rings hold them for longer, and not in longer copies. */
static void rings_of_whole_cpus_hold_more(void)
{
	require_root();
	struct sampler_options options = options_for(NULL, "cpu-clock");
	options.system_wide = true;
	options.ring_pages = 0;
	options.frequency_hz = 0;
	options.count = 250000; /* 4 kHz, which no kernel lowers where samples cost much */
	struct sampler *sampler = open_or_explain(&options);
	const uint64_t nr = sampler_nr_rings(sampler), pages = sampler_ring_pages(sampler),
		       all = nr * pages * (uint64_t)sysconf(_SC_PAGESIZE);
	if (!sampler->holds_rings) {
		sampler_free(sampler);
		SKIP("no CAP_IPC_LOCK");
	}
	CHECK(pages == 8192 || 2 * all > 128 << 20);
	CHECK(pages == 2048 || all <= 128 << 20);
	CHECK_EQ(sampler_dump_bytes(sampler), 16384);
	sampler_free(sampler);
}

/* ---- periods ---- */

static void touch_pages(size_t nr)
{
	size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE);
	char *pages = mmap(NULL, nr * page_bytes, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(pages != MAP_FAILED);
	madvise(pages, nr * page_bytes, MADV_NOHUGEPAGE);
	for (size_t i = 0; i < nr; i++)
		((volatile char *)pages)[i * page_bytes] = 1;
	munmap(pages, nr * page_bytes);
}

/* One sample each so many faults on a CPU, one each fault with a period of 1; and the kernel counted them, too. */
static void faults_are_sampled_at_their_period(uint64_t period)
{
	static struct rings rings;
	enum { NR_FAULTS = 2000 };
	int32_t pid = getpid();
	struct sampler_options options = options_for(&pid, "page-faults");
	options.frequency_hz = 0;
	options.count = period;
	options.call_graph = CALL_GRAPH_NO;
	struct sampler *sampler = open_or_explain(&options);
	rings_map(&rings, sampler);
	CHECK_EQ(sampler_enable(sampler), 0);
	touch_pages(NR_FAULTS);
	CHECK_EQ(sampler_disable(sampler), 0);
	uint64_t nr_rings = sampler_nr_rings(sampler);
	struct sampler_count read;
	int result = sampler_read(sampler, 0, &read);
	CHECK(result == 0 || result == -ENOTSUP);
	uint64_t nr = rings_drain(&rings, sampler_format(sampler), NULL, NULL);
	CHECK(read.count >= NR_FAULTS);
	CHECK((nr + read.lost) * period <= read.count);
	CHECK((nr + read.lost) * period + nr_rings * (period - 1) >= read.count);
	rings_unmap(&rings);
	sampler_free(sampler);
}

static void every_fault_is_a_sample_or_lost(void)
{
	require_root();
	faults_are_sampled_at_their_period(1);
}

static void one_fault_in_a_hundred_is_a_sample(void)
{
	require_root();
	faults_are_sampled_at_their_period(100);
}

/* ---- targets ---- */

static void ended_process_is_no_target(void)
{
	require_root();
	int32_t pid = start_spinning();
	end_process(pid);
	struct sampler_options options = options_for(&pid, "cpu-clock");
	struct error error;
	check_refused(&options, &error);
	CHECK(strstr(error.cause, "there is no process"));
	options.nr_pids = 0;
	options.tids = &pid;
	options.nr_tids = 1;
	check_refused(&options, &error);
	CHECK(strstr(error.cause, "there is no thread"));
}

static void zombie_is_no_target(void)
{
	require_root();
	int32_t pid = start_spinning();
	siginfo_t info;
	kill(pid, SIGKILL);
	CHECK_EQ(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
	struct sampler_options options = options_for(&pid, "cpu-clock");
	struct error error;
	check_refused(&options, &error);
	CHECK(strstr(error.cause, "zombie"));
	waitpid(pid, NULL, 0);
}

/* kthreadd is process 2 where processes are not hidden in a namespace. */
static bool is_kernel_thread(int32_t pid)
{
	char path[64], line[64] = "";
	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	FILE *file = fopen(path, "re");
	bool kernel = file && fgets(line, sizeof(line), file) && strstr(line, "kthreadd");
	if (file)
		fclose(file);
	return kernel;
}

static void kernel_thread_has_only_kernel_code(void)
{
	require_root();
	int32_t pid = 2;
	if (!is_kernel_thread(pid))
		SKIP("no kernel threads in sight");
	struct sampler_options options = options_for(&pid, "cpu-clock");
	sampler_free(open_or_explain(&options));
	struct error error;
	options.events[0] = event_of("cpu-clock:u");
	check_refused(&options, &error);
	CHECK(strstr(error.cause, "kernel thread"));
	options.nr_pids = 0;
	options.tids = &pid;
	options.nr_tids = 1;
	check_refused(&options, &error);
	CHECK(strstr(error.cause, "kernel thread"));
}

static void switches_of_user_code_alone_are_refused(void)
{
	require_root();
	int32_t pid = getpid();
	struct sampler_options options = options_for(&pid, "context-switches:u");
	struct error error;
	check_refused(&options, &error);
	CHECK(strstr(error.cause, "happens in the kernel"));
	options.events[0] = event_of("context-switches");
	sampler_free(open_or_explain(&options));
}

/* Their records would bear the id of one of them. */
static void software_events_of_one_kind_are_refused_together(void)
{
	require_root();
	static const struct {
		const char *first, *second;
		bool refused;
	} cases[] = {
		{"page-faults", "page-faults:u", true},	   {"faults:k", "page-faults", true},
		{"page-faults:u", "page-faults:k", false}, {"page-faults", "minor-faults", false},
		{"cpu-clock", "cpu-clock:u", false},
	};
	int32_t pid = getpid();
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct sampler_options options = options_for(&pid, cases[i].first);
		struct error error;
		options.events[1] = event_of(cases[i].second);
		options.nr_events = 2;
		if (!cases[i].refused) {
			sampler_free(open_or_explain(&options));
			continue;
		}
		check_refused(&options, &error);
		CHECK(strstr(error.cause, cases[i].first) && strstr(error.cause, cases[i].second));
	}
}

static void software_events_asked_for_a_rate_have_sets_of_fixed_periods(void)
{
	require_root();
	static const struct {
		const char *event;
		uint64_t count;
		bool is_static, is_grouped, is_paced;
	} cases[] = {
		{"page-faults", 0, false, false, true},	 {"cpu-clock", 0, false, false, false},
		{"page-faults", 1, false, false, false}, {"page-faults", 0, true, false, false},
		{"page-faults", 0, false, true, false},
	};
	int32_t pid = getpid();
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct sampler_options options = options_for(&pid, cases[i].event);
		options.adapts = !cases[i].is_static;
		options.count = cases[i].count;
		options.events[0].group = cases[i].is_grouped;
		struct sampler *sampler = open_or_explain(&options);
		const struct sampler_sets *sets = sampler_sets(sampler, true);
		CHECK_EQ(sampler_opened(sampler, 0)->paced, cases[i].is_paced);
		CHECK_EQ(sets->nr != 0, cases[i].is_paced);
		CHECK_EQ(sampler_sets(sampler, false)->nr == 0, cases[i].is_paced);
		for (uint32_t set = 1; set < sets->nr; set++)
			CHECK(sets->items[set].fewer >= sets->items[set - 1].fewer &&
			      sets->items[set].dump_bytes <= sets->items[0].dump_bytes);
		if (cases[i].is_paced) {
			CHECK_EQ(sets->items[sampler_set_in_use(sampler, 0)].fewer, 1);
			CHECK_EQ(sampler_format(sampler)->sample_type & PERF_SAMPLE_PERIOD, 0);
			CHECK_EQ(sampler_nr_ids(sampler), sets->nr * sampler_nr_rings(sampler));
		}
		sampler_free(sampler);
	}
}

static void a_budget_has_rates_to_choose_from(void)
{
	require_root();
	static const struct {
		double share;
		bool is_counted, is_dearest;
	} cases[] = {{1, false, true}, {1e-6, false, false}, {1e-6, true, false}};
	int32_t pid = getpid();
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct sampler_options options = options_for(&pid, "cpu-clock");
		options.adapts = true;
		options.budget_share = cases[i].share;
		/* A ms, or the largest copies that there are where it is a rate. */
		options.count = cases[i].is_counted ? 1000000 : 0;
		struct sampler *sampler = open_or_explain(&options);
		const struct sampler_sets *sets = sampler_sets(sampler, false);
		const uint32_t last = sets->nr - 1;
		CHECK_EQ(sampler_set_in_use(sampler, 0), cases[i].is_dearest ? 0 : last);
		CHECK(cases[i].is_counted || sets->nr == SAMPLER_MAX_SETS);
		CHECK_EQ(sets->items[last].fewer >= 64, !cases[i].is_counted);
		for (uint32_t set = 1; set < sets->nr; set++) {
			CHECK(sets->items[set].fewer >= sets->items[set - 1].fewer &&
			      sets->items[set].dump_bytes <= sets->items[set - 1].dump_bytes);
			CHECK(sampler_sample_cost_ns(sampler, 0, set) <=
			      sampler_sample_cost_ns(sampler, 0, set - 1));
		}
		/* What was asked for is still what is foreseen. */
		CHECK_EQ(sampler_dump_bytes(sampler), sets->items[0].dump_bytes);
		CHECK(sampler_sample_cost_ns(sampler, 0, last) > 0);
		sampler_free(sampler);
	}
}

/* Of two events the one has five sets, the other two: rows are as if both had five. */
static void each_event_has_its_own_set_in_use(void)
{
	require_root();
	int32_t pid = start_spinning();
	struct sampler_options options = options_for(&pid, "cpu-clock");
	options.adapts = true;
	options.events[options.nr_events++] = event_of("page-faults");
	struct sampler *sampler = open_or_explain(&options);
	const size_t nr_sets = sampler_sets(sampler, true)->nr,
		     nr_rings = sampler_nr_rings(sampler);
	CHECK_EQ(sampler_nr_ids(sampler), 2 * nr_sets * nr_rings);
	for (size_t i = 0; i < sampler_nr_ids(sampler); i++) {
		const struct sampler_id *id = &sampler_ids(sampler)[i];
		const size_t of_block = i % (2 * nr_sets);
		CHECK_EQ(id->event, of_block % 2);
		CHECK_EQ(id->set, of_block / 2);
		CHECK_EQ(id->id != 0, id->event == 1 || id->set < sampler_sets(sampler, false)->nr);
	}
	const uint32_t clock_set = sampler_set_in_use(sampler, 0);
	const uint32_t sets[] = {clock_set, (uint32_t)nr_sets - 1};
	CHECK_EQ(sampler_enable(sampler), 0);
	sampler_use_sets(sampler, sets, true);
	CHECK_EQ(sampler_set_in_use(sampler, 0), clock_set);
	CHECK_EQ(sampler_set_in_use(sampler, 1), nr_sets - 1);
	sampler_free(sampler);
	end_process(pid);
}

int main(void)
{
	/* As ctop has it of promptness_ask(): an equal of many on busy CPUs would be given less from the first on. */
	setpriority(PRIO_PROCESS, 0, -1);
	RUN(samples_come_with_registers_and_stack);
	RUN(leaf_and_frame_pointer_modes_dump_nothing);
	RUN(format_says_what_samples_hold);
	RUN(rings_outlive_the_target);
	RUN(held_rings_are_mapped_without_privilege);
	RUN(who_knows_the_rate_may_rest);
	RUN(asked_cpus_have_a_ring_each);
	RUN(same_process_twice_is_attached_once);
	RUN(whole_machine_is_one_event_a_cpu);
	RUN(rings_of_whole_cpus_hold_more);
	RUN(every_fault_is_a_sample_or_lost);
	RUN(one_fault_in_a_hundred_is_a_sample);
	RUN(ended_process_is_no_target);
	RUN(zombie_is_no_target);
	RUN(kernel_thread_has_only_kernel_code);
	RUN(switches_of_user_code_alone_are_refused);
	RUN(software_events_of_one_kind_are_refused_together);
	RUN(software_events_asked_for_a_rate_have_sets_of_fixed_periods);
	RUN(a_budget_has_rates_to_choose_from);
	RUN(each_event_has_its_own_set_in_use);
	return test_done();
}
