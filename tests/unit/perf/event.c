/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <ctop/kernel/named_events.h>
#include <ctop/perf/catalog.h>
#include <ctop/perf/event.h>
#include <ctop/perf/pmu.h>

#include "test.h"

static int parse(const char *text, struct event *event, struct error *error)
{
	*error = (struct error){0};
	return event_parse(text, strlen(text), event, error);
}

static struct event parsed(const char *text)
{
	struct event event;
	struct error error;
	CHECK_EQ(parse(text, &event, &error), 0);
	return event;
}

static void names_have_their_numbers(void)
{
	static const struct {
		const char *name;
		uint32_t type;
		uint64_t config;
		bool clock, cycles;
		enum weight_unit unit;
	} cases[] = {
		{"cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, false, true,
		 WEIGHT_CYCLES},
		{"cpu-cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, false, true,
		 WEIGHT_CYCLES},
		{"instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, false, false,
		 WEIGHT_INSTRUCTIONS},
		{"cpu-clock", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK, true, false, WEIGHT_NS},
		{"task-clock", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK, true, false,
		 WEIGHT_NS},
		{"page-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS, false, false,
		 WEIGHT_FAULTS},
		{"minor-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MIN, false, false,
		 WEIGHT_FAULTS},
		{"major-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MAJ, false, false,
		 WEIGHT_FAULTS},
		{"context-switches", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES, false,
		 false, WEIGHT_SWITCHES},
		{"cpu-migrations", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_MIGRATIONS, false, false,
		 WEIGHT_MIGRATIONS},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct event event = parsed(cases[i].name);
		CHECK_STR(event.name, cases[i].name);
		CHECK_EQ(event.type, cases[i].type);
		CHECK_EQ(event.config, cases[i].config);
		CHECK_EQ(event.clock, cases[i].clock);
		CHECK_EQ(event.cycles, cases[i].cycles);
		CHECK_EQ(event_unit(event.type, event.config), cases[i].unit);
	}
}

static void modifiers_say_what_is_counted(void)
{
	static const struct {
		const char *text;
		bool user, kernel, hypervisor, user_only;
		int precise;
	} cases[] = {
		{"cycles", true, true, true, false, 0},
		{"cycles:u", true, false, false, true, 0},
		{"cycles:k", false, true, false, false, 0},
		{"cycles:uk", true, true, false, false, 0},
		{"cycles:ku", true, true, false, false, 0},
		{"cycles:h", false, false, true, false, 0},
		{"cycles:uh", true, false, true, false, 0},
		{"cycles:p", true, true, true, false, 1},
		{"cycles:pp", true, true, true, false, 2},
		{"cycles:ppp", true, true, true, false, 3},
		{"cycles:upp", true, false, false, true, 2},
		{"cycles:pup", true, false, false, true, 2},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct event event = parsed(cases[i].text);
		CHECK_STR(event.asked, cases[i].text);
		CHECK_STR(event.name, "cycles");
		CHECK_EQ(event.user, cases[i].user);
		CHECK_EQ(event.kernel, cases[i].kernel);
		CHECK_EQ(event.hypervisor, cases[i].hypervisor);
		CHECK_EQ(event.asked_user_only, cases[i].user_only);
		CHECK_EQ(event.precise, cases[i].precise);
	}
}

static void text_ends_at_its_size(void)
{
	struct event event;
	struct error error = {0};
	CHECK_EQ(event_parse("cpu-clock,cycles", 9, &event, &error), 0);
	CHECK_STR(event.asked, "cpu-clock");
}

/* The arrow stands before what is wrong. */
static void what_is_malformed_is_marked(void)
{
	static const struct {
		const char *text, *marked;
	} cases[] = {
		{"cycles:", "'cycles:>>>'"},
		{"cycles:z", "'cycles:>>>z'"},
		{"cycles:uz", "'cycles:u>>>z'"},
		{"cycles:pppp", "'cycles:ppp>>>p'"},
		{"cpu-clock:U", "'cpu-clock:>>>U'"},
		{"cycles:u,k", "'cycles:u>>>,k'"},
		{"L1-dcache-loads:x", "'L1-dcache-loads:>>>x'"},
		{"software/config=1", "'software/config=1>>>'"},
		{"software", NULL},
		{"/config=1/", "'>>>/config=1/'"},
		{"no-such-pmu/config=1/", "'>>>no-such-pmu/config=1/'"},
		{"../software/config=1/", "'>>>../software/config=1/'"},
		{"software/config=x/", "'software/config=>>>x/'"},
		{"software/config=/", "'software/config=>>>/'"},
		{"software/config=0x/", "'software/config=>>>0x/'"},
		{"software/config=-1/", "'software/config=>>>-1/'"},
		{"software/config=99999999999999999999/",
		 "'software/config=>>>99999999999999999999/'"},
		{"software/config=1,confg=2/", "'software/config=1,>>>confg=2/'"},
		{"software/config=1,/", "'software/config=1,>>>/'"},
		{"software//", "'software/>>>/'"},
		{"software/name=/", "'software/name=>>>/'"},
		{"software/config=1/uz", "'software/config=1/u>>>z'"},
		{"software/config=1/:", "'software/config=1/:>>>'"},
		{"uprobe:", "'uprobe:>>>'"},
		{"uprobe::main", "'uprobe:>>>:main'"},
		{"uprobe:/bin/sh:main:x", "'uprobe:/bin/sh:main:>>>x'"},
		{"uprobe:./x:a::b(int, c):x", "'uprobe:./x:a::b(int, c):>>>x'"},
		{"uprobe:/bin/bash", "'uprobe:/bin/bash>>>'"},
		{"uprobe:/bin/bash:", "'uprobe:/bin/bash:>>>'"},
		{"uprobe:/usr/bin/g++", "'uprobe:/usr/bin/g++>>>'"},
		{"uprobe:/bin/bash+99999999999999999999",
		 "'uprobe:/bin/bash>>>+99999999999999999999'"},
		{"mem:", "'mem:>>>'"},
		{"mem:x", "'mem:>>>x'"},
		{"mem:0x", "'mem:>>>0x'"},
		{"mem:0x10/3:r", "'mem:0x10/>>>3:r'"},
		{"mem:0x10:rwx", "'mem:0x10:rwx>>>'"},
		{"mem:0x10:r:", "'mem:0x10:r:>>>'"},
		{"mem:0x10:z", "'mem:0x10:>>>z'"},
		{"mem:0x10y", "'mem:0x10>>>y'"},
		{"kprobe:", "'kprobe:>>>'"},
		{"kprobe:vfs read", "'kprobe:vfs>>> read'"},
		{"kprobe:vfs_read:ux", "'kprobe:vfs_read:u>>>x'"},
		{"cyc\nles", "'cyc>>>\nles'"},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct event event;
		struct error error;
		CHECK_EQ(parse(cases[i].text, &event, &error), -EINVAL);
		CHECK_EQ(error.exit_code, ERROR_EXIT_USAGE);
		if (cases[i].marked && !strstr(error.cause, cases[i].marked))
			CHECK_STR(error.cause, cases[i].marked);
		CHECK(error.remedy[0] != '\0');
	}
}

static void long_text_is_cut_around_the_mark(void)
{
	struct error error;
	char typed[256];
	memset(typed, 'a', 200);
	memset(typed + 100, 'b', 100);
	typed[200] = '\0';
	CHECK_EQ(error_marked(&error, typed, 100, "bad"), -EINVAL);
	CHECK(strstr(error.cause, "bad: '...aaa"));
	CHECK(strstr(error.cause, "aaa>>>bbb"));
	CHECK(strstr(error.cause, "bbb...'"));
	error_marked(&error, "abc", 99, "bad");
	CHECK_STR(error.cause, "bad: 'abc>>>'");
}

static void caches_have_their_numbers(void)
{
	static const struct {
		const char *name;
		uint64_t cache, operation, result;
	} cases[] = {
		{"L1-dcache-load-misses", 0, 0, 1},
		{"L1-dcache-loads", 0, 0, 0},
		{"L1-dcache-stores", 0, 1, 0},
		{"L1-icache-load-misses", 1, 0, 1},
		{"LLC-loads", 2, 0, 0},
		{"LLC-store-misses", 2, 1, 1},
		{"LLC-prefetches", 2, 2, 0},
		{"dTLB-load-misses", 3, 0, 1},
		{"iTLB-load-misses", 4, 0, 1},
		{"branch-load-misses", 5, 0, 1},
		{"node-prefetch-misses", 6, 2, 1},
		{"l1d-misses", 0, 0, 1},
		{"llc-LOADS", 2, 0, 0},
		{"dtlb-read", 3, 0, 0},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct event event = parsed(cases[i].name);
		CHECK_EQ(event.type, PERF_TYPE_HW_CACHE);
		CHECK_EQ(event.config,
			 cases[i].cache | cases[i].operation << 8 | cases[i].result << 16);
	}
	/* The kernel has no number for a store to code. */
	struct event event;
	struct error error;
	CHECK_EQ(parse("L1-icache-stores", &event, &error), -EINVAL);
	CHECK_EQ(parse("iTLB-prefetches", &event, &error), -EINVAL);
}

static void raw_codes_are_hexadecimal(void)
{
	struct event event = parsed("r1a8");
	CHECK_EQ(event.type, PERF_TYPE_RAW);
	CHECK_EQ(event.config, 0x1a8);
	CHECK(!event.cycles && !event.clock);
	event = parsed("rFFFFFFFFFFFFFFFF:u");
	CHECK_EQ(event.config, UINT64_MAX);
	CHECK(event.asked_user_only);
	struct error error;
	CHECK_EQ(parse("r", &event, &error), -EINVAL);
	CHECK_EQ(parse("r10000000000000000", &event, &error), -EINVAL);
	CHECK_EQ(parse("r1g", &event, &error), -EINVAL);
}

/* ---- PMUs: a sysfs of our own ---- */

static void write_file(const char *directory, const char *path, const char *text)
{
	char whole[256];
	snprintf(whole, sizeof(whole), "%s/%s", directory, path);
	FILE *file = fopen(whole, "w");
	CHECK(file != NULL);
	if (file) {
		fputs(text, file);
		fclose(file);
	}
}

static void make_directory(const char *directory, const char *path)
{
	char whole[256];
	snprintf(whole, sizeof(whole), "%s/%s", directory, path);
	CHECK_EQ(mkdir(whole, 0700), 0);
}

static int parse_pmu(const char *devices, const char *text, struct event *event,
		     struct error *error)
{
	*event = (struct event){.user = true, .kernel = true, .hypervisor = true};
	snprintf(event->asked, sizeof(event->asked), "%s", text);
	snprintf(event->name, sizeof(event->name), "%s", text);
	return pmu_parse(devices, event, error);
}

static void count_name(void *context, const char *name)
{
	*(int *)context += strcmp(name, "cpu/loads/") == 0 || strcmp(name, "cpu/loop/") == 0;
}

static void pmus_are_read_from_sysfs(void)
{
	char devices[] = "/tmp/ctop-pmus-XXXXXX", command[64];
	CHECK(mkdtemp(devices) != NULL);
	make_directory(devices, "cpu");
	make_directory(devices, "cpu/format");
	make_directory(devices, "cpu/events");
	write_file(devices, "cpu/type", "4\n");
	write_file(devices, "cpu/format/event", "config:0-7,32-35\n");
	write_file(devices, "cpu/format/umask", "config:8-15\n");
	write_file(devices, "cpu/format/edge", "config:18\n");
	write_file(devices, "cpu/format/offcore", "config1:0-63\n");
	write_file(devices, "cpu/format/far", "config3:0-63\n");
	write_file(devices, "cpu/format/odd", "config:7-0,99\n");
	write_file(devices, "cpu/events/loads", "event=0xcd,umask=0x1\n");
	write_file(devices, "cpu/events/loads.unit", "Bytes\n");
	write_file(devices, "cpu/events/loop", "loop\n");

	struct event event;
	struct error error;
	CHECK_EQ(parse_pmu(devices, "cpu/event=0xabc,umask=0x10,edge/u", &event, &error), 0);
	CHECK_EQ(event.type, 4);
	CHECK_EQ(event.config, UINT64_C(0xa) << 32 | 0xbc | 0x10 << 8 | 1 << 18);
	CHECK(event.asked_user_only);
	CHECK_STR(event.name, "cpu/event=0xabc,umask=0x10,edge/");
	CHECK_EQ(parse_pmu(devices, "cpu/loads,umask=2,offcore=0xffffffffffffffff/:pp", &event,
			   &error),
		 0);
	CHECK_EQ(event.config, 0xcd | 2 << 8);
	CHECK_EQ(event.config1, UINT64_MAX);
	CHECK_EQ(event.precise, 2);
	CHECK_EQ(parse_pmu(devices, "cpu/config=7,config2=9,name=mine/", &event, &error), 0);
	CHECK_EQ(event.config, 7);
	CHECK_EQ(event.config2, 9);
	CHECK_STR(event.name, "mine");
	static const struct {
		const char *text, *marked;
	} bad[] = {
		{"cpu/event=0x1000/", "'cpu/event=>>>0x1000/'"},
		{"cpu/edge=2/", "'cpu/edge=>>>2/'"},
		{"cpu/loads=1/", "'cpu/>>>loads=1/'"},
		{"cpu/loads.unit/", "'cpu/>>>loads.unit/'"},
		{"cpu/loop/", "'cpu/>>>loop/'"},
		{"cpu/far=1/", "'cpu/>>>far=1/'"},
		{"cpu/odd=1/", "'cpu/>>>odd=1/'"},
		{"cpu/umask=1,evnt=3/", "'cpu/umask=1,>>>evnt=3/'"},
	};
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		CHECK_EQ(parse_pmu(devices, bad[i].text, &event, &error), -EINVAL);
		if (!strstr(error.cause, bad[i].marked))
			CHECK_STR(error.cause, bad[i].marked);
	}
	int nr = 0;
	CHECK_EQ(pmu_each_event(devices, count_name, &nr), 0);
	CHECK_EQ(nr, 2);
	snprintf(command, sizeof(command), "rm -r %s", devices);
	CHECK_EQ(system(command), 0);
}

static void probes_have_a_place(void)
{
	struct event event;
	struct error error;
	if (pmu_type(PMU_DEVICES, "uprobe") < 0)
		SKIP("this kernel has no uprobes");
	event = parsed("uprobe:/bin/bash:readline");
	CHECK_STR(event.probe, "/bin/bash");
	CHECK_STR(event.function, "readline");
	CHECK(event.happens_in_user && !event.asked_user_only);
	event = parsed("uprobe:/bin/bash:readline+0x10:u");
	CHECK_STR(event.function, "readline");
	CHECK_EQ(event.config2, 0x10);
	CHECK(event.asked_user_only);
	CHECK_STR(event.name, "uprobe:/bin/bash:readline+0x10");
	event = parsed("uprobe:/usr/lib/libstdc++.so.6+4096:u");
	CHECK_STR(event.probe, "/usr/lib/libstdc++.so.6");
	CHECK_STR(event.function, "");
	CHECK_EQ(event.config2, 4096);
	CHECK(event.asked_user_only);
	/* A function may be called as modifiers are. */
	event = parsed("uprobe:/bin/bash:pp");
	CHECK_STR(event.function, "pp");
	CHECK_EQ(event.precise, 0);
	event = parsed("uprobe:/opt/a:b/bin/x:main");
	CHECK_STR(event.probe, "/opt/a:b/bin/x");
	CHECK_STR(event.function, "main");
	event = parsed("uprobe:libc:malloc");
	CHECK_STR(event.probe, "libc");
	CHECK_STR(event.function, "malloc");
	event = parsed("uprobe:/bin/x:ns::Class::method(int, char)");
	CHECK_STR(event.probe, "/bin/x");
	CHECK_STR(event.function, "ns::Class::method(int, char)");
	event = parsed("uprobe:/bin/x:(anonymous namespace)::f(a::b)+0x4:u");
	CHECK_STR(event.function, "(anonymous namespace)::f(a::b)");
	CHECK_EQ(event.config2, 4);
	CHECK(event.asked_user_only);
	event = parsed("uprobe:/bin/../bin/sh:a::u");
	CHECK_STR(event.function, "a::u");
	uint64_t config = event.config;
	event = parsed("uretprobe:/bin/bash:readline");
	CHECK(event.config != config);
	struct perf_event_attr attr = {0};
	event_fill_attr(&event, &attr);
	CHECK(attr.config1 == (uint64_t)(uintptr_t)event.probe);
	/* kprobes: here or not, what is malformed is said first. */
	int result = parse("kprobe:vfs_read+8:k", &event, &error);
	CHECK(result == 0 || result == -ENODEV);
	CHECK_STR(event.probe, "vfs_read");
	CHECK_EQ(event.config2, 8);
}

static void breakpoints(void)
{
	struct perf_event_attr attr = {0};
	struct event event = parsed("mem:0x601040");
	event_fill_attr(&event, &attr);
	CHECK_EQ(attr.type, PERF_TYPE_BREAKPOINT);
	CHECK_EQ(attr.bp_type, 3);
	CHECK_EQ(attr.bp_addr, 0x601040);
	CHECK_EQ(attr.bp_len, 4);
	event = parsed("mem:16/8:w:u");
	CHECK_EQ(event.breakpoint, 2);
	CHECK_EQ(event.config1, 16);
	CHECK_EQ(event.config2, 8);
	CHECK(event.asked_user_only);
	CHECK_STR(event.name, "mem:16/8:w");
	event = parsed("mem:0x10:x");
	CHECK_EQ(event.breakpoint, 4);
	CHECK_EQ(event.config2, sizeof(long));
	event = parsed("mem:0x10:u");
	CHECK_EQ(event.breakpoint, 3);
	CHECK(event.asked_user_only);
}

static void tracepoints_need_tracefs(void)
{
	struct event event;
	struct error error;
	int result = parse("sched:sched_switch", &event, &error);
	if (result) {
		CHECK(result == -ENODEV || result == -EACCES);
		CHECK(strstr(error.cause, "tracefs"));
		CHECK_EQ(error.exit_code, ERROR_EXIT_FAILED);
		CHECK(error.remedy[0] != '\0');
		SKIP("tracefs is not to be had");
	}
	CHECK_EQ(event.type, PERF_TYPE_TRACEPOINT);
	CHECK(event.config > 0);
	CHECK(event.happens_in_kernel);
	CHECK_EQ(parse("sched:sched_swich", &event, &error), -EINVAL);
	CHECK(strstr(error.remedy, "'sched:sched_switch'"));
	if (parse("syscalls:sys_enter_write:u", &event, &error) == 0)
		CHECK(!event.happens_in_kernel && event.asked_user_only);
}

static void near_misses_are_suggested(void)
{
	static const struct {
		const char *text, *meant;
	} cases[] = {
		{"cylces", "'cycles'"},
		{"cycle", "'cycles'"},
		{"cpu-clok", "'cpu-clock'"},
		{"cpuclock", "'cpu-clock'"},
		{"page-fault", "'page-faults'"},
		{"pagefaults", "'page-faults'"},
		{"context", "'context-switches'"},
		{"instrctions:u", "'instructions'"},
		{"fautls", "'faults'"},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct event event;
		struct error error;
		CHECK_EQ(parse(cases[i].text, &event, &error), -EINVAL);
		CHECK_EQ(error.exit_code, ERROR_EXIT_USAGE);
		CHECK(strstr(error.cause, "unknown event"));
		CHECK(strstr(error.remedy, cases[i].meant));
	}
}

static void far_names_are_not_suggested(void)
{
	static const char *const texts[] = {"banana", "x", "qqqqqq", "a-very-long-name-of-nothing"};
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct event event;
		struct error error;
		CHECK_EQ(parse(texts[i], &event, &error), -EINVAL);
		CHECK_EQ(error.exit_code, ERROR_EXIT_USAGE);
		CHECK(!strstr(error.remedy, "did you mean"));
		CHECK(error.remedy[0] != '\0');
	}
}

static void nothing_and_too_much_are_refused(void)
{
	struct event event;
	struct error error;
	char longest[300];
	CHECK_EQ(parse("", &event, &error), -EINVAL);
	CHECK_EQ(error.exit_code, ERROR_EXIT_USAGE);
	CHECK_EQ(parse(":", &event, &error), -EINVAL);
	CHECK_EQ(parse(":u", &event, &error), -EINVAL);
	for (size_t size = 60; size < sizeof(longest); size += 7) {
		memset(longest, 'x', size);
		CHECK_EQ(event_parse(longest, size, &event, &error), -EINVAL);
		CHECK_EQ(error.exit_code, ERROR_EXIT_USAGE);
		CHECK(error.cause[0] && error.remedy[0]);
	}
}

/* Names that only libpfm4 has: its own spelling of the kernel's software events is known everywhere. */
static void other_names_come_from_libpfm(void)
{
	struct event event = parsed("PERF_COUNT_SW_CPU_CLOCK");
	CHECK_EQ(event.type, PERF_TYPE_SOFTWARE);
	CHECK_EQ(event.config, PERF_COUNT_SW_CPU_CLOCK);
	CHECK(event.clock);
	event = parsed("PERF_COUNT_SW_PAGE_FAULTS:u");
	CHECK_EQ(event.config, PERF_COUNT_SW_PAGE_FAULTS);
	CHECK(event.asked_user_only);
	CHECK_STR(event.name, "PERF_COUNT_SW_PAGE_FAULTS");
}

static void cycles_become_time(void)
{
	bool assumed;
	const char *source = NULL;
	uint64_t small = event_cycles_to_ns(1, &assumed, &source);
	CHECK(small >= 1);
	CHECK(source && source[0]);
	uint64_t second = event_cycles_to_ns(1000000000, &assumed, &source);
	/* A billion cycles: between 0.1 s at 10 GHz and 10 s at 100 MHz. */
	CHECK(second >= 100000000 && second <= 10000000000);
	CHECK(assumed || strcmp(source, "an assumed 3 GHz") != 0);
	CHECK(!assumed || second == 333333333);
}

struct listed {
	int nr[NR_EVENT_KINDS];
};

static void count_event(void *context, enum event_kind kind, const char *name,
			const char *description)
{
	struct listed *listed = context;
	listed->nr[kind]++;
	CHECK(name[0] != '\0');
	if (kind >= EVENT_PMU)
		return;
	CHECK(description[0] != '\0');
	CHECK(parsed(name).user);
}

static void every_listed_event_parses(void)
{
	struct listed listed = {0};
	const struct catalog_reader reader = {&listed, count_event};
	int result = catalog_read(&reader);
	CHECK(result == 0 || result == -ENODEV || result == -EACCES);
	CHECK_EQ(listed.nr[EVENT_HARDWARE], 14);
	CHECK_EQ(listed.nr[EVENT_CLOCK], 2);
	CHECK_EQ(listed.nr[EVENT_SOFTWARE], 11);
	/* 4 caches with all six, one without stores, two with loads alone. */
	CHECK_EQ(listed.nr[EVENT_CACHE], 4 * 6 + 4 + 2 * 2);
	CHECK(!result == (listed.nr[EVENT_TRACEPOINT] > 0));
}

int main(void)
{
	RUN(names_have_their_numbers);
	RUN(modifiers_say_what_is_counted);
	RUN(text_ends_at_its_size);
	RUN(what_is_malformed_is_marked);
	RUN(long_text_is_cut_around_the_mark);
	RUN(caches_have_their_numbers);
	RUN(raw_codes_are_hexadecimal);
	RUN(pmus_are_read_from_sysfs);
	RUN(probes_have_a_place);
	RUN(breakpoints);
	RUN(tracepoints_need_tracefs);
	RUN(near_misses_are_suggested);
	RUN(far_names_are_not_suggested);
	RUN(nothing_and_too_much_are_refused);
	RUN(other_names_come_from_libpfm);
	RUN(cycles_become_time);
	RUN(every_listed_event_parses);
	return test_done();
}
