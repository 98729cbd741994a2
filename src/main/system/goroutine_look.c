/* SPDX-License-Identifier: MIT */
#include <ctop/system/goroutine_look.h>

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <ctop/system/proc_text.h>

/* Go's src/runtime/runtime2.go: parked; and a bit that the garbage collector sets while it looks at the stack. */
enum { PARKED = 4, BEING_SCANNED = 0x1000 };

bool goroutines_bias(int32_t pid, const struct goroutine_layout *layout, uint64_t *bias)
{
	char path[32];
	Elf64_auxv_t entry = {0};
	snprintf(path, sizeof(path), "/proc/%d/auxv", pid);
	FILE *vector = proc_fopen(path);
	if (!vector)
		return false;
	while (fread(&entry, sizeof(entry), 1, vector) == 1 && entry.a_type != AT_ENTRY)
		;
	fclose(vector);
	*bias = entry.a_un.a_val - layout->entry;
	return entry.a_type == AT_ENTRY;
}

static bool read_word(struct looker *looker, int32_t pid, uint64_t address, uint64_t *word)
{
	return looker_read(looker, pid, address, word, sizeof(*word)) == sizeof(*word);
}

/* The list may be moved to more room at any time: what it was moved from stays as it was until it is used again. */
size_t goroutines_list(struct looker *looker, int32_t pid, const struct goroutine_layout *layout,
		       uint64_t bias, uint64_t *addresses, size_t most)
{
	uint64_t nr, at;
	if (!read_word(looker, pid, layout->nr + bias, &nr) ||
	    !read_word(looker, pid, layout->addresses + bias, &at) || nr > UINT32_MAX)
		return 0;
	const size_t wanted = nr < most ? (size_t)nr : most;
	size_t bytes = 0;
	while (bytes < wanted * sizeof(*addresses)) {
		const size_t got =
			looker_read(looker, pid, at + bytes, (uint8_t *)addresses + bytes,
				    wanted * sizeof(*addresses) - bytes);
		if (!got)
			return 0;
		bytes += got;
	}
	return (size_t)nr;
}

/* What is looked at of a descriptor: from the first number to the last. Who created it is far behind, and read once. */
struct span {
	size_t start, bytes;
};

static struct span span_of(const struct goroutine_layout *layout)
{
	const size_t places[] = {layout->stack_hi, layout->sp,	   layout->pc,	    layout->status,
				 layout->id,	   layout->reason, layout->sequence};
	struct span span = {GOROUTINE_BYTES_MAX, 0};
	size_t end = 0;
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		span.start = places[i] < span.start ? places[i] : span.start;
		end = places[i] + 8 > end ? places[i] + 8 : end;
	}
	span.bytes = end - span.start;
	return span;
}

static uint64_t number(const uint8_t *bytes, const struct span *span, size_t offset, size_t size)
{
	uint64_t value = 0;
	memcpy(&value, bytes + (offset - span->start), size);
	return value;
}

static struct goroutine_look look_of(const uint8_t *bytes, const struct span *span,
				     const struct goroutine_layout *layout)
{
	return (struct goroutine_look){
		.id = number(bytes, span, layout->id, 8),
		.sp = number(bytes, span, layout->sp, 8),
		.pc = number(bytes, span, layout->pc, 8),
		.stack_hi = number(bytes, span, layout->stack_hi, 8),
		.status = (uint32_t)number(bytes, span, layout->status, 4),
		.reason = (uint8_t)number(bytes, span, layout->reason, 1),
		.sequence =
			layout->sequence ? (uint8_t)number(bytes, span, layout->sequence, 1) : 0,
	};
}

size_t goroutines_read(struct looker *looker, int32_t pid, const struct goroutine_layout *layout,
		       const uint64_t *addresses, size_t nr, struct goroutine_look *looks)
{
	uint8_t bytes[LOOKER_BYTES_MAX];
	uint64_t from[LOOKER_PIECES_MAX];
	const struct span span = span_of(layout);
	const size_t room = LOOKER_BYTES_MAX / span.bytes;
	const size_t at_once = room < LOOKER_PIECES_MAX ? room : LOOKER_PIECES_MAX;
	size_t done = 0;
	while (done < nr) {
		const size_t part = nr - done < at_once ? nr - done : at_once;
		for (size_t i = 0; i < part; i++)
			from[i] = addresses[done + i] + span.start;
		const size_t got = looker_read_pieces(looker, pid, from, part, bytes, span.bytes);
		for (size_t i = 0; i < got; i++)
			looks[done + i] = look_of(bytes + i * span.bytes, &span, layout);
		done += got;
		if (got < part)
			break;
	}
	return done;
}

bool goroutine_is_parked(const struct goroutine_look *look)
{
	return (look->status & ~(uint32_t)BEING_SCANNED) == PARKED;
}

bool goroutine_lay_still(const struct goroutine_look *before, const struct goroutine_look *now)
{
	return goroutine_is_parked(before) && goroutine_is_parked(now) && now->id == before->id &&
	       now->sp == before->sp && now->pc == before->pc && now->reason == before->reason &&
	       now->sequence == before->sequence && now->stack_hi == before->stack_hi;
}

int goroutine_read_stack(struct looker *looker, int32_t pid, const struct goroutine_layout *layout,
			 uint64_t address, const struct goroutine_look *look, uint8_t *stack,
			 size_t most, size_t *bytes)
{
	uint8_t descriptor[GOROUTINE_BYTES_MAX + 8];
	const struct span span = span_of(layout);
	if (look->sp >= look->stack_hi || !look->pc)
		return -EAGAIN;
	const uint64_t size = look->stack_hi - look->sp;
	*bytes = looker_read_both(looker, pid, look->sp, stack, size < most ? (size_t)size : most,
				  address + span.start, descriptor, span.bytes);
	if (!*bytes)
		return -EAGAIN;
	const struct goroutine_look after = look_of(descriptor, &span, layout);
	return goroutine_lay_still(look, &after) ? 0 : -EAGAIN;
}

/* Go's dumps say nothing of it either: the runtime begins main's. */
enum { MAIN_GOROUTINE = 1 };

uint64_t goroutine_creator(struct looker *looker, int32_t pid,
			   const struct goroutine_layout *layout, uint64_t address, uint64_t id)
{
	uint64_t pc, now;
	const bool is_read = id != MAIN_GOROUTINE && layout->creator &&
			     read_word(looker, pid, address + layout->creator, &pc);
	const bool is_its =
		is_read && read_word(looker, pid, address + layout->id, &now) && now == id;
	return is_its ? pc : 0;
}
