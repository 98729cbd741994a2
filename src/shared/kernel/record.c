/* SPDX-License-Identifier: MIT */
#include <ctop/kernel/record.h>

#include <errno.h>
#include <string.h>

/* What is left of a record; every take_ fails rather than read past its end. */
struct cursor {
	const uint8_t *at;
	size_t left;
};

static bool take(struct cursor *cursor, void *value, size_t size)
{
	if (cursor->left < size)
		return false;
	memcpy(value, cursor->at, size);
	/* Bytes of a mapped file may change: what was copied is not read again, whatever the compiler thinks. */
	__asm__ volatile("" : : : "memory");
	cursor->at += size;
	cursor->left -= size;
	return true;
}

static bool take_u64(struct cursor *cursor, uint64_t *value)
{
	return take(cursor, value, sizeof(*value));
}

static bool take_u32(struct cursor *cursor, uint32_t *value)
{
	return take(cursor, value, sizeof(*value));
}

static bool take_i32(struct cursor *cursor, int32_t *value)
{
	return take(cursor, value, sizeof(*value));
}

static bool skip(struct cursor *cursor, uint64_t size)
{
	if (cursor->left < size)
		return false;
	cursor->at += size;
	cursor->left -= size;
	return true;
}

/* A NUL-terminated string that fills whole words. NULL when it has no end. */
static const char *take_string(struct cursor *cursor, size_t trailer)
{
	if (cursor->left < trailer)
		return NULL;
	const char *string = (const char *)cursor->at;
	size_t size = cursor->left - trailer;
	if (!memchr(string, '\0', size))
		return NULL;
	skip(cursor, size);
	return string;
}

/* ---- the trailer that non-samples carry (perf_event_open(2), sample_id_all) ---- */

static size_t trailer_bytes(const struct record_format *format)
{
	static const uint64_t fields = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID |
				       PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU |
				       PERF_SAMPLE_IDENTIFIER;
	if (!format->sample_id_all)
		return 0;
	return 8 * (size_t)__builtin_popcountll(format->sample_type & fields);
}

static bool take_cpu(struct cursor *cursor, struct record *record)
{
	uint32_t reserved;
	return take_u32(cursor, &record->cpu) && take_u32(cursor, &reserved);
}

static bool body_names_task(uint32_t type)
{
	return type == PERF_RECORD_MMAP || type == PERF_RECORD_MMAP2 || type == PERF_RECORD_COMM ||
	       type == PERF_RECORD_FORK || type == PERF_RECORD_EXIT;
}

static bool take_trailer(struct cursor *cursor, const struct record_format *format,
			 struct record *record)
{
	uint64_t type = format->sample_type, ignored;
	int32_t pid, tid;
	bool ok = true;
	if (!format->sample_id_all)
		return true;
	if (type & PERF_SAMPLE_TID) {
		ok = take_i32(cursor, &pid) && take_i32(cursor, &tid);
		/* The task that wrote it: a FORK's is the parent, a COMM's may be any. */
		if (ok && !body_names_task(record->type)) {
			record->pid = pid;
			record->tid = tid;
		}
	}
	if (ok && type & PERF_SAMPLE_TIME)
		ok = take_u64(cursor, &record->time_ns);
	if (ok && type & PERF_SAMPLE_ID)
		ok = take_u64(cursor, &record->id);
	if (ok && type & PERF_SAMPLE_STREAM_ID)
		ok = take_u64(cursor, &ignored);
	if (ok && type & PERF_SAMPLE_CPU)
		ok = take_cpu(cursor, record);
	if (ok && type & PERF_SAMPLE_IDENTIFIER)
		ok = take_u64(cursor, &record->id);
	return ok;
}

/* ---- samples ---- */

/* Bytes of a PERF_SAMPLE_READ body: it is skipped, ctop does not ask for it. */
static bool skip_read(struct cursor *cursor, uint64_t read_format)
{
	uint64_t nr = 1, fields = 1, times = 0;
	if (read_format & PERF_FORMAT_ID)
		fields++;
	if (read_format & PERF_FORMAT_LOST)
		fields++;
	if (read_format & PERF_FORMAT_TOTAL_TIME_ENABLED)
		times++;
	if (read_format & PERF_FORMAT_TOTAL_TIME_RUNNING)
		times++;
	if (read_format & PERF_FORMAT_GROUP && !take_u64(cursor, &nr))
		return false;
	if (nr > cursor->left)
		return false;
	return skip(cursor, 8 * (times + nr * fields));
}

static bool take_chain(struct cursor *cursor, struct record_sample *sample)
{
	if (!take_u64(cursor, &sample->nr_chain) || sample->nr_chain > cursor->left / 8)
		return false;
	/* Records begin 8-aligned and every field before this one keeps that. */
	sample->chain = sample->nr_chain ? (const uint64_t *)(const void *)cursor->at : NULL;
	return skip(cursor, sample->nr_chain * 8);
}

static bool take_raw(struct cursor *cursor, struct record_sample *sample)
{
	if (!take_u32(cursor, &sample->raw_bytes))
		return false;
	sample->raw = cursor->at;
	return skip(cursor, sample->raw_bytes);
}

static bool take_regs(struct cursor *cursor, uint64_t mask, struct record_sample *sample)
{
	if (!take_u64(cursor, &sample->regs_abi))
		return false;
	if (sample->regs_abi == PERF_SAMPLE_REGS_ABI_NONE)
		return true;
	sample->regs_mask = mask;
	for (unsigned i = 0; i < RECORD_MAX_REGS; i++)
		if (mask >> i & 1 && !take_u64(cursor, &sample->regs[i]))
			return false;
	return true;
}

static bool take_stack(struct cursor *cursor, struct record_sample *sample)
{
	if (!take_u64(cursor, &sample->stack_asked))
		return false;
	if (!sample->stack_asked)
		return true; /* then there is no dyn_size either */
	sample->stack = cursor->at;
	if (!skip(cursor, sample->stack_asked) || !take_u64(cursor, &sample->stack_bytes))
		return false;
	return sample->stack_bytes <= sample->stack_asked;
}

/* Linux 6.8 */
#define BRANCH_COUNTERS (UINT64_C(1) << 19)

static bool skip_branches(struct cursor *cursor, uint64_t branch_type)
{
	uint64_t nr, entry_bytes = branch_type & BRANCH_COUNTERS ? 32 : 24;
	return take_u64(cursor, &nr) &&
	       skip(cursor, branch_type & PERF_SAMPLE_BRANCH_HW_INDEX ? 8 : 0) &&
	       nr <= cursor->left / entry_bytes && skip(cursor, nr * entry_bytes);
}

/* Everything before the user registers, in the kernel's order. */
static bool take_sample_head(struct cursor *cursor, const struct record_format *format,
			     struct record *record)
{
	struct record_sample *sample = &record->sample;
	uint64_t type = format->sample_type, ignored;
	bool ok = true;
	if (type & PERF_SAMPLE_IDENTIFIER)
		ok = take_u64(cursor, &record->id);
	if (ok && type & PERF_SAMPLE_IP)
		ok = take_u64(cursor, &sample->ip);
	if (ok && type & PERF_SAMPLE_TID)
		ok = take_i32(cursor, &record->pid) && take_i32(cursor, &record->tid);
	if (ok && type & PERF_SAMPLE_TIME)
		ok = take_u64(cursor, &record->time_ns);
	if (ok && type & PERF_SAMPLE_ADDR)
		ok = take_u64(cursor, &ignored);
	if (ok && type & PERF_SAMPLE_ID)
		ok = take_u64(cursor, &record->id);
	if (ok && type & PERF_SAMPLE_STREAM_ID)
		ok = take_u64(cursor, &ignored);
	if (ok && type & PERF_SAMPLE_CPU)
		ok = take_cpu(cursor, record);
	if (ok && type & PERF_SAMPLE_PERIOD)
		ok = take_u64(cursor, &sample->period);
	if (ok && type & PERF_SAMPLE_READ)
		ok = skip_read(cursor, format->read_format);
	if (ok && type & PERF_SAMPLE_CALLCHAIN)
		ok = take_chain(cursor, sample);
	if (ok && type & PERF_SAMPLE_RAW)
		ok = take_raw(cursor, sample);
	if (ok && type & PERF_SAMPLE_BRANCH_STACK)
		ok = skip_branches(cursor, format->branch_type);
	return ok;
}

static bool take_sample(struct cursor *cursor, const struct record_format *format,
			struct record *record)
{
	struct record_sample *sample = &record->sample;
	if (!take_sample_head(cursor, format, record))
		return false;
	if (format->sample_type & PERF_SAMPLE_REGS_USER &&
	    !take_regs(cursor, format->regs_user, sample))
		return false;
	return !(format->sample_type & PERF_SAMPLE_STACK_USER) || take_stack(cursor, sample);
}

/* ---- the others: bodies as in linux/perf_event.h, enum perf_event_type ---- */

/*
 * The kernel leaves the flag of a build-id on for all events that get a mapping's record, once one of them wants build-ids:
 * then these bytes are a device and an inode, whoever else profiles the process. Of a file nobody can tell; a minor
 * number's upper bytes are 0, those of a build-id there once in 16 million, unless somebody chose them.
 */
static bool is_device(const uint8_t *identity)
{
	bool is_size = identity[0] > 0 && identity[0] <= 20 && !identity[1] && !identity[2] &&
		       !identity[3];
	return !is_size || (!identity[5] && !identity[6] && !identity[7]);
}

static bool take_mmap(struct cursor *cursor, const struct record_format *format, size_t trailer,
		      struct record *record)
{
	struct record_mmap *mmap = &record->mmap;
	bool ok = take_i32(cursor, &record->pid) && take_i32(cursor, &record->tid) &&
		  take_u64(cursor, &mmap->start) && take_u64(cursor, &mmap->length) &&
		  take_u64(cursor, &mmap->file_offset);
	mmap->executable = !(record->misc & PERF_RECORD_MISC_MMAP_DATA);
	if (ok && record->type == PERF_RECORD_MMAP2) {
		uint8_t identity[24];
		uint32_t protection, flags;
		ok = take(cursor, identity, sizeof(identity)) && take_u32(cursor, &protection) &&
		     take_u32(cursor, &flags);
		bool has_build_id =
			!format->inodes_only && record->misc & PERF_RECORD_MISC_MMAP_BUILD_ID;
		if (ok && has_build_id && !is_device(identity)) {
			mmap->build_id_size = identity[0];
			memcpy(mmap->build_id, identity + 4, sizeof(mmap->build_id));
		} else if (ok) {
			memcpy(&mmap->device_major, identity, 4);
			memcpy(&mmap->device_minor, identity + 4, 4);
			memcpy(&mmap->inode, identity + 8, 8);
			memcpy(&mmap->generation, identity + 16, 8);
		}
		mmap->executable = ok && protection & 4; /* PROT_EXEC */
		mmap->shared = ok && flags & 1;		 /* MAP_SHARED */
	}
	mmap->path = ok ? take_string(cursor, trailer) : NULL;
	return mmap->path != NULL;
}

static bool take_comm(struct cursor *cursor, size_t trailer, struct record *record)
{
	if (!take_i32(cursor, &record->pid) || !take_i32(cursor, &record->tid))
		return false;
	record->comm.exec = record->misc & PERF_RECORD_MISC_COMM_EXEC;
	record->comm.name = take_string(cursor, trailer);
	return record->comm.name != NULL;
}

static bool take_fork(struct cursor *cursor, struct record *record)
{
	uint64_t time_ns;
	return take_i32(cursor, &record->pid) && take_i32(cursor, &record->fork.parent_pid) &&
	       take_i32(cursor, &record->tid) && take_i32(cursor, &record->fork.parent_tid) &&
	       take_u64(cursor, &time_ns);
}

static bool take_throttle(struct cursor *cursor)
{
	return skip(cursor, 3 * sizeof(uint64_t)); /* time, id, stream_id */
}

static bool take_lost(struct cursor *cursor, struct record *record)
{
	uint64_t id;
	if (record->type == PERF_RECORD_LOST && !take_u64(cursor, &id))
		return false;
	return take_u64(cursor, &record->lost);
}

int record_parse(const void *bytes, size_t size, const struct record_format *format,
		 struct record *record)
{
	struct perf_event_header header;
	struct cursor cursor = {bytes, size};
	memset(record, 0, offsetof(struct record, sample) + sizeof(record->sample));
	if (!take(&cursor, &header, sizeof(header)) || header.size != size)
		return -EINVAL;
	record->type = header.type;
	record->misc = header.misc;
	record->size = header.size;
	record->pid = -1;
	record->tid = -1;
	size_t trailer = trailer_bytes(format);
	bool ok;
	switch (header.type) {
	case PERF_RECORD_SAMPLE:
		return take_sample(&cursor, format, record) ? 0 : -EINVAL;
	case PERF_RECORD_MMAP:
	case PERF_RECORD_MMAP2:
		ok = take_mmap(&cursor, format, trailer, record);
		break;
	case PERF_RECORD_COMM:
		ok = take_comm(&cursor, trailer, record);
		break;
	case PERF_RECORD_FORK:
	case PERF_RECORD_EXIT:
		ok = take_fork(&cursor, record);
		break;
	case PERF_RECORD_LOST:
	case PERF_RECORD_LOST_SAMPLES:
		ok = take_lost(&cursor, record);
		break;
	case PERF_RECORD_THROTTLE:
	case PERF_RECORD_UNTHROTTLE:
		ok = take_throttle(&cursor);
		break;
	case PERF_RECORD_SWITCH_CPU_WIDE: /* its body names the other one of the two */
		record->type = PERF_RECORD_SWITCH;
		/* fallthrough */
	case PERF_RECORD_SWITCH:
		record->switched.out = header.misc & PERF_RECORD_MISC_SWITCH_OUT;
		record->switched.preempted = header.misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT;
		ok = true;
		break;
	default:
		return -ENOTSUP;
	}
	/* The trailer ends the record, also where a newer kernel's body is longer than what is known of it. */
	ok = ok && cursor.left >= trailer && skip(&cursor, cursor.left - trailer);
	return ok && take_trailer(&cursor, format, record) ? 0 : -EINVAL;
}

int record_time(const void *bytes, size_t size, const struct record_format *format,
		uint64_t *time_ns)
{
	struct perf_event_header header;
	*time_ns = 0;
	if (size < sizeof(header))
		return -EINVAL;
	memcpy(&header, bytes, sizeof(header));
	if (!(format->sample_type & PERF_SAMPLE_TIME))
		return 0;
	if (header.type == PERF_RECORD_SAMPLE) {
		static const uint64_t before =
			PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID;
		size_t at = sizeof(header) +
			    8 * (size_t)__builtin_popcountll(format->sample_type & before);
		if (size < at + 8)
			return -EINVAL;
		memcpy(time_ns, (const uint8_t *)bytes + at, 8);
		return 0;
	}
	size_t trailer = trailer_bytes(format);
	if (!trailer || size < sizeof(header) + trailer)
		return trailer ? -EINVAL : 0;
	struct record record = {0};
	struct cursor cursor = {(const uint8_t *)bytes + size - trailer, trailer};
	take_trailer(&cursor, format, &record);
	*time_ns = record.time_ns;
	return 0;
}

int record_task(const void *bytes, size_t size, const struct record_format *format, int32_t *pid,
		int32_t *tid)
{
	static const uint64_t before = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP;
	struct perf_event_header header;
	struct cursor cursor = {bytes, size};
	const bool is_sample =
		take(&cursor, &header, sizeof(header)) && header.type == PERF_RECORD_SAMPLE;
	if (!is_sample || !(format->sample_type & PERF_SAMPLE_TID))
		return -EINVAL;
	const bool ok =
		skip(&cursor, 8 * (uint64_t)__builtin_popcountll(format->sample_type & before)) &&
		take_i32(&cursor, pid) && take_i32(&cursor, tid);
	return ok ? 0 : -EINVAL;
}
