/* SPDX-License-Identifier: MIT */
/* Lines and names of targets of a listing that has none, by what a profile knows. */
#include <sys/mman.h>

#include <ctop/annotate/annotation.h>
#include <ctop/history/rows.h>

#include "history/hand_made.h"

enum { NR_ROWS = 40, START = 0x1000, BIAS = 0x400000 };

struct world {
	struct profile profile;
	struct history *history;
	struct listing *listing;
	struct function_id function;
	uint32_t module;
};

/* All frames of functions that begin 4 bytes before them. */
static struct frame_id sampled(struct world *world, uint64_t address, const char *name)
{
	struct profile *profile = &world->profile;
	const struct frame_id id = frame(profile, profile->program, address, name);
	tables_publish(profile->writer);
	const struct sample sample = {
		.time_ns = 1000, .weight = 1, .task = profile->one, .leaf = id, .event = 1};
	CHECK_EQ(history_import(world->history, &sample, 1), 0);
	return id;
}

static struct frame_id of_function(struct world *world, uint32_t row)
{
	struct profile *profile = &world->profile;
	struct frame_id id;
	const uint64_t address = START + 4 * row;
	CHECK_EQ(tables_add_frame(profile->writer, profile->program, address, &id), 0);
	CHECK_EQ(symbols_set(profile->namer, id, SYMBOL_NAMED, "work", NULL, 4 * row), 0);
	tables_publish(profile->writer);
	const struct sample sample = {
		.time_ns = 1000, .weight = 1, .task = profile->one, .leaf = id, .event = 1};
	CHECK_EQ(history_import(world->history, &sample, 1), 0);
	return id;
}

static void set_line(struct world *world, struct frame_id id, const char *file, uint32_t line)
{
	const struct symbol_line lines[] = {{NULL, file, line}};
	CHECK_EQ(symbols_set_lines(world->profile.namer, id, lines, 1), 0);
}

static void make_listing(struct world *world)
{
	char *memory = mmap(NULL, LISTING_BYTES, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	CHECK(memory != MAP_FAILED);
	struct listing_row *rows = (struct listing_row *)(void *)memory;
	for (uint32_t i = 0; i < NR_ROWS; i++)
		rows[i] = (struct listing_row){.address = BIAS + START + 4 * i, .size = 4};
	const struct listing_answer answer = {.start = BIAS + START,
					      .end = BIAS + START + 4 * NR_ROWS,
					      .bias = BIAS,
					      .nr_rows = NR_ROWS,
					      .string_bytes = 1};
	CHECK_EQ(listing_take(&answer, memory, &world->listing), 0);
}

static void begin(struct world *world)
{
	*world = (struct world){.history = history_new()};
	open_profile(&world->profile);
	tables_publish(world->profile.writer);
	CHECK_EQ(history_begin_epoch(world->history, &world->profile.tables,
				     &world->profile.symbols),
		 0);
	make_listing(world);
}

static void take(struct world *world)
{
	CHECK_EQ(history_update_names(world->history), 0);
	for (uint32_t i = 1; i < world->history->frames.nr; i++) {
		const struct function_id function = {history_function_of(world->history, i)};
		if (strcmp(history_function_name(world->history, function), "work") != 0)
			continue;
		world->module = world->history->frames.items[i].module;
		world->function = function;
	}
	CHECK_EQ(listing_take_from_profile(world->listing, world->history, world->module, START,
					   world->function),
		 0);
}

static void end(struct world *world)
{
	listing_free(world->listing);
	history_free(world->history);
	close_profile(&world->profile);
}

/* "a.c:3" of each row that has a line, and its number. */
static const char *lines_of(const struct world *world)
{
	static char text[1024];
	const struct listing *listing = world->listing;
	size_t used = 0;
	text[0] = '\0';
	for (uint32_t i = 0; i < NR_ROWS; i++) {
		const struct listing_row *row = &listing->rows[i];
		if (row->file)
			used += (size_t)snprintf(
				text + used, sizeof(text) - used, "%s%u %s:%u", used ? " " : "", i,
				listing->strings + listing->files[row->file - 1].path, row->line);
	}
	return text;
}

static void lines_are_of_instructions_in_stacks(void)
{
	struct world world;
	begin(&world);
	set_line(&world, of_function(&world, 0), "a.c", 3);
	set_line(&world, of_function(&world, 2), "a.c", 3); /* with a gap */
	set_line(&world, of_function(&world, 4), "b.h", 9); /* another one's */
	set_line(&world, of_function(&world, 6), "a.c", 3);
	set_line(&world, of_function(&world, 16), "a.c", 3); /* too far away */
	of_function(&world, 20);			     /* without a line */
	/* Inside of an instruction; of another function; behind all. */
	set_line(&world, sampled(&world, START + 4 * 30 + 1, "other"), "c.c", 1);
	set_line(&world, sampled(&world, START + 4 * NR_ROWS + 4, "other"), "c.c", 2);
	take(&world);
	CHECK_STR(lines_of(&world), "0 a.c:3 1 a.c:3 2 a.c:3 4 b.h:9 6 a.c:3 16 a.c:3");
	CHECK_EQ(world.listing->answer.nr_files, 2);
	CHECK(world.listing->is_of_profile);
	end(&world);
}

static void a_listing_that_has_lines_stays(void)
{
	struct world world;
	begin(&world);
	set_line(&world, of_function(&world, 0), "a.c", 3);
	world.listing->answer.nr_files = 1;
	take(&world);
	CHECK_STR(lines_of(&world), "");
	CHECK(!world.listing->is_of_profile);
	end(&world);
}

static const char *target_of(const struct world *world, uint32_t row)
{
	return world->listing->strings + world->listing->rows[row].target_name;
}

static void functions_that_were_in_stacks_are_named(void)
{
	struct world world;
	begin(&world);
	struct listing_row *rows = world.listing->rows;
	of_function(&world, 0);
	sampled(&world, 0x5004, "callee");
	sampled(&world, 0x6004, "first_there");
	sampled(&world, 0x7004, NULL);
	rows[1].target = BIAS + 0x5000;
	rows[2].target = BIAS + 0x5004; /* not where it begins */
	rows[3].target = BIAS + 0x7000; /* without a name */
	rows[4].target = BIAS + START + 8;
	rows[5].target = BIAS + 0x6000;
	rows[6].target = 8; /* below all that frames have */
	/* Generated code: another function was there, too. */
	struct frame_id second;
	CHECK_EQ(tables_add_frame(world.profile.writer, world.profile.program, 0x6008, &second), 0);
	CHECK_EQ(symbols_set(world.profile.namer, second, SYMBOL_NAMED, "second_there", NULL, 8),
		 0);
	tables_publish(world.profile.writer);
	const struct sample sample = {.time_ns = 1000,
				      .weight = 1,
				      .task = world.profile.one,
				      .leaf = second,
				      .event = 1};
	CHECK_EQ(history_import(world.history, &sample, 1), 0);
	take(&world);
	CHECK_STR(target_of(&world, 1), "callee");
	for (uint32_t i = 2; i <= 6; i++)
		CHECK_STR(target_of(&world, i), "");
	end(&world);
}

/* More names than a listing has room for. */
static void room_has_an_end(void)
{
	struct world world;
	char file[32];
	begin(&world);
	for (uint32_t i = 0; i < NR_ROWS; i++) {
		snprintf(file, sizeof(file), "file-%u.c", i);
		set_line(&world, of_function(&world, i), file, 1);
	}
	world.listing->answer.string_bytes = LISTING_STRINGS_MAX - 25;
	take(&world);
	CHECK(world.listing->answer.nr_files > 0 && world.listing->answer.nr_files <= 3);
	CHECK(world.listing->answer.string_bytes <= LISTING_STRINGS_MAX);
	end(&world);
}

int main(void)
{
	RUN(lines_are_of_instructions_in_stacks);
	RUN(a_listing_that_has_lines_stays);
	RUN(functions_that_were_in_stacks_are_named);
	RUN(room_has_an_end);
	return test_done();
}
