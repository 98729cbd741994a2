/* SPDX-License-Identifier: MIT */
#ifndef CTOP_OPTIONS_OPTIONS_PARSE_H
#define CTOP_OPTIONS_OPTIONS_PARSE_H

/*
 * One pass over the command line, and what its parts share: the words (options.c), the sense that they
 * make together (options_check.c), and what is said of those that make none (options_wrong.c).
 */

#include <ctop/base/clock.h>
#include <ctop/options/options.h>

#include <ctop/options/options_table.h>

enum { OPTION_SPELLED_MAX = 64, NR_OPERANDS_MAX = 1024 };
/* Of --last. */
#define MOST_LAST_NS (24 * 3600 * NS_PER_SECOND)

struct parse {
	struct options *options;
	struct error *error;
	char *const *words;
	int nr_words, at;		  /* at: the first word not taken yet */
	char spelled[OPTION_SPELLED_MAX]; /* the option in hand, for messages */
	const char *operands[NR_OPERANDS_MAX];
	size_t nr_operands;
	bool done; /* --help and the like: the rest of the line does not matter */
};

/* Whether the command samples what -p, -a, NAME and -- CMD name. */
bool command_samples(enum command command);
/* " record" for messages like "ctop record takes no -x"; "" for ctop itself. */
const char *command_suffix(enum command command);

/* Once all words are taken: operands find their places; 0, or -EINVAL and what does not go together. */
int options_check(struct parse *parse);

/* The events that it needs are added. 0, -ENOMEM, or -EINVAL with what is wrong. */
int trigger_check(struct parse *parse, struct trigger *trigger);

/* Each says what is wrong, and returns -EINVAL. */
int wrong_command(struct error *error, const char *word);
int wrong_option(const struct parse *parse, char letter, const char *name);
int wrong_number_of_operands(const struct parse *parse, const char *word);
/* A first word that is nearly a command, on a line that makes no sense as a process name's; or NULL. */
const char *mistyped_command(const struct parse *parse);

#endif
