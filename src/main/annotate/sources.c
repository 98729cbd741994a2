/* SPDX-License-Identifier: MIT */
#include <ctop/annotate/sources.h>

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <ctop/base/vec.h>
#include <ctop/files/fetcher.h>
#include <ctop/files/opener.h>

/* Bytes of a line that are shown; its tabs go to multiples of so many columns. */
enum { LINE_BYTES_MAX = 400, TAB_COLS = 8 };
/* A program may name any file, by very many names: of all files, of their text and lines, and of looks that hang. */
enum { FILES_MAX = 2048, HUNG_MAX = 3 };
/* That servers are asked for: one after the other, each takes a moment. */
enum { ASKED_OF_SERVERS_MAX = 256 };
#define BYTES_MAX ((size_t)128 << 20)

struct source_file {
	struct sources *sources;
	char *path, *directory;
	unsigned candidate;   /* the one that is asked for */
	char place[PATH_MAX]; /* of it; where the file was found */
	bool is_awaited;
	int error; /* why the first one was not shown; 0 */
	struct source_program program;
	bool was_fetched;	 /* servers were asked */
	char fetch_problem[128]; /* what came of that, in words; "": the file, or nothing yet */
	int64_t written_ns;
	char *bytes; /* mapped; NULL: none */
	size_t size;
	struct {
		uint32_t *items; /* where each line begins */
		size_t nr, capacity;
	} lines;
};

struct sources {
	struct opener *opener;
	const char *const *maps;
	size_t nr_maps;
	struct {
		struct source_file **items; /* each on the heap: they are given out */
		size_t nr, capacity;
	} files;
	size_t bytes;		 /* of all, and of what is known of their lines */
	unsigned nr_hung;	 /* looks that took too long */
	struct fetcher *fetcher; /* NULL: no servers are asked */
	unsigned nr_asked;	 /* of servers */
};

struct sources *sources_new(const char *const *maps, size_t nr_maps)
{
	struct sources *sources = calloc(1, sizeof(*sources));
	if (!sources)
		return NULL;
	*sources = (struct sources){.opener = opener_new(), .maps = maps, .nr_maps = nr_maps};
	if (sources->opener)
		return sources;
	free(sources);
	return NULL;
}

int sources_use_servers(struct sources *sources, const char *urls)
{
	sources->fetcher = fetcher_new(urls);
	return sources->fetcher ? 0 : -ENOMEM;
}

void sources_tell_fetching(const struct sources *sources, struct text *out)
{
	if (sources->fetcher)
		fetcher_tell(sources->fetcher, out);
}

static void drop_copy(struct source_file *file)
{
	if (file->bytes)
		munmap(file->bytes, file->size);
	file->bytes = NULL;
	free(file->lines.items);
	memset(&file->lines, 0, sizeof(file->lines));
}

static void free_file(struct source_file *file)
{
	opener_forget(file->sources->opener, file);
	if (file->sources->fetcher)
		fetcher_forget(file->sources->fetcher, file);
	drop_copy(file);
	free(file->path);
	free(file->directory);
	free(file);
}

void sources_free(struct sources *sources)
{
	if (!sources)
		return;
	for (size_t i = 0; i < sources->files.nr; i++)
		free_file(sources->files.items[i]);
	free(sources->files.items);
	opener_free(sources->opener);
	fetcher_free(sources->fetcher);
	free(sources);
}

/* ---- where it may be ---- */

/* The rest of a path below a directory; NULL: it is not below that. */
static const char *below(const char *path, const char *directory, size_t size)
{
	while (size > 1 && directory[size - 1] == '/')
		size--;
	if (!size || strncmp(path, directory, size) != 0 || (path[size] && path[size] != '/'))
		return NULL;
	path += size;
	return path + strspn(path, "/");
}

/* The path by the first mapping that says anything of it. */
static bool map_path(const struct sources *sources, const char *path, char *place, size_t size)
{
	for (size_t i = 0; i < sources->nr_maps; i++) {
		const char *new = strchr(sources->maps[i], '=');
		const char *rest =
			new ? below(path, sources->maps[i], (size_t)(new - sources->maps[i]))
			    : NULL;
		if (!rest)
			continue;
		size_t new_size = strlen(++new);
		while (new_size > 1 && new[new_size - 1] == '/')
			new_size--;
		return (size_t)snprintf(place, size, "%.*s/%s", (int)new_size, new, rest) < size;
	}
	return false;
}

enum { BY_MAP, AS_COMPILED, BELOW_HERE, NR_CANDIDATES };

/* As its debug information has it, from the root on. False: it is too long to be one. */
static bool set_whole(const struct source_file *file, char whole[PATH_MAX])
{
	const bool is_absolute = file->path[0] == '/';
	return (size_t)snprintf(whole, PATH_MAX, is_absolute ? "%s%s" : "%s/%s",
				is_absolute ? "" : file->directory, file->path) < PATH_MAX;
}

/* False: that candidate is none of its places. */
static bool set_place(struct source_file *file, unsigned candidate)
{
	char whole[PATH_MAX];
	const size_t size = sizeof(file->place);
	const char *rest = file->path[0] == '/'
				   ? below(file->path, file->directory, strlen(file->directory))
				   : file->path;
	if (!set_whole(file, whole))
		return false;
	switch (candidate) {
	case BY_MAP:
		return map_path(file->sources, whole, file->place, size);
	case AS_COMPILED:
		return whole[0] == '/' && (size_t)snprintf(file->place, size, "%s", whole) < size;
	case BELOW_HERE:
		return rest && rest[0] && (size_t)snprintf(file->place, size, "%s", rest) < size;
	default:
		return false;
	}
}

/* ---- what is in it ---- */

static int index_lines(struct source_file *file)
{
	const char *at = file->bytes, *end = file->bytes + file->size;
	if (memchr(at, '\0', file->size))
		return -EILSEQ;
	while (at && at < end) {
		if (vec_reserve(&file->lines, file->lines.nr + 1))
			return -ENOMEM;
		file->lines.items[file->lines.nr++] = (uint32_t)(at - file->bytes);
		at = memchr(at, '\n', (size_t)(end - at));
		at = at ? at + 1 : NULL;
	}
	return 0;
}

/* Memory that is sealed, as the opener left it. 0 or -errno. */
static int map_copy(struct source_file *file, int fd)
{
	struct stat status;
	if (fstat(fd, &status) || status.st_size <= 0 || status.st_size > OPENER_SOURCE_MAX)
		return -ENODATA;
	file->size = (size_t)status.st_size;
	if (file->size > BYTES_MAX - file->sources->bytes)
		return -ENOBUFS;
	void *bytes = mmap(NULL, file->size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (bytes == MAP_FAILED)
		return -errno;
	file->bytes = bytes;
	return index_lines(file);
}

/* result: of making it. What cannot be shown is not kept. */
static int keep_copy(struct source_file *file, int result)
{
	struct sources *sources = file->sources;
	const size_t bytes = file->size + vec_bytes(&file->lines);
	if (!result && bytes > BYTES_MAX - sources->bytes)
		result = -ENOBUFS;
	if (result)
		drop_copy(file);
	else
		sources->bytes += bytes;
	return result;
}

static void ask(struct source_file *file);

/* A file system that hangs would have all of them wait. */
static void give_up(struct sources *sources)
{
	for (size_t i = 0; i < sources->files.nr; i++) {
		struct source_file *file = sources->files.items[i];
		if (!file->is_awaited)
			continue;
		opener_forget(sources->opener, file);
		if (!file->was_fetched) {
			file->is_awaited = false;
			file->error = -ETIMEDOUT;
		}
	}
}

static void take(void *context, const struct opener_answer *answer, int fd)
{
	struct source_file *file = context;
	int result = answer->error;
	file->is_awaited = false;
	if (fd >= 0) {
		file->written_ns = answer->written_ns;
		file->error = keep_copy(file, map_copy(file, fd));
		close(fd);
		return;
	}
	if (result == -ETIMEDOUT && ++file->sources->nr_hung == HUNG_MAX)
		give_up(file->sources);
	/* That one place has none says less than why another's is not shown. */
	if (!file->error || file->error == -ENOENT)
		file->error = result;
	file->candidate++;
	ask(file);
}

/* ---- from servers ---- */

/* Whoever wrote it may write on, if it has fallen: what is shown is a copy. */
static int copy_fetched(struct source_file *file, int fd)
{
	struct stat status;
	size_t at = 0;
	ssize_t got;
	if (fstat(fd, &status) || status.st_size <= 0)
		return -ENODATA;
	if (status.st_size > OPENER_SOURCE_MAX)
		return -EFBIG;
	const size_t size = (size_t)status.st_size;
	if (size > BYTES_MAX - file->sources->bytes)
		return -ENOBUFS;
	char *bytes = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (bytes == MAP_FAILED)
		return -ENOMEM;
	file->bytes = bytes;
	file->size = size;
	while (at < size && (got = pread(fd, bytes + at, size - at, (off_t)at)) > 0)
		at += (size_t)got;
	return at == size ? index_lines(file) : -EIO;
}

static void not_fetched(struct source_file *file, int error)
{
	file->is_awaited = false;
	snprintf(file->fetch_problem, sizeof(file->fetch_problem), "not found, and %s",
		 fetcher_why(error));
}

static void take_fetched(void *context, int error, int fd)
{
	struct source_file *file = context;
	file->is_awaited = false;
	if (fd < 0) {
		not_fetched(file, error);
		return;
	}
	file->error = keep_copy(file, copy_fetched(file, fd));
	file->written_ns = 0;
	close(fd);
}

/* What is in none of its places: what may not be read, or is no text, stays that. */
static void fetch(struct source_file *file)
{
	struct sources *sources = file->sources;
	char whole[PATH_MAX];
	static const char mark[] = "debuginfod:";
	if (!sources->fetcher || !file->program.size || file->was_fetched ||
	    (file->error != -ENOENT && file->error != -ENOTDIR))
		return;
	file->was_fetched = file->is_awaited = true;
	int result = !set_whole(file, whole)			 ? -ENAMETOOLONG
		     : sources->nr_asked == ASKED_OF_SERVERS_MAX ? -ENOBUFS
								 : 0;
	if (!result)
		result = fetcher_ask_source(sources->fetcher, file->program.build_id,
					    file->program.size, whole, take_fetched, file);
	if (result)
		not_fetched(file, result);
	else
		sources->nr_asked++;
	snprintf(file->place, sizeof(file->place), "%s%.*s", mark,
		 (int)(sizeof(file->place) - sizeof(mark)), whole);
}

/* ---- one after the other ---- */

static void ask(struct source_file *file)
{
	const struct opener_request request = {.kind = OPENER_SOURCE,
					       .request = {.path = file->place}};
	for (; file->candidate < NR_CANDIDATES; file->candidate++) {
		if (!set_place(file, file->candidate))
			continue;
		int result = file->sources->nr_hung < HUNG_MAX
				     ? opener_ask(file->sources->opener, &request, take, file)
				     : -ETIMEDOUT;
		file->is_awaited = !result;
		if (!result)
			return;
		file->error = result;
	}
	if (!file->error)
		file->error = -ENOENT;
	fetch(file);
}

/* One that a server sent is that program's. */
static bool is_of(const struct source_file *file, const struct source_program *program)
{
	return (!file->was_fetched && !file->is_awaited) ||
	       (file->program.size == program->size &&
		memcmp(file->program.build_id, program->build_id, program->size) == 0);
}

struct source_file *sources_get(struct sources *sources, const char *path, const char *directory,
				const struct source_program *program)
{
	for (size_t i = 0; i < sources->files.nr; i++)
		if (!strcmp(sources->files.items[i]->path, path) &&
		    !strcmp(sources->files.items[i]->directory, directory) &&
		    is_of(sources->files.items[i], program))
			return sources->files.items[i];
	struct source_file *file = sources->files.nr < FILES_MAX ? calloc(1, sizeof(*file)) : NULL;
	if (!file)
		return NULL;
	file->sources = sources;
	file->program = *program;
	file->path = strdup(path);
	file->directory = strdup(directory);
	if (!file->path || !file->directory ||
	    vec_reserve(&sources->files, sources->files.nr + 1)) {
		free_file(file);
		return NULL;
	}
	sources->files.items[sources->files.nr++] = file;
	ask(file);
	return file;
}

bool sources_are_awaited(const struct sources *sources)
{
	for (size_t i = 0; i < sources->files.nr; i++)
		if (sources->files.items[i]->is_awaited)
			return true;
	return false;
}

void sources_serve(struct sources *sources, int timeout_ms)
{
	struct fetcher *fetcher = sources->fetcher;
	const int own_ms[] = {opener_timeout_ms(sources->opener),
			      fetcher ? fetcher_timeout_ms(fetcher) : -1};
	struct pollfd fds[] = {
		{.fd = opener_fd(sources->opener), .events = POLLIN},
		{.fd = fetcher ? fetcher_fd(fetcher) : -1, .events = POLLIN},
	};
	for (size_t i = 0; i < 2; i++)
		if (own_ms[i] >= 0 && own_ms[i] < timeout_ms)
			timeout_ms = own_ms[i];
	if (!sources_are_awaited(sources))
		return;
	poll(fds, 2, timeout_ms);
	opener_serve(sources->opener);
	if (fetcher)
		fetcher_serve(fetcher);
}

int32_t sources_pid(const struct sources *sources)
{
	return opener_pid(sources->opener);
}

/* ---- what is told of it ---- */

const char *source_file_place(const struct source_file *file)
{
	return file->bytes ? file->place : NULL;
}

int64_t source_file_written_ns(const struct source_file *file)
{
	return file->written_ns;
}

bool source_file_is_not_found(const struct source_file *file)
{
	return !file->is_awaited && (file->error == -ENOENT || file->error == -ENOTDIR);
}

const char *source_file_problem(const struct source_file *file)
{
	if (file->is_awaited)
		return NULL;
	if (source_file_is_not_found(file))
		return file->fetch_problem[0] ? file->fetch_problem : "not found";
	switch (file->error) {
	case 0:
		return NULL;
	case -EACCES:
	case -EPERM:
		return "may not be read";
	case -EFBIG:
		return "too large to be a source file";
	case -EINVAL:
	case -ELOOP:
		return "not a regular file";
	case -EILSEQ:
		return "not a text";
	case -ENODATA:
		return "empty";
	case -ENOBUFS:
		return "too much source text: not kept";
	case -ETIMEDOUT:
		return "not opened in time";
	default:
		return "cannot be read";
	}
}

uint32_t source_file_nr_lines(const struct source_file *file)
{
	return file->error ? 0 : (uint32_t)file->lines.nr;
}

bool source_file_add_line(const struct source_file *file, uint32_t line, struct text *out)
{
	char text[LINE_BYTES_MAX + TAB_COLS + 4];
	size_t nr = 0;
	if (!line || line > source_file_nr_lines(file))
		return false;
	const char *at = file->bytes + file->lines.items[line - 1];
	const char *end = file->bytes + file->size;
	for (; at < end && *at != '\n' && nr < LINE_BYTES_MAX; at++) {
		if (*at == '\r' && at + 1 < end && at[1] == '\n')
			continue;
		if (*at != '\t') {
			text[nr++] = *at;
			continue;
		}
		do
			text[nr++] = ' ';
		while (nr % TAB_COLS);
	}
	const bool is_cut = at < end && *at != '\n';
	/* Not in the middle of a character. */
	while (is_cut && nr && ((unsigned char)text[nr - 1] & 0xc0) == 0x80)
		nr--;
	if (is_cut && nr && (unsigned char)text[nr - 1] >= 0xc0)
		nr--;
	text[nr] = '\0';
	text_add_safe(out, text);
	if (is_cut)
		text_add(out, "...");
	return true;
}
