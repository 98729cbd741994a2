/* SPDX-License-Identifier: MIT */
/* Threads' names, by records and by /proc. */
#include <ctop/proc/process_table.h>

#include "test.h"

enum { SHELL = 100, CHILD = 200 };

/* Between two looks of main's no event was on: who began another program then is told by the second alone. */
static void the_last_look_names_a_thread_until_a_record_does(void)
{
	struct process_table *processes = process_table_new();
	CHECK_EQ(process_table_set_thread(processes, SHELL, SHELL, "sh"), 0);
	CHECK_EQ(process_table_set_thread(processes, SHELL, SHELL, "ls"), 0);
	CHECK_STR(process_table_comm_of(processes, SHELL, SHELL), "ls");
	CHECK_EQ(process_table_comm(processes, SHELL, SHELL, "cat", true), 0);
	CHECK_EQ(process_table_set_thread(processes, SHELL, SHELL, "ls"), 0);
	CHECK_STR(process_table_comm_of(processes, SHELL, SHELL), "cat");
	/* The next one may have been lost. */
	process_table_doubt_all(processes);
	CHECK_EQ(process_table_set_thread(processes, SHELL, SHELL, "tac"), 0);
	CHECK_STR(process_table_comm_of(processes, SHELL, SHELL), "tac");
	process_table_free(processes);
}

static void a_thread_of_an_unnamed_parent_is_not_known(void)
{
	struct process_table *processes = process_table_new();
	CHECK_EQ(process_table_fork(processes, SHELL, SHELL + 1, SHELL, SHELL), 0);
	CHECK(!process_table_knows_thread(processes, SHELL, SHELL + 1));
	CHECK_EQ(process_table_set_thread(processes, SHELL, SHELL, "sh"), 0);
	CHECK_STR(process_table_comm_of(processes, SHELL, SHELL + 1), "sh");
	CHECK_EQ(process_table_set_thread(processes, SHELL, SHELL + 1, "worker"), 0);
	CHECK_STR(process_table_comm_of(processes, SHELL, SHELL + 1), "worker");
	CHECK(process_table_knows_thread(processes, SHELL, SHELL + 1));
	/* It counts as alive all the same. */
	CHECK_EQ(process_table_exit(processes, SHELL, SHELL), 0);
	CHECK(process_table_find(processes, SHELL));
	process_table_free(processes);
}

static void names_may_be_empty_or_too_long(void)
{
	char longest[200];
	memset(longest, 'x', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	struct process_table *processes = process_table_new();
	CHECK_EQ(process_table_comm(processes, SHELL, SHELL, "", false), 0);
	CHECK(process_table_knows_thread(processes, SHELL, SHELL));
	CHECK_STR(process_table_comm_of(processes, SHELL, SHELL), "");
	CHECK_EQ(process_table_comm(processes, SHELL, SHELL, longest, false), 0);
	const char *comm = process_table_comm_of(processes, SHELL, SHELL);
	CHECK(strlen(comm) >= 15 && strlen(comm) < sizeof(longest));
	CHECK(strncmp(comm, longest, strlen(comm)) == 0);
	process_table_free(processes);
}

/* Whoever has looked a name up may keep it as long as the number is the same. */
static void what_may_change_a_name_is_counted(void)
{
	struct process_table *processes = process_table_new();
	uint64_t nr = process_table_nr_changes(processes);
	CHECK_EQ(process_table_set_thread(processes, SHELL, SHELL, "sh"), 0);
	CHECK(process_table_nr_changes(processes) != nr);
	nr = process_table_nr_changes(processes);
	CHECK_EQ(process_table_comm(processes, SHELL, SHELL, "bash", false), 0);
	CHECK(process_table_nr_changes(processes) != nr);
	nr = process_table_nr_changes(processes);
	CHECK_EQ(process_table_fork(processes, CHILD, CHILD, SHELL, SHELL), 0);
	CHECK(process_table_nr_changes(processes) != nr);
	nr = process_table_nr_changes(processes);
	CHECK_EQ(process_table_comm(processes, CHILD, CHILD, "ls", true), 0);
	CHECK(process_table_nr_changes(processes) != nr);
	nr = process_table_nr_changes(processes);
	const struct mapping map = {.start = 0x1000, .end = 0x2000, .identity.inode = 7};
	CHECK_EQ(process_table_mmap(processes, CHILD, &map, "/bin/ls", true), 0);
	CHECK_EQ(process_table_nr_changes(processes), nr);
	CHECK_EQ(process_table_exit(processes, CHILD, CHILD), 0);
	CHECK(process_table_nr_changes(processes) != nr);
	nr = process_table_nr_changes(processes);
	process_table_forget_all(processes);
	CHECK(process_table_nr_changes(processes) != nr);
	process_table_free(processes);
}

int main(void)
{
	RUN(the_last_look_names_a_thread_until_a_record_does);
	RUN(a_thread_of_an_unnamed_parent_is_not_known);
	RUN(names_may_be_empty_or_too_long);
	RUN(what_may_change_a_name_is_counted);
	return test_done();
}
