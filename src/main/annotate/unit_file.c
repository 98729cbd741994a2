/* SPDX-License-Identifier: MIT */
#include "unit_file.h"

#include <stdio.h>
#include <unistd.h>

#include "common_file.h"

static void answer(struct unit_file *file)
{
	unit_file_taker *taker = file->taker;
	const int fd = file->fd;
	file->fd = -1;
	file->taker = NULL;
	taker(file->context, fd);
}

static void drop(struct unit_file *file)
{
	if (file->fd >= 0)
		close(file->fd);
	file->fd = -1;
}

static void prove(struct unit_file *file, int fd, prober_taker *taker)
{
	int result = prober_ask(file->prober, fd, &(struct prober_question){.unit = file->unit},
				taker, file);
	if (result)
		taker(file, &(struct prober_answer){.error = result});
}

static void look_on(struct unit_file *file);

static void take_candidates_word(void *context, const struct prober_answer *found)
{
	struct unit_file *file = context;
	if (!found->error && found->has_unit) {
		answer(file);
		return;
	}
	drop(file);
	look_on(file);
}

static void take_candidate(void *context, const struct opener_answer *found, int fd)
{
	struct unit_file *file = context;
	file->fd = fd;
	if (fd >= 0 &&
	    debug_file_is_believed(&found->identity, file->module->identity.owner_plus_1)) {
		prove(file, fd, take_candidates_word);
		return;
	}
	drop(file);
	look_on(file);
}

static void look_on(struct unit_file *file)
{
	char path[PATH_MAX];
	while (file->place < NR_SPLIT_PLACES &&
	       !split_place_path((enum split_place)file->place, file->module->path,
				 file->debuglink[0] ? file->debuglink : NULL, file->name, path,
				 sizeof(path)))
		file->place++;
	if (file->place >= NR_SPLIT_PLACES) {
		answer(file);
		return;
	}
	file->place++;
	const struct opener_request ask = {
		.kind = OPENER_SPLIT,
		.request = {.pid = file->pid, .path = path},
	};
	int result = opener_ask(file->opener, &ask, take_candidate, file);
	if (result)
		take_candidate(file, &(struct opener_answer){.error = result}, -1);
}

static void take_namers_word(void *context, const struct prober_answer *namer)
{
	struct unit_file *file = context;
	snprintf(file->name, sizeof(file->name), "%s", namer->split_name);
	if (namer->error || !file->name[0])
		answer(file);
	else
		look_on(file);
}

void unit_file_ask(struct unit_file *file, uint64_t unit, int namer_fd, const char *debuglink,
		   const struct history_module_facts *module, int32_t pid, unit_file_taker *taker,
		   void *context)
{
	file->unit = unit;
	file->pid = pid;
	file->module = module;
	file->place = 0;
	file->fd = -1;
	file->taker = taker;
	file->context = context;
	snprintf(file->debuglink, sizeof(file->debuglink), "%s", debuglink ? debuglink : "");
	prove(file, namer_fd, take_namers_word);
}

void unit_file_forget(struct unit_file *file)
{
	if (!file->taker)
		return;
	opener_forget(file->opener, file);
	prober_forget(file->prober, file);
	drop(file);
	file->taker = NULL;
}
