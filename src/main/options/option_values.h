/* SPDX-License-Identifier: MIT */
#ifndef CTOP_OPTIONS_OPTION_VALUES_H
#define CTOP_OPTIONS_OPTION_VALUES_H

/*
 * Arguments of options, from text to checked values. `option` is the option as the user spelled
 * it, for the message. Each returns 0, -ENOMEM, or -EINVAL with cause, remedy and exit code 2.
 */

#include <stdint.h>

#include <ctop/options/options.h>

/* The kernel's own default limit (kernel.perf_event_max_sample_rate); its present one is the sampler's matter. */
enum { MAX_FREQUENCY_HZ = 100000 };

/* A whole number from least to most; 1e6 is a way to write one. */
int parse_number(const char *option, const char *text, uint64_t least, uint64_t most,
		 uint64_t *value, struct error *error);
/* A finite number, from least on. */
int parse_decimal(const char *option, const char *text, double least, double most, double *value,
		  struct error *error);
/* "1%", "0.5%": more than nothing, up to all. */
int parse_share(const char *option, const char *text, double *share, struct error *error);
/* "30s", "500ms", "2m", "1h", or seconds as a number, from least_ns to most_ns. */
int parse_duration(const char *option, const char *text, uint64_t least_ns, uint64_t most_ns,
		   uint64_t *ns, struct error *error);
/* Where a duration that text begins with ends; NULL: it begins with none. */
const char *duration_of(const char *text, uint64_t *ns);
/* "64M", "1G", or bytes as a number. */
int parse_size(const char *option, const char *text, uint64_t least, uint64_t most, uint64_t *bytes,
	       struct error *error);
int parse_frequency(const char *option, const char *text, uint64_t *hz, struct error *error);
int parse_ring_pages(const char *option, const char *text, uint32_t *pages, struct error *error);
/* "auto", "dwarf", "dwarf,BYTES", "fp", "no". */
int parse_call_graph(const char *option, const char *text, enum call_graph *mode,
		     uint32_t *dump_bytes, struct error *error);
/* The name of a grouping. */
int parse_group(const char *text, enum grouping *grouping, struct error *error);
/* "cpu", "wait", "wall". */
int parse_time(const char *text, enum time_shown *time, struct error *error);
/* "leaf", "root", "none". */
int parse_state_frames(const char *text, enum state_frames *state_frames, struct error *error);
int parse_theme(const char *text, enum theme *theme, struct error *error);
/* Adds ids from a comma-separated list to the list, each once. */
int parse_ids(const char *option, const char *text, int32_t least, struct int32_list *list,
	      struct error *error);
/* The same with ranges: "0,2-3". */
int parse_cpus(const char *option, const char *text, struct int32_list *list, struct error *error);
/* A cgroup's path: of its directory, or below the mount. Not looked up yet. */
int parse_cgroup(const char *option, const char *text, const char **path, struct error *error);
/* A thread's name, which the kernel keeps short. */
int parse_comm(const char *option, const char *text, const char **comm, struct error *error);
/* A user by number or name. */
int parse_user(const char *option, const char *text, uint32_t *uid, struct error *error);
/* "KEY=VALUE", added to the labels. */
int parse_source_dir(const char *option, const char *text, struct options *options,
		     struct error *error);
int parse_label(const char *option, const char *text, struct options *options, struct error *error);
/* One event more, or several by a pattern. 0, or as event_parse(). */
int options_add_event(const char *text, struct options *options, struct error *error);
/* Adds events from a comma-separated list; a comma between slashes belongs to the event. */
int parse_events(const char *option, const char *text, struct options *options,
		 struct error *error);
/* Of the last -e. */
int parse_trace_filter(const char *option, const char *text, struct options *options,
		       struct error *error);

#endif
