/* SPDX-License-Identifier: MIT */
#ifndef CTOP_FORMAT_PPROF_TABLES_H
#define CTOP_FORMAT_PPROF_TABLES_H

/*
 * What samples of a pprof profile refer to by number: strings, functions, locations and mappings. Each is written once, into the
 * profile's message, when it is first asked for; what is kept is an index of that. All zero but for history and out at first.
 * Actions return 0 or -ENOMEM.
 */

#include <ctop/base/index.h>
#include <ctop/base/text.h>
#include <ctop/history/history.h>
#include <ctop/recording/varint.h>

enum profile_field {
	PROFILE_SAMPLE_TYPE = 1,
	PROFILE_SAMPLE = 2,
	PROFILE_MAPPING = 3,
	PROFILE_LOCATION = 4,
	PROFILE_FUNCTION = 5,
	PROFILE_STRING = 6,
	PROFILE_TIME_NS = 9,
	PROFILE_DURATION_NS = 10,
	PROFILE_PERIOD_TYPE = 11,
	PROFILE_PERIOD = 12,
	PROFILE_COMMENT = 13,
	PROFILE_DEFAULT_TYPE = 14,
};

struct pprof_tables {
	struct history *history; /* borrowed */
	struct buffer *out;	 /* the profile's message; borrowed */
	struct buffer message, inner;
	struct text scratch;
	struct {
		struct pprof_location {
			uint32_t function, module;
			uint64_t address;
		} * items; /* id - 1 */
		size_t nr, capacity;
	} locations;
	struct index locations_index;
	struct {
		uint8_t *items; /* by function: has been written */
		size_t nr, capacity;
	} functions;
	struct {
		struct pprof_module {
			uint32_t nr_locations;
			bool lacks_names, has_lines;
		} * items; /* by module */
		size_t nr, capacity;
	} modules;
	struct {
		size_t *items; /* where each begins in strings_text */
		size_t nr, capacity;
	} strings;
	struct text strings_text;
	struct index strings_index;
	bool no_frames; /* is written */
};

void pprof_tables_release(struct pprof_tables *tables);
/* Whether memory ran out for what was to be written: then it is not whole. */
bool pprof_tables_failed(const struct pprof_tables *tables);

/* A string's number. The first is to be "", as the format wants it. */
int pprof_add_string(struct pprof_tables *tables, const char *string, uint32_t *id);
/* pprof prints names as they are: what could harm a terminal is spelled out. */
int pprof_add_untrusted(struct pprof_tables *tables, const char *string, uint32_t *id);
/* A frame, and those inlined there: nr of them, the one that is called first. */
int pprof_add_location(struct pprof_tables *tables, const struct history_frame *frame, size_t nr,
		       uint64_t *id);
/* pprof drops samples without a location: theirs is named as in the report. */
int pprof_add_no_frames(struct pprof_tables *tables, uint64_t *id);
/* Of all modules that locations are in: once, at the end. */
int pprof_write_mappings(struct pprof_tables *tables);

#endif
