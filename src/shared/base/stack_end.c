/* SPDX-License-Identifier: MIT */
#include <ctop/stack_end.h>

static const char *const end_names[NR_STACK_ENDS] = {
	[STACK_COMPLETE] = "complete", [STACK_JOINED] = "joined",
	[STACK_SWITCHED] = "switched", [STACK_TRUNCATED] = "truncated",
	[STACK_BROKEN] = "broken",     [STACK_KERNEL_ONLY] = "kernel_only",
};

static const char *const reason_names[NR_STACK_REASONS] = {
	[STACK_REASON_NONE] = "none",
	[STACK_REASON_DUMP_END] = "dump_end",
	[STACK_REASON_DEPTH_LIMIT] = "depth_limit",
	[STACK_REASON_NO_TABLE] = "no_table",
	[STACK_REASON_NO_MAPPING] = "no_mapping",
	[STACK_REASON_NO_RULE] = "no_rule",
	[STACK_REASON_BAD_CFI] = "bad_cfi",
	[STACK_REASON_NOT_ADVANCING] = "not_advancing",
	[STACK_REASON_BAD_ADDRESS] = "bad_address",
	[STACK_REASON_ABI32] = "abi32",
	[STACK_REASON_UNREADABLE] = "unreadable",
	[STACK_REASON_NO_REGISTER] = "no_register",
};

static const char *const method_names[NR_FRAME_METHODS] = {
	[FRAME_LEAF] = "leaf",	     [FRAME_CFI] = "cfi",	[FRAME_EXPRESSION] = "expression",
	[FRAME_PLT] = "plt",	     [FRAME_SIGNAL] = "signal", [FRAME_RETURN] = "return",
	[FRAME_FP] = "fp",	     [FRAME_JOINED] = "joined", [FRAME_KERNEL] = "kernel",
	[FRAME_CODE] = "code",	     [FRAME_LIKELY] = "likely", [FRAME_SWITCHED] = "switched",
	[FRAME_CREATED] = "created",
};

const char *stack_end_name(uint32_t end)
{
	return end < NR_STACK_ENDS ? end_names[end] : "unknown";
}

const char *stack_reason_name(uint32_t reason)
{
	return reason < NR_STACK_REASONS ? reason_names[reason] : "unknown";
}

const char *frame_method_name(uint32_t method)
{
	return method < NR_FRAME_METHODS ? method_names[method] : "unknown";
}
