/* SPDX-License-Identifier: MIT */
#include "test.h"

#include <stdlib.h>
#include <unistd.h>

#include <ctop/diagnose/refusal.h>
#include <ctop/perf/permission.h>

static const char *quoted(const char *word)
{
	static char text[64];
	text[0] = '\0';
	return refusal_add_word(text, sizeof(text), word) ? text : "(no)";
}

static void words_are_quoted_for_a_shell(void)
{
	CHECK_STR(quoted("-p"), "-p");
	CHECK_STR(quoted("/usr/bin/ctop"), "/usr/bin/ctop");
	CHECK_STR(quoted("a b"), "'a b'");
	CHECK_STR(quoted(""), "''");
	CHECK_STR(quoted("$(id)"), "'$(id)'");
	CHECK_STR(quoted("it's"), "'it'\\''s'");
	CHECK_STR(quoted("'"), "''\\'''");
	char text[8] = "abc";
	CHECK(!refusal_add_word(text, sizeof(text), "defgh"));
	CHECK_STR(text, "abc");
	CHECK(refusal_add_word(text, sizeof(text), "def"));
	CHECK_STR(text, "abc def");
	char lengthy[2000];
	memset(lengthy, '\'', sizeof(lengthy));
	lengthy[sizeof(lengthy) - 1] = '\0';
	CHECK_STR(quoted(lengthy), "(no)");
}

static struct refusal described(const struct options *options, enum sampler_refusal kind)
{
	struct error error = {.cause = "the cause", .refusal = (int)kind};
	struct refusal refusal;
	refusal_describe(options, &error, &refusal);
	CHECK_STR(refusal.cause, "the cause");
	CHECK(refusal.title[0]);
	CHECK(refusal.nr_fixes > 0);
	for (size_t i = 0; i < refusal.nr_fixes; i++)
		CHECK(refusal_fix_text(&refusal.fixes[i])[0]);
	return refusal;
}

static bool has_fix(const struct refusal *refusal, const char *wanted)
{
	for (size_t i = 0; i < refusal->nr_fixes; i++)
		if (strstr(refusal->fixes[i].command, wanted) ||
		    strstr(refusal->fixes[i].reach, wanted))
			return true;
	return false;
}

static void each_cause_has_fixes_that_help(void)
{
	int32_t own = (int32_t)getpid(), init = 1;
	const struct options of_own = {.pids = {.items = &own, .nr = 1}};
	const struct options of_init = {.pids = {.items = &init, .nr = 1}};
	const struct options of_all = {.system_wide = true};
	for (int kind = SAMPLER_REFUSED_ALL; kind <= SAMPLER_REFUSED_PROBE; kind++)
		described(&of_own, (enum sampler_refusal)kind);
	struct refusal refusal = described(&of_own, SAMPLER_REFUSED_FILTER);
	CHECK(has_fix(&refusal, "seccomp=FILE") && !has_fix(&refusal, "setcap"));
	refusal = described(&of_own, SAMPLER_REFUSED_CONTAINER);
	CHECK(has_fix(&refusal, "outside of the container") && !has_fix(&refusal, "setcap"));
	if (has_fix(&refusal, "nothing gains"))
		SKIP("no_new_privs");
	refusal = described(&of_own, SAMPLER_REFUSED_ALL);
	if (!has_fix(&refusal, "setcap"))
		SKIP("in a user namespace, or with no_new_privs");
	CHECK(strstr(refusal.fixes[0].command, "sudo setcap") == refusal.fixes[0].command);
	CHECK(strstr(refusal.fixes[1].command, "sudo ") == refusal.fixes[1].command);
	CHECK(has_fix(&refusal, "perf_event_paranoid=2"));
	refusal = described(&of_all, SAMPLER_REFUSED_CPUS);
	CHECK(has_fix(&refusal, "perf_event_paranoid=0"));
	/* A level alone opens nobody else's process. */
	refusal = described(&of_init, SAMPLER_REFUSED_OTHERS);
	CHECK(!has_fix(&refusal, "perf_event_paranoid"));
	if (geteuid() != 0) {
		refusal = described(&of_init, SAMPLER_REFUSED_ALL);
		CHECK(!has_fix(&refusal, "perf_event_paranoid"));
	}
}

int main(void)
{
	RUN(words_are_quoted_for_a_shell);
	RUN(each_cause_has_fixes_that_help);
	return test_done();
}
