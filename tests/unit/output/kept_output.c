/* SPDX-License-Identifier: MIT */
#include "test.h"

#include <errno.h>
#include <stdlib.h>

#include <ctop/base/text.h>

#include "main/output/kept_output.h"

static int collect(void *context, const char *bytes, size_t size)
{
	text_add_bytes(context, bytes, size);
	return 0;
}

static const char *given(struct kept_output *kept)
{
	static struct text text;
	text_release(&text);
	CHECK_EQ(kept_output_give(kept, collect, &text), 0);
	return text_string(&text);
}

static void what_fits_is_kept_whole(void)
{
	struct kept_output kept;
	CHECK_EQ(kept_output_init(&kept, 4), 0);
	CHECK_STR(given(&kept), "");
	kept_output_add(&kept, "abc", 3);
	CHECK_STR(given(&kept), "abc");
	kept_output_add(&kept, "abcdefgh", 8);
	CHECK_STR(given(&kept), "abcdefgh");
	/* Given away, it is empty. */
	CHECK_STR(given(&kept), "");
	kept_output_release(&kept);
}

static void the_middle_is_left_out_and_counted(void)
{
	struct kept_output kept;
	CHECK_EQ(kept_output_init(&kept, 4), 0);
	kept_output_add(&kept, "abcdefghi", 9);
	CHECK_STR(given(&kept), "abcd\n[ctop: 1 byte left out here]\nfghi");
	for (char letter = 'a'; letter <= 'z'; letter++)
		kept_output_add(&kept, &letter, 1);
	CHECK_STR(given(&kept), "abcd\n[ctop: 18 bytes left out here]\nwxyz");
	kept_output_release(&kept);
}

/* Any pieces: the same as the whole. */
static void pieces_of_all_sizes(void)
{
	enum { SIZE = 7, MOST = 60 };
	char whole[MOST];
	srand(1);
	for (int round = 0; round < 2000; round++) {
		struct kept_output kept;
		CHECK_EQ(kept_output_init(&kept, SIZE), 0);
		size_t size = (size_t)rand() % MOST;
		for (size_t i = 0; i < size; i++)
			whole[i] = (char)('!' + rand() % 90);
		for (size_t at = 0; at < size;) {
			size_t piece = (size_t)rand() % 20;
			piece = piece < size - at ? piece : size - at;
			kept_output_add(&kept, whole + at, piece);
			at += piece;
		}
		char wanted[MOST + 64];
		if (size <= 2 * SIZE)
			snprintf(wanted, sizeof(wanted), "%.*s", (int)size, whole);
		else
			snprintf(wanted, sizeof(wanted),
				 "%.*s\n[ctop: %zu byte%s left out here]\n%.*s", SIZE, whole,
				 size - 2 * SIZE, size - 2 * SIZE == 1 ? "" : "s", SIZE,
				 whole + size - SIZE);
		CHECK_STR(given(&kept), wanted);
		kept_output_release(&kept);
	}
}

static int refuse(void *context, const char *bytes, size_t size)
{
	int *nr = context;
	(void)bytes;
	(void)size;
	return ++*nr > 1 ? -EIO : 0;
}

static void who_refuses_is_not_asked_again(void)
{
	struct kept_output kept;
	int nr = 0;
	CHECK_EQ(kept_output_init(&kept, 2), 0);
	kept_output_add(&kept, "abcdefghi", 9);
	CHECK_EQ(kept_output_give(&kept, refuse, &nr), -EIO);
	CHECK_EQ(nr, 2);
	CHECK_STR(given(&kept), "");
	kept_output_release(&kept);
}

int main(void)
{
	RUN(what_fits_is_kept_whole);
	RUN(the_middle_is_left_out_and_counted);
	RUN(pieces_of_all_sizes);
	RUN(who_refuses_is_not_asked_again);
	return test_done();
}
