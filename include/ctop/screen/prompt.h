/* SPDX-License-Identifier: MIT */
#ifndef CTOP_SCREEN_PROMPT_H
#define CTOP_SCREEN_PROMPT_H

/* One line of text that is being typed. */

#include <ctop/screen/keys.h>
#include <ctop/terminal/cells.h>

struct prompt {
	char text[256];
};

enum prompt_state { PROMPT_OPEN, PROMPT_DONE, PROMPT_GIVEN_UP, PROMPT_NO_KEY };

/* PROMPT_NO_KEY: it is none of the prompt's. */
enum prompt_state prompt_key(struct prompt *prompt, int key);
void prompt_draw(const struct prompt *prompt, struct cells *cells, int row, const char *label);

#endif
