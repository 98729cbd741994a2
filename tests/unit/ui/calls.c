/* SPDX-License-Identifier: MIT */
/* System calls: by what the kernel's entry called, and who called that. */
#include "interface.h"

static const struct stack entered[] = {
	{0,
	 5,
	 STACK_COMPLETE,
	 {"_start", "main", "l:writev", "k:do_syscall_64", "k:do_writev", "k:vfs_writev"}},
	{0,
	 2,
	 STACK_COMPLETE,
	 {"_start", "main", "l:writev", "k:do_syscall_64", "k:x64_sys_call", "k:__x64_sys_writev"}},
	{1,
	 3,
	 STACK_COMPLETE,
	 {"start_thread", "worker(void*)", "l:read", "k:x64_sys_call", "k:ksys_read"}},
	/* None of these is a call's. */
	{0,
	 1,
	 STACK_COMPLETE,
	 {"_start", "main", "l:read", "k:do_syscall_64", "k:syscall_exit_to_user_mode"}},
	{0,
	 1,
	 STACK_COMPLETE,
	 {"_start", "main", "k:asm_sysvec_apic_timer_interrupt", "k:irqentry_enter"}},
	{0, 1, STACK_COMPLETE, {"_start", "main", "do_syscall_64", "do_fake"}},
};

static void begin_with_calls(int rows, int cols)
{
	const struct ui_options options = {0};
	begin_profile(false);
	for (uint64_t second = 1; second <= SECONDS; second++)
		for (size_t i = 0; i < sizeof(entered) / sizeof(*entered); i++)
			add_samples(&entered[i], second);
	begin_ui(&options);
	CHECK_EQ(ui_resize(profile.ui, rows, cols), 0);
}

static void calls_and_their_callers(void)
{
	begin_with_calls(24, 80);
	press("S");
	compare("calls-80x24");
	press("<Down>");
	CHECK_EQ(ui_resize(profile.ui, 36, 120), 0);
	compare("calls-120x36");
	press("<Enter>");
	compare("calls-sandwich");
	press("S<Esc>1SS");
	compare("calls-left");
	end();
}

static void none(void)
{
	const struct ui_options options = {0};
	begin(&options, true);
	CHECK_EQ(ui_resize(profile.ui, 24, 80), 0);
	press("S");
	compare("calls-none");
	end();
}

static void names(void)
{
	static const char *const functions[][2] = {
		{"__x64_sys_futex", "futex"},
		{"__arm64_sys_ppoll", "ppoll"},
		{"do_epoll_wait", "epoll_wait"},
		{"ksys_read", "read"},
		{"__sys_sendto", "sendto"},
		{"do_", "do_"},
		{"odd", "odd"},
	};
	for (size_t i = 0; i < sizeof(functions) / sizeof(*functions); i++)
		CHECK_STR(selection_call_name(functions[i][0]), functions[i][1]);
}

int main(void)
{
	RUN(calls_and_their_callers);
	RUN(none);
	RUN(names);
	return test_done();
}
