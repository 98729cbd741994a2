/* SPDX-License-Identifier: MIT */
#include <ctop/annotate/code_finder.h>

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <ctop/base/clock.h>
#include <ctop/base/write_all.h>
#include <ctop/files/fetcher.h>
#include <ctop/files/opener.h>
#include <ctop/files/prober.h>

#include "code_told.h"
#include "common_file.h"
#include "made_code.h"
#include "unit_file.h"

struct code_finder {
	struct opener *opener;
	struct prober *prober;
	struct disassembler *disassembler;
	struct made_code made;
	struct fetcher *fetcher; /* NULL: no servers are asked */
	struct code_request request;
	code_taker *taker; /* NULL: nothing is under way */
	void *context;

	enum opener_kind looking_for;
	unsigned candidate; /* of the several places of that kind */
	int error;	    /* why the first that was found is not used; 0 */
	int fd, debug_fd; /* the module's file, once it is proved; of the debug file, what is in hand. -1: none */
	struct common_file common; /* of the file with the debug information */
	int common_fd;		   /* that, in hand; -1 */
	bool was_asked_common;
	struct unit_file unit_file;
	int split_fd;		     /* of unit_file.unit; -1: none is in hand, */
	bool was_asked_unit;	     /* or none is known */
	struct prober_answer debug;  /* what its debug file says of itself */
	struct prober_answer module; /* what it says of itself */
	bool was_fetched;	     /* servers were asked for its debug file */
	int fetch_error;	     /* why they gave none; 0 */
	struct listing *
		lacking; /* what lacks something that is looked for, and is shown if nothing comes of that */
	int kept_fd;	/* the bytes that were kept; -1: none, or they are being listed */
	int file_error; /* why they are; 0: they are not */
	bool is_made;	/* code of a process, without a file */
	char kept[512]; /* where code comes from, if not from a file */
};

void code_release(struct code *code)
{
	listing_free(code->listing);
	*code = (struct code){0};
}

struct code_finder *code_finder_new(void)
{
	struct code_finder *finder = calloc(1, sizeof(*finder));
	if (!finder)
		return NULL;
	*finder = (struct code_finder){
		.opener = opener_new(),
		.prober = prober_new(),
		.disassembler = disassembler_new(),
		.fd = -1,
		.debug_fd = -1,
		.common_fd = -1,
		.split_fd = -1,
		.kept_fd = -1,
	};
	finder->unit_file = (struct unit_file){finder->opener, finder->prober, .fd = -1};
	made_code_init(&finder->made, finder->opener);
	if (finder->opener && finder->prober && finder->disassembler)
		return finder;
	code_finder_free(finder);
	return NULL;
}

static void close_files(struct code_finder *finder)
{
	int *const fds[] = {&finder->fd, &finder->debug_fd, &finder->common_fd, &finder->split_fd};
	for (size_t i = 0; i < sizeof(fds) / sizeof(*fds); i++) {
		if (*fds[i] >= 0)
			close(*fds[i]);
		*fds[i] = -1;
	}
}

static void forget_kept(struct code_finder *finder)
{
	if (finder->kept_fd >= 0)
		close(finder->kept_fd);
	finder->kept_fd = -1;
	finder->file_error = 0;
}

int code_finder_use_servers(struct code_finder *finder, const char *urls)
{
	finder->fetcher = fetcher_new(urls);
	return finder->fetcher ? 0 : -ENOMEM;
}

void code_finder_tell_fetching(const struct code_finder *finder, struct text *out)
{
	if (finder->fetcher)
		fetcher_tell(finder->fetcher, out);
}

static void forget_fetched(struct code_finder *finder)
{
	if (finder->fetcher)
		fetcher_forget(finder->fetcher, finder);
	listing_free(finder->lacking);
	finder->lacking = NULL;
}

void code_finder_free(struct code_finder *finder)
{
	if (!finder)
		return;
	close_files(finder);
	forget_kept(finder);
	forget_fetched(finder);
	common_file_forget(&finder->common);
	unit_file_forget(&finder->unit_file);
	opener_free(finder->opener);
	prober_free(finder->prober);
	disassembler_free(finder->disassembler);
	fetcher_free(finder->fetcher);
	free(finder);
}

static void take_listing(void *context, int error, struct listing *listing);

/* Without libcapstone nothing can be listed. False: nothing was kept, or that was it. */
static bool list_kept(struct code_finder *finder, int file_error)
{
	const struct code_request *request = &finder->request;
	if (finder->kept_fd < 0 || file_error == -ENOSYS)
		return false;
	close_files(finder);
	finder->file_error = file_error;
	const struct disassembler_request ask = {
		.fd = finder->kept_fd,
		.debug_fd = -1,
		.common_fd = -1,
		.start = request->start,
		.name = request->name,
		.source = LISTING_OF_BYTES,
		.bytes =
			{
				.bias = request->kept.bias,
				.size = request->kept.size,
				.machine = request->kept.machine,
				.is_cut = request->kept.is_cut,
			},
	};
	int result = disassembler_ask(finder->disassembler, &ask, take_listing, finder);
	close(finder->kept_fd);
	finder->kept_fd = -1;
	return !result;
}

static void finish(struct code_finder *finder, int error, struct listing *listing)
{
	if (error && list_kept(finder, error))
		return;
	code_taker *taker = finder->taker;
	struct code code = {.listing = listing, .written_ns = INT64_MAX};
	if (finder->fetch_error)
		code.fetch_problem = fetcher_why(finder->fetch_error);
	if (finder->module.build_id_size <= sizeof(code.program.build_id)) {
		code.program.size = finder->module.build_id_size;
		memcpy(code.program.build_id, finder->module.build_id, code.program.size);
	}
	if (listing && finder->file_error)
		code_tell_kept(&finder->request, finder->file_error, finder->kept,
			       sizeof(finder->kept));
	else if (listing && finder->is_made)
		code_tell_made(&finder->request, finder->made.read_ns, finder->kept,
			       sizeof(finder->kept));
	if (listing && (finder->file_error || finder->is_made))
		code.kept = finder->kept;
	struct stat status;
	/* What is said is why there is no file: that can be helped. */
	if (error && error != -ENOSYS && finder->file_error)
		error = finder->file_error;
	if (finder->fd >= 0 && fstat(finder->fd, &status) == 0)
		code.written_ns = (int64_t)status.st_mtim.tv_sec * (int64_t)NS_PER_SECOND +
				  (int64_t)status.st_mtim.tv_nsec;
	close_files(finder);
	made_code_forget(&finder->made);
	forget_kept(finder);
	finder->taker = NULL;
	taker(finder->context, error, &code);
}

/* ---- the listing ---- */

static bool fetch(struct code_finder *finder, const struct listing *listing);
static bool look_for_unit(struct code_finder *finder, const struct listing *listing);

/* If the second one, with what it lacked, fails, there is the first. */
static void take_listing(void *context, int error, struct listing *listing)
{
	struct code_finder *finder = context;
	struct listing *first = finder->lacking;
	finder->lacking = NULL;
	if (first && error) {
		finish(finder, 0, first);
		return;
	}
	listing_free(first);
	finder->lacking = listing;
	if (!error && (fetch(finder, listing) || look_for_unit(finder, listing)))
		return;
	finder->lacking = NULL;
	finish(finder, error, listing);
}

static void list_now(struct code_finder *finder)
{
	const struct code_request *request = &finder->request;
	const struct disassembler_request ask = {
		.fd = finder->fd,
		.debug_fd = finder->debug_fd,
		.common_fd = finder->common_fd,
		.split_fd = finder->split_fd,
		.split_unit = finder->split_fd < 0 ? 0 : finder->unit_file.unit,
		.start = request->start,
		.name = request->name,
		.wants_calls = request->wants_calls,
	};
	int result = disassembler_ask(finder->disassembler, &ask, take_listing, finder);
	if (result)
		finish(finder, result, NULL);
}

static void take_common(void *context, int fd)
{
	struct code_finder *finder = context;
	finder->common_fd = fd;
	list_now(finder);
}

static void list(struct code_finder *finder)
{
	const struct code_request *request = &finder->request;
	const struct prober_answer *namer =
		finder->debug_fd >= 0 ? &finder->debug : &finder->module;
	if (finder->was_asked_common || !request->wants_calls || !namer->common_build_id_size) {
		list_now(finder);
		return;
	}
	finder->was_asked_common = true;
	finder->common =
		(struct common_file){finder->opener, finder->prober, finder->fetcher, .fd = -1};
	common_file_ask(&finder->common, namer, &request->module, request->pid, take_common,
			finder);
}

static void show_lacking(struct code_finder *finder)
{
	struct listing *listing = finder->lacking;
	finder->lacking = NULL;
	finish(finder, 0, listing);
}

/* ---- what -gsplit-dwarf has put into another file ---- */

static void take_unit_file(void *context, int fd)
{
	struct code_finder *finder = context;
	finder->split_fd = fd;
	if (fd < 0)
		show_lacking(finder);
	else
		list_now(finder);
}

/* Of the function's unit; what is in others goes without. False: it is not looked for. */
static bool look_for_unit(struct code_finder *finder, const struct listing *listing)
{
	const struct listing_answer *answer = &listing->answer;
	const struct code_request *request = &finder->request;
	const int namer_fd = answer->lacks_of_debug ? finder->debug_fd : finder->fd;
	if (!answer->lacks_unit || finder->was_asked_unit || namer_fd < 0)
		return false;
	finder->was_asked_unit = true;
	unit_file_ask(&finder->unit_file, answer->lacks_unit, namer_fd,
		      finder->module.has_debuglink ? finder->module.debuglink : NULL,
		      &request->module, request->pid, take_unit_file, finder);
	return true;
}

/* ---- code that is in no file: what a process has made, the kernel's ---- */

static void take_made(void *context, int error)
{
	struct code_finder *finder = context;
	const struct made_code *made = &finder->made;
	const struct disassembler_request ask = {
		.fd = made->memory_fd,
		.debug_fd = made->map_fd,
		.common_fd = -1,
		.start = finder->request.start,
		.name = finder->request.name,
		.source = made->map_fd < 0 ? LISTING_OF_BYTES : LISTING_OF_MEMORY,
		.bytes = {.size = (uint32_t)made->size,
			  .machine = made->machine,
			  .is_cut = made->is_cut},
		.memory_start = made->start,
	};
	if (!error)
		error = disassembler_ask(finder->disassembler, &ask, take_listing, finder);
	if (error)
		finish(finder, error, NULL);
}

/* A dump tells of all that was there, one after the other; of a map's functions there is what is there now. */
static void look_for_made(struct code_finder *finder)
{
	const struct code_request *request = &finder->request;
	const struct disassembler_request ask = {
		.fd = request->dump_fd,
		.debug_fd = -1,
		.common_fd = -1,
		.start = request->start,
		.name = request->name,
		.source = LISTING_OF_DUMP,
	};
	finder->made.read_ns = 0;
	if (request->dump_fd < 0 && request->may_look) {
		made_code_ask(&finder->made, request, take_made, finder);
		return;
	}
	int result = request->dump_fd < 0
			     ? -ESRCH
			     : disassembler_ask(finder->disassembler, &ask, take_listing, finder);
	if (result)
		finish(finder, result, NULL);
}

/* ---- a debug file from servers ---- */

static bool has_build_id(const struct prober_answer *answer, const void *build_id, size_t size)
{
	return !answer->error && size && answer->build_id_size == size &&
	       memcmp(answer->build_id, build_id, size) == 0;
}

static void take_fetched_word(void *context, const struct prober_answer *answer)
{
	struct code_finder *finder = context;
	const struct prober_answer *module = &finder->module;
	if (has_build_id(answer, module->build_id, module->build_id_size)) {
		finder->debug = *answer;
		list(finder);
		return;
	}
	close(finder->debug_fd);
	finder->debug_fd = -1;
	finder->fetch_error = -EBADMSG;
	show_lacking(finder);
}

static void prove(struct code_finder *finder, int fd, bool sum_up, prober_taker *taker)
{
	int result = prober_ask(finder->prober, fd, &(struct prober_question){.sum_up = sum_up},
				taker, finder);
	if (result)
		taker(finder, &(struct prober_answer){.error = result});
}

static void take_fetched(void *context, int error, int fd)
{
	struct code_finder *finder = context;
	finder->fetch_error = error;
	finder->debug_fd = fd;
	if (fd < 0)
		show_lacking(finder);
	else
		prove(finder, fd, false, take_fetched_word);
}

/*
 * Where the module's file says nothing of lines, and there is no debug file, servers are asked; by the build-id that a prober has read in it. False:
 * they are not.
 */
static bool fetch(struct code_finder *finder, const struct listing *listing)
{
	if (!finder->fetcher || finder->was_fetched || listing->answer.nr_files || finder->fd < 0 ||
	    finder->debug_fd >= 0 || !finder->module.build_id_size)
		return false;
	finder->was_fetched = true;
	finder->fetch_error = fetcher_ask(finder->fetcher, finder->module.build_id,
					  finder->module.build_id_size, take_fetched, finder);
	return !finder->fetch_error;
}

/* ---- files ---- */

static void look_for(struct code_finder *finder, enum opener_kind kind);

static void next_candidate(struct code_finder *finder)
{
	finder->candidate++;
	look_for(finder, finder->looking_for);
}

static void next_kind(struct code_finder *finder)
{
	finder->candidate = 0;
	if (finder->looking_for == OPENER_MODULE)
		look_for(finder, OPENER_RECORDED_MODULE);
	else if (finder->looking_for == OPENER_RECORDED_MODULE)
		finish(finder, finder->error, NULL);
	else if (finder->looking_for == OPENER_DEBUG_BUILD_ID && finder->module.has_debuglink)
		look_for(finder, OPENER_DEBUG_LINK);
	else
		list(finder);
}

static void find_debug_file(struct code_finder *finder)
{
	finder->candidate = 0;
	if (finder->module.build_id_size)
		look_for(finder, OPENER_DEBUG_BUILD_ID);
	else if (finder->module.has_debuglink)
		look_for(finder, OPENER_DEBUG_LINK);
	else
		list(finder);
}

/* Which is by the kernel the one that was mapped, or must have its build-id. */
static void take_modules_word(void *context, const struct prober_answer *answer)
{
	struct code_finder *finder = context;
	const struct module_identity *wanted = &finder->request.module.identity;
	if (wanted->build_id_size &&
	    !has_build_id(answer, wanted->build_id, wanted->build_id_size)) {
		close_files(finder);
		finder->error = -ESTALE;
		next_candidate(finder);
		return;
	}
	finder->module = *answer;
	if (answer->error)
		finder->module = (struct prober_answer){0};
	find_debug_file(finder);
}

static void take_debug_files_word(void *context, const struct prober_answer *answer)
{
	struct code_finder *finder = context;
	const struct prober_answer *module = &finder->module;
	const bool is_right =
		module->build_id_size
			? has_build_id(answer, module->build_id, module->build_id_size)
			: !answer->error && answer->crc == module->debuglink_crc;
	if (is_right) {
		finder->debug = *answer;
		list(finder);
		return;
	}
	close(finder->debug_fd);
	finder->debug_fd = -1;
	next_candidate(finder);
}

static void take_debug_file(struct code_finder *finder, const struct opener_answer *answer, int fd)
{
	const uint32_t owner = finder->request.module.identity.owner_plus_1;
	finder->debug_fd = fd;
	if (fd < 0) {
		next_kind(finder);
	} else if (!debug_file_is_believed(&answer->identity, owner)) {
		close(fd);
		finder->debug_fd = -1;
		next_candidate(finder);
	} else {
		prove(finder, fd, finder->module.build_id_size == 0, take_debug_files_word);
	}
}

static void take_file(void *context, const struct opener_answer *answer, int fd)
{
	struct code_finder *finder = context;
	const bool is_module = finder->looking_for == OPENER_MODULE ||
			       finder->looking_for == OPENER_RECORDED_MODULE;
	if (!is_module) {
		take_debug_file(finder, answer, fd);
		return;
	}
	finder->fd = fd;
	if (fd >= 0) {
		prove(finder, fd, false, take_modules_word);
		return;
	}
	if (!finder->error)
		finder->error = answer->error;
	next_kind(finder);
}

static void look_for(struct code_finder *finder, enum opener_kind kind)
{
	const struct code_request *request = &finder->request;
	const struct module_identity *identity = &request->module.identity;
	const bool is_recorded = kind == OPENER_RECORDED_MODULE || !request->pid;
	const struct opener_request ask = {
		.kind = kind,
		.candidate = finder->candidate,
		.request =
			{
				.pid = is_recorded ? 0 : request->pid,
				.path = request->module.path,
				.device_major = identity->device_major,
				.device_minor = identity->device_minor,
				.inode = identity->inode,
				.generation = identity->generation,
				.build_id = identity->build_id,
				.build_id_size = identity->build_id_size,
			},
		.debuglink = finder->module.debuglink,
	};
	finder->looking_for = kind;
	/* A process has its module in one place. */
	int result = kind == OPENER_MODULE && finder->candidate
			     ? -ENOENT
			     : opener_ask(finder->opener, &ask, take_file, finder);
	if (result)
		take_file(finder, &(struct opener_answer){.error = result}, -1);
}

void code_finder_forget(struct code_finder *finder)
{
	opener_forget(finder->opener, finder);
	prober_forget(finder->prober, finder);
	disassembler_forget(finder->disassembler);
	made_code_forget(&finder->made);
	close_files(finder);
	forget_kept(finder);
	forget_fetched(finder);
	common_file_forget(&finder->common);
	unit_file_forget(&finder->unit_file);
	finder->taker = NULL;
}

/* A copy that the child can be given. Without memory for it, it is as if nothing had been kept. */
static void keep(struct code_finder *finder)
{
	const struct history_code *kept = &finder->request.kept;
	int fd = kept->size ? memfd_create("code", MFD_CLOEXEC) : -1;
	if (fd >= 0 && write_all(fd, kept->bytes, kept->size)) {
		close(fd);
		fd = -1;
	}
	finder->kept_fd = fd;
	finder->request.kept.bytes = NULL;
}

void code_finder_ask(struct code_finder *finder, const struct code_request *request,
		     code_taker *taker, void *context)
{
	code_finder_forget(finder);
	finder->request = *request;
	finder->taker = taker;
	finder->context = context;
	finder->candidate = 0;
	finder->error = 0;
	finder->was_fetched = finder->was_asked_common = finder->was_asked_unit = false;
	finder->fetch_error = 0;
	finder->module = (struct prober_answer){0};
	finder->is_made = request->is_live;
	keep(finder);
	if (request->module.kind == MODULE_ANON && request->is_live)
		look_for_made(finder);
	else if (finder->is_made)
		made_code_ask_kernel(&finder->made, &finder->request, take_made, finder);
	else if (request->module.kind != MODULE_FILE && request->module.kind != MODULE_VDSO)
		finish(finder, -ENODEV, NULL);
	else
		look_for(finder, request->pid ? OPENER_MODULE : OPENER_RECORDED_MODULE);
}

bool code_finder_is_busy(const struct code_finder *finder)
{
	return finder->taker != NULL;
}

static int sooner(int a_ms, int b_ms)
{
	return a_ms < 0 ? b_ms : b_ms < 0 || a_ms < b_ms ? a_ms : b_ms;
}

void code_finder_serve(struct code_finder *finder, int timeout_ms)
{
	struct pollfd fds[] = {
		{.fd = opener_fd(finder->opener), .events = POLLIN},
		{.fd = prober_fd(finder->prober), .events = POLLIN},
		{.fd = disassembler_fd(finder->disassembler), .events = POLLIN},
		{.fd = finder->fetcher ? fetcher_fd(finder->fetcher) : -1, .events = POLLIN},
	};
	timeout_ms = sooner(timeout_ms, opener_timeout_ms(finder->opener));
	timeout_ms = sooner(timeout_ms, prober_timeout_ms(finder->prober));
	timeout_ms = sooner(timeout_ms, disassembler_timeout_ms(finder->disassembler));
	if (finder->fetcher)
		timeout_ms = sooner(timeout_ms, fetcher_timeout_ms(finder->fetcher));
	if (!finder->taker)
		return;
	poll(fds, sizeof(fds) / sizeof(*fds), timeout_ms);
	opener_serve(finder->opener);
	prober_serve(finder->prober);
	disassembler_serve(finder->disassembler);
	if (finder->fetcher)
		fetcher_serve(finder->fetcher);
}

int32_t code_finder_pid(const struct code_finder *finder)
{
	return opener_pid(finder->opener);
}

const struct code_request *code_finder_request(const struct code_finder *finder)
{
	return &finder->request;
}
