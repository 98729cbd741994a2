/* SPDX-License-Identifier: MIT */
#include "test.h"

#include <ctop/base/text.h>
#include <ctop/screen/keys.h>

static void a_key_does_one_thing_in_a_view(void)
{
	for (size_t i = 0; i < nr_key_rows; i++)
		for (size_t j = 0; j < i; j++)
			for (size_t k = 0; k < KEYS_A_ROW * KEYS_A_ROW; k++) {
				const struct key_row *a = &key_rows[i], *b = &key_rows[j];
				int key = a->keys[k / KEYS_A_ROW];
				if (key && key == b->keys[k % KEYS_A_ROW] && (a->views & b->views))
					printf("# key %d: \"%s\" and \"%s\"\n", key,
					       a->label ? a->label : "", b->label ? b->label : "");
				CHECK(!key || key != b->keys[k % KEYS_A_ROW] ||
				      !(a->views & b->views));
			}
}

static void every_key_is_told_of(void)
{
	for (size_t i = 0; i < nr_key_rows; i++) {
		bool told = false;
		for (size_t j = 0; j < nr_key_rows; j++)
			told |= key_rows[j].action == key_rows[i].action && key_rows[j].help;
		CHECK(told);
		CHECK(key_rows[i].views);
		CHECK(key_rows[i].label || !key_rows[i].help);
		CHECK(!key_rows[i].bar || key_rows[i].label);
	}
}

static void the_picker_leaves_letters_to_be_typed(void)
{
	for (int key = ' '; key < 0x7f; key++)
		CHECK_EQ(keys_action(key, VIEW_PICKER), key == ' '   ? ACTION_MARK
							: key == '*' ? ACTION_MARK_ALL
								     : ACTION_NONE);
	CHECK_EQ(keys_action(KEY_RETURN, VIEW_PICKER), ACTION_ENTER);
	CHECK_EQ(keys_action(KEY_CTRL_C, VIEW_PICKER), ACTION_QUIT);
}

static void one_can_always_leave(void)
{
	for (int view = 0; view < NR_ALL_VIEWS; view++) {
		CHECK_EQ(keys_action(KEY_CTRL_C, (enum view_kind)view), ACTION_QUIT);
		CHECK_EQ(keys_action(KEY_ESCAPE, (enum view_kind)view), ACTION_BACK);
		CHECK(view_name((enum view_kind)view));
	}
}

static void the_manual_is_roff(void)
{
	struct text text = {0};
	keys_add_man(&text);
	CHECK(strstr(text_string(&text), ".B \\e F4\n"));
	CHECK(strstr(text_string(&text), ".B S\\-Left\n"));
	for (const char *at = text_string(&text); (at = strchr(at, '\\')); at += 2)
		CHECK(at[1] == 'e' || at[1] == '-');
	text_release(&text);
}

int main(void)
{
	RUN(a_key_does_one_thing_in_a_view);
	RUN(every_key_is_told_of);
	RUN(the_picker_leaves_letters_to_be_typed);
	RUN(one_can_always_leave);
	RUN(the_manual_is_roff);
	return test_done();
}
