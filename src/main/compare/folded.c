/* SPDX-License-Identifier: MIT */
#include <ctop/compare/text.h>

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <ctop/base/vec.h>
#include <ctop/format/folded_name.h>

#include "internal.h"

/* A stack as text, and what ends there. */
struct two_counts {
	char *stack;
	double a, b;
};

struct folding {
	const struct compare *compare;
	struct text text; /* of the stack in hand */
	struct {
		uint32_t *items; /* its rows, leaf first */
		size_t nr, capacity;
	} rows;
	struct {
		struct two_counts *items;
		size_t nr, capacity;
	} lines;
};

/* B's sum over its runs; A's mean by what it is divided by, times what B's are divided by. */
static struct two_counts count(const struct compare *compare, size_t path)
{
	double per_b = 0, nr_a = 0;
	struct two_counts counts = {0};
	for (size_t i = 0; i < compare->nr_runs; i++) {
		const struct noise_run *run = &compare->measured[i];
		const double weight = compare->runs[i].own.items[path].weight;
		if (run->side == COMPARE_A) {
			counts.a += weight / run->per;
			nr_a++;
		} else {
			counts.b += weight;
			per_b += run->per;
		}
	}
	counts.a *= per_b / nr_a;
	return counts;
}

static int fold(struct folding *folding, uint32_t path)
{
	const struct compare *compare = folding->compare;
	struct two_counts line = count(compare, path);
	if (line.a <= 0 && line.b <= 0)
		return 0;
	folding->rows.nr = 0;
	for (uint32_t at = path; at; at = compare->paths.items[at].parent) {
		if (vec_reserve(&folding->rows, folding->rows.nr + 1))
			return -ENOMEM;
		folding->rows.items[folding->rows.nr++] = compare->paths.items[at].function;
	}
	text_clear(&folding->text);
	for (size_t i = folding->rows.nr; i-- > 0;) {
		const struct compare_function function =
			compare_function_of(compare, folding->rows.items[i]);
		const struct same_function *same =
			&compare->functions.items[folding->rows.items[i]];
		folded_add_name(&folding->text, function.name, same->named);
		text_add(&folding->text, i ? ";" : "");
	}
	if (!folding->rows.nr)
		text_add(&folding->text, "[unknown]");
	if (folding->text.failed || vec_reserve(&folding->lines, folding->lines.nr + 1))
		return -ENOMEM;
	line.stack = strdup(text_string(&folding->text));
	if (!line.stack)
		return -ENOMEM;
	folding->lines.items[folding->lines.nr++] = line;
	return 0;
}

static int compare_lines(const void *a, const void *b)
{
	return strcmp(((const struct two_counts *)a)->stack, ((const struct two_counts *)b)->stack);
}

static void write_lines(const struct folding *folding, struct text *out)
{
	const struct two_counts *lines = folding->lines.items;
	for (size_t i = 0, j; i < folding->lines.nr; i = j) {
		double a = 0, b = 0;
		for (j = i; j < folding->lines.nr && !compare_lines(&lines[i], &lines[j]); j++) {
			a += lines[j].a;
			b += lines[j].b;
		}
		text_addf(out, "%s %.0f %.0f\n", lines[i].stack, rint(a), rint(b));
	}
}

int compare_folded(struct compare *compare, struct text *out)
{
	struct folding folding = {.compare = compare};
	int result = 0;
	for (uint32_t i = 0; !result && i < compare->paths.nr; i++)
		result = fold(&folding, i);
	if (!result && folding.lines.nr) {
		qsort(folding.lines.items, folding.lines.nr, sizeof(*folding.lines.items),
		      compare_lines);
		write_lines(&folding, out);
	}
	for (size_t i = 0; i < folding.lines.nr; i++)
		free(folding.lines.items[i].stack);
	free(folding.lines.items);
	free(folding.rows.items);
	text_release(&folding.text);
	return result ? result : out->failed ? -ENOMEM : 0;
}
