/* SPDX-License-Identifier: MIT */
#include <ctop/base/task_set.h>

#include "test.h"

static void each_once(void)
{
	struct task_set set = {0};
	CHECK(!task_set_has(&set, 1) && !task_set_remove(&set, 1));
	CHECK_EQ(task_set_add(&set, 1), 0);
	CHECK_EQ(task_set_add(&set, 1), 0);
	CHECK(task_set_has(&set, 1) && !task_set_has(&set, 2));
	CHECK(task_set_remove(&set, 1) && !task_set_has(&set, 1));
	CHECK(!task_set_remove(&set, 1));
	task_set_release(&set);
}

static void many(void)
{
	enum { MANY = 5000 };
	struct task_set set = {0};
	for (int32_t id = 1; id <= MANY; id++)
		CHECK_EQ(task_set_add(&set, id), 0);
	for (int32_t id = 2; id <= MANY; id += 2)
		CHECK(task_set_remove(&set, id));
	for (int32_t id = 1; id <= MANY; id++)
		CHECK_EQ(task_set_has(&set, id), id % 2);
	task_set_release(&set);
	CHECK(!task_set_has(&set, 1));
	task_set_release(&set);
}

int main(void)
{
	RUN(each_once);
	RUN(many);
	return test_done();
}
