/* SPDX-License-Identifier: MIT */
#ifndef CTOP_INTERACTIVE_SHOWN_CODE_H
#define CTOP_INTERACTIVE_SHOWN_CODE_H

/*
 * The code of the one function that the interface shows: found and listed while keys go on (annotate/code_finder.h), with the samples of
 * whatever is selected now, and its sources as they come.
 */

#include <stdbool.h>

#include <ctop/annotate/annotation.h>
#include <ctop/annotate/code_finder.h>
#include <ctop/annotate/sources.h>
#include <ctop/base/text.h>
#include <ctop/options/options.h>
#include <ctop/session/session.h>
#include <ctop/ui/ui.h>

struct shown_code {
	struct code_finder *finder; /* made when it is first needed */
	struct sources *sources;
	struct text fetching;		 /* what they are asked for now */
	struct function_id function;	 /* asked for; .index 0: none */
	struct function_id holder;	 /* whose code that is */
	struct selection_address place;	 /* the start that is listed */
	struct selection_code addresses; /* scratch */
	struct code code;
	struct annotation annotation;
	struct source_file **files; /* by the listing's files */
	struct error error;	    /* why there is none; .cause "": there is, or it is awaited */
	bool has_place, was_awaited;
	int32_t left_out[2]; /* openers that the session has been told of */
	struct ui_code told;
};

/* All zero at first. */
void shown_code_release(struct shown_code *shown);
/* As struct ui_host has it. session: live, else NULL. */
const struct ui_code *shown_code_get(struct shown_code *shown, struct history *history,
				     struct selection *selection, const struct options *options,
				     struct session *session, struct function_id function);
/* Takes what has come. True: there is something new to be shown. */
bool shown_code_serve(struct shown_code *shown, struct session *session);
/* Something is under way: serve again soon. */
bool shown_code_is_awaited(const struct shown_code *shown);

#endif
