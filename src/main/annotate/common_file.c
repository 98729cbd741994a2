/* SPDX-License-Identifier: MIT */
#include "common_file.h"

#include <string.h>
#include <unistd.h>

#include <ctop/files/locate.h>

bool debug_file_is_believed(const struct module_identity *debug, uint32_t modules_owner_plus_1)
{
	const uint32_t owner = debug->owner_plus_1;
	return owner == MODULE_OWNED_BY_ROOT || owner == invoking_uid() + 1 ||
	       (owner && owner == modules_owner_plus_1);
}

static void answer(struct common_file *common)
{
	const int fd = common->fd;
	common->fd = -1;
	common->taker(common->context, fd);
}

static void look_for(struct common_file *common);

static bool is_named(const struct common_file *common, const struct prober_answer *found)
{
	const struct prober_answer *namer = &common->namer;
	return !found->error && found->build_id_size == namer->common_build_id_size &&
	       memcmp(found->build_id, namer->common_build_id, namer->common_build_id_size) == 0;
}

static void drop(struct common_file *common)
{
	if (common->fd >= 0)
		close(common->fd);
	common->fd = -1;
}

static void prove(struct common_file *common, prober_taker *taker)
{
	int result =
		prober_ask(common->prober, common->fd, &(struct prober_question){0}, taker, common);
	if (result)
		taker(common, &(struct prober_answer){.error = result});
}

/* ---- from servers ---- */

static void take_fetched_word(void *context, const struct prober_answer *found)
{
	struct common_file *common = context;
	if (!is_named(common, found))
		drop(common);
	answer(common);
}

static void take_fetched(void *context, int error, int fd)
{
	struct common_file *common = context;
	common->fd = fd;
	if (error)
		answer(common);
	else
		prove(common, take_fetched_word);
}

static void fetch(struct common_file *common)
{
	const struct prober_answer *namer = &common->namer;
	if (!common->fetcher || fetcher_ask(common->fetcher, namer->common_build_id,
					    namer->common_build_id_size, take_fetched, common))
		answer(common);
}

/* ---- here ---- */

static void next_candidate(struct common_file *common)
{
	drop(common);
	common->ask.candidate++;
	look_for(common);
}

static void take_word(void *context, const struct prober_answer *found)
{
	struct common_file *common = context;
	if (is_named(common, found))
		answer(common);
	else
		next_candidate(common);
}

static void take_file(void *context, const struct opener_answer *found, int fd)
{
	struct common_file *common = context;
	common->fd = fd;
	if (fd >= 0 && debug_file_is_believed(&found->identity, common->owner_plus_1)) {
		prove(common, take_word);
	} else if (fd >= 0) {
		next_candidate(common);
	} else if (common->ask.kind == OPENER_DEBUG_BUILD_ID) {
		common->ask.kind = OPENER_DEBUG_COMMON;
		common->ask.candidate = 0;
		look_for(common);
	} else {
		fetch(common);
	}
}

static void look_for(struct common_file *common)
{
	int result = opener_ask(common->opener, &common->ask, take_file, common);
	if (result)
		take_file(common, &(struct opener_answer){.error = result}, -1);
}

void common_file_ask(struct common_file *common, const struct prober_answer *namer,
		     const struct history_module_facts *module, int32_t pid, common_taker *taker,
		     void *context)
{
	common->namer = *namer;
	common->owner_plus_1 = module->identity.owner_plus_1;
	common->ask = (struct opener_request){
		.kind = OPENER_DEBUG_BUILD_ID,
		.request = {.pid = pid,
			    .path = module->path,
			    .build_id = common->namer.common_build_id,
			    .build_id_size = common->namer.common_build_id_size},
		.debuglink = common->namer.common,
	};
	common->fd = -1;
	common->taker = taker;
	common->context = context;
	look_for(common);
}

void common_file_forget(struct common_file *common)
{
	if (!common->taker)
		return;
	opener_forget(common->opener, common);
	prober_forget(common->prober, common);
	if (common->fetcher)
		fetcher_forget(common->fetcher, common);
	drop(common);
	common->taker = NULL;
}
