/* SPDX-License-Identifier: MIT */
#include "internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <ctop/base/lost_pages.h>

/*
 * A record has at most 64 KiB, and a COMPRESSED2 one is bounded here. Of a sample with a dump only the head is read before
 * its turn comes: the window is small behind one, and grows as long as all of it is used.
 */
enum {
	WINDOW_BYTES = 4 << 20,
	WINDOW_FIRST_BYTES = 2 * STREAM_HEAD_BYTES,
	WINDOW_GROWTH = 4,
	LARGE_RECORD_BYTES = 4096,
	ASK_AHEAD_BYTES = 8 << 20,
	KEEP_BEHIND_BYTES =
		32 << 20 /* of the map: what waits for its turn is behind what is read */
};

/* Samples with dumps are used where they are. Only of a file that has a length that can be asked for. */
static void map_file(struct stream *stream)
{
	struct stat stat;
	if (fstat(stream->fd, &stat) < 0 || !S_ISREG(stat.st_mode) || !stream->end)
		return;
	void *map = mmap(NULL, stream->end, PROT_READ, MAP_PRIVATE, stream->fd, 0);
	if (map == MAP_FAILED)
		return;
	stream->map = map;
	stream->map_bytes = stream->usable_bytes = stream->end;
	stream->nr_lost_pages = lost_pages_count();
}

/* A word of the map, read once. */
static uint64_t mapped_word(const struct stream *stream, uint64_t at)
{
	uint64_t word;
	memcpy(&word, stream->map + at, sizeof(word));
	__asm__ volatile("" : "+r"(word) : : "memory");
	return word;
}

bool stream_has_whole(struct stream *stream, uint64_t at, size_t size)
{
	struct stat stat;
	if (at + size > stream->usable_bytes)
		return false;
	/*
	 * What is cut off within a page reads as zeros, and nothing tells: but what follows the record then does, too, and a record begins with
	 * its type. The last one has nothing behind it.
	 */
	if (at + size + sizeof(uint64_t) <= stream->usable_bytes &&
	    mapped_word(stream, at + size) && lost_pages_count() == stream->nr_lost_pages)
		return true;
	stream->nr_lost_pages = lost_pages_count();
	if (fstat(stream->fd, &stat) < 0)
		stream->usable_bytes = 0;
	else if ((uint64_t)stat.st_size < stream->usable_bytes)
		stream->usable_bytes = (uint64_t)stat.st_size;
	return at + size <= stream->usable_bytes;
}

int stream_init(struct stream *stream, int fd, const struct file_section *data, uint64_t file_bytes)
{
	*stream = (struct stream){.fd = fd, .at = data->offset, .end = data->offset + data->size};
	stream->ends_early = stream->end > file_bytes;
	if (stream->ends_early)
		stream->end = file_bytes;
	stream->window = malloc(WINDOW_BYTES);
	stream->window_next_bytes = WINDOW_FIRST_BYTES;
	map_file(stream);
	return stream->window ? 0 : -ENOMEM;
}

void stream_release(struct stream *stream)
{
	packed_release(&stream->packed);
	free(stream->window);
	if (stream->map)
		munmap((void *)(uintptr_t)stream->map, stream->map_bytes);
	if (stream->fd >= 0)
		close(stream->fd);
}

static int stop(struct stream *stream, enum stream_problem problem)
{
	stream->problem = problem;
	stream->problem_at = stream->at;
	stream->at = stream->end;
	return 0;
}

/* Once every few megabytes: what the kernel does not see as a file being read from end to end is read ahead all the same. */
static void ask_ahead(struct stream *stream, uint64_t at)
{
	if (at + ASK_AHEAD_BYTES / 2 < stream->asked_until)
		return;
	const uint64_t from = at > stream->asked_until ? at : stream->asked_until;
	stream->asked_until = at + ASK_AHEAD_BYTES;
	posix_fadvise(stream->fd, (off_t)from, (off_t)(stream->asked_until - from),
		      POSIX_FADV_WILLNEED);
	/* For whoever else has the file open: how far it was read. */
	lseek(stream->fd, (off_t)at, SEEK_SET);
	/* Whatever is looked at again comes back from the page cache; what came back is given back again. */
	if (stream->map && at > KEEP_BEHIND_BYTES)
		madvise((void *)(uintptr_t)stream->map,
			(at - KEEP_BEHIND_BYTES) & ~UINT64_C(0xfffff), MADV_DONTNEED);
}

static void fill_window(struct stream *stream, uint64_t at, size_t wanted)
{
	size_t size =
		wanted + 8 > stream->window_next_bytes ? wanted + 8 : stream->window_next_bytes;
	size_t used = 0;
	/* Begins where the file has an 8-aligned place, so that records lie aligned in memory. */
	stream->window_start = at & ~UINT64_C(7);
	if (size > stream->end - stream->window_start)
		size = (size_t)(stream->end - stream->window_start);
	ask_ahead(stream, stream->window_start);
	while (used < size) {
		ssize_t got = pread(stream->fd, stream->window + used, size - used,
				    (off_t)(stream->window_start + used));
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			stream->error = -errno;
		if (got <= 0)
			break;
		used += (size_t)got;
	}
	stream->window_bytes = used;
	stream->window_next_bytes *= WINDOW_GROWTH;
	if (stream->window_next_bytes > WINDOW_BYTES)
		stream->window_next_bytes = WINDOW_BYTES;
}

/* The bytes there are at `at`, at least wanted of them unless the file ends before; NULL with *nr 0 at its end. */
static const uint8_t *look(struct stream *stream, uint64_t at, size_t wanted, size_t *nr)
{
	uint64_t end = stream->window_start + stream->window_bytes;
	if (at < stream->window_start || at + wanted > end) {
		fill_window(stream, at, wanted);
		end = stream->window_start + stream->window_bytes;
	}
	*nr = at < end ? (size_t)(end - at) : 0;
	return *nr ? stream->window + (at - stream->window_start) : NULL;
}

/* The whole of a piece of the file. NULL: it ends before; problem tells. */
static const uint8_t *take(struct stream *stream, size_t size)
{
	size_t nr;
	if (size > WINDOW_BYTES - 8) {
		stop(stream, STREAM_DAMAGED);
		return NULL;
	}
	const uint8_t *bytes = look(stream, stream->at, size, &nr);
	if (bytes && nr >= size)
		return bytes;
	if (stream->error)
		stop(stream, STREAM_UNREADABLE);
	else /* what fstat() said once may be untrue by now */
		stop(stream, stream->end - stream->at < size ? STREAM_CUT : STREAM_SHRANK);
	return NULL;
}

/* The packed bytes of a record. False when it contradicts itself. */
static bool feed(struct stream *stream, const uint8_t *bytes,
		 const struct perf_event_header *header)
{
	size_t head = sizeof(*header);
	uint64_t size = header->size - head;
	if (header->type == PERFDATA_RECORD_COMPRESSED2) {
		uint64_t exact;
		if (size < sizeof(exact))
			return false;
		memcpy(&exact, bytes + head, sizeof(exact));
		head += sizeof(exact);
		if (exact > header->size - head)
			return false;
		size = exact;
	}
	packed_feed(&stream->packed, bytes + head, (size_t)size);
	return true;
}

bool stream_trailing_bytes(const uint8_t *bytes, const struct perf_event_header *header,
			   uint64_t *size)
{
	uint32_t tracing;
	*size = 0;
	if (header->type == PERFDATA_RECORD_TRACING_DATA) {
		if (header->size < sizeof(*header) + sizeof(tracing))
			return false;
		memcpy(&tracing, bytes + sizeof(*header), sizeof(tracing));
		*size = ((uint64_t)tracing + 7) & ~UINT64_C(7);
		return true;
	}
	if (header->type != PERFDATA_RECORD_AUXTRACE)
		return true;
	if (header->size < sizeof(*header) + sizeof(*size))
		return false;
	memcpy(size, bytes + sizeof(*header), sizeof(*size));
	return true;
}

/* A large sample, of which the rest is read when its turn has come: 1; 0: it is not all there. */
static int next_large(struct stream *stream, uint32_t size, struct raw_record *record)
{
	if (stream->end - stream->at < size)
		return stop(stream, STREAM_CUT);
	const uint8_t *head = take(stream, STREAM_HEAD_BYTES);
	if (!head)
		return 0;
	*record = (struct raw_record){head, size, stream->at, NULL};
	stream->at += size;
	stream->window_next_bytes = WINDOW_FIRST_BYTES;
	return 1;
}

/* The same, where it is mapped; its head is copied, so that what is looked at twice is the same. False: it is no such sample. */
static bool next_mapped(struct stream *stream, struct raw_record *record)
{
	struct perf_event_header header;
	const uint64_t at = stream->at;
	if (!stream->map || at % sizeof(uint64_t) || stream->usable_bytes < STREAM_HEAD_BYTES ||
	    at > stream->usable_bytes - STREAM_HEAD_BYTES)
		return false;
	const uint64_t word = mapped_word(stream, at);
	memcpy(&header, &word, sizeof(header));
	if (header.type != PERF_RECORD_SAMPLE || header.size < LARGE_RECORD_BYTES ||
	    header.size % sizeof(uint64_t) || !stream_has_whole(stream, at, header.size))
		return false;
	ask_ahead(stream, at);
	/* Neighbours are mostly of one length: behind the next one begins the one after it. */
	__builtin_prefetch(stream->map + at + 2 * (uint64_t)header.size);
	stream->window_start = at;
	stream->window_bytes = 0;
	memcpy(stream->window, stream->map + at, STREAM_HEAD_BYTES);
	memcpy(stream->window, &header, sizeof(header));
	*record = (struct raw_record){stream->window, header.size, at, NULL};
	stream->at += header.size;
	stream->window_next_bytes = WINDOW_FIRST_BYTES;
	return true;
}

/* From the file itself. 1: a record to hand on; 2: one that was dealt with; 0: the end. */
static int next_in_file(struct stream *stream, struct raw_record *record)
{
	struct perf_event_header header;
	if (stream->at == stream->end)
		return 0;
	if (next_mapped(stream, record))
		return 1;
	const uint8_t *bytes = take(stream, sizeof(header));
	if (!bytes)
		return 0;
	memcpy(&header, bytes, sizeof(header));
	if (header.size < sizeof(header))
		return stop(stream, STREAM_DAMAGED);
	if (header.type == PERF_RECORD_SAMPLE && header.size >= LARGE_RECORD_BYTES)
		return next_large(stream, header.size, record);
	bytes = take(stream, header.size);
	uint64_t trailing;
	if (!bytes)
		return 0;
	if (!stream_trailing_bytes(bytes, &header, &trailing))
		return stop(stream, STREAM_DAMAGED);
	if (trailing > stream->end - stream->at - header.size)
		return stop(stream, STREAM_CUT);
	*record = (struct raw_record){bytes, header.size, stream->at, NULL};
	if ((header.type == PERFDATA_RECORD_COMPRESSED ||
	     header.type == PERFDATA_RECORD_COMPRESSED2) &&
	    !feed(stream, bytes, &header))
		return stop(stream, STREAM_DAMAGED);
	stream->at += header.size + trailing;
	return header.type < PERFDATA_RECORD_FIRST_OWN ||
			       header.type == PERFDATA_RECORD_FINISHED_ROUND
		       ? 1
		       : 2;
}

int stream_next(struct stream *stream, struct raw_record *record)
{
	for (;;) {
		int result = packed_next(&stream->packed, record);
		if (result == -EINVAL) {
			packed_release(&stream->packed);
			return stop(stream, STREAM_DAMAGED);
		}
		if (result)
			return result;
		result = next_in_file(stream, record);
		if (result == 0 && stream->problem == STREAM_FINE &&
		    (stream->ends_early || packed_is_torn(&stream->packed)))
			stop(stream, STREAM_CUT);
		if (result != 2)
			return result;
	}
}

/* The file may have another record there by now than what was queued: that one is copied before anybody looks at it. */
static bool is_mapped_sample(struct stream *stream, const struct raw_record *record)
{
	struct perf_event_header header;
	if (!stream->map || record->chunk || record->size < LARGE_RECORD_BYTES ||
	    record->at % sizeof(uint64_t) || record->size % sizeof(uint64_t) ||
	    !stream_has_whole(stream, record->at, record->size))
		return false;
	const uint64_t word = mapped_word(stream, record->at);
	memcpy(&header, &word, sizeof(header));
	return header.type == PERF_RECORD_SAMPLE && header.size == record->size;
}

const void *stream_fetch(struct stream *stream, const struct raw_record *record, void *scratch,
			 bool *mapped)
{
	*mapped = is_mapped_sample(stream, record);
	if (*mapped)
		return stream->map + record->at;
	const uint8_t *bytes;
	uint64_t window_end = stream->window_start + stream->window_bytes;
	if (record->chunk) {
		bytes = (const uint8_t *)record->chunk->bytes + record->at;
	} else if (record->at >= stream->window_start && record->at + record->size <= window_end) {
		bytes = stream->window + (record->at - stream->window_start);
	} else {
		int result = perfdata_read_at(stream->fd, record->at, scratch, record->size);
		if (!result)
			return scratch;
		if (stream->problem == STREAM_FINE) {
			stream->error = result;
			stop(stream, result == -ENODATA ? STREAM_SHRANK : STREAM_UNREADABLE);
		}
		return NULL;
	}
	if ((uintptr_t)bytes % sizeof(uint64_t) == 0)
		return bytes;
	return memcpy(scratch, bytes, record->size);
}

void stream_prefetch(const struct stream *stream, uint64_t at, size_t size)
{
	enum { LINE_BYTES = 64, BEGIN_BYTES = 1024 };
	if (!stream->map || at > stream->usable_bytes || size > stream->usable_bytes - at)
		return;
	for (uint64_t line = 0; line < size && line < BEGIN_BYTES; line += LINE_BYTES)
		__builtin_prefetch(stream->map + at + line);
	/* The size of the copy stands at the end, and what follows is looked at, too. */
	__builtin_prefetch(stream->map + at + size - sizeof(uint64_t));
	__builtin_prefetch(stream->map + at + size);
}

void stream_shrank(struct stream *stream)
{
	if (stream->problem == STREAM_FINE)
		stop(stream, STREAM_SHRANK);
}
