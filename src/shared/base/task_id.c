/* SPDX-License-Identifier: MIT */
#include <ctop/base/task_id.h>

#include <inttypes.h>

#include <ctop/goroutine.h>

void task_id_add(struct text *text, int32_t tid)
{
	if (!is_goroutine(tid))
		text_addf(text, "%" PRId32, tid);
	else if (!goroutine_of_tid(tid))
		text_add(text, "other goroutines");
	else
		text_addf(text, "goroutine %" PRId32, goroutine_of_tid(tid));
}

void task_name_add(struct text *text, const char *name, int32_t tid)
{
	if (is_goroutine(tid))
		task_id_add(text, tid);
	else
		text_add(text, name);
}
