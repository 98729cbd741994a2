/* SPDX-License-Identifier: MIT */
/* What threads waited for, one by one, from made-up looks and shares. */
#include <ctop/time/wait_objects.h>

#include <stdio.h>
#include <string.h>

#include "test.h"

enum { PID = 7, TID = 8, OTHER = 9 };

static struct wait_object file(const char *name)
{
	struct wait_object object = {.kind = WAIT_ON_FILE, .pid = PID};
	snprintf(object.text, sizeof(object.text), "%s", name);
	return object;
}

static struct wait_object lock(uint64_t address, int32_t holder)
{
	return (struct wait_object){
		.kind = WAIT_ON_FUTEX, .pid = PID, .address = address, .holder = holder};
}

static void look(struct wait_objects *objects, int32_t tid, struct wait_object object)
{
	wait_objects_look(objects, tid, object.kind == WAIT_ON_FUTEX ? WAIT_LOCK : WAIT_IO,
			  &object);
}

/* "pipe 5 of 1; futex 0x10 3 of 2; " */
static const char *told(struct wait_objects *objects)
{
	static char string[256];
	struct text text = {0};
	size_t nr;
	const struct wait_sum *sums = wait_objects_sums(objects, &nr);
	for (size_t i = 0; i < nr; i++) {
		wait_object_add(&sums[i].object, &text);
		text_addf(&text, " %d of %d; ", (int)sums[i].ns, (int)sums[i].nr_threads);
	}
	snprintf(string, sizeof(string), "%s", text_string(&text));
	text_release(&text);
	return string;
}

static void as_stacks_have_it(void)
{
	struct wait_objects *objects = wait_objects_new();
	CHECK(objects != NULL);
	CHECK_STR(told(objects), "");
	wait_objects_add(objects, TID, WAIT_AT_LAST, 100); /* nobody has looked */
	look(objects, TID, file("pipe"));
	wait_objects_add(objects, TID, WAIT_AT_LAST, 5);
	wait_objects_add(objects, TID, WAIT_UNPLACED, 100);
	wait_objects_add(objects, TID, WAIT_FOR_CPU, 100);
	look(objects, TID, lock(16, 0));
	wait_objects_add(objects, TID, WAIT_AT_BEFORE, 2);
	wait_objects_add(objects, TID, WAIT_AT_LAST, 1);
	look(objects, OTHER, lock(16, TID));
	wait_objects_add(objects, OTHER, WAIT_AT_BEFORE, 100); /* there was none */
	wait_objects_add(objects, OTHER, WAIT_AT_LAST, 3);
	CHECK_STR(told(objects), "pipe 7 of 0; futex 0x10, likely held by 8 4 of 2; ");
	/* Of a sleep there is nothing to be said. */
	look(objects, TID, (struct wait_object){.pid = PID});
	wait_objects_add(objects, TID, WAIT_AT_LAST, 100);
	CHECK_STR(told(objects), "pipe 7 of 0; futex 0x10, likely held by 8 4 of 1; ");
	wait_objects_free(objects);
}

/* What a sample does not tell a look at a wait of the same kind does. */
static void of_samples(void)
{
	struct wait_objects *objects = wait_objects_new();
	wait_objects_sample(objects, TID, WAIT_IO, WAIT_AT_LAST); /* nobody has looked */
	wait_objects_add(objects, TID, WAIT_AT_LAST, 100);
	look(objects, TID, file("pipe"));
	look(objects, TID, lock(16, 0));
	wait_objects_sample(objects, TID, WAIT_IO, WAIT_AT_LAST);
	wait_objects_add(objects, TID, WAIT_AT_LAST, 5);
	wait_objects_add(objects, TID, WAIT_AT_BEFORE, 3);
	wait_objects_sample(objects, TID, WAIT_POLL, WAIT_AT_BEFORE);
	wait_objects_add(objects, TID, WAIT_AT_BEFORE, 100);
	wait_objects_add(objects, TID, WAIT_AT_LAST, 1);
	CHECK_STR(told(objects), "pipe 6 of 1; futex 0x10 3 of 0; ");
	wait_objects_free(objects);
}

static void what_is_too_much_is_others(void)
{
	struct wait_objects *objects = wait_objects_new();
	size_t nr;
	uint64_t sum = 0;
	for (int i = 0; i < 100000; i++) {
		look(objects, i % 70000, lock(16 * (uint64_t)i, 0));
		wait_objects_add(objects, i % 70000, WAIT_AT_LAST, i < 300 ? 1000 : 1);
	}
	const struct wait_sum *sums = wait_objects_sums(objects, &nr);
	CHECK_EQ(nr, WAIT_SUMS_TOLD);
	for (size_t i = 0; i < nr; i++)
		sum += sums[i].ns;
	CHECK_EQ(sums[0].object.kind, WAIT_ON_UNKNOWN);
	CHECK(sums[0].ns > 90000 && sum > 300000 - 50000);
	wait_objects_free(objects);
}

int main(void)
{
	RUN(as_stacks_have_it);
	RUN(of_samples);
	RUN(what_is_too_much_is_others);
	return test_done();
}
