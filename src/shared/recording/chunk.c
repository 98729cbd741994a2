/* SPDX-License-Identifier: MIT */
#include <ctop/recording/chunk.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include <ctop/base/clock.h>

/* A byte that is no text, and line ends that a careless transfer would change. */

#define CHUNK_SYNC FOURCC('c', 't', 0xc8, 0x1c)

enum { FLAG_ZSTD = 1, ZSTD_LEVEL = 3 };

/* Nobody who does not mean it makes a file with more false heads than this: a second of work. */
#define WASTED_MAX ((size_t)16 * CHUNK_RAW_MAX)

/* Of what is confirmed: fewer bytes stay where they are until there are more. */
enum { FORGOTTEN_AT_ONCE = 256 << 10 };

/*
 * How much payloads may be in all, by the bytes of the file up to their ends: docs/recording-format.md. The writer keeps
 * to it, so that what claims more is no recording of ctop's.
 */
enum { RAW_FREE = 1 << 20, RAW_A_BYTE = 256 };

/* Offsets in a chunk's head; integers are little-endian. */
enum {
	AT_SYNC = 0,
	AT_TYPE = 4,
	AT_STORED = 8,
	AT_RAW = 12,
	AT_FLAGS = 16,
	AT_RECORDING = 20,
	AT_EPOCH = 24,
	AT_NUMBER = 28,
	AT_CRC = 32,
};

static void put_u32(uint8_t *to, uint32_t value)
{
	for (int i = 0; i < 4; i++)
		to[i] = (uint8_t)(value >> 8 * i);
}

static uint32_t get_u32(const uint8_t *from)
{
	return (uint32_t)from[0] | (uint32_t)from[1] << 8 | (uint32_t)from[2] << 16 |
	       (uint32_t)from[3] << 24;
}

static uint32_t crc_of(const uint8_t *head, const uint8_t *payload, size_t size)
{
	uLong crc = crc32(0, head, AT_CRC);
	/* zlib takes a NULL buffer for the wish to restart. */
	return (uint32_t)(size ? crc32_z(crc, payload, size) : crc);
}

static uint64_t raw_most(uint64_t file_bytes)
{
	return RAW_FREE + RAW_A_BYTE * file_bytes;
}

/* ---- writing ---- */

struct chunk_writer {
	int fd;
	int error;	    /* the first */
	uint32_t recording; /* by chance: tells its chunks from those of any other */
	uint32_t number;    /* of the last chunk */
	uint64_t bytes;
	uint64_t file_bytes, raw_bytes; /* of all chunks: as they are stored, and unpacked */
	struct buffer waiting;		/* what fd did not take yet: from `pushed` on */
	size_t pushed;			/* taken, and kept until it is confirmed */
	bool keeps;
	bool broken; /* keeps, and nobody reads fd any more */
	ZSTD_CCtx *zstd;
	uint8_t *packed;
	size_t packed_capacity;
};

static uint32_t any_number(void)
{
	uint32_t number;
	if (getrandom(&number, sizeof(number), 0) != sizeof(number))
		number = (uint32_t)clock_now_ns() ^ (uint32_t)getpid();
	return number;
}

struct chunk_writer *chunk_writer_new(int fd)
{
	struct chunk_writer *writer = calloc(1, sizeof(*writer));
	if (!writer) {
		close(fd);
		return NULL;
	}
	writer->fd = fd;
	writer->recording = any_number();
	writer->zstd = ZSTD_createCCtx();
	if (writer->zstd)
		return writer;
	chunk_writer_free(writer);
	return NULL;
}

void chunk_writer_free(struct chunk_writer *writer)
{
	if (!writer)
		return;
	chunk_close(writer);
	ZSTD_freeCCtx(writer->zstd);
	free(writer->packed);
	buffer_release(&writer->waiting);
	free(writer);
}

/* Writes what fd takes now. How many bytes that were. */
static size_t write_some(struct chunk_writer *writer, const uint8_t *bytes, size_t size)
{
	size_t done = 0;
	while (done < size && !writer->error && !writer->broken) {
		ssize_t wrote = write(writer->fd, bytes + done, size - done);
		if (wrote > 0)
			done += (size_t)wrote;
		else if (wrote < 0 && errno == EAGAIN)
			break;
		else if (wrote < 0 && errno == EPIPE && writer->keeps)
			writer->broken = true;
		else if (wrote == 0 || errno != EINTR)
			writer->error = wrote < 0 ? -errno : -EIO;
	}
	writer->bytes += done;
	return done;
}

/* What was taken is not needed any more, up to there. Bytes are moved only where that pays. */
static void forget(struct chunk_writer *writer, size_t nr)
{
	struct buffer *waiting = &writer->waiting;
	if (nr < waiting->size && nr < FORGOTTEN_AT_ONCE)
		return;
	if (nr < waiting->size)
		memmove(waiting->bytes, waiting->bytes + nr, waiting->size - nr);
	waiting->size -= nr;
	writer->pushed -= nr;
}

int chunk_push(struct chunk_writer *writer)
{
	const struct buffer *waiting = &writer->waiting;
	size_t nr = waiting->size - writer->pushed;
	if (writer->keeps && nr > CHUNK_KEPT_MAX - writer->pushed)
		nr = CHUNK_KEPT_MAX - writer->pushed;
	if (nr)
		writer->pushed += write_some(writer, waiting->bytes + writer->pushed, nr);
	if (!writer->keeps && writer->pushed == waiting->size)
		forget(writer, writer->pushed);
	return writer->error;
}

void chunk_keep(struct chunk_writer *writer)
{
	writer->keeps = true;
}

uint64_t chunk_confirm(struct chunk_writer *writer, uint64_t bytes)
{
	const uint64_t first = writer->bytes - writer->pushed;
	if (bytes < first)
		bytes = first;
	if (bytes > writer->bytes)
		bytes = writer->bytes;
	forget(writer, (size_t)(bytes - first));
	return bytes;
}

size_t chunk_kept(const struct chunk_writer *writer, uint64_t from, const uint8_t **bytes)
{
	const uint64_t first = writer->bytes - writer->pushed;
	*bytes = writer->waiting.bytes + (from - first);
	return (size_t)(writer->bytes - from);
}

void chunk_redirect(struct chunk_writer *writer, int fd, uint64_t from)
{
	chunk_close(writer);
	writer->fd = fd;
	writer->broken = false;
	from = chunk_confirm(writer, from);
	writer->pushed -= (size_t)(writer->bytes - from);
	writer->bytes = from;
}

bool chunk_is_broken(const struct chunk_writer *writer)
{
	return writer->broken;
}

void chunk_close(struct chunk_writer *writer)
{
	if (writer->fd >= 0)
		close(writer->fd);
	writer->fd = -1;
}

static int write_all(struct chunk_writer *writer, const uint8_t *bytes, size_t size)
{
	bool direct = !writer->keeps && !chunk_waiting_bytes(writer);
	size_t wrote = direct ? write_some(writer, bytes, size) : 0;
	if (!writer->error && wrote < size)
		buffer_add(&writer->waiting, bytes + wrote, size - wrote);
	if (writer->waiting.failed && !writer->error)
		writer->error = -ENOMEM;
	return writer->keeps ? chunk_push(writer) : writer->error;
}

int chunk_write_head(struct chunk_writer *writer)
{
	uint8_t head[RECORDING_HEAD_BYTES] = {0};
	memcpy(head, recording_magic, sizeof(recording_magic));
	head[8] = RECORDING_MAJOR;
	head[10] = RECORDING_MINOR;
	return write_all(writer, head, sizeof(head));
}

/* The payload as it is stored: packed when that is smaller, and not so small that it would look like a lie. */
static const uint8_t *pack(struct chunk_writer *writer, const struct buffer *payload,
			   size_t *stored, uint32_t *flags)
{
	size_t bound = ZSTD_compressBound(payload->size);
	*stored = payload->size;
	*flags = 0;
	if (bound > writer->packed_capacity) {
		uint8_t *grown = realloc(writer->packed, bound);
		if (!grown)
			return payload->bytes;
		writer->packed = grown;
		writer->packed_capacity = bound;
	}
	size_t packed = ZSTD_compressCCtx(writer->zstd, writer->packed, writer->packed_capacity,
					  payload->bytes, payload->size, ZSTD_LEVEL);
	if (ZSTD_isError(packed) || packed >= payload->size)
		return payload->bytes;
	if (writer->raw_bytes + payload->size >
	    raw_most(writer->file_bytes + CHUNK_HEAD_BYTES + packed))
		return payload->bytes;
	*stored = packed;
	*flags = FLAG_ZSTD;
	return writer->packed;
}

int chunk_write(struct chunk_writer *writer, uint32_t type, uint32_t epoch,
		const struct buffer *payload)
{
	uint8_t head[CHUNK_HEAD_BYTES];
	size_t stored;
	uint32_t flags;
	if (!writer->error && payload->failed)
		writer->error = -ENOMEM;
	if (!writer->error && payload->size > CHUNK_RAW_MAX)
		writer->error = -EFBIG;
	if (writer->error)
		return writer->error;
	const uint8_t *bytes = pack(writer, payload, &stored, &flags);
	writer->file_bytes += CHUNK_HEAD_BYTES + stored;
	writer->raw_bytes += payload->size;
	put_u32(head + AT_SYNC, CHUNK_SYNC);
	put_u32(head + AT_TYPE, type);
	put_u32(head + AT_STORED, (uint32_t)stored);
	put_u32(head + AT_RAW, (uint32_t)payload->size);
	put_u32(head + AT_FLAGS, flags);
	put_u32(head + AT_RECORDING, writer->recording);
	put_u32(head + AT_EPOCH, epoch);
	put_u32(head + AT_NUMBER, ++writer->number);
	put_u32(head + AT_CRC, crc_of(head, bytes, stored));
	if (!write_all(writer, head, sizeof(head)))
		write_all(writer, bytes, stored);
	return writer->error;
}

uint64_t chunk_bytes_written(const struct chunk_writer *writer)
{
	return writer->bytes;
}

size_t chunk_waiting_bytes(const struct chunk_writer *writer)
{
	return writer->waiting.size - writer->pushed;
}

int chunk_writer_fd(const struct chunk_writer *writer)
{
	return writer->fd;
}

/* ---- reading ---- */

struct chunk_reader {
	int major; /* of the head */
	int fd;
	bool at_end;
	size_t wasted;	/* bytes looked at for chunks that were none */
	bool in_damage; /* the bytes before were damage: what follows belongs to the same place */
	uint32_t recording;  /* known from the first chunk on */
	uint32_t number;     /* of the last chunk; 0: none yet */
	uint64_t read_bytes; /* of the file */
	uint64_t raw_bytes;  /* of all payloads so far */
	uint8_t *bytes;	     /* what was read and not yet used: [from, to) */
	size_t from, to, capacity;
	uint8_t *raw; /* of a packed payload */
	size_t raw_capacity;
};

struct chunk_reader *chunk_reader_new(int fd)
{
	struct chunk_reader *reader = calloc(1, sizeof(*reader));
	if (reader)
		reader->fd = fd;
	return reader;
}

void chunk_reader_free(struct chunk_reader *reader)
{
	if (!reader)
		return;
	free(reader->bytes);
	free(reader->raw);
	free(reader);
}

static size_t available(const struct chunk_reader *reader)
{
	return reader->to - reader->from;
}

/* Reads until size bytes are there, or the end of the file. 0 or -errno. */
static int fill(struct chunk_reader *reader, size_t size)
{
	if (available(reader) >= size || reader->at_end)
		return 0;
	if (available(reader))
		memmove(reader->bytes, reader->bytes + reader->from, available(reader));
	reader->to -= reader->from;
	reader->from = 0;
	if (size > reader->capacity) {
		size_t capacity = size < 1 << 16 ? 1 << 16 : size;
		uint8_t *grown = realloc(reader->bytes, capacity);
		if (!grown)
			return -ENOMEM;
		reader->bytes = grown;
		reader->capacity = capacity;
	}
	while (available(reader) < size && !reader->at_end) {
		ssize_t got =
			read(reader->fd, reader->bytes + reader->to, reader->capacity - reader->to);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		reader->at_end = got == 0;
		reader->to += (size_t)got;
		reader->read_bytes += (size_t)got;
	}
	return 0;
}

int chunk_read_head(struct chunk_reader *reader)
{
	int result = fill(reader, RECORDING_HEAD_BYTES);
	if (result)
		return result;
	const uint8_t *head = reader->bytes;
	if (available(reader) < RECORDING_HEAD_BYTES ||
	    memcmp(head, recording_magic, sizeof(recording_magic)) != 0)
		return -EINVAL;
	int major = head[8] | head[9] << 8;
	if (major > RECORDING_MAJOR || major < RECORDING_MAJOR_FIRST)
		return major > RECORDING_MAJOR ? -EPROTO : -EINVAL;
	reader->major = major;
	reader->from = RECORDING_HEAD_BYTES;
	return 0;
}

int chunk_major_version(const struct chunk_reader *reader)
{
	return reader->major;
}

/* Unpacks into reader->raw. False when it is not what the head says. */
static bool unpack(struct chunk_reader *reader, const uint8_t *stored, size_t stored_size,
		   size_t raw_size)
{
	if (raw_size > reader->raw_capacity) {
		uint8_t *grown = realloc(reader->raw, raw_size);
		if (!grown)
			return false;
		reader->raw = grown;
		reader->raw_capacity = raw_size;
	}
	return ZSTD_decompress(reader->raw, raw_size, stored, stored_size) == raw_size;
}

/* The bytes at `from` are no chunk, or none to be used. */
static void skip(struct chunk_reader *reader, size_t size, struct chunk_damage *damage)
{
	damage->places += !reader->in_damage;
	damage->bytes += size;
	reader->in_damage = true;
	reader->from += size;
}

/* Whether a sound chunk is this recording's next, or a later one. Else it is another's, or was there before. */
static bool is_next(struct chunk_reader *reader, const uint8_t *head, struct chunk_damage *damage)
{
	uint32_t number = get_u32(head + AT_NUMBER), recording = get_u32(head + AT_RECORDING);
	if (!reader->number)
		reader->recording = recording;
	if (recording != reader->recording || number <= reader->number)
		return false;
	damage->missing += number - reader->number - 1;
	reader->number = number;
	return true;
}

/* 1: the bytes at `from` are a whole, sound chunk of *size bytes; 0: they are not; -errno. */
static int check_chunk(struct chunk_reader *reader, size_t *size)
{
	const uint8_t *head = reader->bytes + reader->from;
	uint32_t stored = get_u32(head + AT_STORED), raw = get_u32(head + AT_RAW);
	*size = CHUNK_HEAD_BYTES + (size_t)stored;
	if (get_u32(head + AT_SYNC) != CHUNK_SYNC || stored > CHUNK_RAW_MAX || raw > CHUNK_RAW_MAX)
		return 0;
	int result = fill(reader, *size);
	if (result)
		return result;
	head = reader->bytes + reader->from; /* it may have moved */
	if (available(reader) < *size)
		return 0;
	if (get_u32(head + AT_CRC) == crc_of(head, head + CHUNK_HEAD_BYTES, stored))
		return 1;
	reader->wasted += *size;
	return 0;
}

/* A sound chunk may still say that more is in it than any writer puts there. */
static bool holds_too_much(const struct chunk_reader *reader, size_t size, uint32_t raw)
{
	uint64_t end = reader->read_bytes - available(reader) + size;
	return reader->raw_bytes + raw > raw_most(end);
}

/* What is in a sound chunk. False when it is packed in a way that is not known. */
static bool open_chunk(struct chunk_reader *reader, size_t size, struct chunk *chunk)
{
	const uint8_t *head = reader->bytes + reader->from, *bytes = head + CHUNK_HEAD_BYTES;
	uint32_t flags = get_u32(head + AT_FLAGS), raw = get_u32(head + AT_RAW);
	size_t stored = size - CHUNK_HEAD_BYTES;
	if (flags & ~(uint32_t)FLAG_ZSTD || (!(flags & FLAG_ZSTD) && raw != stored))
		return false;
	if (flags & FLAG_ZSTD) {
		if (holds_too_much(reader, size, raw) || !unpack(reader, bytes, stored, raw))
			return false;
		bytes = reader->raw;
	}
	reader->raw_bytes += raw;
	*chunk = (struct chunk){
		.type = get_u32(head + AT_TYPE),
		.epoch = get_u32(head + AT_EPOCH),
		.payload = {bytes, bytes + raw, false},
	};
	return true;
}

int chunk_read(struct chunk_reader *reader, struct chunk *chunk, struct chunk_damage *damage)
{
	for (;;) {
		size_t size;
		int result = fill(reader, CHUNK_HEAD_BYTES);
		if (result)
			return result;
		if (available(reader) < CHUNK_HEAD_BYTES || reader->wasted > WASTED_MAX)
			return chunk_read_rest(reader, damage);
		result = check_chunk(reader, &size);
		if (result < 0)
			return result;
		if (!result) {
			skip(reader, 1, damage);
		} else if (!is_next(reader, reader->bytes + reader->from, damage)) {
			skip(reader, size, damage);
		} else if (!open_chunk(reader, size, chunk)) {
			damage->missing++;
			skip(reader, size, damage);
		} else {
			reader->in_damage = false;
			reader->from += size;
			return 1;
		}
	}
}

int chunk_read_rest(struct chunk_reader *reader, struct chunk_damage *damage)
{
	for (;;) {
		int result = fill(reader, 1);
		if (result || !available(reader))
			return result;
		skip(reader, available(reader), damage);
	}
}
