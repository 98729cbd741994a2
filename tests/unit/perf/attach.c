/* SPDX-License-Identifier: MIT */
/* Targets of many threads are attached whole, or as far as descriptors go. */
#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>

#include "main/perf/sampler_internal.h"
#include "target.h"

/* ---- a process that starts threads while it is attached to ---- */

enum { NR_MAKERS = 4, THREADS_MAX = 1000, FAULTS_EACH = 3 };

/* Shared with the target. Threads wait for the phase to change. */
struct storm {
	_Atomic uint32_t phase; /* a futex */
	_Atomic uint32_t nr_made, nr_announced, nr_threads, nr_makers_done, nr_answers;
	_Atomic uint32_t nr_asked, nr_ready; /* threads that were begun; that only wait for the phase */
	int32_t tids[THREADS_MAX];
};

enum { PHASE_MAKING, PHASE_WAITING, PHASE_FAULTING };

static void wait_phase(struct storm *storm, uint32_t beyond)
{
	uint32_t phase;
	while ((phase = atomic_load(&storm->phase)) <= beyond)
		syscall(SYS_futex, &storm->phase, 0 /* FUTEX_WAIT */, phase, NULL, NULL, 0);
}

static void set_phase(struct storm *storm, uint32_t phase)
{
	atomic_store(&storm->phase, phase);
	syscall(SYS_futex, &storm->phase, 1 /* FUTEX_WAKE */, INT32_MAX, NULL, NULL, 0);
}

/* Waits for a number that the other process counts up; it ends with us or we with the test's limit. */
static void wait_for(const _Atomic uint32_t *number, uint32_t wanted)
{
	while (atomic_load(number) < wanted)
		sched_yield();
}

/* In every phase of faulting, a few page faults of its own. */
static void *fault_when_told(void *context)
{
	struct storm *storm = context;
	size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE);
	volatile char *page =
		mmap(NULL, page_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	atomic_fetch_add(&storm->nr_ready, 1);
	for (uint32_t phase = PHASE_WAITING;; phase++) {
		wait_phase(storm, phase);
		for (int i = 0; i < FAULTS_EACH; i++) {
			madvise((void *)(uintptr_t)page, page_bytes, MADV_DONTNEED);
			page[0] = 1;
		}
		atomic_fetch_add(&storm->nr_answers, 1);
	}
	return NULL;
}

static void make_one(struct storm *storm, void *(*run)(void *))
{
	pthread_t thread;
	pthread_attr_t attr;
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 256 * 1024);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	if (pthread_create(&thread, &attr, run, storm) != 0)
		_exit(1);
	pthread_attr_destroy(&attr);
}

static void announce(struct storm *storm)
{
	uint32_t index = atomic_fetch_add(&storm->nr_announced, 1);
	storm->tids[index] = (int32_t)syscall(SYS_gettid);
	atomic_fetch_add(&storm->nr_threads, 1);
}

static void *be_made(void *context)
{
	announce(context);
	return fault_when_told(context);
}

/* Ends while others are listed: a list may lose its place there. */
static void *end_at_once(void *unused)
{
	return unused;
}

/* Makes threads as fast as they are announced, for as long as the phase lasts. */
static void *make_threads(void *context)
{
	struct storm *storm = context;
	announce(storm);
	while (atomic_load(&storm->phase) == PHASE_MAKING &&
	       atomic_fetch_add(&storm->nr_made, 1) < THREADS_MAX - NR_MAKERS) {
		uint32_t nr = atomic_load(&storm->nr_threads);
		make_one(storm, end_at_once);
		atomic_fetch_add(&storm->nr_asked, 1);
		make_one(storm, be_made);
		make_one(storm, end_at_once);
		wait_for(&storm->nr_threads, nr + 1);
	}
	atomic_fetch_add(&storm->nr_makers_done, 1);
	return fault_when_told(storm);
}

static int32_t start_storm(struct storm *storm)
{
	fflush(stdout);
	pid_t pid = fork();
	CHECK(pid >= 0);
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (int i = 0; i < NR_MAKERS; i++)
			make_one(storm, make_threads);
		for (;;)
			pause();
	}
	return pid;
}

/*
 * Per thread of the storm: how many samples it has from its own events, from inherited ones, and how many
 * that repeat the one before (see sampler_close_id()). Per ring besides, which of these it has.
 */
enum { SEEN_OWN = 1, SEEN_INHERITED = 2, SEEN_TWIN = 4 };

struct seen {
	const struct storm *storm;
	const struct sampler *sampler;
	size_t nr_own[THREADS_MAX], nr_inherited[THREADS_MAX], nr_twins[THREADS_MAX];
	uint8_t kinds[THREADS_MAX][RINGS_MAX];
	struct {
		int32_t tid;
		uint64_t id, time_ns;
	} last[RINGS_MAX];
};

static int32_t tid_of_id(const struct sampler *sampler, uint64_t id)
{
	for (size_t i = 0; i < sampler_nr_ids(sampler); i++)
		if (sampler_ids(sampler)[i].id == id)
			return sampler_ids(sampler)[i].tid;
	return 0;
}

static void see_sample(void *context, const struct record *record, size_t ring)
{
	struct seen *seen = context;
	if (record->type != PERF_RECORD_SAMPLE)
		return;
	int32_t attached_as = tid_of_id(seen->sampler, record->id);
	CHECK(attached_as != 0);
	bool is_own = attached_as == record->tid;
	bool is_twin = seen->last[ring].tid == record->tid && seen->last[ring].id == record->id &&
		       seen->last[ring].time_ns == record->time_ns;
	seen->last[ring].tid = record->tid;
	seen->last[ring].id = record->id;
	seen->last[ring].time_ns = record->time_ns;
	for (size_t i = 0; i < seen->storm->nr_threads; i++) {
		if (seen->storm->tids[i] != record->tid)
			continue;
		seen->nr_own[i] += is_own;
		seen->nr_inherited[i] += !is_own;
		seen->nr_twins[i] += is_twin;
		seen->kinds[i][ring] |=
			(is_own ? SEEN_OWN : SEEN_INHERITED) | (is_twin ? SEEN_TWIN : 0);
	}
}

static void fault_and_see(struct storm *storm, uint32_t phase, struct rings *rings,
			  struct seen *seen)
{
	memset(seen->nr_own, 0, sizeof(seen->nr_own));
	memset(seen->nr_inherited, 0, sizeof(seen->nr_inherited));
	memset(seen->nr_twins, 0, sizeof(seen->nr_twins));
	memset(seen->kinds, 0, sizeof(seen->kinds));
	atomic_store(&storm->nr_answers, 0);
	set_phase(storm, phase);
	wait_for(&storm->nr_answers, storm->nr_threads);
	rings_drain(rings, sampler_format(seen->sampler), see_sample, seen);
}

static void close_own(struct sampler *sampler, int32_t tid, size_t ring)
{
	for (size_t i = 0; i < sampler_nr_ids(sampler); i++) {
		const struct sampler_id *id = &sampler_ids(sampler)[i];
		if (id->tid == tid && id->cpu == sampler_rings(sampler)[ring].cpu)
			sampler_close_id(sampler, id->id);
	}
}

/* Closes, CPU by CPU, what counted twice. How many that were. */
static size_t close_doubles(struct sampler *sampler, const struct seen *seen)
{
	size_t nr = 0;
	for (uint32_t i = 0; i < seen->storm->nr_threads; i++)
		for (size_t ring = 0; ring < sampler_nr_rings(sampler); ring++) {
			unsigned kinds = seen->kinds[i][ring];
			if (!(kinds & SEEN_TWIN) && kinds != (SEEN_OWN | SEEN_INHERITED))
				continue;
			nr++;
			close_own(sampler, seen->storm->tids[i], ring);
		}
	return nr;
}

/*
 * Attached in mid-storm, no thread is missed; one that both inherited its maker's events and was listed has
 * more samples than faults, and as many when its own events are closed on the CPUs where it has both.
 */
static size_t attach_to_storm(void)
{
	enum { ROUNDS_MAX = 50 };
	static struct rings rings;
	static struct seen seen;
	struct storm *storm = mmap(NULL, sizeof(*storm), PROT_READ | PROT_WRITE,
				   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(storm != MAP_FAILED);
	int32_t pid = start_storm(storm);
	wait_for(&storm->nr_threads, 200);

	struct sampler_options options = options_for(&pid, "page-faults");
	options.frequency_hz = 0;
	options.count = 1;
	options.call_graph = CALL_GRAPH_NO;
	options.ring_pages = 256;
	struct sampler *sampler = open_or_explain(&options);
	seen.storm = storm;
	seen.sampler = sampler;
	set_phase(storm, PHASE_WAITING);
	wait_for(&storm->nr_makers_done, NR_MAKERS);
	/* A thread that still starts has faults of its own. */
	wait_for(&storm->nr_ready, NR_MAKERS + storm->nr_asked);
	rings_map(&rings, sampler);
	CHECK_EQ(sampler_enable(sampler), 0);

	size_t nr_duplicates = 0, nr_closed = 1;
	for (uint32_t round = 0; nr_closed && round < ROUNDS_MAX; round++) {
		fault_and_see(storm, PHASE_FAULTING + round, &rings, &seen);
		for (uint32_t i = 0; i < storm->nr_threads; i++)
			CHECK(seen.nr_own[i] + seen.nr_inherited[i] - seen.nr_twins[i] >=
			      FAULTS_EACH);
		nr_closed = close_doubles(sampler, &seen);
		nr_duplicates += nr_closed;
	}
	CHECK_EQ(nr_closed, 0);
	for (uint32_t i = 0; i < storm->nr_threads; i++)
		CHECK_EQ(seen.nr_own[i] + seen.nr_inherited[i], FAULTS_EACH);
	rings_unmap(&rings);
	sampler_free(sampler);
	end_process(pid);
	munmap(storm, sizeof(*storm));
	return nr_duplicates;
}

static void attach_to_storms(void *unused)
{
	(void)unused;
	/* Not every storm meets the attaching where it hurts: what is checked holds for each. */
	enum { STORMS = 10 };
	size_t nr_duplicates = 0;
	for (int i = 0; i < STORMS; i++)
		nr_duplicates += attach_to_storm();
	printf("# %zu events were attached twice\n", nr_duplicates);
}

/* In a process of its own: where it fails, descriptors stay open that later cases count. */
static void no_thread_of_a_storm_is_missed_or_counted_twice(void)
{
	require_root();
	in_child(attach_to_storms, NULL);
}

/* A thread alone, and not its process. */
static void single_thread_is_attached_alone(void)
{
	require_root();
	static struct rings rings;
	static struct seen seen;
	struct storm *storm = mmap(NULL, sizeof(*storm), PROT_READ | PROT_WRITE,
				   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(storm != MAP_FAILED);
	atomic_store(&storm->phase, PHASE_WAITING); /* only the makers' own */
	int32_t pid = start_storm(storm);
	wait_for(&storm->nr_threads, NR_MAKERS);
	int32_t tid = storm->tids[2];
	struct sampler_options options = options_for(NULL, "page-faults");
	options.tids = &tid;
	options.nr_tids = 1;
	options.frequency_hz = 0;
	options.count = 1;
	options.call_graph = CALL_GRAPH_NO;
	struct sampler *sampler = open_or_explain(&options);
	CHECK_EQ(sampler_nr_ids(sampler), sampler_nr_rings(sampler));
	seen.storm = storm;
	seen.sampler = sampler;
	rings_map(&rings, sampler);
	CHECK_EQ(sampler_enable(sampler), 0);
	fault_and_see(storm, PHASE_FAULTING, &rings, &seen);
	for (uint32_t i = 0; i < NR_MAKERS; i++)
		CHECK_EQ(seen.nr_own[i] >= FAULTS_EACH, i == 2);
	rings_unmap(&rings);
	sampler_free(sampler);
	end_process(pid);
	munmap(storm, sizeof(*storm));
}

/* ---- too few descriptors ---- */

enum { FEW_DESCRIPTORS = 48, MANY_THREADS = 60 };

/* A process of ours with many threads, and options for it on one CPU. */
static int32_t start_many_threads(struct storm *storm, struct sampler_options *options,
				  int32_t *pid, int32_t *cpu)
{
	*pid = start_storm(storm);
	wait_for(&storm->nr_threads, MANY_THREADS);
	set_phase(storm, PHASE_WAITING);
	*cpu = sched_getcpu();
	*options = options_for(pid, "page-faults");
	options->frequency_hz = 49; /* kernels allow less than 999 where samples cost much */
	options->cpus = cpu;
	options->nr_cpus = 1;
	return *pid;
}

static void limit_descriptors(void)
{
	const struct rlimit few = {FEW_DESCRIPTORS, FEW_DESCRIPTORS};
	CHECK_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
}

static void attach_with_few_descriptors(void *context)
{
	struct sampler_options *options = context;
	struct error error;
	drop_capability(CAP_SYS_RESOURCE); /* else root raises the limit */
	limit_descriptors();
	struct sampler *sampler = open_or_explain(options);
	CHECK(sampler_filters_pids(sampler));
	CHECK_EQ(sampler_nr_ids(sampler), 1);
	CHECK_EQ(sampler_ids(sampler)[0].tid, -1);
	CHECK(has_fallback(sampler, "descriptors"));
	CHECK_EQ(sampler_enable(sampler), 0);
	sampler_free(sampler);
	options->strict = true;
	check_refused(options, &error);
	CHECK(strstr(error.cause, "descriptors"));
}

static void refuse_with_few_descriptors(void *context)
{
	const struct sampler_options *options = context;
	struct error error;
	limit_descriptors();
	check_refused(options, &error);
	CHECK(strstr(error.cause, "descriptors"));
	CHECK(strstr(error.remedy, "ulimit -n"));
}

static void as_nobody_many_threads(void *context)
{
	struct sampler_options options;
	int32_t pid, cpu;
	become_other_user();
	start_many_threads(context, &options, &pid, &cpu);
	options.ring_pages = 8;
	refuse_with_few_descriptors(&options);
	end_process(pid);
}

static void too_few_descriptors_sample_whole_cpus(void)
{
	require_root();
	struct storm *storm = mmap(NULL, sizeof(*storm), PROT_READ | PROT_WRITE,
				   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(storm != MAP_FAILED);
	struct sampler_options options;
	int32_t pid, cpu;
	start_many_threads(storm, &options, &pid, &cpu);
	in_child(attach_with_few_descriptors, &options);
	end_process(pid);
	munmap(storm, sizeof(*storm));
}

static void too_few_descriptors_without_privilege_are_an_error(void)
{
	require_root();
	struct storm *storm = mmap(NULL, sizeof(*storm), PROT_READ | PROT_WRITE,
				   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(storm != MAP_FAILED);
	in_child(as_nobody_many_threads, storm);
	munmap(storm, sizeof(*storm));
}

int main(void)
{
	RUN(no_thread_of_a_storm_is_missed_or_counted_twice);
	RUN(single_thread_is_attached_alone);
	RUN(too_few_descriptors_sample_whole_cpus);
	RUN(too_few_descriptors_without_privilege_are_an_error);
	return test_done();
}
