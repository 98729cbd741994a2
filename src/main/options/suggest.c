/* SPDX-License-Identifier: MIT */
#include <ctop/options/suggest.h>

#include <string.h>

enum { WORD_MAX = 32 };

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* Optimal string alignment; both words are at most WORD_MAX long. */
static size_t edit_distance(const char *a, size_t a_size, const char *b, size_t b_size)
{
	size_t cost[WORD_MAX + 1][WORD_MAX + 1];
	for (size_t i = 0; i <= a_size; i++)
		cost[i][0] = i;
	for (size_t j = 0; j <= b_size; j++)
		cost[0][j] = j;
	for (size_t i = 1; i <= a_size; i++) {
		for (size_t j = 1; j <= b_size; j++) {
			size_t change = cost[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
			size_t insert_or_delete = least(cost[i - 1][j], cost[i][j - 1]) + 1;
			cost[i][j] = least(change, insert_or_delete);
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				cost[i][j] = least(cost[i][j], cost[i - 2][j - 2] + 1);
		}
	}
	return cost[a_size][b_size];
}

void suggestion_consider(struct suggestion *suggestion, const char *candidate)
{
	size_t typed = strlen(suggestion->word), known = strlen(candidate);
	if (!typed || typed > WORD_MAX || known > WORD_MAX)
		return;
	/* An unfinished word means the one it begins. */
	size_t distance = typed >= 3 && typed < known && !memcmp(suggestion->word, candidate, typed)
				  ? 1
				  : edit_distance(suggestion->word, typed, candidate, known);
	/* More than a third of the letters wrong is another word. */
	if (distance > least(2, (known + 1) / 3))
		return;
	if (!suggestion->best || distance < suggestion->distance) {
		suggestion->best = candidate;
		suggestion->distance = distance;
	}
}
