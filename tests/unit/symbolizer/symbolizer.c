/* SPDX-License-Identifier: MIT */
/* Frames of files and of the kernel: what is asked for, and which names they get. */
#include <sys/resource.h>
#include <sys/stat.h>

#include <ctop/kernel/names_text.h>

#include "scene.h"

static void names_a_file(void)
{
	struct scene *scene = scene_new();
	CHECK(is_idle(scene));
	CHECK_EQ(symbolizer_work(scene->symbolizer, 100), 0);
	struct module_id module = add_file(scene, 11, "/bin/program");
	struct frame_id main_frame = add_frame(scene, module, 0x1004);
	struct frame_id bar = add_frame(scene, module, 0x1040);
	struct frame_id fork_frame = add_frame(scene, module, 0x109f);
	struct frame_id odd = add_frame(scene, module, 0x10c0);
	struct frame_id nothing = add_frame(scene, module, 0x1030);
	/* Published, and not looked at. */
	CHECK(!is_idle(scene));
	CHECK_EQ(scene->nr_asked, 0);
	CHECK_EQ(symbolizer_work(scene->symbolizer, 2), 2);
	CHECK_EQ(symbolizer_work(scene->symbolizer, 100), 3);
	CHECK_EQ(symbolizer_work(scene->symbolizer, 100), 0);
	/* Asked once; waiting is not idle. */
	CHECK_EQ(scene->nr_asked, 1);
	CHECK_EQ(scene->asked[0].module.index, module.index);
	CHECK_EQ(scene->asked[0].row.kind, MODULE_FILE);
	CHECK_EQ(scene->asked[0].row.pid, 7);
	CHECK_EQ(state_of(scene, main_frame), SYMBOL_PENDING);
	CHECK(!is_idle(scene));
	give_program(scene, module);
	CHECK(!is_idle(scene));
	CHECK_EQ(symbolizer_work(scene->symbolizer, 3), 3);
	CHECK(!is_idle(scene));
	CHECK_EQ(symbolizer_work(scene->symbolizer, 100), 2);
	CHECK(is_idle(scene));
	CHECK_STR(name_of(scene, main_frame), "main");
	CHECK_EQ(symbols_row(&scene->symbols, main_frame).offset, 4);
	CHECK_STR(name_of(scene, bar), "foo::bar(int)");
	CHECK_STR(name_of(scene, fork_frame), "fork");
	CHECK_STR(name_of(scene, odd), "odd()");
	/* Nameless, behind the end of the function before. */
	CHECK_EQ(state_of(scene, nothing), SYMBOL_BOUNDED);
	CHECK_EQ(symbols_row(&scene->symbols, nothing).offset, 0x10);
	CHECK_EQ(symbols_row(&scene->symbols, main_frame).module.index, 0);
	/* Later frames need nobody. */
	struct frame_id later = add_frame(scene, module, 0x1008);
	CHECK(!is_idle(scene));
	CHECK_EQ(symbolizer_work(scene->symbolizer, 100), 1);
	CHECK_STR(name_of(scene, later), "main");
	CHECK(is_idle(scene));
	CHECK_EQ(scene->nr_asked, 1);
	scene_free(scene);
}

/* A file whose time is long ago: whatever is written now has another. */
static int old_program(void)
{
	const struct timespec long_ago[2] = {{.tv_sec = 1000}, {.tv_sec = 1000}};
	int fd = test_elf_fd(&program_file);
	CHECK_EQ(futimens(fd, long_ago), 0);
	return fd;
}

static void a_file_that_changes_names_nothing_any_more(void)
{
	struct scene *scene = scene_new();
	int fd = old_program();
	struct module_id module = add_file(scene, 11, "/bin/program");
	struct frame_id before = add_frame(scene, module, 0x1004);
	work(scene);
	CHECK_EQ(symbolizer_give_module(scene->symbolizer, module, dup(fd), 0), 0);
	work(scene);
	CHECK_STR(name_of(scene, before), "main");
	CHECK_EQ(symbolizer_nr_changed(scene->symbolizer), 0);
	/* All names become others', in place. */
	static char bytes[1 << 16];
	ssize_t size = pread(fd, bytes, sizeof(bytes), 0);
	CHECK(size > 0);
	for (ssize_t at = 0; at + 4 < size; at++)
		if (!memcmp(bytes + at, "main", 5))
			memcpy(bytes + at, "evil", 4);
	CHECK_EQ(pwrite(fd, bytes, (size_t)size, 0), size);
	struct frame_id after = add_frame(scene, module, 0x1008);
	work(scene);
	CHECK_EQ(state_of(scene, after), SYMBOL_NO_MODULE);
	CHECK_STR(name_of(scene, before), "main");
	CHECK_EQ(symbolizer_nr_changed(scene->symbolizer), 1);
	scene_free(scene);
	close(fd);
}

static void no_file(void)
{
	struct scene *scene = scene_new();
	struct module_id module = add_file(scene, 11, "/gone");
	struct module_id nonsense = add_file(scene, 12, "/no/elf");
	struct frame_id one = add_frame(scene, module, 0x1000);
	struct frame_id two = add_frame(scene, nonsense, 0x1000);
	work(scene);
	CHECK_EQ(scene->nr_asked, 2);
	CHECK_EQ(symbolizer_give_module(scene->symbolizer, module, -1, -ENOENT), 0);
	CHECK_EQ(symbolizer_give_module(scene->symbolizer, nonsense, text_fd("#!/bin/sh\n"), 0), 0);
	work(scene);
	CHECK_EQ(state_of(scene, one), SYMBOL_NO_MODULE);
	CHECK_EQ(state_of(scene, two), SYMBOL_NO_MODULE);
	CHECK(is_idle(scene));
	/* It stays like that, without asking again. */
	struct frame_id later = add_frame(scene, module, 0x2000);
	work(scene);
	CHECK_EQ(state_of(scene, later), SYMBOL_NO_MODULE);
	CHECK_EQ(scene->nr_asked, 2);
	scene_free(scene);
}

static void bad_ids(void)
{
	struct scene *scene = scene_new();
	const struct module_id none = {0}, beyond = {999};
	struct frame_id in_none = add_frame(scene, none, 0x1000);
	struct frame_id in_beyond = add_frame(scene, beyond, 0x1000);
	struct frame_id odd_kind =
		add_frame(scene, add_module(scene, (struct module_row){.kind = 99}, "x"), 0x1000);
	work(scene);
	CHECK_EQ(state_of(scene, in_none), SYMBOL_NO_MODULE);
	CHECK_EQ(state_of(scene, in_beyond), SYMBOL_NO_MODULE);
	CHECK_EQ(state_of(scene, odd_kind), SYMBOL_NO_MODULE);
	CHECK(is_idle(scene));
	CHECK_EQ(scene->nr_asked, 0);
	/* Answers that nobody asked for: the descriptor is closed. */
	const struct module_id strange[] = {none, beyond, {1}, {UINT32_MAX}};
	for (size_t i = 0; i < NR(strange); i++) {
		int fd = text_fd("x");
		CHECK_EQ(symbolizer_give_module(scene->symbolizer, strange[i], fd, 0), -EINVAL);
		CHECK(fcntl(fd, F_GETFD) < 0);
		fd = text_fd("x");
		CHECK_EQ(symbolizer_give_debug_file(scene->symbolizer, strange[i], fd, 0), -EINVAL);
		CHECK(fcntl(fd, F_GETFD) < 0);
		CHECK_EQ(symbolizer_give_module(scene->symbolizer, strange[i], -1, -1), -EINVAL);
	}
	/* An answer given twice. */
	struct module_id module = add_file(scene, 11, "/bin/program");
	struct frame_id frame = add_frame(scene, module, 0x1000);
	work(scene);
	give_program(scene, module);
	CHECK_EQ(symbolizer_give_module(scene->symbolizer, module, text_fd("x"), 0), -EINVAL);
	CHECK_EQ(symbolizer_give_debug_file(scene->symbolizer, module, text_fd("x"), 0), -EINVAL);
	work(scene);
	CHECK_STR(name_of(scene, frame), "main");
	scene_free(scene);
}

/* A hostile build-id size is not believed. */
static void bad_build_id(void)
{
	struct scene *scene = scene_new();
	struct module_row row = {.kind = MODULE_FILE,
				 .identity = {.build_id_size = 4000, .inode = 3}};
	struct module_id module = add_module(scene, row, "/x");
	add_frame(scene, module, 0x1000);
	work(scene);
	CHECK_EQ(scene->nr_asked, 1);
	CHECK_EQ(scene->asked[0].row.identity.build_id_size, 0);
	scene_free(scene);
}

static void debug_file(void)
{
	static const struct {
		const char *stripped_id, *debug_id,
			*link;	      /* debug_id NULL: there is no debug file */
		const char *internal; /* the name that is found */
		bool asked;
	} cases[] = {
		{"same", "same", NULL, "internal", true},
		{NULL, NULL, "prog.debug", "-", true},
		{NULL, "any", "prog.debug", "internal", true},
		{"same", "another", NULL, "-", true},
		{NULL, "any", NULL, "-", false},
	};
	for (size_t i = 0; i < NR(cases); i++) {
		struct scene *scene = scene_new();
		struct module_id module = add_file(scene, 11, "/lib/stripped.so");
		struct frame_id inner = add_frame(scene, module, 0x1014);
		struct frame_id outer = add_frame(scene, module, 0x1004);
		work(scene);
		const struct test_elf stripped = {.symbols = exported,
						  .nr_symbols = NR(exported),
						  .table_type = SHT_DYNSYM,
						  .build_id = cases[i].stripped_id,
						  .debuglink = cases[i].link};
		CHECK_EQ(symbolizer_give_module(scene->symbolizer, module, test_elf_fd(&stripped),
						0),
			 0);
		work(scene);
		CHECK_EQ(scene->nr_asked, cases[i].asked ? 2 : 1);
		if (cases[i].asked) {
			const struct asked *asked = &scene->asked[1];
			CHECK(asked->debug);
			CHECK_EQ(asked->module.index, module.index);
			CHECK_EQ(asked->build_id_size, cases[i].stripped_id ? 20 : 0);
			CHECK_STR(asked->debuglink, cases[i].link ? cases[i].link : "");
			CHECK(!is_idle(scene));
			CHECK_EQ(state_of(scene, outer), SYMBOL_PENDING);
			const struct test_elf debug = {.symbols = internal,
						       .nr_symbols = NR(internal),
						       .table_type = SHT_SYMTAB,
						       .build_id = cases[i].debug_id};
			int fd = cases[i].debug_id ? test_elf_fd(&debug) : -1;
			CHECK_EQ(symbolizer_give_debug_file(scene->symbolizer, module, fd,
							    fd < 0 ? -ENOENT : 0),
				 0);
			work(scene);
		}
		CHECK_STR(name_of(scene, inner), cases[i].internal);
		CHECK_STR(name_of(scene, outer), "exported");
		CHECK(is_idle(scene));
		scene_free(scene);
	}
}

static void another_file_than_asked(void)
{
	struct scene *scene = scene_new();
	struct module_row row = {.kind = MODULE_FILE, .identity.build_id_size = 20};
	memcpy(row.identity.build_id, "wanted", 6);
	struct module_id module = add_module(scene, row, "/lib/a.so");
	struct frame_id frame = add_frame(scene, module, 0x1000);
	work(scene);
	struct test_elf other = program_file;
	other.build_id = "other";
	CHECK_EQ(symbolizer_give_module(scene->symbolizer, module, test_elf_fd(&other), 0), 0);
	work(scene);
	CHECK_EQ(state_of(scene, frame), SYMBOL_NO_MODULE);
	scene_free(scene);
}

static void rows_of_one_file(void)
{
	struct scene *scene = scene_new();
	struct module_row row = {.kind = MODULE_FILE,
				 .identity = {.build_id_size = 20,
					      .build_id = "same",
					      .owner_plus_1 = MODULE_OWNED_BY_ROOT,
					      .inode = 1}};
	struct module_id first = add_module(scene, row, "/lib/a.so");
	row.pid = 8;
	struct module_id second = add_module(scene, row, "/container/lib/a.so");
	/* No build-id: the path counts, too. */
	struct module_id third = add_file(scene, 5, "/lib/b.so"),
			 fourth = add_file(scene, 5, "/c.so");
	const struct frame_id frames[] = {
		add_frame(scene, first, 0x1000), add_frame(scene, second, 0x1000),
		add_frame(scene, third, 0x1000), add_frame(scene, fourth, 0x1000)};
	work(scene);
	CHECK_EQ(scene->nr_asked, 3);
	struct test_elf file = program_file;
	file.build_id = "same";
	CHECK_EQ(symbolizer_give_module(scene->symbolizer, first, test_elf_fd(&file), 0), 0);
	work(scene);
	CHECK_STR(name_of(scene, frames[0]), "main");
	CHECK_STR(name_of(scene, frames[1]), "main");
	CHECK_STR(name_of(scene, frames[2]), "-");
	give_program(scene, third);
	give_program(scene, fourth);
	work(scene);
	CHECK_STR(name_of(scene, frames[3]), "main");
	CHECK(is_idle(scene));
	scene_free(scene);
}

/* A build-id is what its file's owner says it is. */
static void a_copied_build_id(void)
{
	struct scene *scene = scene_new();
	struct module_row row = {.kind = MODULE_FILE,
				 .identity = {.build_id_size = 20, .build_id = "same"}};
	static const uint32_t owners[] = {1 + 65534, MODULE_OWNED_BY_ROOT, 1 + 65534, 0};
	enum { NR = sizeof(owners) / sizeof(*owners) };
	struct module_id modules[NR];
	struct frame_id frames[NR];
	for (uint32_t i = 0; i < NR; i++) {
		row.identity.inode = 1 + i;
		row.identity.owner_plus_1 = owners[i];
		modules[i] = add_module(scene, row, "/srv/app");
		frames[i] = add_frame(scene, modules[i], 0x1000);
	}
	work(scene);
	CHECK_EQ(scene->nr_asked, NR);
	struct test_elf file = program_file;
	file.build_id = "same";
	CHECK_EQ(symbolizer_give_module(scene->symbolizer, modules[0], test_elf_fd(&file), 0), 0);
	work(scene);
	CHECK_STR(name_of(scene, frames[0]), "main");
	for (uint32_t i = 1; i < NR; i++)
		CHECK_STR(name_of(scene, frames[i]), "-");
	scene_free(scene);
}

static void kernel(void)
{
	struct scene *scene = scene_new();
	struct module_id module =
		add_module(scene, (struct module_row){.kind = MODULE_KERNEL}, "[kernel]");
	struct frame_id core = add_frame(scene, module, 0xffffffff81000010);
	struct frame_id in_module = add_frame(scene, module, 0xffffffffc0000020);
	struct frame_id nowhere = add_frame(scene, module, 0x1000);
	work(scene);
	CHECK_EQ(scene->nr_asked, 1);
	int fd = text_fd("ffffffff81000000 T do_work\n"
			 "ffffffffc0000000 t ext4_read\t[ext4]\n");
	CHECK_EQ(symbolizer_give_module(scene->symbolizer, module, fd, 0), 0);
	work(scene);
	CHECK_STR(name_of(scene, core), "do_work");
	CHECK_EQ(symbols_row(&scene->symbols, core).offset, 0x10);
	CHECK_STR(name_of(scene, in_module), "ext4_read");
	CHECK_STR(symbols_string(&scene->symbols, symbols_row(&scene->symbols, in_module).module),
		  "[ext4]");
	CHECK_EQ(state_of(scene, nowhere), SYMBOL_UNKNOWN);
	CHECK(is_idle(scene));
	scene_free(scene);
}

/* The kernel's names take long to read. A file that comes meanwhile names its frames at once. */
static void kernel_is_last(void)
{
	enum { NR_LINES = 100000, LINE_BYTES = 40 };
	char *text = malloc(NR_LINES * LINE_BYTES);
	size_t bytes = 0;
	for (unsigned i = 0; i < NR_LINES; i++)
		bytes += (size_t)snprintf(text + bytes, LINE_BYTES, "ffffffff%08x T f%u\n",
					  0x81000000 + i * 16, i);
	struct scene *scene = scene_new();
	const struct module_id kernel =
		add_module(scene, (struct module_row){.kind = MODULE_KERNEL}, "[kernel]");
	const struct module_id file = add_file(scene, 1, "/bin/program");
	const struct frame_id in_kernel = add_frame(scene, kernel, 0xffffffff81000010);
	const struct frame_id in_file = add_frame(scene, file, 0x1010);
	work(scene);
	CHECK_EQ(symbolizer_give_module(scene->symbolizer, kernel, file_of_bytes(text, bytes), 0),
		 0);
	for (int i = 0; i < 4; i++)
		CHECK(symbolizer_work(scene->symbolizer, 100) > 0);
	CHECK_EQ(state_of(scene, in_kernel), SYMBOL_PENDING);
	give_program(scene, file);
	CHECK(symbolizer_work(scene->symbolizer, 100) > 0);
	CHECK_STR(name_of(scene, in_file), "main");
	CHECK_EQ(state_of(scene, in_kernel), SYMBOL_PENDING);
	/* Frames that are found meanwhile wait for the same reading; nobody asks again. */
	const struct frame_id later = add_frame(scene, kernel, 0xffffffff81000020);
	work(scene);
	CHECK_EQ(scene->nr_asked, 2);
	CHECK_STR(name_of(scene, in_kernel), "f1");
	CHECK_STR(name_of(scene, later), "f2");
	CHECK(is_idle(scene));
	free(text);
	scene_free(scene);
}

/* An epoch that begins while the kernel's names are being read: they are asked for again. */
static void kernel_in_two_epochs(void)
{
	struct scene *scene = scene_new();
	for (int epoch = 0; epoch < 2; epoch++) {
		const struct module_id kernel =
			add_module(scene, (struct module_row){.kind = MODULE_KERNEL}, "[kernel]");
		const struct frame_id frame = add_frame(scene, kernel, 0xffffffff81000010);
		work(scene);
		CHECK_EQ(scene->nr_asked, 1);
		CHECK_EQ(symbolizer_give_module(scene->symbolizer, kernel,
						text_fd("ffffffff81000000 T do_work\n"), 0),
			 0);
		if (epoch)
			work(scene);
		CHECK_STR(name_of(scene, frame), epoch ? "do_work" : "-");
		if (!epoch)
			next_epoch(scene);
	}
	scene_free(scene);
}

/* kernel.kptr_restrict: the names are there, but no addresses. */
static void kernel_hides(void)
{
	struct scene *scene = scene_new();
	struct module_id module =
		add_module(scene, (struct module_row){.kind = MODULE_KERNEL}, "[kernel]");
	struct frame_id frame = add_frame(scene, module, 0xffffffff81000010);
	work(scene);
	CHECK_EQ(symbolizer_give_module(scene->symbolizer, module,
					text_fd("0000000000000000 T do_work\n"), 0),
		 0);
	work(scene);
	CHECK_EQ(state_of(scene, frame), SYMBOL_NO_MODULE);
	CHECK(is_idle(scene));
	scene_free(scene);
}

#define KEPT(lines) KERNEL_NAMES_FIRST_LINE "\n" lines KERNEL_NAMES_LAST_LINE "\n"

/* Names that were kept serve at once; what they lack waits for the kernel's own text, which is asked for once. */
static void kept_names_of_the_kernel(void)
{
	struct scene *scene = scene_new();
	const struct module_id module =
		add_module(scene, (struct module_row){.kind = MODULE_KERNEL}, "[kernel]");
	const struct frame_id core = add_frame(scene, module, 0xffffffff81000010);
	const struct frame_id made = add_frame(scene, module, 0xffffffffc0000020);
	const struct frame_id nowhere = add_frame(scene, module, 0x1000);
	work(scene);
	CHECK_EQ(scene->nr_asked, 1);
	CHECK_EQ(symbolizer_give_module(scene->symbolizer, module,
					text_fd(KEPT("ffffffff81000000 T do_work\n")), 0),
		 0);
	work(scene);
	CHECK_STR(name_of(scene, core), "do_work");
	CHECK_EQ(state_of(scene, made), SYMBOL_PENDING);
	CHECK_EQ(state_of(scene, nowhere), SYMBOL_PENDING);
	CHECK_EQ(scene->nr_asked, 2);
	CHECK(!is_idle(scene));
	const struct frame_id later = add_frame(scene, module, 0xffffffff81000020);
	CHECK_EQ(symbolizer_give_module(scene->symbolizer, module,
					text_fd("ffffffff81000000 T do_work\n"
						"ffffffffc0000000 t bpf_prog_1\t[bpf]\n"),
					0),
		 0);
	/* While that is being read, what is known has names. */
	CHECK(symbolizer_work(scene->symbolizer, 100) > 0);
	CHECK_STR(name_of(scene, later), "do_work");
	work(scene);
	CHECK_STR(name_of(scene, made), "bpf_prog_1");
	CHECK_EQ(state_of(scene, nowhere), SYMBOL_UNKNOWN);
	CHECK_EQ(scene->nr_asked, 2);
	CHECK(is_idle(scene));
	scene_free(scene);
}

/* Lines of what has a name already are looked for when the other names have come: both are asked for, one after the other. */
static void lines_wait_for_the_kernels_names(void)
{
	struct scene *scene = scene_new();
	const struct module_id module =
		add_module(scene, (struct module_row){.kind = MODULE_KERNEL}, "[kernel]");
	CHECK_EQ(symbolizer_want_lines(scene->symbolizer), 0);
	const struct frame_id core = add_frame(scene, module, 0xffffffff81000010);
	const struct frame_id made = add_frame(scene, module, 0xffffffffc0000020);
	work(scene);
	CHECK_EQ(symbolizer_give_module(scene->symbolizer, module,
					text_fd(KEPT("ffffffff81000000 T do_work\n")), 0),
		 0);
	work(scene);
	CHECK_STR(name_of(scene, core), "do_work");
	CHECK_EQ(symbolizer_look_up_lines(scene->symbolizer, 100), 0);
	CHECK_EQ(scene->nr_asked, 2);
	CHECK(!scene->asked[1].debug);
	CHECK_EQ(symbolizer_give_module(scene->symbolizer, module,
					text_fd("ffffffff81000000 T do_work\n"
						"ffffffffc0000000 t bpf_prog_1\t[bpf]\n"),
					0),
		 0);
	work(scene);
	CHECK_STR(name_of(scene, made), "bpf_prog_1");
	CHECK(is_idle(scene));
	CHECK_EQ(symbolizer_look_up_lines(scene->symbolizer, 100), 0);
	CHECK_EQ(scene->nr_asked, 3);
	CHECK(scene->asked[2].debug);
	CHECK_EQ(symbolizer_give_debug_file(scene->symbolizer, module, -1, -ENOENT), 0);
	CHECK_EQ(symbolizer_look_up_lines(scene->symbolizer, 100), 2);
	CHECK(symbolizer_has_lines(scene->symbolizer));
	scene_free(scene);
}

/* Where the kernel's own text is not to be had, kept names stay. */
static void kept_names_are_not_completed(void)
{
	for (int is_hidden = 0; is_hidden < 2; is_hidden++) {
		struct scene *scene = scene_new();
		const struct module_id module =
			add_module(scene, (struct module_row){.kind = MODULE_KERNEL}, "[kernel]");
		const struct frame_id core = add_frame(scene, module, 0xffffffff81000010);
		const struct frame_id nowhere = add_frame(scene, module, 0x1000);
		work(scene);
		CHECK_EQ(symbolizer_give_module(scene->symbolizer, module,
						text_fd(KEPT("ffffffff81000000 T do_work\n")), 0),
			 0);
		work(scene);
		CHECK_EQ(scene->nr_asked, 2);
		CHECK_EQ(symbolizer_give_module(
				 scene->symbolizer, module,
				 is_hidden ? text_fd("0000000000000000 T do_work\n") : -1, -EACCES),
			 0);
		work(scene);
		CHECK_STR(name_of(scene, core), "do_work");
		CHECK_EQ(state_of(scene, nowhere), SYMBOL_UNKNOWN);
		const struct frame_id later = add_frame(scene, module, 0xffffffff81000020);
		work(scene);
		CHECK_STR(name_of(scene, later), "do_work");
		CHECK_EQ(scene->nr_asked, 2);
		CHECK(is_idle(scene));
		scene_free(scene);
	}
}

/* A cache may have anything in it: without a function the kernel's own text is asked for. */
static void kept_names_that_are_none(void)
{
	struct scene *scene = scene_new();
	const struct module_id module =
		add_module(scene, (struct module_row){.kind = MODULE_KERNEL}, "[kernel]");
	const struct frame_id core = add_frame(scene, module, 0xffffffff81000010);
	work(scene);
	CHECK_EQ(symbolizer_give_module(scene->symbolizer, module, text_fd(KEPT("nonsense\n")), 0),
		 0);
	work(scene);
	CHECK_EQ(state_of(scene, core), SYMBOL_PENDING);
	CHECK_EQ(scene->nr_asked, 2);
	CHECK_EQ(symbolizer_give_module(scene->symbolizer, module,
					text_fd("ffffffff81000000 T do_work\n"), 0),
		 0);
	work(scene);
	CHECK_STR(name_of(scene, core), "do_work");
	CHECK(is_idle(scene));
	scene_free(scene);
}

static void symbols_fill_up(void)
{
	struct scene *scene = calloc(1, sizeof(*scene));
	const struct symbolizer_requests requests = {
		.context = scene, .need_module = note_module, .need_debug_file = note_debug_file};
	const struct symbols_capacity small = {.nr_frames = 4, .string_units = 3};
	scene->symbolizer = symbolizer_new(&requests);
	open_epoch(scene, &small);
	struct module_id module = add_file(scene, 11, "/bin/program");
	/* "main" fits, "foo::bar(int)" does not, and the last frames have no rows. */
	const uint64_t addresses[] = {0x1000, 0x1040, 0x1004, 0x1041, 0x1005};
	struct frame_id frames[NR(addresses)];
	for (size_t i = 0; i < NR(addresses); i++)
		frames[i] = add_frame(scene, module, addresses[i]);
	work(scene);
	give_program(scene, module);
	work(scene);
	CHECK_STR(name_of(scene, frames[0]), "main");
	CHECK_EQ(state_of(scene, frames[1]), SYMBOL_UNKNOWN);
	CHECK_STR(name_of(scene, frames[2]), "main");
	CHECK(is_idle(scene));
	scene_free(scene);
}

/* More files than may stay open at once: all get their names, and few descriptors are in use. */
static void many_files(void)
{
	enum { NR_FILES = 1700, NR_DESCRIPTORS = 4096 };
	struct rlimit limit;
	CHECK_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
	if (limit.rlim_max < NR_DESCRIPTORS)
		SKIP("too few descriptors allowed");
	limit.rlim_cur = NR_DESCRIPTORS; /* as the symbolizer's process has */
	CHECK_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
	struct scene *scene = scene_new();
	struct frame_id frames[2];
	for (uint64_t i = 0; i < NR_FILES; i++) {
		struct module_id module = add_file(scene, 1000 + i, "/lib/some.so");
		frames[i % 2] = add_frame(scene, module, 0x1000);
		work(scene);
		CHECK_EQ(scene->nr_asked, 1);
		scene->nr_asked = 0;
		give_program(scene, module);
		work(scene);
		CHECK_STR(name_of(scene, frames[i % 2]), "main");
	}
	int fd = text_fd("");
	CHECK(fd < 1600);
	close(fd);
	/* The first one went, the last one is there. */
	struct module_id first = {1}, last = {NR_FILES};
	struct frame_id of_last = add_frame(scene, last, 0x1001);
	work(scene);
	CHECK_STR(name_of(scene, of_last), "main");
	CHECK_EQ(scene->nr_asked, 0);
	struct frame_id of_first = add_frame(scene, first, 0x1001);
	work(scene);
	CHECK_EQ(scene->nr_asked, 1);
	CHECK(!is_idle(scene));
	give_program(scene, first);
	work(scene);
	CHECK_STR(name_of(scene, of_first), "main");
	CHECK(is_idle(scene));
	scene_free(scene);
}

static void no_epoch(void)
{
	const struct symbolizer_requests requests = {
		.context = NULL, .need_module = note_module, .need_debug_file = note_debug_file};
	struct symbolizer *symbolizer = symbolizer_new(&requests);
	CHECK_EQ(symbolizer_work(symbolizer, 10), 0);
	CHECK(symbolizer_idle(symbolizer));
	symbolizer_refresh(symbolizer);
	CHECK_EQ(symbolizer_give_module(symbolizer, (struct module_id){1}, text_fd("x"), 0),
		 -EINVAL);
	symbolizer_free(symbolizer);
	symbolizer_free(NULL);
}

int main(void)
{
	RUN(names_a_file);
	RUN(a_file_that_changes_names_nothing_any_more);
	RUN(no_file);
	RUN(bad_ids);
	RUN(bad_build_id);
	RUN(debug_file);
	RUN(another_file_than_asked);
	RUN(rows_of_one_file);
	RUN(a_copied_build_id);
	RUN(kernel);
	RUN(kernel_is_last);
	RUN(kernel_in_two_epochs);
	RUN(kernel_hides);
	RUN(kept_names_of_the_kernel);
	RUN(lines_wait_for_the_kernels_names);
	RUN(kept_names_are_not_completed);
	RUN(kept_names_that_are_none);
	RUN(symbols_fill_up);
	RUN(many_files);
	RUN(no_epoch);
	return test_done();
}
