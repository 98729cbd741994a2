/* SPDX-License-Identifier: MIT */
#include "exposition.h"

#include <inttypes.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <ctop/base/clock.h>
#include <ctop/session/worker.h>

static const char *const outcomes[NR_CAPTURE_OUTCOMES] = {"done", "failed",  "abandoned",
							  "busy", "refused", "unpaid"};

static void begin(struct text *text, const char *name, const char *type, const char *help)
{
	text_addf(text, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void add(struct text *text, const char *name, const char *type, const char *help,
		uint64_t value)
{
	begin(text, name, type, help);
	text_addf(text, "%s %" PRIu64 "\n", name, value);
}

static double seconds_of(const struct timeval *time)
{
	return (double)time->tv_sec + (double)time->tv_usec / 1e6;
}

static double cpu_seconds(int who)
{
	struct rusage usage = {0};
	getrusage(who, &usage);
	return seconds_of(&usage.ru_utime) + seconds_of(&usage.ru_stime);
}

static double running_cpu_seconds(pid_t pid)
{
	clockid_t clock;
	struct timespec used;
	if (!pid || clock_getcpuclockid(pid, &clock) || clock_gettime(clock, &used))
		return 0;
	return (double)used.tv_sec + (double)used.tv_nsec / 1e9;
}

struct exposition_cpu exposition_cpu_seconds(pid_t child)
{
	return (struct exposition_cpu){cpu_seconds(RUSAGE_SELF), running_cpu_seconds(child),
				       cpu_seconds(RUSAGE_CHILDREN)};
}

static void add_costs(struct text *text, const struct exposition *exposition)
{
	static const char cpu[] = "ctop_cpu_seconds_total", memory[] = "ctop_memory_bytes";
	begin(text, cpu, "counter",
	      "CPU time of ctop's own processes; captures count once they have ended.");
	const struct exposition_cpu used = exposition_cpu_seconds(exposition->child);
	text_addf(text, "%s{process=\"main\"} %.6f\n", cpu, used.main);
	text_addf(text, "%s{process=\"http\"} %.6f\n", cpu, used.http);
	text_addf(text, "%s{process=\"captures\"} %.6f\n", cpu, used.ended);
	begin(text, memory, "gauge", "Anonymous memory of ctop's own processes.");
	text_addf(text, "%s{process=\"main\"} %" PRIu64 "\n", memory, process_anon_bytes(getpid()));
	text_addf(text, "%s{process=\"http\"} %" PRIu64 "\n", memory,
		  process_anon_bytes(exposition->child));
	if (exposition->capture)
		text_addf(text, "%s{process=\"capture\"} %" PRIu64 "\n", memory,
			  process_anon_bytes(exposition->capture));
}

static void add_captures(struct text *text, const struct exposition *exposition)
{
	static const char name[] = "ctop_captures_total";
	const struct serve_counts *counts = exposition->counts;
	begin(text, name, "counter",
	      "Captures that were asked for, by endpoint and what came of them.");
	for (size_t i = 0; i < NR_HTTP_ENDPOINTS; i++)
		for (size_t k = 0; http_endpoints[i].default_ms && k < NR_CAPTURE_OUTCOMES; k++)
			text_addf(text, "%s{endpoint=\"%s\",outcome=\"%s\"} %" PRIu64 "\n", name,
				  http_endpoints[i].name, outcomes[k], counts->captures[i][k]);
	add(text, "ctop_capture_running", "gauge", "Whether a capture runs now.",
	    exposition->capture != 0);
	add(text, "ctop_samples_total", "counter", "Samples of all captures that were answered.",
	    counts->samples);
	add(text, "ctop_samples_lost_total", "counter", "Samples that the kernel had no room for.",
	    counts->lost);
	add(text, "ctop_samples_dropped_total", "counter", "Samples that ctop dropped.",
	    counts->dropped);
	add(text, "ctop_answer_bytes_total", "counter", "Bytes of profiles that were answered.",
	    counts->bytes);
}

static void add_requests(struct text *text, const struct exposition *exposition)
{
	static const char name[] = "ctop_requests_refused_total";
	const struct http_ask *ask = exposition->ask;
	add(text, "ctop_http_requests_total", "counter", "Requests whose head was whole.",
	    ask->nr_requests);
	begin(text, name, "counter", "Requests that were refused, by why.");
	for (size_t i = 0; i < NR_HTTP_REFUSALS; i++)
		text_addf(text, "%s{reason=\"%s\"} %" PRIu64 "\n", name, http_refusal_names[i],
			  ask->refused[i]);
	add(text, "ctop_dumps_total", "counter",
	    "Times that a flight recorder was asked for its last stretch.",
	    exposition->counts->dumps);
	add(text, "ctop_http_connections", "gauge", "Clients that are connected.",
	    ask->nr_connections);
	add(text, "ctop_http_restarts_total", "counter",
	    "Times that the process which speaks HTTP was replaced.", exposition->counts->restarts);
}

static void add_pushes(struct text *text, const struct exposition *exposition)
{
	static const char name[] = "ctop_pushes_total";
	const struct push_counts *counts = exposition->pushes;
	const struct {
		const char *outcome;
		uint64_t nr;
	} all[] = {{"sent", counts->sent},
		   {"refused", counts->refused},
		   {"dropped", counts->dropped},
		   {"retried", counts->retried}};
	begin(text, name, "counter", "Profiles that were to be pushed, by what came of it.");
	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		text_addf(text, "%s{outcome=\"%s\"} %" PRIu64 "\n", name, all[i].outcome,
			  all[i].nr);
	add(text, "ctop_push_waiting", "gauge", "Profiles that wait for the server.",
	    exposition->nr_waiting);
}

static void add_decimal(struct text *text, const char *name, const char *type, const char *help,
			double value)
{
	begin(text, name, type, help);
	text_addf(text, "%s %.9g\n", name, value);
}

static void add_budget(struct text *text, const struct exposition *exposition)
{
	const struct allowance *allowance = exposition->allowance;
	add_decimal(text, "ctop_budget_ratio", "gauge",
		    "The part of all CPUs' time that ctop may take (--budget).", allowance->share);
	add_decimal(text, "ctop_budget_spent_ratio", "gauge",
		    "The part of it that ctop and its samples have taken since it began.",
		    allowance_spent_share(allowance));
	add_decimal(text, "ctop_budget_balance_seconds", "gauge",
		    "CPU time that is saved; below 0: is paid back before the next capture.",
		    allowance->balance_ns / (double)NS_PER_SECOND);
	add_decimal(text, "ctop_sampling_cpu_seconds_total", "counter",
		    "CPU time that the kernel took for samples, about.",
		    (double)exposition->counts->kernel_ns / (double)NS_PER_SECOND);
	add(text, "ctop_captures_lowered_total", "counter",
	    "Captures with fewer samples, or smaller copies of stacks, than asked for, for the "
	    "budget.",
	    exposition->counts->nr_lowered);
}

void exposition_add(struct text *text, const struct exposition *exposition)
{
	begin(text, "ctop_build_info", "gauge", "The version.");
	text_add(text, "ctop_build_info{version=\"" CTOP_VERSION "\"} 1\n");
	add_costs(text, exposition);
	add_captures(text, exposition);
	add_requests(text, exposition);
	if (exposition->allowance)
		add_budget(text, exposition);
	if (exposition->pushes)
		add_pushes(text, exposition);
	if (!exposition->has_pids)
		return;
	add(text, "ctop_targets", "gauge", "Processes that were named when it began.",
	    exposition->nr_targets);
	add(text, "ctop_targets_running", "gauge", "Those of them that run.",
	    exposition->nr_running);
}
