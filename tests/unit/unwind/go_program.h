/* SPDX-License-Identifier: MIT */
#ifndef CTOP_TEST_UNWIND_GO_PROGRAM_H
#define CTOP_TEST_UNWIND_GO_PROGRAM_H

/* Makes a test a Go program: functions that call each other and switch stacks, and the table that Go's runtime has of them. */

extern const char go_root_after[], go_switch_after[], go_clock_after[], go_switches_after[];
extern const char go_caller_after[], go_indirect_after[], go_other_after[], go_bare_after[];
extern const char go_calls_bare_after[], go_caller_of_caller_after[], go_calls_clock_after[];
extern const char go_calls_assist_after[], go_assist_after[];

/* clang-format off */

/* A function of a Go program whose frame has so many bytes; its number is its place in the table below. */
#define GO(number, name, frame, body) \
	"	.p2align 4\n.type " name ", @function\n" name ":\ngo_start_" number ":\n" \
	"	.cfi_startproc\n	.cfi_def_cfa_offset 8 + " frame "\n	.fill 3, 1, 0x90\n" body \
	"	.fill 5, 1, 0x90\n	.cfi_endproc\n.size " name ", . - " name "\n"
#define AFTER(label, call) "	" call "\n" label ":\n"
#define ENTRY(number) "	.long go_start_" number " - go_text, go_details_" number " - go_list\n"
#define DETAILS(number, name) \
	"go_details_" number ":\n	.long go_start_" number " - go_text, " name ", 0, 0, 1, 0, 0, 0, 0, 0\n"

__asm__(".text\n	.p2align 4\ngo_text:\n"
	".type runtime.goexit.abi0, @function\nruntime.goexit.abi0:\ngo_start_0:\n"
	"	.cfi_startproc\n	nop\ngo_root_after:\n	.fill 8, 1, 0x90\n	.cfi_endproc\n"
	".size runtime.goexit.abi0, . - runtime.goexit.abi0\n"
	GO("1", "runtime.systemstack.abi0", "0", AFTER("go_switch_after", ".byte 0xff, 0xd7"))
	GO("2", "runtime.nanotime1.abi0", "16", AFTER("go_clock_after", ".byte 0xff, 0xd7"))
	GO("3", "go_switches", "32", AFTER("go_switches_after", "call runtime.systemstack.abi0"))
	GO("4", "go_caller", "32", AFTER("go_caller_after", "call go_switches")
		AFTER("go_indirect_after", ".byte 0xff, 0xd0")
		AFTER("go_other_after", "call go_caller")
		AFTER("go_calls_clock_after", "call runtime.nanotime1.abi0")
		AFTER("go_calls_bare_after", "call go_bare")
		AFTER("go_calls_assist_after", "call runtime.gcAssistAlloc"))
	GO("5", "go_bare", "0", AFTER("go_bare_after", "call go_switches"))
	GO("6", "go_caller_of_caller", "32", AFTER("go_caller_of_caller_after", "call go_caller"))
	GO("7", "runtime.gcAssistAlloc", "32", AFTER("go_assist_switches_after", "call runtime.systemstack.abi0")
		AFTER("go_assist_after", "call go_switches"))
	"go_text_end:\n"
	/* src/runtime/symtab.go, pcHeader; where the text begins is a relocation. */
	".section .gopclntab, \"aw\"\n	.p2align 3\n"
	"go_table:\n	.long 0xfffffff0\n	.byte 0, 0, 1, 8\n	.quad 8, 0, go_text\n"
	"	.quad go_names - go_table, go_units - go_table, go_units - go_table\n"
	"	.quad go_frames - go_table, go_list - go_table\n"
	"go_names:\n	.byte 0\n	.asciz \"f\", \"runtime.gcAssistAlloc\"\n"
	"go_units:\n	.byte 0\n"
	/* Of 8 bytes all along, which CFI says better. */
	"go_frames:\n	.byte 0\n	.byte 18, 0xff, 0xff, 3, 0\n"
	"	.p2align 2\n"
	"go_list:\n"
	ENTRY("0") ENTRY("1") ENTRY("2") ENTRY("3") ENTRY("4") ENTRY("5") ENTRY("6") ENTRY("7")
	"	.long go_text_end - go_text\n"
	DETAILS("0", "1") DETAILS("1", "1") DETAILS("2", "1") DETAILS("3", "1") DETAILS("4", "1")
	DETAILS("5", "1") DETAILS("6", "1") DETAILS("7", "3")
	".text\n");

/* clang-format on */

#endif
