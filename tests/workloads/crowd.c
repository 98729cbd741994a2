/* SPDX-License-Identifier: MIT */
/*
 * A target that is hard to follow. What it does is its first argument:
 *
 *     threads N      N threads, named "t0" to "tN-1", each works 3 ms (crowd_thread) while the others do; then it exits
 *     children N     forks N children one after the other, four at a time, each works 1 ms (crowd_child), for ever
 *     vforks N       vforks N children that become "crowd exit"; then it exits
 *     exec           works (crowd_before) until SIGUSR1, then becomes "crowd after", which works (crowd_after)
 *     plugin FILE    loads plugin_one.so from FILE and works there: enter_one until SIGUSR1, then later_one
 *     leaderless     main ends its thread; another works (crowd_thread) on
 *     oneshot        a thread works (crowd_before) until SIGUSR1, then ends; main waits
 *     waiting N      N threads wait; main works (crowd_named)
 *     busy N         N threads work (crowd_busy), for ever
 *     idle NAME      waits as NAME
 *     comm NAME      works (crowd_named) as NAME
 *     undumpable     works (crowd_named), closed to users who are not root
 *
 * Children die with their parent.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "workload.h"

enum { CHILDREN_AT_ONCE = 4 };

static volatile sig_atomic_t nr_signals;

static void count_signal(int signal)
{
	(void)signal;
	nr_signals++;
}

/*
 * What a hypervisor takes of a CPU counts as CPU time, although the thread does not run then, and is hardly sampled. So most
 * of its work is not measured in time.
 */
static FRAME void *crowd_thread(void *name)
{
	pthread_setname_np(pthread_self(), name);
	for (int i = 0; i < 20; i++)
		work(10);
	work_until(3);
	return NULL;
}

static int run_threads(int nr)
{
	pthread_t *threads = calloc((size_t)nr, sizeof(*threads));
	char(*names)[16] = calloc((size_t)nr, sizeof(*names));
	pthread_attr_t attributes;
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, 64 << 10);
	if (!threads || !names)
		return 1;
	for (int i = 0; i < nr; i++) {
		snprintf(names[i], sizeof(names[i]), "t%d", i);
		if (pthread_create(&threads[i], &attributes, crowd_thread, names[i]))
			return 1;
	}
	for (int i = 0; i < nr; i++)
		pthread_join(threads[i], NULL);
	free(names);
	free(threads);
	return 0;
}

static FRAME void crowd_child(void)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	work_until(cpu_ms() + 1);
	_exit(0);
}

static _Noreturn void run_children(int nr)
{
	for (;;) {
		int nr_running = 0;
		for (int i = 0; i < nr; i++) {
			if (nr_running == CHILDREN_AT_ONCE && wait(NULL) > 0)
				nr_running--;
			pid_t pid = fork();
			if (pid == 0)
				crowd_child();
			nr_running += pid > 0;
		}
		while (wait(NULL) > 0)
			;
	}
}

/* False when the child could not be started, or failed. */
static FRAME bool vfork_and_exec(char *self)
{
	char name[] = "exit";
	char *const arguments[] = {self, name, NULL};
	int status = 0;
	pid_t pid = vfork();
	if (pid == 0) {
		execv("/proc/self/exe", arguments);
		_exit(127);
	}
	return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0;
}

static int run_vforks(int nr, char *self)
{
	for (int i = 0; i < nr; i++)
		if (!vfork_and_exec(self))
			return 1;
	return 0;
}

static FRAME void crowd_before(void)
{
	while (!nr_signals)
		work(10);
}

static FRAME void crowd_after(void)
{
	for (;;)
		work(1000);
}

static FRAME void *crowd_on(void *unused)
{
	for (;;)
		work(1000);
	return unused;
}

static FRAME void crowd_named(void)
{
	for (;;)
		work(1000);
}

static int run_plugin(const char *path)
{
	void *plugin = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	void (*enter)(void) = plugin ? (void (*)(void))dlsym(plugin, "enter_one") : NULL;
	void (*later)(void) = plugin ? (void (*)(void))dlsym(plugin, "later_one") : NULL;
	if (!enter || !later)
		return 1;
	signal(SIGUSR1, count_signal);
	workload_ready();
	while (!nr_signals)
		enter();
	for (;;)
		later();
}

static int become_other(char *self)
{
	char name[] = "after";
	char *const arguments[] = {self, name, NULL};
	signal(SIGUSR1, count_signal);
	workload_ready();
	crowd_before();
	execv("/proc/self/exe", arguments);
	return 1;
}

static int leave_threads_alone(void)
{
	pthread_t thread;
	if (pthread_create(&thread, NULL, crowd_on, NULL))
		return 1;
	workload_ready();
	pthread_exit(NULL);
}

static FRAME void *crowd_before_end(void *unused)
{
	crowd_before();
	return unused;
}

static _Noreturn void idle(void)
{
	for (;;)
		pause();
}

static void *wait_for_ever(void *unused)
{
	for (;;)
		pause();
	return unused;
}

static FRAME void *crowd_busy(void *unused)
{
	for (;;)
		work(1000);
	return unused;
}

static int start_each(int nr, void *(*function)(void *))
{
	pthread_t thread;
	pthread_attr_t attributes;
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, 64 << 10);
	for (int i = 0; i < nr; i++)
		if (pthread_create(&thread, &attributes, function, NULL))
			return 1;
	return 0;
}

static int wait_for_thread(void)
{
	pthread_t thread;
	signal(SIGUSR1, count_signal);
	if (pthread_create(&thread, NULL, crowd_before_end, NULL))
		return 1;
	workload_ready();
	pthread_join(thread, NULL);
	idle();
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";
	int nr = argc > 2 ? atoi(argv[2]) : 0;
	if (strcmp(mode, "exit") == 0)
		return 0;
	if (strcmp(mode, "exec") == 0)
		return become_other(argv[0]);
	if (strcmp(mode, "leaderless") == 0)
		return leave_threads_alone();
	if (strcmp(mode, "plugin") == 0 && argc > 2)
		return run_plugin(argv[2]);
	if (strcmp(mode, "oneshot") == 0)
		return wait_for_thread();
	if ((strcmp(mode, "comm") == 0 || strcmp(mode, "idle") == 0) && argc > 2)
		prctl(PR_SET_NAME, argv[2]);
	if (strcmp(mode, "undumpable") == 0)
		prctl(PR_SET_DUMPABLE, 0);
	if (strcmp(mode, "after") == 0)
		crowd_after();
	if (strcmp(mode, "waiting") == 0 && start_each(nr, wait_for_ever))
		return 1;
	if (strcmp(mode, "busy") == 0 && start_each(nr, crowd_busy))
		return 1;
	workload_ready();
	if (strcmp(mode, "threads") == 0)
		return run_threads(nr);
	if (strcmp(mode, "children") == 0)
		run_children(nr);
	if (strcmp(mode, "vforks") == 0)
		return run_vforks(nr, argv[0]);
	if (strcmp(mode, "idle") == 0 || strcmp(mode, "busy") == 0)
		idle();
	crowd_named();
}
