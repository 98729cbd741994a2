/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <ctop/base/environment.h>
#include <ctop/base/error.h>
#include <ctop/base/privilege.h>
#include <ctop/base/text.h>
#include <ctop/child/child.h>
#include <ctop/cli/commands.h>
#include <ctop/options/options.h>
#include <ctop/output/say.h>
#include <ctop/serve/serve.h>

/* Causes quote untrusted names: nothing in them may reach the terminal raw. */
static void print_error(const struct error *error)
{
	struct text text = {0};
	text_add(&text, "ctop: ");
	text_add_safe(&text, error->cause[0] ? error->cause : "failed");
	text_add(&text, "\n");
	if (error->remedy[0]) {
		text_add(&text, "  ");
		text_add_safe(&text, error->remedy);
		text_add(&text, "\n");
	}
	say_text(&text);
	text_release(&text);
}

/* Nobody may gain privileges through ctop: it opens files by the names it is given. */
static int refuse_setuid(struct error *error)
{
	if (getuid() == geteuid() && getgid() == getegid())
		return 0;
	error_set(error, -EPERM, "ctop does not run setuid or setgid");
	return error_remedy(error,
			    "give the file capabilities instead: sudo make install SETCAP=1");
}

/*
 * Where standard input, output or error was closed by whoever started us, the number must not go to a
 * file of ours, or messages would end up in that. Held so that using it fails still, and a command of
 * ours finds it closed as before.
 */
static int hold_closed_descriptors(struct error *error)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
		if (fcntl(fd, F_GETFD) >= 0)
			continue;
		const int flags = fd == STDIN_FILENO ? O_WRONLY : O_RDONLY;
		/* The lowest free number: this one. */
		if (open("/dev/null", flags | O_CLOEXEC) < 0)
			return error_set(error, -errno, "cannot open '/dev/null': %s",
					 strerror(errno));
	}
	return 0;
}

static uint32_t terminal_columns(void)
{
	struct winsize size = {0};
	if (!isatty(STDOUT_FILENO) || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size))
		return 0;
	return size.ws_col;
}

static int flush_stdout(struct error *error)
{
	if (fflush(stdout) == 0 && !ferror(stdout))
		return 0;
	int code = -errno;
	error_set(error, code, "cannot write to standard output: %s", strerror(-code));
	return error_remedy(error, "redirect it to a file: > FILE");
}

static int run_command(struct options *options, struct error *error)
{
	switch (options->command) {
	case COMMAND_LIVE:
		return command_live(options, error);
	case COMMAND_RECORD:
		return command_record(options, error);
	case COMMAND_REPORT:
		return command_report(options, error);
	case COMMAND_EXPORT:
		return command_export(options, error);
	case COMMAND_DIFF:
		return command_diff(options, error);
	case COMMAND_MERGE:
		return command_merge(options, error);
	case COMMAND_DUMP:
		return command_dump(options, error);
	case COMMAND_SERVE:
		return serve_run(options, error);
	case COMMAND_LIST:
		return command_list(options, error);
	case COMMAND_DOCTOR:
		return command_doctor(options, error);
	case COMMAND_HELP:
		options_print_help(options->help_about);
		break;
	case COMMAND_VERSION:
		printf("ctop %s\n", CTOP_VERSION);
		break;
	case COMMAND_INTERNAL:
		options_print_internal(options->print);
		break;
	}
	return flush_stdout(error);
}

int main(int argc, char **argv, char **environment)
{
	static const char child_option[] = "--child=";
	if (argc > 1 && !strncmp(argv[1], child_option, strlen(child_option)))
		return child_main(argv[1] + strlen(child_option));

	privilege_begin();
	environment_distrust();
	struct options options = {0};
	struct error error = {0};
	int result = hold_closed_descriptors(&error);
	if (!result)
		result = refuse_setuid(&error);
	if (!result)
		result = options_parse(argc, argv, &options, &error);
	if (!result) {
		options.environment = environment;
		options.columns = terminal_columns();
		result = run_command(&options, &error);
	}
	if (result < 0) {
		print_error(&error);
		result = error.exit_code ? error.exit_code : ERROR_EXIT_FAILED;
	}
	options_release(&options);
	return result;
}
