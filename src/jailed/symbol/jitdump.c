/* SPDX-License-Identifier: MIT */
#include <ctop/symbol/jitdump.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <ctop/base/hash.h>
#include <ctop/base/index.h>
#include <ctop/base/vec.h>

/* A record takes some 100 bytes and its code; a server of some days has 300,000. */
enum {
	ENTRIES_MAX = 1 << 20,
	LINKS_MAX = 4 << 20,
	RECORDS_MAX = 8 << 20,
	NAMES_MAX_BYTES = 64 << 20
};
enum { WINDOW_BYTES = 256 << 10, NAME_MAX_BYTES = 4096 };
/* Code is found by the pages that it is in; what has more pages is asked one by one. */
enum { PAGE_SHIFT = 12, PAGES_MAX = 64, LARGE_MAX = 1024, TRIES_MAX = 8192 };

static const uint32_t MAGIC = 0x4a695444, VERSION = 1;
enum { OTHER_CLOCK = 1 }; /* a flag of the header: times are the CPU's own */
enum { CODE_LOAD, CODE_MOVE, CODE_DEBUG_INFO, CODE_CLOSE, CODE_UNWINDING_INFO };

struct header {
	uint32_t magic, version, bytes, machine, unused, pid;
	uint64_t time_ns, flags;
};

struct record {
	uint32_t kind, bytes;
	uint64_t time_ns;
};

struct load {
	uint32_t pid, tid;
	uint64_t memory, start, bytes, number; /* then its name */
};

struct move {
	uint32_t pid, tid;
	uint64_t memory, from, to, bytes, number;
};

struct entry {
	uint64_t start, end; /* process addresses */
	uint64_t time_ns;
	uint32_t name; /* offset into names; NO_NAME: what was there is there no more */
	struct jit_table lines;
	uint64_t code_at; /* in the file, behind its name; 0: it is not there */
};
#define NO_NAME UINT32_MAX

struct page {
	uint64_t number;
	uint32_t first; /* link; NO_LINK */
};

struct link {
	uint32_t entry, next;
};
#define NO_LINK UINT32_MAX

struct jitdump {
	struct {
		struct entry *items; /* in the file's order */
		size_t nr, capacity;
	} entries;
	struct {
		char *items;
		size_t nr, capacity;
	} names;
	/* Which entries a page has, the last first; and those with very many pages. */
	struct {
		struct page *items;
		size_t nr, capacity;
	} pages;
	struct {
		struct link *items;
		size_t nr, capacity;
	} links;
	struct {
		uint32_t *items;
		size_t nr, capacity;
	} large;
	struct index pages_by_number;
	struct jit_lines lines;
	/* How far which file was read, to go on from there. */
	dev_t device;
	ino_t inode;
	struct header header;
	off_t read_bytes; /* whole records; 0: not even the header */
	size_t nr_records;
	bool is_damaged;
	int fd; /* see jitdump_hold(); -1: none */
};

struct jitdump *jitdump_new(void)
{
	struct jitdump *dump = calloc(1, sizeof(*dump));
	if (dump)
		dump->fd = -1;
	return dump;
}

void jitdump_free(struct jitdump *dump)
{
	if (!dump)
		return;
	free(dump->entries.items);
	free(dump->names.items);
	free(dump->pages.items);
	free(dump->links.items);
	free(dump->large.items);
	index_release(&dump->pages_by_number);
	jit_lines_release(&dump->lines);
	jitdump_hold(dump, -1);
	free(dump);
}

void jitdump_hold(struct jitdump *dump, int fd)
{
	if (dump->fd >= 0)
		close(dump->fd);
	dump->fd = fd;
}

size_t jitdump_count(const struct jitdump *dump)
{
	size_t nr = 0;
	for (size_t i = 0; i < dump->entries.nr; i++)
		nr += dump->entries.items[i].name != NO_NAME;
	return nr;
}

size_t jitdump_bytes(const struct jitdump *dump)
{
	return sizeof(*dump) + dump->entries.capacity * sizeof(*dump->entries.items) +
	       dump->names.capacity + 2 * dump->pages.capacity * sizeof(*dump->pages.items) +
	       dump->links.capacity * sizeof(*dump->links.items) + jit_lines_bytes(&dump->lines);
}

/* ---- entries ---- */

static bool is_full(const struct jitdump *dump)
{
	return dump->entries.nr >= ENTRIES_MAX || dump->names.nr >= NAMES_MAX_BYTES ||
	       dump->links.nr >= LINKS_MAX || dump->nr_records >= RECORDS_MAX;
}

static struct page *find_page(const struct jitdump *dump, uint64_t number)
{
	struct index_probe probe = index_find(&dump->pages_by_number, hash_u64(number));
	uint32_t row;
	while (index_next(&dump->pages_by_number, &probe, &row))
		if (dump->pages.items[row].number == number)
			return &dump->pages.items[row];
	return NULL;
}

static struct page *need_page(struct jitdump *dump, uint64_t number)
{
	struct page *page = find_page(dump, number);
	if (page)
		return page;
	if (vec_reserve(&dump->pages, dump->pages.nr + 1) || index_reserve(&dump->pages_by_number))
		return NULL;
	index_add(&dump->pages_by_number, hash_u64(number), (uint32_t)dump->pages.nr);
	page = &dump->pages.items[dump->pages.nr++];
	*page = (struct page){number, NO_LINK};
	return page;
}

static int add_to_page(struct jitdump *dump, uint64_t number, uint32_t entry)
{
	struct page *page = need_page(dump, number);
	if (!page || vec_reserve(&dump->links, dump->links.nr + 1))
		return -ENOMEM;
	dump->links.items[dump->links.nr] = (struct link){entry, page->first};
	page->first = (uint32_t)dump->links.nr++;
	return 0;
}

static int add_entry(struct jitdump *dump, const struct entry *entry)
{
	const uint64_t first = entry->start >> PAGE_SHIFT, last = (entry->end - 1) >> PAGE_SHIFT;
	const uint32_t number = (uint32_t)dump->entries.nr;
	if (vec_reserve(&dump->entries, dump->entries.nr + 1))
		return -ENOMEM;
	if (last - first >= PAGES_MAX) {
		if (dump->large.nr >= LARGE_MAX)
			return 0;
		if (vec_reserve(&dump->large, dump->large.nr + 1))
			return -ENOMEM;
		dump->large.items[dump->large.nr++] = number;
	}
	dump->entries.items[dump->entries.nr++] = *entry;
	for (uint64_t page = first; last - first < PAGES_MAX && page <= last; page++)
		if (add_to_page(dump, page, number))
			return -ENOMEM;
	return 0;
}

static bool was_there(const struct jitdump *dump, const struct entry *entry, uint64_t address,
		      uint64_t time_ns)
{
	return address >= entry->start && address < entry->end &&
	       (dump->header.flags & OTHER_CLOCK || entry->time_ns <= time_ns);
}

/* The last that was put there before that time. */
static const struct entry *find(const struct jitdump *dump, uint64_t address, uint64_t time_ns)
{
	const struct entry *best = NULL;
	const struct page *page = find_page(dump, address >> PAGE_SHIFT);
	uint32_t link = page ? page->first : NO_LINK;
	for (int i = 0; i < TRIES_MAX && link != NO_LINK && !best; i++) {
		const struct entry *entry = &dump->entries.items[dump->links.items[link].entry];
		if (was_there(dump, entry, address, time_ns))
			best = entry;
		link = dump->links.items[link].next;
	}
	for (size_t i = 0; i < dump->large.nr; i++) {
		const struct entry *entry = &dump->entries.items[dump->large.items[i]];
		if ((!best || entry > best) && was_there(dump, entry, address, time_ns))
			best = entry;
	}
	return best;
}

bool jitdump_find(const struct jitdump *dump, uint64_t address, uint64_t time_ns,
		  struct symbol_hit *hit)
{
	const struct entry *entry = find(dump, address, time_ns);
	if (!entry || entry->name == NO_NAME)
		return false;
	*hit = (struct symbol_hit){.name = dump->names.items + entry->name, .start = entry->start};
	jit_lines_find(&dump->lines, entry->lines, address - entry->start, &hit->file, &hit->line);
	return true;
}

/* ---- records ---- */

static bool has_end(uint64_t start, uint64_t bytes, uint64_t *end)
{
	return bytes && !__builtin_add_overflow(start, bytes, end);
}

/* body: of the record, as far as the longest name reaches. */
static int add_load(struct jitdump *dump, const struct record *record, const char *body,
		    size_t size)
{
	struct load load;
	if (size < sizeof(load))
		return 0;
	memcpy(&load, body, sizeof(load));
	const char *name = body + sizeof(load);
	const size_t length = strnlen(name, size - sizeof(load));
	struct entry entry = {
		.start = load.start, .time_ns = record->time_ns, .name = (uint32_t)dump->names.nr};
	entry.lines = jit_lines_take(&dump->lines, load.start);
	if (!length || !has_end(load.start, load.bytes, &entry.end))
		return 0;
	if (vec_reserve(&dump->names, dump->names.nr + length + 1))
		return -ENOMEM;
	const size_t before = sizeof(*record) + sizeof(load) + length + 1;
	if (record->bytes >= before && load.bytes <= record->bytes - before)
		entry.code_at = (uint64_t)dump->read_bytes + before;
	memcpy(dump->names.items + dump->names.nr, name, length);
	dump->names.items[dump->names.nr + length] = '\0';
	dump->names.nr += length + 1;
	return add_entry(dump, &entry);
}

static int add_move(struct jitdump *dump, const struct record *record, const char *body,
		    size_t size)
{
	struct move move;
	struct entry from = {.time_ns = record->time_ns, .name = NO_NAME}, to = from;
	if (size < sizeof(move))
		return 0;
	memcpy(&move, body, sizeof(move));
	if (!has_end(move.from, move.bytes, &from.end) || !has_end(move.to, move.bytes, &to.end))
		return 0;
	const struct entry *moved = find(dump, move.from, record->time_ns);
	from.start = move.from;
	to.start = move.to;
	if (moved) {
		to.name = moved->name;
		to.lines = moved->lines;
		if (moved->end - moved->start == move.bytes && moved->start == move.from)
			to.code_at = moved->code_at;
	}
	int result = add_entry(dump, &from);
	return result ? result : add_entry(dump, &to);
}

static int add_record(struct jitdump *dump, const struct record *record, const char *body,
		      size_t size)
{
	switch (record->kind) {
	case CODE_LOAD:
		return add_load(dump, record, body, size);
	case CODE_MOVE:
		return add_move(dump, record, body, size);
	case CODE_DEBUG_INFO:
		return jit_lines_add(&dump->lines, body, size);
	default:
		return 0;
	}
}

/* ---- the file ---- */

struct window {
	int fd;
	off_t at;
	size_t size;
	char *bytes;
};

/* Bytes of the file; *size: wanted, and how many there are. */
static const char *look(struct window *window, off_t at, size_t *size)
{
	if (at < window->at || at + (off_t)*size > window->at + (off_t)window->size) {
		ssize_t got;
		do
			got = pread(window->fd, window->bytes, WINDOW_BYTES, at);
		while (got < 0 && errno == EINTR);
		window->at = at;
		window->size = got > 0 ? (size_t)got : 0;
	}
	const size_t there = window->size - (size_t)(at - window->at);
	*size = *size < there ? *size : there;
	return window->bytes + (at - window->at);
}

static bool is_header(const struct header *header)
{
	return header->magic == MAGIC && header->version == VERSION &&
	       header->bytes >= sizeof(*header) && header->bytes <= NAME_MAX_BYTES;
}

static int read_records(struct jitdump *dump, struct window *window, off_t end)
{
	while (!is_full(dump)) {
		struct record record;
		size_t size = sizeof(record) + sizeof(struct move) + NAME_MAX_BYTES;
		const char *bytes = look(window, dump->read_bytes, &size);
		if (size < sizeof(record))
			return 0;
		memcpy(&record, bytes, sizeof(record));
		dump->is_damaged = record.bytes < sizeof(record);
		if (dump->is_damaged || end - dump->read_bytes < (off_t)record.bytes)
			return 0; /* the rest is not written yet */
		if (size > record.bytes) {
			size = record.bytes;
		} else if (record.kind == CODE_DEBUG_INFO) {
			size = record.bytes < WINDOW_BYTES ? record.bytes : WINDOW_BYTES;
			bytes = look(window, dump->read_bytes, &size);
			if (size < sizeof(record))
				return 0;
		}
		int result =
			add_record(dump, &record, bytes + sizeof(record), size - sizeof(record));
		if (result)
			return result;
		dump->nr_records++;
		dump->read_bytes += (off_t)record.bytes;
	}
	return 0;
}

static void forget(struct jitdump *dump)
{
	dump->entries.nr = 0;
	dump->names.nr = 0;
	dump->pages.nr = 0;
	dump->links.nr = 0;
	dump->large.nr = 0;
	index_clear(&dump->pages_by_number);
	jit_lines_forget(&dump->lines);
	dump->read_bytes = 0;
	dump->nr_records = 0;
	dump->is_damaged = false;
}

static bool read_header(int fd, struct header *header)
{
	return pread(fd, header, sizeof(*header), 0) == (ssize_t)sizeof(*header) &&
	       is_header(header);
}

bool jitdump_is_one(int fd)
{
	struct header header;
	return read_header(fd, &header);
}

int jitdump_read(struct jitdump *dump, int fd)
{
	struct stat stat;
	struct header header;
	if (fstat(fd, &stat) < 0)
		return -errno;
	if (!read_header(fd, &header))
		return -ENOEXEC;
	if (stat.st_dev != dump->device || stat.st_ino != dump->inode ||
	    stat.st_size < dump->read_bytes || memcmp(&header, &dump->header, sizeof(header)) != 0)
		forget(dump);
	dump->device = stat.st_dev;
	dump->inode = stat.st_ino;
	dump->header = header;
	if (!dump->read_bytes)
		dump->read_bytes = (off_t)header.bytes;
	if (dump->is_damaged || dump->read_bytes >= stat.st_size)
		return 0;
	struct window window = {.fd = fd, .bytes = malloc(WINDOW_BYTES)};
	if (!window.bytes)
		return -ENOMEM;
	int result = read_records(dump, &window, stat.st_size);
	free(window.bytes);
	return result;
}

/* ---- code ---- */

enum { COMPARED_MAX = 16, COMPARED_BYTES = 4096 };

static bool read_all(int fd, void *bytes, size_t size, uint64_t at)
{
	for (size_t done = 0; done < size;) {
		const ssize_t got =
			pread(fd, (char *)bytes + done, size - done, (off_t)(at + done));
		if (got <= 0 && !(got < 0 && errno == EINTR))
			return false;
		done += got > 0 ? (size_t)got : 0;
	}
	return true;
}

/* Whether the record that the code stands in is what it was. */
static bool is_as_read(const struct jitdump *dump, const struct entry *entry)
{
	const char *name = dump->names.items + entry->name;
	const size_t name_bytes = strlen(name) + 1;
	struct record record;
	struct load load;
	char here[NAME_MAX_BYTES + sizeof(struct move) + 1];
	uint64_t at = entry->code_at - name_bytes - sizeof(load) - sizeof(record);
	return name_bytes <= sizeof(here) && read_all(dump->fd, &record, sizeof(record), at) &&
	       read_all(dump->fd, &load, sizeof(load), at + sizeof(record)) &&
	       read_all(dump->fd, here, name_bytes, entry->code_at - name_bytes) &&
	       record.kind == CODE_LOAD && load.bytes == entry->end - entry->start &&
	       memcmp(here, name, name_bytes) == 0;
}

static bool has_same_code(const struct jitdump *dump, const struct entry *entry,
			  const struct jit_code *code, const uint8_t *bytes)
{
	uint8_t other[COMPARED_BYTES];
	if (entry->end - entry->start != code->whole_bytes || !entry->code_at ||
	    !is_as_read(dump, entry))
		return false;
	for (size_t at = 0; at < code->size; at += sizeof(other)) {
		const size_t left = code->size - at;
		const size_t size = left < sizeof(other) ? left : sizeof(other);
		if (!read_all(dump->fd, other, size, entry->code_at + at) ||
		    memcmp(other, bytes + at, size) != 0)
			return false;
	}
	return true;
}

static int copy_code(const struct jitdump *dump, const struct entry *entry, uint8_t *bytes,
		     size_t most, struct jit_code *code)
{
	const uint64_t whole = entry->end - entry->start;
	*code = (struct jit_code){
		.whole_bytes = whole,
		.size = (uint32_t)(whole < most ? whole : most),
		.machine = (uint16_t)dump->header.machine,
		.lines = entry->lines,
	};
	/* The look at the record comes last: who writes it again meanwhile is found out. */
	return entry->code_at && dump->header.machine <= UINT16_MAX &&
			       read_all(dump->fd, bytes, code->size, entry->code_at) &&
			       is_as_read(dump, entry)
		       ? 0
		       : -ENODATA;
}

struct search {
	uint64_t start;
	const char *name;
	const struct entry *found[COMPARED_MAX];
	size_t nr;
	bool is_too_long;
};

static void look_at(const struct jitdump *dump, struct search *search, uint32_t number)
{
	const struct entry *entry = &dump->entries.items[number];
	if (entry->start != search->start || entry->name == NO_NAME ||
	    strcmp(dump->names.items + entry->name, search->name) != 0)
		return;
	if (search->nr == COMPARED_MAX)
		search->is_too_long = true;
	else
		search->found[search->nr++] = entry;
}

int jitdump_code(const struct jitdump *dump, uint64_t start, const char *name, uint8_t *bytes,
		 size_t most, struct jit_code *code)
{
	struct search search = {.start = start, .name = name};
	const struct page *page = find_page(dump, start >> PAGE_SHIFT);
	uint32_t link = page ? page->first : NO_LINK;
	for (int i = 0; i < TRIES_MAX && link != NO_LINK; i++) {
		look_at(dump, &search, dump->links.items[link].entry);
		link = dump->links.items[link].next;
	}
	search.is_too_long |= link != NO_LINK;
	for (size_t i = 0; i < dump->large.nr; i++)
		look_at(dump, &search, dump->large.items[i]);
	if (!search.nr)
		return -ENOENT;
	const int result = copy_code(dump, search.found[0], bytes, most, code);
	if (result)
		return result;
	for (size_t i = 1; i < search.nr; i++)
		if (!has_same_code(dump, search.found[i], code, bytes))
			return -ENOTUNIQ;
	return search.is_too_long ? -ENOTUNIQ : 0;
}

bool jitdump_line(const struct jitdump *dump, const struct jit_code *code, uint64_t offset,
		  const char **file, uint32_t *line)
{
	return jit_lines_find(&dump->lines, code->lines, offset, file, line);
}
