/* SPDX-License-Identifier: MIT */
#include "memo.h"

#include <stdlib.h>
#include <string.h>

#include <ctop/base/hash.h>

enum {
	NR_THREADS = 1 << 10, /* system-wide: hardly more are sampled within a second */
	FIRST_FRAMES = 32,
	FIRST_WORDS = 2, /* a frame */
	/* A stack of 24 frames takes 4 KiB. */
	MEMORY_MAX_BYTES = 16 << 20,
	/* The frame pointer, as a rule; a realigned stack may have one more. */
	LIVE_MAX = 2
};

/* Bits of machine_saved[]. */
#define ALL_SAVED ((UINT32_C(1) << MACHINE_NR_SAVED) - 1)

/* Of the saved registers, by their place in machine_saved[], those that rules further out take as they are here. */
struct live {
	uint32_t mask;
	uint64_t values[LIVE_MAX]; /* from the lowest bit of the mask on */
};

struct word {
	uint64_t address, value;
};

/* A frame as it was found; the root is the first. */
struct entry {
	uint64_t pc, sp;
	struct live live;
	uint32_t
		nr_words; /* that unwinding has read from here on: as many of the thread's first ones */
};

struct memo {
	uint64_t generation;
	bool with_evidence;
	uint32_t nr, nr_words;
	uint32_t capacity, words_capacity;
	uint64_t end; /* the outermost CFA: a stack's end is one only within the dump */
	struct entry *entries;
	struct unwind_frame *frames;
	struct unwind_evidence *evidence;
	struct word *words;
};

/* What one rule reads at most: a return address and the registers, and where the CFA is. */
enum { RULE_WORDS = MACHINE_NR_SAVED + 2 };
enum {
	ENTRY_BYTES =
		sizeof(struct entry) + sizeof(struct unwind_frame) + sizeof(struct unwind_evidence)
};

enum note_kind { NOTE_NOTHING, NOTE_STEP, NOTE_ROOT };

struct note {
	enum note_kind kind;
	struct rule rule;
	uint64_t pc, sp;
	uint64_t base; /* of the register that the rule finds the CFA by */
	uint64_t cfa;
};

struct memos {
	struct memo threads[NR_THREADS];
	size_t bytes;  /* that they take */
	uint32_t hand; /* whose memory is given up next */
	/* Of the stack at hand. */
	struct memo *memo;
	const struct memory *memory;
	uint32_t
		nr_left; /* entries that its frames may still be equal to: those further in lie below */
	uint32_t nr_equal; /* once compared: entries whose words are all as they were */
	bool compared, taken;
	size_t nr_notes;
	struct note notes[UNWIND_MAX_FRAMES];
};

struct memos *memos_new(void)
{
	return calloc(1, sizeof(struct memos));
}

static size_t memory_of(uint32_t nr_frames, uint32_t nr_words)
{
	return (size_t)nr_frames * ENTRY_BYTES + (size_t)nr_words * sizeof(struct word);
}

static void release(struct memos *memos, struct memo *memo)
{
	memos->bytes -= memory_of(memo->capacity, memo->words_capacity);
	free(memo->entries);
	free(memo->frames);
	free(memo->evidence);
	free(memo->words);
	*memo = (struct memo){0};
}

void memos_free(struct memos *memos)
{
	if (!memos)
		return;
	for (size_t i = 0; i < NR_THREADS; i++)
		release(memos, &memos->threads[i]);
	free(memos);
}

static void forget(struct memo *memo)
{
	memo->nr = 0;
	memo->nr_words = 0;
	memo->end = 0;
}

void memos_begin(struct memos *memos, uint64_t thread, uint64_t generation, bool with_evidence,
		 const struct memory *memory)
{
	struct memo *memo = &memos->threads[hash_u64(thread) % NR_THREADS];
	/* Whose stack it was does not matter for the proof. */
	if (memo->generation != generation || memo->with_evidence != with_evidence)
		forget(memo);
	memo->generation = generation;
	memo->with_evidence = with_evidence;
	memos->memo = memo;
	memos->memory = memory;
	memos->nr_left = memo->nr;
	memos->compared = false;
	memos->taken = false;
	memos->nr_notes = 0;
}

/* ---- is it the same? ---- */

static bool same_live(const struct live *live, const struct registers *registers)
{
	const uint64_t *value = live->values;
	for (uint32_t left = live->mask; left; left &= left - 1) {
		const unsigned number = machine_saved[__builtin_ctz(left)];
		if (!registers_know(registers, number) || registers->value[number] != *value++)
			return false;
	}
	return true;
}

static bool same_evidence(const struct unwind_evidence *a, const struct unwind_evidence *b)
{
	return a->known == b->known && memcmp(a->saved, b->saved, sizeof(a->saved)) == 0;
}

/* False where the dump does not hold it. */
static bool read_word(const struct memory *memory, uint64_t address, uint64_t *value)
{
	const uint64_t offset = address - memory->start, size = memory->end - memory->start;
	if (offset >= size || size - offset < sizeof(*value))
		return false;
	memcpy(value, memory->stack + offset, sizeof(*value));
	return true;
}

static bool same_word(const struct memory *memory, const struct word *word)
{
	uint64_t value;
	return read_word(memory, word->address, &value) && value == word->value;
}

/* Compares words from the root on; those of the entries further in only if they are needed, up to this one. */
static void compare(struct memos *memos, uint32_t at)
{
	const struct memo *memo = memos->memo;
	const uint32_t nr = memo->entries[at].nr_words;
	uint32_t nr_same = 0;
	if (memo->end <= memos->memory->end)
		while (nr_same < nr && same_word(memos->memory, &memo->words[nr_same]))
			nr_same++;
	memos->nr_equal = at + 1;
	while (memos->nr_equal && (memo->end > memos->memory->end ||
				   memo->entries[memos->nr_equal - 1].nr_words > nr_same))
		memos->nr_equal--;
	memos->compared = true;
}

size_t memos_find(struct memos *memos, const struct registers *registers,
		  const struct unwind_evidence *evidence)
{
	const struct memo *memo = memos->memo;
	const uint64_t sp = registers->value[UNWIND_SP];
	while (memos->nr_left && memo->entries[memos->nr_left - 1].sp < sp)
		memos->nr_left--;
	if (!memos->nr_left)
		return 0;
	const uint32_t at = memos->nr_left - 1;
	const struct entry *entry = &memo->entries[at];
	if (entry->sp != sp || entry->pc != registers->value[UNWIND_PC] ||
	    !registers_know(registers, UNWIND_SP) ||
	    !(evidence ? same_evidence(&memo->evidence[at], evidence)
		       : same_live(&entry->live, registers)))
		return 0;
	if (!memos->compared)
		compare(memos, at);
	return at < memos->nr_equal ? memos->nr_left : 0;
}

void memos_take(struct memos *memos, enum frame_method method, struct unwind_frame *frames,
		struct unwind_evidence *evidence)
{
	struct memo *memo = memos->memo;
	const uint32_t nr = memos->nr_left;
	memo->frames[nr - 1].method = method;
	for (uint32_t i = 0; i < nr; i++)
		frames[i] = memo->frames[nr - 1 - i];
	for (uint32_t i = 0; evidence && i < nr; i++)
		evidence[i] = memo->evidence[nr - 1 - i];
	memo->nr = nr;
	memo->nr_words = memo->entries[nr - 1].nr_words;
	memos->taken = true;
}

/* ---- what is kept of it ---- */

void memos_note(struct memos *memos, const struct registers *registers, const struct rule *rule)
{
	struct note *note = &memos->notes[memos->nr_notes++];
	note->kind = NOTE_NOTHING;
	if (!rule)
		return;
	note->rule = *rule;
	note->pc = registers->value[UNWIND_PC];
	note->sp = registers->value[UNWIND_SP];
	note->base = registers->value[rule->cfa_register];
}

void memos_note_step(struct memos *memos, uint64_t cfa)
{
	struct note *note = &memos->notes[memos->nr_notes - 1];
	note->kind = NOTE_STEP;
	note->cfa = cfa;
}

void memos_note_root(struct memos *memos)
{
	memos->notes[memos->nr_notes - 1].kind = NOTE_ROOT;
}

/* Room for so many; other threads' memos make way. False: there is no memory. */
static bool make_room(struct memos *memos, struct memo *memo, uint32_t nr_frames, uint32_t nr_words)
{
	const size_t more =
		memory_of(nr_frames, nr_words) - memory_of(memo->capacity, memo->words_capacity);
	for (uint32_t i = 0; i < NR_THREADS && memos->bytes + more > MEMORY_MAX_BYTES; i++) {
		struct memo *other = &memos->threads[memos->hand++ % NR_THREADS];
		if (other != memo)
			release(memos, other);
	}
	struct entry *entries = realloc(memo->entries, nr_frames * sizeof(*entries));
	if (entries)
		memo->entries = entries;
	struct unwind_frame *frames = realloc(memo->frames, nr_frames * sizeof(*frames));
	if (frames)
		memo->frames = frames;
	struct unwind_evidence *evidence = realloc(memo->evidence, nr_frames * sizeof(*evidence));
	if (evidence)
		memo->evidence = evidence;
	struct word *words = realloc(memo->words, nr_words * sizeof(*words));
	if (words)
		memo->words = words;
	if (!entries || !frames || !evidence || !words)
		return false;
	memos->bytes += more;
	memo->capacity = nr_frames;
	memo->words_capacity = nr_words;
	return true;
}

static bool reserve(struct memos *memos, struct memo *memo)
{
	uint32_t nr_frames = memo->capacity, nr_words = memo->words_capacity;
	if (memo->nr == nr_frames)
		nr_frames = nr_frames ? nr_frames * 2 : FIRST_FRAMES;
	if (memo->nr_words + RULE_WORDS > nr_words)
		nr_words = nr_words ? nr_words * 2 : FIRST_FRAMES * FIRST_WORDS;
	return (nr_frames == memo->capacity && nr_words == memo->words_capacity) ||
	       make_room(memos, memo, nr_frames, nr_words);
}

/* What has been read by a rule, as far as somebody further out has taken it; what of the registers that is known. */
struct reading {
	const struct memory *memory;
	struct word *words;
	uint32_t nr;
	uint32_t live;
	uint64_t values[MACHINE_NR_SAVED]; /* of those that are live */
	bool failed;
};

static void begin_reading(struct reading *reading, const struct memos *memos)
{
	const struct memo *memo = memos->memo;
	*reading = (struct reading){.memory = memos->memory};
	if (!memo->nr)
		return;
	const struct live *live = &memo->entries[memo->nr - 1].live;
	const uint64_t *value = live->values;
	reading->live = live->mask;
	for (uint32_t left = live->mask; left; left &= left - 1)
		reading->values[__builtin_ctz(left)] = *value++;
}

static void read_at(struct reading *reading, uint64_t address)
{
	struct word *word = &reading->words[reading->nr++];
	word->address = address;
	reading->failed |= !read_word(reading->memory, address, &word->value);
}

/* The register that a rule finds the CFA by; it was known, or the step had failed. */
static void take_base(struct reading *reading, const struct note *note)
{
	unsigned i = 0;
	if (note->rule.cfa_register == UNWIND_SP)
		return;
	while (i < MACHINE_NR_SAVED && machine_saved[i] != note->rule.cfa_register)
		i++;
	reading->failed |= i == MACHINE_NR_SAVED; /* no callee gives it back */
	if (reading->failed)
		return;
	reading->live |= UINT32_C(1) << i;
	reading->values[i] = note->base;
}

static void read_by_rule(struct reading *reading, const struct note *note, uint32_t always)
{
	const struct rule *rule = &note->rule;
	const unsigned return_slot = machine_return_slot(rule->saved);
	uint32_t restored = 0;
	reading->failed |= return_slot == 0;
	read_at(reading, note->cfa - return_slot * (uint64_t)MACHINE_ADDRESS_BYTES);
	for (unsigned i = 0; i < MACHINE_NR_SAVED; i++)
		restored |= (uint32_t)(rule->saved[i] != 0) << i;
	if (MACHINE_HAS_LINK)
		restored &= ~(UINT32_C(1) << MACHINE_LINK_INDEX);
	for (uint32_t left = restored & (reading->live | always); left; left &= left - 1)
		read_at(reading, note->cfa - rule->saved[__builtin_ctz(left)] *
						     (uint64_t)MACHINE_ADDRESS_BYTES);
	reading->live &= ~restored;
	take_base(reading, note);
	if (rule->kind == RULE_DEREF)
		read_at(reading, note->base + (uint64_t)(int64_t)rule->offset);
}

/* False: more are live than there is room for. */
static bool pack(const struct reading *reading, struct live *live)
{
	unsigned nr = 0;
	live->mask = reading->live;
	for (uint32_t left = reading->live; left; left &= left - 1) {
		if (nr == LIVE_MAX)
			return false;
		live->values[nr++] = reading->values[__builtin_ctz(left)];
	}
	return true;
}

/* One frame further in. False: it, and so what lies within, is not to be remembered. */
static bool push(struct memos *memos, struct reading *reading, const struct note *note,
		 const struct unwind_frame *frame, const struct unwind_evidence *evidence)
{
	struct memo *memo = memos->memo;
	if (note->kind == NOTE_NOTHING || !reserve(memos, memo))
		return false;
	struct entry *entry = &memo->entries[memo->nr];
	reading->words = memo->words + memo->nr_words;
	reading->nr = 0;
	if (note->kind == NOTE_STEP)
		read_by_rule(reading, note, evidence ? ALL_SAVED : 0);
	if (reading->failed || !pack(reading, &entry->live))
		return false;
	memo->nr_words += reading->nr;
	entry->pc = note->pc;
	entry->sp = note->sp;
	entry->nr_words = memo->nr_words;
	memo->frames[memo->nr] = *frame;
	if (evidence)
		memo->evidence[memo->nr] = *evidence;
	memo->nr++;
	if (note->kind == NOTE_STEP && note->cfa > memo->end)
		memo->end = note->cfa;
	return true;
}

void memos_keep(struct memos *memos, const struct unwind_frame *frames,
		const struct unwind_evidence *evidence)
{
	struct reading reading;
	if (!memos->taken && memos->nr_notes &&
	    memos->notes[memos->nr_notes - 1].kind != NOTE_NOTHING)
		forget(memos->memo);
	begin_reading(&reading, memos);
	for (size_t i = memos->nr_notes; i-- > 0;)
		if (!push(memos, &reading, &memos->notes[i], &frames[i],
			  evidence ? &evidence[i] : NULL))
			break;
}
