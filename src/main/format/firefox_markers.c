/* SPDX-License-Identifier: MIT */
#include "firefox_markers.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include <ctop/base/vec.h>

#include "pieces.h"

const char firefox_wait_schema[] =
	"{\"name\":\"wait\",\"tooltipLabel\":\"{marker.name}\",\"tableLabel\":\"{marker.name}\","
	"\"chartLabel\":\"{marker.name}\",\"display\":[\"marker-chart\",\"marker-table\"],"
	"\"fields\":[]}";

struct wait {
	uint64_t from_ns, to_ns;
	uint32_t node;
};
struct waits {
	struct wait *items;
	size_t nr, capacity;
};

/* A part ends when it was told, and lasted as long as it weighs. */
static struct wait part_of(const struct track_sample *sample, uint64_t from_ns)
{
	const uint64_t to_ns = sample->time_ns > from_ns ? sample->time_ns - from_ns : 0;
	return (struct wait){to_ns > sample->weight ? to_ns - sample->weight : 0, to_ns,
			     sample->node};
}

static int take_waits(const struct firefox_markers *markers, const struct track *track,
		      struct waits *waits)
{
	const struct tracks *tracks = markers->tracks;
	for (uint32_t i = 0; i < track->nr; i++) {
		const struct wait part = part_of(
			&tracks->samples.items[tracks->order[track->first + i]], markers->from_ns);
		struct wait *last = waits->nr ? &waits->items[waits->nr - 1] : NULL;
		if (last && last->node == part.node && part.from_ns <= last->to_ns) {
			last->to_ns = part.to_ns;
			continue;
		}
		if (!part.node)
			continue; /* nobody knows what for */
		if (vec_reserve(waits, waits->nr + 1))
			return -ENOMEM;
		waits->items[waits->nr++] = part;
	}
	return 0;
}

static void add_ms(struct text *out, uint64_t ns)
{
	text_addf(out, "%" PRIu64 ".%06" PRIu64, ns / 1000000, ns % 1000000);
}

enum column {
	COLUMN_NAME,
	COLUMN_START,
	COLUMN_END,
	COLUMN_PHASE,
	COLUMN_CATEGORY,
	COLUMN_DATA,
	NR_COLUMNS
};

static void add_cell(const struct firefox_markers *markers, const struct wait *wait,
		     enum column column, struct text *out)
{
	enum { PHASE_INTERVAL = 1 };
	const struct track_node *node = &markers->tracks->nodes.items[wait->node];
	const struct track_frame *frame = &markers->tracks->frames.items[node->frame];
	switch ((unsigned)column) {
	case COLUMN_NAME:
		text_addf(out, "%" PRIu32, numbering_of(markers->functions, frame->function.index));
		break;
	case COLUMN_START:
		add_ms(out, wait->from_ns);
		break;
	case COLUMN_END:
		add_ms(out, wait->to_ns);
		break;
	case COLUMN_PHASE:
		text_addf(out, "%d", PHASE_INTERVAL);
		break;
	case COLUMN_CATEGORY:
		text_addf(out, "%d", markers->category);
		break;
	default:
		text_addf(out, "{\"type\":\"wait\",\"cause\":{\"stack\":%" PRIu32 "}}",
			  wait->node - 1);
	}
}

int firefox_write_markers(const struct firefox_markers *markers, const struct track *track,
			  bool is_wait, struct text *out)
{
	static const char *const keys[NR_COLUMNS] = {
		[COLUMN_NAME] = "name",	  [COLUMN_START] = "startTime",	  [COLUMN_END] = "endTime",
		[COLUMN_PHASE] = "phase", [COLUMN_CATEGORY] = "category", [COLUMN_DATA] = "data"};
	struct waits waits = {0};
	int result = is_wait && markers->tracks->has_times ? take_waits(markers, track, &waits) : 0;
	text_add(out, "\"markers\":{");
	for (enum column column = 0; column < NR_COLUMNS; column++) {
		text_addf(out, "\"%s\":[", keys[column]);
		for (size_t i = 0; !result && i < waits.nr; i++) {
			text_add(out, i ? "," : "");
			add_cell(markers, &waits.items[i], column, out);
			result = pieces_offer(markers->sink, out);
		}
		text_add(out, "],");
	}
	text_addf(out, "\"length\":%zu}", waits.nr);
	free(waits.items);
	return result;
}
