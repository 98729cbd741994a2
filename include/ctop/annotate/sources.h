/* SPDX-License-Identifier: MIT */
#ifndef CTOP_ANNOTATE_SOURCES_H
#define CTOP_ANNOTATE_SOURCES_H

/*
 * Source files, as debug information names them: looked for where they were compiled, where a mapping says, and below the working
 * directory; opened and read by an opener as the user who called ctop. What is in none of these places is asked of debuginfod servers, if any
 * are named. Names and text are untrusted. Main only.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <ctop/base/text.h>
#include <ctop/module_identity.h>

enum { SOURCES_MAPS_MAX = 16 };

struct sources;

/* maps: "OLD=NEW" each, borrowed. NULL: out of memory. */
struct sources *sources_new(const char *const *maps, size_t nr_maps);
void sources_free(struct sources *sources);

/* Asks these debuginfod servers, too, as DEBUGINFOD_URLS names them. 0 or -ENOMEM. */
int sources_use_servers(struct sources *sources, const char *urls);

struct source_file;

/* Which program a file is of, by what a prober has read of it: servers know it by that. size 0: none has. */
struct source_program {
	uint8_t build_id[BUILD_ID_MAX];
	size_t size;
};

/* By what the compiler was given, and where it ran; looked for from now on. Stays. NULL: out of memory. */
struct source_file *sources_get(struct sources *sources, const char *path, const char *directory,
				const struct source_program *program);
/* What servers are asked for now, safe text; nothing: they are not. */
void sources_tell_fetching(const struct sources *sources, struct text *out);
bool sources_are_awaited(const struct sources *sources);
/* Waits for what is looked for, at most so long, and takes it. */
void sources_serve(struct sources *sources, int timeout_ms);
/* The opener's process; 0: none. It is none of what is sampled. */
int32_t sources_pid(const struct sources *sources);

/* Where it was found, "debuginfod:/PATH" if a server sent it; while, and if, it was not: NULL. Borrowed. */
const char *source_file_place(const struct source_file *file);
/* By CLOCK_REALTIME; of one that was found; 0: a server sent it. */
int64_t source_file_written_ns(const struct source_file *file);
/* Why it cannot be shown: "not found", "not a text". NULL: it can, or it is looked for yet. */
const char *source_file_problem(const struct source_file *file);
bool source_file_is_not_found(const struct source_file *file); /* rather than of no use */
uint32_t source_file_nr_lines(const struct source_file *file); /* 0: it has none, or none yet */
/* Adds a line, from 1, safe to show, its tabs as blanks, cut where it is very long. False: there is no such line. */
bool source_file_add_line(const struct source_file *file, uint32_t line, struct text *out);

#endif
