/* SPDX-License-Identifier: MIT */
#include <ctop/code/live_code.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <ctop/base/clock.h>
#include <ctop/base/vec.h>
#include <ctop/code/live_rules.h>
#include <ctop/machine/machine.h>

enum {
	PAGE_BYTES = 4096,
	NR_PAGES = LIVE_CODE_WINDOW / PAGE_BYTES,
	WINDOWS_MAX = 512,
	FUTILE_MAX = 8, /* a look in vain doubles the time until the next, up to 2.5 s */
};
/* Code that is being made changes with every function: looking more often would cost more than it gives. */
#define AGAIN_NS (10 * NS_PER_MS)

struct window {
	uint64_t address;
	uint8_t *bytes;	   /* LIVE_CODE_WINDOW of them; NULL: none have come */
	uint16_t present;  /* bit n: page n is there */
	uint16_t outdated; /* likewise: it is there, but of before it was mapped */
	bool asked;
	unsigned asked_page;
	uint64_t read_ns;	/* the last time */
	uint64_t not_before_ns; /* refused: not asked for again by samples of before that */
	struct {
		uint64_t not_before_ns; /* likewise: it was looked at */
		unsigned nr_futile;	/* looks at the same bytes, one after the other */
	} pages[NR_PAGES];
};

struct live_code {
	struct {
		struct window *items;
		size_t nr, capacity;
	} windows;
	struct index by_address;
	struct live_rules rules;
	uint64_t serial;
	struct live_frame frames[LIVE_FRAMES_MAX];
	unsigned nr_frames;
	uint64_t time_ns;
	uint64_t wish;	       /* 0: none */
	uint64_t first_missed; /* 0: nothing */
	bool is_first_refused;
	bool wish_is_asked;
};

/* Views of modules count from 1. */
#define LIVE_SERIALS (UINT64_C(1) << 63)

static void change(struct live_code *code)
{
	static uint64_t last_serial = LIVE_SERIALS;
	code->serial = ++last_serial;
}

struct live_code *live_code_new(void)
{
	struct live_code *code = MACHINE_READS_LIVE_CODE ? calloc(1, sizeof(*code)) : NULL;
	if (code)
		change(code);
	return code;
}

void live_code_forget(struct live_code *code)
{
	if (!code)
		return;
	for (size_t i = 0; i < code->windows.nr; i++)
		free(code->windows.items[i].bytes);
	code->windows.nr = 0;
	index_clear(&code->by_address);
	change(code);
}

void live_code_free(struct live_code *code)
{
	if (!code)
		return;
	live_code_forget(code);
	free(code->windows.items);
	index_release(&code->by_address);
	free(code->rules.known.items);
	index_release(&code->rules.by_key);
	free(code);
}

size_t live_code_bytes(const struct live_code *code)
{
	return code->windows.nr * LIVE_CODE_WINDOW;
}

uint64_t live_code_serial(const struct live_code *code)
{
	return code->serial;
}

struct live_rules *live_code_rules(struct live_code *code)
{
	return &code->rules;
}

const struct live_frame *live_code_frame(const struct live_code *code, unsigned nth)
{
	return nth < code->nr_frames ? &code->frames[nth] : NULL;
}

void live_code_keep_frame(struct live_code *code, const struct live_frame *frame)
{
	for (unsigned i = 0; i < code->nr_frames; i++)
		if (code->frames[i].return_address == frame->return_address &&
		    code->frames[i].rule.offset == frame->rule.offset)
			return;
	if (code->nr_frames < LIVE_FRAMES_MAX)
		code->nr_frames++;
	memmove(&code->frames[1], &code->frames[0], (code->nr_frames - 1) * sizeof(*frame));
	code->frames[0] = *frame;
}

static struct window *find_window(const struct live_code *code, uint64_t address)
{
	const uint64_t first = address & ~(uint64_t)(LIVE_CODE_WINDOW - 1);
	struct index_probe probe = index_find(&code->by_address, hash_u64(first));
	uint32_t row;
	while (index_next(&code->by_address, &probe, &row))
		if (code->windows.items[row].address == first)
			return &code->windows.items[row];
	return NULL;
}

/* NULL: out of memory, or there are too many. */
static struct window *make_window(struct live_code *code, uint64_t address)
{
	struct window *window = find_window(code, address);
	if (window || code->windows.nr == WINDOWS_MAX ||
	    vec_reserve(&code->windows, code->windows.nr + 1) || index_reserve(&code->by_address))
		return window;
	window = &code->windows.items[code->windows.nr];
	*window = (struct window){.address = address & ~(uint64_t)(LIVE_CODE_WINDOW - 1)};
	index_add(&code->by_address, hash_u64(window->address), (uint32_t)code->windows.nr++);
	return window;
}

static unsigned page_of(uint64_t address)
{
	return (unsigned)(address % LIVE_CODE_WINDOW / PAGE_BYTES);
}

static uint16_t page_bit(uint64_t address)
{
	return (uint16_t)(1u << page_of(address));
}

/* ---- what is wished for ---- */

void live_code_begin(struct live_code *code, uint64_t time_ns)
{
	code->time_ns = time_ns;
	code->wish = 0;
}

bool live_code_wish(const struct live_code *code, uint64_t *address, bool *asked)
{
	*address = code->wish;
	*asked = code->wish_is_asked;
	return code->wish != 0;
}

static void wish(struct live_code *code, uint64_t address, const struct window *window)
{
	if (code->wish || address == 0 || (window && window->not_before_ns > code->time_ns))
		return;
	code->wish = address;
	code->wish_is_asked = window && window->asked;
}

void live_code_doubt(struct live_code *code, uint64_t address)
{
	const struct window *window = find_window(code, address);
	if (window && window->present & page_bit(address) && window->read_ns < code->time_ns &&
	    window->pages[page_of(address)].not_before_ns <= code->time_ns)
		wish(code, address, window);
}

struct live_misses live_code_begin_misses(struct live_code *code)
{
	code->first_missed = 0;
	return live_code_misses(code);
}

struct live_misses live_code_misses(const struct live_code *code)
{
	return (struct live_misses){code->wish, code->first_missed};
}

void live_code_miss(struct live_code *code, uint64_t address)
{
	const struct window *window = find_window(code, address);
	const bool is_refused = window && window->not_before_ns > code->time_ns;
	if (!code->first_missed || (code->is_first_refused && !is_refused)) {
		code->first_missed = address;
		code->is_first_refused = is_refused;
	}
	wish(code, address, window);
}

void live_code_forgive(struct live_code *code, struct live_misses before)
{
	code->wish = before.wish;
}

void live_code_asked(struct live_code *code, uint64_t address)
{
	struct window *window = make_window(code, address);
	if (!window)
		return;
	window->asked = true;
	window->asked_page = page_of(address);
}

/* ---- what comes ---- */

void live_code_refuse(struct live_code *code, uint64_t address, uint64_t until_ns)
{
	struct window *window = make_window(code, address);
	if (!window)
		return;
	window->asked = false;
	window->not_before_ns = until_ns;
}

/* True when something else was there before, or could not be read. */
static bool put(struct window *window, size_t at, const uint8_t *bytes, size_t size)
{
	bool changed = false;
	for (size_t page = at / PAGE_BYTES; page * PAGE_BYTES < at + size; page++) {
		uint8_t *to = window->bytes + page * PAGE_BYTES;
		const uint8_t *from = bytes + (page * PAGE_BYTES - at);
		const bool is_same =
			window->present >> page & 1 && memcmp(to, from, PAGE_BYTES) == 0;
		/* What could not be read while it was outdated can be now. */
		changed |= !is_same || window->outdated >> page & 1;
		if (!is_same)
			window->pages[page].nr_futile = 0;
		if (!is_same)
			memcpy(to, from, PAGE_BYTES);
		window->present |= (uint16_t)(1u << page);
		window->outdated &= (uint16_t) ~(1u << page);
	}
	return changed;
}

int live_code_take(struct live_code *code, uint64_t start, const void *bytes, size_t size,
		   uint64_t read_ns)
{
	struct window *window = make_window(code, start);
	const size_t at = start % LIVE_CODE_WINDOW;
	size -= size % PAGE_BYTES;
	if (!window)
		return -ENOMEM;
	window->asked = false;
	window->read_ns = read_ns;
	if (at % PAGE_BYTES || size > LIVE_CODE_WINDOW - at)
		return 0;
	if (!window->bytes)
		window->bytes = malloc(LIVE_CODE_WINDOW);
	if (!window->bytes)
		return -ENOMEM;
	const bool changed = put(window, at, bytes, size);
	if (changed)
		change(code);
	unsigned *nr_futile = &window->pages[window->asked_page].nr_futile;
	window->pages[window->asked_page].not_before_ns = read_ns + (AGAIN_NS << *nr_futile);
	if (*nr_futile < FUTILE_MAX)
		(*nr_futile)++;
	return 0;
}

void live_code_outdate(struct live_code *code, uint64_t start, uint64_t end, uint64_t time_ns)
{
	for (size_t i = 0; i < code->windows.nr; i++) {
		struct window *window = &code->windows.items[i];
		if (window->address >= end || window->address + LIVE_CODE_WINDOW <= start ||
		    window->read_ns >= time_ns)
			continue;
		window->outdated = UINT16_MAX;
	}
}

bool live_code_read(struct live_code *code, uint64_t address, void *bytes, size_t size)
{
	uint8_t *to = bytes;
	while (size > 0) {
		const size_t in_page = PAGE_BYTES - address % PAGE_BYTES;
		const size_t part = size < in_page ? size : in_page;
		const struct window *window = find_window(code, address);
		if (!window || !(window->present & ~window->outdated & page_bit(address))) {
			live_code_miss(code, address);
			return false;
		}
		memcpy(to, window->bytes + address % LIVE_CODE_WINDOW, part);
		to += part;
		address += part;
		size -= part;
	}
	return true;
}
