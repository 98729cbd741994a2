/* SPDX-License-Identifier: MIT */
#ifndef CTOP_PERFDATA_INTERNAL_H
#define CTOP_PERFDATA_INTERNAL_H

/* The parts of an open file: header.c, features.c and piped.c read it once by read_at.c and events.c, stream.c, packed.c and order.c its records. */

#include <ctop/base/index.h>
#include <ctop/perfdata/perfdata.h>

/* perf's own records, in the numbers above the kernel's (tools/lib/perf/include/perf/event.h). */
enum {
	PERFDATA_RECORD_FIRST_OWN = 64,
	PERFDATA_RECORD_ATTR = 64,
	PERFDATA_RECORD_TRACING_DATA = 66,
	PERFDATA_RECORD_BUILD_ID = 67,
	PERFDATA_RECORD_FINISHED_ROUND = 68,
	PERFDATA_RECORD_AUXTRACE = 71,
	PERFDATA_RECORD_EVENT_UPDATE = 78,
	PERFDATA_RECORD_FEATURE = 80,
	PERFDATA_RECORD_COMPRESSED = 81,
	PERFDATA_RECORD_COMPRESSED2 = 83,
};

/* Numbers of the feature bits (tools/perf/util/header.h). */
enum perfdata_feature {
	FEATURE_BUILD_ID = 2,
	FEATURE_HOSTNAME = 3,
	FEATURE_OSRELEASE = 4,
	FEATURE_VERSION = 5,
	FEATURE_ARCH = 6,
	FEATURE_NR_CPUS = 7,
	FEATURE_CMDLINE = 11,
	FEATURE_EVENT_DESC = 12,
	FEATURE_DIR_FORMAT = 24,
	NR_FEATURES = 256
};

struct file_section {
	uint64_t offset, size;
};

struct file_header {
	uint64_t magic, size, attr_size;
	struct file_section attrs, data, event_types;
	uint64_t features[NR_FEATURES / 64];
};
_Static_assert(sizeof(struct file_header) == 104, "as perf writes it");

struct known_build_id {
	char *name;
	uint8_t build_id[20];
	uint32_t size; /* 0: the file has two that disagree */
	bool is_kernel;
};

struct event_name_id {
	uint64_t id;
	uint32_t event;
};

/* What ended the reading before the end of the data. */
enum stream_problem {
	STREAM_FINE,
	STREAM_CUT,	/* the file is shorter than its header says, or ends inside a record */
	STREAM_SHRANK,	/* it was cut while it was read */
	STREAM_DAMAGED, /* a record contradicts itself */
	STREAM_UNREADABLE
};

/* ---- packed.c: what perf record -z compressed ---- */

enum { CHUNK_BYTES = 1 << 20 };

/* Unpacked bytes; each record that is still wanted, and the reading, hold it. */
struct chunk {
	uint64_t nr_users;
	size_t used;
	uint64_t bytes[(CHUNK_BYTES - 2 * sizeof(uint64_t)) / sizeof(uint64_t)];
};

struct packed {
	void *context; /* ZSTD_DCtx */
	const uint8_t *input;
	size_t input_bytes, input_at;
	bool may_have_more; /* unpacked bytes that did not fit yet */
	struct chunk *chunk;
	size_t at;		/* of the next record in chunk */
	uint64_t nr_live_bytes; /* in chunks, whoever holds them */
};

struct raw_record;

/* Gives it the next packed bytes, which stay the caller's until packed_next() returned 0. */
void packed_feed(struct packed *packed, const void *bytes, size_t size);
/* 1; 0: it wants more to be fed; -EINVAL: damage; -ENOMEM. */
int packed_next(struct packed *packed, struct raw_record *record);
/* True when it was fed the beginning of a record only. */
bool packed_is_torn(const struct packed *packed);
void packed_release(struct packed *packed);
void chunk_leave(struct packed *packed, struct chunk *chunk); /* NULL is fine */

/* ---- stream.c: records in the order of the file ---- */

enum { STREAM_HEAD_BYTES = 256 };
/* A record where it lies: in a chunk, or else in the file. bytes are valid until the next one; of a large sample only the head is there. */
struct raw_record {
	const uint8_t *bytes;
	uint32_t size;
	uint64_t at; /* in the chunk or in the file */
	struct chunk *chunk;
};

struct stream {
	int fd;
	uint64_t at, end;
	bool ends_early; /* the file has less than its header says */
	uint8_t *window;
	uint64_t window_start;
	size_t window_bytes;
	size_t window_next_bytes; /* how much is read next */
	uint64_t asked_until;
	/* From the start of the file; NULL: it cannot be mapped. What was cut off since is not used any more. */
	const uint8_t *map;
	uint64_t map_bytes, usable_bytes;
	uint64_t nr_lost_pages;
	struct packed packed;
	enum stream_problem problem;
	uint64_t problem_at;
	int error; /* of STREAM_UNREADABLE */
};

/* file_bytes is its length now. 0 or -ENOMEM. */
int stream_init(struct stream *stream, int fd, const struct file_section *data,
		uint64_t file_bytes);
void stream_release(struct stream *stream);
/* The next of the kernel's records, or a FINISHED_ROUND. 1; 0: the end, see problem; -ENOMEM. */
int stream_next(struct stream *stream, struct raw_record *record);
/* The bytes of a record seen before, 8-aligned, in the map (*mapped: they may change at any time), in place or in scratch (64 KiB). NULL: they are gone. */
const void *stream_fetch(struct stream *stream, const struct raw_record *record, void *scratch,
			 bool *mapped);

/* Whether a record of the map is (still) all in the file. */
bool stream_has_whole(struct stream *stream, uint64_t at, size_t size);

/* Asks the memory for a record of the map that is fetched soon: where a sample's ids, registers and innermost frames are. */
void stream_prefetch(const struct stream *stream, uint64_t at, size_t size);

/* A record of it was lost while it was in use. */
void stream_shrank(struct stream *stream);

/* How many bytes follow a record that are not counted in its size. False: it says something impossible. */
bool stream_trailing_bytes(const uint8_t *bytes, const struct perf_event_header *header,
			   uint64_t *size);

/* ---- order.c: records in the order of time ---- */

struct queued {
	uint64_t time_ns, serial;
	uint64_t at;
	struct chunk *chunk;
	uint32_t size;
	uint16_t event, part;
	int32_t pid, tid; /* as struct perfdata_record has them */
};

/* A heap, the earliest on top; of equal times the one that was read first. */
struct order {
	struct queued *items;
	size_t nr, capacity;
	uint64_t nr_pushed;
	uint64_t limit_ns;	/* up to here nothing earlier is to come */
	uint64_t last_round_ns; /* the latest time seen until the last round ended */
	uint64_t latest_ns;
};

int order_push(struct order *order, const struct queued *item); /* sets its serial. 0 or -ENOMEM */
bool order_has_due(const struct order *order);
struct queued order_pop(struct order *order);
void order_end_round(struct order *order);

/* ---- */

/* One of the files of a recording. */
struct part {
	struct stream stream;
	uint64_t latest_ns; /* what was read of it */
	bool ended;
};

struct perfdata {
	struct stream stream;
	/* Of several files: all of them, the one with the header first, whose stream is taken from above. */
	struct part *parts;
	size_t nr_parts; /* 0: there is one file */
	struct order order;
	struct perfdata_facts facts;
	struct perfdata_event *events;
	size_t nr_events;
	struct {
		struct event_name_id *items;
		size_t nr, capacity;
	} ids;
	struct index ids_index;
	struct {
		struct known_build_id *items;
		size_t nr, capacity;
	} build_ids;
	struct index build_ids_index;
	uint64_t *scratch; /* 64 KiB */
	struct chunk *in_hand;
	uint16_t in_hand_part;
	uint64_t in_hand_at;	       /* in the map, if it is there */
	uint32_t in_hand_mapped_bytes; /* 0: it is not */
	bool is_one_of_several;	       /* the header's word */
	perfdata_wish *wants;	       /* NULL: all */
	void *wants_context;
	uint64_t nr_taken;  /* from the queue */
	uint64_t nr_forced; /* records that left before their turn, for want of room */
	uint64_t damaged_features;
	bool unfinished; /* perf record was killed: no features, and no length */
	char note[PERFDATA_NOTE_BYTES];
};

/* The file that a queued record is of. */
static inline struct stream *perfdata_stream(struct perfdata *perfdata, size_t part)
{
	return perfdata->nr_parts ? &perfdata->parts[part].stream : &perfdata->stream;
}

/* ---- read_at.c ---- */

/* Reads exactly that many bytes: 0, -ENODATA when the file ends before, -errno. */
int perfdata_read_at(int fd, uint64_t offset, void *bytes, size_t size);
/* As many of them as there are. */
size_t perfdata_read_most_at(int fd, uint64_t offset, void *bytes, size_t size);

/* ---- events.c ---- */

/* An id for each event, thread and CPU. */
enum { PERFDATA_IDS_MAX = 1 << 20 };

void perfdata_set_event(struct perfdata_event *event, const struct perf_event_attr *attr);
int perfdata_add_id(struct perfdata *perfdata, uint64_t id, uint32_t event); /* 0 or -ENOMEM */
bool perfdata_find_event(const struct perfdata *perfdata, uint64_t id, uint32_t *event);

/* ---- piped.c ---- */

/* Events and features of a file that was written into a pipe, and where its records begin. 0 or -ENOMEM. */
int perfdata_read_pipe(struct perfdata *perfdata, int fd, struct file_section *data);

/* ---- features.c ---- */

/* The bytes of one section. 0; -EINVAL: they make no sense, -ENOMEM. */
int perfdata_take_feature(struct perfdata *perfdata, uint64_t feature, const void *bytes,
			  size_t size);

/* What the features tell goes into facts, names of events and build_ids. Damage is counted. 0 or -ENOMEM. */
int perfdata_read_features(struct perfdata *perfdata, const struct file_header *header);

#endif
