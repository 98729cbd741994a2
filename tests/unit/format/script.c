/* SPDX-License-Identifier: MIT */
#include <ctop/format/formats.h>

#include <errno.h>
#include <stdlib.h>

#include <ctop/base/text.h>

#include "test.h"

struct profile {
	struct tables tables;
	struct symbols symbols;
	struct tables_writer *writer;
	struct symbols_writer *namer;
	struct history *history;
	struct text out;
	size_t nr_pieces, largest_piece;
	int fail_with;
};

static struct string_id string_of(struct profile *profile, const char *string)
{
	struct string_id id = {0};
	CHECK_EQ(tables_add_string(profile->writer, string, strlen(string), &id), 0);
	return id;
}

static struct module_id module(struct profile *profile, enum module_kind kind, const char *path)
{
	const struct module_row row = {.kind = kind, .path = string_of(profile, path), .pid = 42};
	struct module_id id = {0};
	CHECK_EQ(tables_add_module(profile->writer, &row, &id), 0);
	return id;
}

static struct frame_id frame(struct profile *profile, struct module_id module, uint64_t address,
			     const char *name, const char *shown_module, uint32_t offset)
{
	struct frame_id id = {0};
	CHECK_EQ(tables_add_frame(profile->writer, module, address, &id), 0);
	if (name)
		CHECK_EQ(symbols_set(profile->namer, id, SYMBOL_NAMED, name, shown_module, offset),
			 0);
	return id;
}

static struct node_id below(struct profile *profile, struct node_id parent, struct frame_id frame,
			    enum frame_method method)
{
	struct node_id id = {0};
	CHECK_EQ(tables_add_node(profile->writer, parent, frame, (uint32_t)method, &id), 0);
	return id;
}

static struct task_id task(struct profile *profile, int32_t pid, int32_t tid, const char *comm)
{
	struct task_id id = {0};
	CHECK_EQ(tables_add_task(profile->writer, pid, tid, 0, string_of(profile, comm), &id), 0);
	return id;
}

static uint8_t event(struct profile *profile, const char *name)
{
	const struct event_row row = {.name = string_of(profile, name)};
	uint32_t id = 0;
	CHECK_EQ(tables_add_event(profile->writer, &row, &id), 0);
	return (uint8_t)id;
}

static void add(struct profile *profile, struct sample sample)
{
	tables_publish(profile->writer);
	CHECK_EQ(history_import(profile->history, &sample, 1), 0);
}

static void begin(struct profile *profile)
{
	*profile = (struct profile){.history = history_new()};
	CHECK_EQ(tables_map(&profile->tables, -1, &tables_capacity_default, true), 0);
	CHECK_EQ(symbols_map(&profile->symbols, -1, &symbols_capacity_default, true), 0);
	profile->writer = tables_writer_new(&profile->tables);
	profile->namer = symbols_writer_new(&profile->symbols);
	CHECK(profile->history && profile->writer && profile->namer);
	history_keep_samples(profile->history, 1 << 20);
	CHECK_EQ(history_begin_epoch(profile->history, &profile->tables, &profile->symbols), 0);
}

static void end(struct profile *profile)
{
	text_release(&profile->out);
	history_free(profile->history);
	tables_writer_free(profile->writer);
	symbols_writer_free(profile->namer);
	tables_unmap(&profile->tables);
	symbols_unmap(&profile->symbols);
}

static int take(void *context, const void *bytes, size_t size)
{
	struct profile *profile = context;
	profile->nr_pieces++;
	if (size > profile->largest_piece)
		profile->largest_piece = size;
	text_add_bytes(&profile->out, bytes, size);
	return profile->fail_with;
}

static int write_samples(struct profile *profile, const char *name)
{
	const struct export_sink sink = {.context = profile, .write = take};
	struct selection *selection = selection_of_all(profile->history);
	CHECK(selection);
	const struct export_request request = {
		.history = profile->history, .selection = selection, .sink = &sink};
	int result = format_named(name)->write(&request);
	selection_free(selection);
	return result;
}

static void every_kind_of_frame(void)
{
	struct profile profile;
	begin(&profile);
	struct module_id program = module(&profile, MODULE_FILE, "/bin/a program");
	struct module_id kernel = module(&profile, MODULE_KERNEL, "[kernel]");
	struct module_id vdso = module(&profile, MODULE_VDSO, "[vdso]");
	struct module_id anon = module(&profile, MODULE_ANON, "[anon]");
	uint8_t clock = event(&profile, "cpu-clock:u"), faults = event(&profile, "faults");
	const struct node_id root = {0};
	struct node_id node = below(
		&profile, root, frame(&profile, program, 0x1190, "_start", NULL, 0x20), FRAME_LEAF);
	node = below(&profile, node,
		     frame(&profile, program, 0x12cf, "ns::f(int (*)(char))", NULL, 0xf),
		     FRAME_CFI);
	node = below(&profile, node, frame(&profile, anon, 0x7f0012345678, "jitted", NULL, 1),
		     FRAME_FP);
	node = below(&profile, node, frame(&profile, anon, 0x7f0012345abc, NULL, NULL, 0),
		     FRAME_FP);
	node = below(&profile, node, frame(&profile, vdso, 0xa01, "clock_gettime", NULL, 0x11),
		     FRAME_CFI);
	struct node_id in_kernel =
		below(&profile, node,
		      frame(&profile, kernel, 0xffffffff8100012f, "entry_SYSCALL_64", NULL, 0x75),
		      FRAME_KERNEL);
	in_kernel = below(&profile, in_kernel,
			  frame(&profile, kernel, 0xffffffffc000000f, "ext4_read", "[ext4]", 0xe),
			  FRAME_KERNEL);
	in_kernel = below(&profile, in_kernel,
			  frame(&profile, kernel, 0xffffffff82000000, NULL, NULL, 0), FRAME_KERNEL);
	add(&profile, (struct sample){.time_ns = 19217160772999,
				      .weight = 5025125,
				      .task = task(&profile, 42, 43, "kworker/0:1 x"),
				      .node = in_kernel,
				      .leaf = frame(&profile, kernel, 0xffffffff81000fff,
						    "clear_page", NULL, 0),
				      .cpu = 1,
				      .event = clock});
	add(&profile,
	    (struct sample){.time_ns = 19217160773000,
			    .weight = 1,
			    .task = task(&profile, 1234567, 1234568, ""),
			    .node = node,
			    .leaf = frame(&profile, program, 0x40, "no offset", NULL, UINT32_MAX),
			    .cpu = 1023,
			    .event = faults});
	add(&profile, (struct sample){.time_ns = 19217160774000,
				      .weight = 1,
				      .task = task(&profile, 0, 0, "swapper"),
				      .event = faults,
				      .end = STACK_KERNEL_ONLY});
	add(&profile,
	    (struct sample){.time_ns = 100000000000000000,
			    .weight = 12345678901,
			    .task = task(&profile, 7, 7, "  a\n\tb"),
			    .leaf = frame(&profile, module(&profile, MODULE_FILE, "/tmp/\x1b[2J"),
					  0x1, "evil\nname", NULL, 0),
			    .event = faults});
	add(&profile,
	    (struct sample){.time_ns = 100000000000000001,
			    .weight = 1,
			    .task = task(&profile, 7, 7, "t"),
			    .leaf = frame(&profile, (struct module_id){0}, 0x55, NULL, NULL, 0),
			    .event = faults});
	CHECK_EQ(write_samples(&profile, "script"), 0);
	CHECK_STR(text_string(&profile.out),
		  "kworker/0:1 x    42/43    [001] 19217.160772:    5025125 cpu-clock:u: \n"
		  "\tffffffff81000fff clear_page+0x0 ([kernel.kallsyms])\n"
		  "\tffffffff82000001 [unknown] ([kernel.kallsyms])\n"
		  "\tffffffffc0000010 ext4_read+0xf ([ext4])\n"
		  "\tffffffff81000130 entry_SYSCALL_64+0x76 ([kernel.kallsyms])\n"
		  "\t             a01 clock_gettime+0x11 ([vdso])\n"
		  "\t    7f0012345abc [unknown] (/tmp/perf-42.map)\n"
		  "\t    7f0012345678 jitted+0x1 (/tmp/perf-42.map)\n"
		  "\t            12cf ns::f(int (*)(char))+0xf (/bin/a program)\n"
		  "\t            1190 _start+0x20 (/bin/a program)\n"
		  "\n"
		  ":1234568 1234567/1234568 [1023] 19217.160773:          1      faults: \n"
		  "\t              40 no offset (/bin/a program)\n"
		  "\t             a01 clock_gettime+0x11 ([vdso])\n"
		  "\t    7f0012345abc [unknown] (/tmp/perf-1234567.map)\n"
		  "\t    7f0012345678 jitted+0x1 (/tmp/perf-1234567.map)\n"
		  "\t            12cf ns::f(int (*)(char))+0xf (/bin/a program)\n"
		  "\t            1190 _start+0x20 (/bin/a program)\n"
		  "\n"
		  "swapper     0/0     [000] 19217.160774:          1      faults: \n"
		  "\n"
		  "__a\\x0a\\x09b     7/7     [000] 100000000.000000: 12345678901      faults: \n"
		  "\t               1 evil\\x0aname+0x0 (/tmp/\\x1b[2J)\n"
		  "\n"
		  "t     7/7     [000] 100000000.000000:          1      faults: \n"
		  "\t              55 [unknown] ([unknown])\n"
		  "\n");
	end(&profile);
}

static void how_each_frame_was_found(void)
{
	struct profile profile;
	begin(&profile);
	struct module_id program = module(&profile, MODULE_FILE, "/bin/program");
	struct module_id kernel = module(&profile, MODULE_KERNEL, "[kernel]");
	uint8_t clock = event(&profile, "cpu-clock");
	struct node_id node = {0};
	/* From the root on: of a caller, the instruction of the call; of an interrupted one, its own. */
	for (enum frame_method method = NR_FRAME_METHODS; --method > FRAME_LEAF;) {
		bool in_kernel = method == FRAME_KERNEL;
		if (!in_kernel)
			node = below(&profile, node,
				     frame(&profile, program, 0x1000 + method,
					   frame_method_name(method), NULL, method),
				     method);
	}
	struct node_id in_kernel =
		below(&profile, node, frame(&profile, kernel, 0xffffffff8100012f, NULL, NULL, 0),
		      FRAME_KERNEL);
	struct sample sample = {
		.time_ns = 1000,
		.weight = 1,
		.task = task(&profile, 42, 43, "one"),
		.node = in_kernel,
		.leaf = frame(&profile, kernel, 0xffffffff81000fff, "clear_page", NULL, 0),
		.event = clock,
		.end = STACK_TRUNCATED,
		.reason = STACK_REASON_DUMP_END,
	};
	add(&profile, sample);
	sample.node = (struct node_id){0};
	sample.end = STACK_COMPLETE;
	sample.reason = STACK_REASON_NONE;
	add(&profile, sample);
	CHECK_EQ(write_samples(&profile, "frames"), 0);
	CHECK_STR(text_string(&profile.out),
		  "one    42/43    [000]     0.000001:          1 cpu-clock: truncated (dump_end)\n"
		  "\tffffffff81000fff kernel     clear_page+0x0 "
		  "([kernel.kallsyms]+0xffffffff81000fff)\n"
		  "\tffffffff81000130 kernel     [unknown] ([kernel.kallsyms]+0xffffffff8100012f)\n"
		  "\t            1002 cfi        cfi+0x2 (/bin/program+0x1001)\n"
		  "\t            1003 expression expression+0x3 (/bin/program+0x1002)\n"
		  "\t            1004 plt        plt+0x4 (/bin/program+0x1003)\n"
		  "\t            1004 signal     signal+0x4 (/bin/program+0x1004)\n"
		  "\t            1006 return     return+0x6 (/bin/program+0x1005)\n"
		  "\t            1007 fp         fp+0x7 (/bin/program+0x1006)\n"
		  "\t            1008 joined     joined+0x8 (/bin/program+0x1007)\n"
		  "\t            100a code       code+0xa (/bin/program+0x1009)\n"
		  "\t            100b likely     likely+0xb (/bin/program+0x100a)\n"
		  "\t            100b switched   switched+0xb (/bin/program+0x100b)\n"
		  "\t            100d created    created+0xd (/bin/program+0x100c)\n"
		  "\n"
		  "one    42/43    [000]     0.000001:          1 cpu-clock: complete\n"
		  "\tffffffff81000fff kernel     clear_page+0x0 "
		  "([kernel.kallsyms]+0xffffffff81000fff)\n"
		  "\n");
	end(&profile);
}

/* However many samples there are, a piece is as large as ever; an error of the sink ends it at once. */
static void in_pieces(void)
{
	struct profile profile;
	begin(&profile);
	struct module_id program = module(&profile, MODULE_FILE, "/bin/program");
	uint8_t clock = event(&profile, "cpu-clock");
	struct task_id one = task(&profile, 1, 1, "one");
	struct frame_id leaf = frame(&profile, program, 0x10, "leaf", NULL, 0);
	enum { NR = 20000 };
	for (uint64_t i = 0; i < NR; i++)
		add(&profile, (struct sample){.time_ns = NR - i,
					      .weight = 1,
					      .task = one,
					      .leaf = leaf,
					      .event = clock});
	CHECK_EQ(write_samples(&profile, "script"), 0);
	CHECK(profile.nr_pieces > 10);
	CHECK(profile.largest_piece < 70000);
	CHECK(profile.out.size > (size_t)NR * 60);
	profile.nr_pieces = 0;
	profile.fail_with = -ENOSPC;
	CHECK_EQ(write_samples(&profile, "script"), -ENOSPC);
	CHECK_EQ(profile.nr_pieces, 1);
	end(&profile);
}

static void nothing_is_no_text(void)
{
	struct profile profile;
	begin(&profile);
	CHECK_EQ(write_samples(&profile, "script"), 0);
	CHECK_EQ(profile.nr_pieces, 0);
	end(&profile);
}

int main(void)
{
	RUN(every_kind_of_frame);
	RUN(how_each_frame_was_found);
	RUN(in_pieces);
	RUN(nothing_is_no_text);
	return test_done();
}
