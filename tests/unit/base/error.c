/* SPDX-License-Identifier: MIT */
#include <errno.h>

#include <ctop/base/error.h>

#include "test.h"

static void set_returns_its_code_and_clears_the_remedy(void)
{
	struct error error = {.remedy = "old"};
	CHECK_EQ(error_set(&error, -ESRCH, "no process %d", 42), -ESRCH);
	CHECK_STR(error.cause, "no process 42");
	CHECK_STR(error.remedy, "");
	CHECK_EQ(error.exit_code, ERROR_EXIT_FAILED);
}

static void usage_is_exit_code_2(void)
{
	struct error error = {0};
	CHECK_EQ(error_usage(&error, "-c wants a count above 0, not '%s'", "-1"), -EINVAL);
	CHECK_STR(error.cause, "-c wants a count above 0, not '-1'");
	CHECK_EQ(error.exit_code, ERROR_EXIT_USAGE);
}

static void remedy_stands_beside_the_cause(void)
{
	struct error error = {0};
	error_usage(&error, "cause");
	error_remedy(&error, "try %s", "ctop list");
	CHECK_STR(error.cause, "cause");
	CHECK_STR(error.remedy, "try ctop list");
	CHECK_EQ(error.exit_code, ERROR_EXIT_USAGE);
}

static void a_later_failure_replaces_a_usage_error(void)
{
	struct error error = {0};
	error_usage(&error, "first");
	error_remedy(&error, "advice on the first");
	error_set(&error, -EIO, "second");
	CHECK_STR(error.cause, "second");
	CHECK_STR(error.remedy, "");
	CHECK_EQ(error.exit_code, ERROR_EXIT_FAILED);
}

static void what_does_not_fit_is_cut(void)
{
	struct error error = {0};
	char lengthy[4096];
	memset(lengthy, 'x', sizeof(lengthy) - 1);
	lengthy[sizeof(lengthy) - 1] = '\0';
	CHECK_EQ(error_set(&error, -EIO, "%s", lengthy), -EIO);
	CHECK_EQ(strlen(error.cause), sizeof(error.cause) - 1);
	error_remedy(&error, "%s", lengthy);
	CHECK_EQ(strlen(error.remedy), sizeof(error.remedy) - 1);
	CHECK_EQ(error.exit_code, ERROR_EXIT_FAILED);
}

int main(void)
{
	RUN(set_returns_its_code_and_clears_the_remedy);
	RUN(usage_is_exit_code_2);
	RUN(remedy_stands_beside_the_cause);
	RUN(a_later_failure_replaces_a_usage_error);
	RUN(what_does_not_fit_is_cut);
	return test_done();
}
