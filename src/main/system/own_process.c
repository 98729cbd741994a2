/* SPDX-License-Identifier: MIT */
#include <ctop/system/own_process.h>

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static _Noreturn void become(int fd, pid_t parent, const char *name, void (*run)(void *context),
			     void *context)
{
	/* The terminal's signals are main's. */
	setsid();
	for (int signal = 1; signal < NSIG; signal++)
		sigaction(signal, &(struct sigaction){.sa_handler = SIG_DFL}, NULL);
	prctl(PR_SET_NAME, name);
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) || getppid() != parent ||
	    dup2(fd, OWN_PROCESS_FD) < 0 || syscall(SYS_close_range, OWN_PROCESS_FD + 1, ~0u, 0))
		_exit(1);
	for (int standard = 0; standard < OWN_PROCESS_FD; standard++)
		close(standard);
	run(context);
	_exit(0);
}

void own_process_reap(struct own_process *process)
{
	for (unsigned i = process->nr_hung; i-- > 0;)
		if (waitpid(process->hung[i], NULL, WNOHANG))
			process->hung[i] = process->hung[--process->nr_hung];
}

int own_process_start(struct own_process *process, const char *name, void (*run)(void *context),
		      void *context)
{
	int fds[2];
	if (process->pid)
		return 0;
	own_process_reap(process);
	if (process->nr_hung == OWN_PROCESS_HUNG_MAX)
		return -ETIMEDOUT; /* no more processes for what hangs */
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds))
		return -errno;
	const pid_t parent = getpid();
	/* No handler of main's may run in the child. */
	sigset_t all, before;
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &before);
	pid_t pid = fork();
	if (pid == 0) {
		sigset_t none;
		sigemptyset(&none);
		sigprocmask(SIG_SETMASK, &none, NULL);
		become(fds[1], parent, name, run, context);
	}
	int result = pid < 0 ? -errno : 0;
	sigprocmask(SIG_SETMASK, &before, NULL);
	close(fds[1]);
	if (result) {
		close(fds[0]);
		return result;
	}
	process->pid = pid;
	process->fd = fds[0];
	return 0;
}

void own_process_end(struct own_process *process)
{
	if (!process->pid)
		return;
	kill(process->pid, SIGKILL);
	process->hung[process->nr_hung++] = process->pid; /* own_process_start() left room for it */
	close(process->fd);
	process->pid = 0;
	process->fd = -1;
}

void own_process_release(struct own_process *process)
{
	enum { MOMENT_MS = 100 };
	own_process_end(process);
	if (!process->nr_hung)
		return;
	struct pollfd fd = {.events = POLLIN};
	fd.fd = (int)syscall(SYS_pidfd_open, process->hung[process->nr_hung - 1], 0);
	if (fd.fd >= 0) {
		poll(&fd, 1, MOMENT_MS);
		close(fd.fd);
	}
	own_process_reap(process);
}
