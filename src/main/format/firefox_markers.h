/* SPDX-License-Identifier: MIT */
#ifndef CTOP_FORMAT_FIREFOX_MARKERS_H
#define CTOP_FORMAT_FIREFOX_MARKERS_H

/*
 * Waits as the Firefox Profiler's markers (https://github.com/firefox-devtools/profiler, src/types/markers.ts): intervals along time, each
 * with what it waits for as its name and its stack as its cause.
 */

#include "numbering.h"
#include "tracks.h"

/* What the file says of these markers, an entry of its meta.markerSchema. */
extern const char firefox_wait_schema[];

struct firefox_markers {
	const struct export_sink *sink;
	const struct tracks *tracks;
	const struct numbering *functions; /* whose numbers are those of their names */
	uint64_t from_ns;		   /* the profile's */
	int category;
};

/*
 * Adds the "markers" of a track: of the event of waits its waits, of another and without times none. A wait that was told in parts is one
 * again. 0, -ENOMEM or what the sink said.
 */
int firefox_write_markers(const struct firefox_markers *markers, const struct track *track,
			  bool is_wait, struct text *out);

#endif
