/* SPDX-License-Identifier: MIT */
#include <ctop/stack_end.h>

#include "test.h"

static void check_names(const char *(*name)(uint32_t), uint32_t nr)
{
	for (uint32_t i = 0; i < nr; i++) {
		CHECK(name(i) != NULL);
		CHECK(name(i)[0] != '\0');
		for (uint32_t other = 0; other < i; other++)
			CHECK(strcmp(name(i), name(other)) != 0);
	}
	CHECK_STR(name(nr), "unknown");
	CHECK_STR(name(UINT32_MAX), "unknown");
}

static void every_end_has_a_name_of_its_own(void)
{
	check_names(stack_end_name, NR_STACK_ENDS);
	CHECK_STR(stack_end_name(STACK_KERNEL_ONLY), "kernel_only");
}

static void every_reason_has_a_name_of_its_own(void)
{
	check_names(stack_reason_name, NR_STACK_REASONS);
	CHECK_STR(stack_reason_name(STACK_REASON_ABI32), "abi32");
}

static void every_method_has_a_name_of_its_own(void)
{
	check_names(frame_method_name, NR_FRAME_METHODS);
	CHECK_STR(frame_method_name(FRAME_CFI), "cfi");
}

int main(void)
{
	RUN(every_end_has_a_name_of_its_own);
	RUN(every_reason_has_a_name_of_its_own);
	RUN(every_method_has_a_name_of_its_own);
	return test_done();
}
