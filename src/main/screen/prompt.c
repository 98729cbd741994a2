/* SPDX-License-Identifier: MIT */
#include <ctop/screen/prompt.h>

#include <string.h>

static size_t encode(int code, char *bytes)
{
	unsigned value = (unsigned)code;
	if (value < 0x80) {
		bytes[0] = (char)value;
		return 1;
	}
	size_t size = value < 0x800 ? 2 : value < 0x10000 ? 3 : 4;
	static const unsigned char first[] = {0, 0, 0xc0, 0xe0, 0xf0};
	for (size_t i = size; i-- > 1; value >>= 6)
		bytes[i] = (char)(0x80 | (value & 0x3f));
	bytes[0] = (char)(first[size] | value);
	return size;
}

static void add(struct prompt *prompt, int code)
{
	char bytes[4];
	size_t size = encode(code, bytes), used = strlen(prompt->text);
	if (used + size >= sizeof(prompt->text))
		return;
	memcpy(prompt->text + used, bytes, size);
	prompt->text[used + size] = '\0';
}

static void drop_last(struct prompt *prompt)
{
	size_t size = strlen(prompt->text);
	while (size > 0 && ((unsigned char)prompt->text[--size] & 0xc0) == 0x80)
		;
	prompt->text[size] = '\0';
}

static void drop_word(struct prompt *prompt)
{
	size_t size = strlen(prompt->text);
	while (size > 0 && prompt->text[size - 1] == ' ')
		size--;
	while (size > 0 && prompt->text[size - 1] != ' ')
		size--;
	prompt->text[size] = '\0';
}

enum prompt_state prompt_key(struct prompt *prompt, int key)
{
	switch (key) {
	case KEY_RETURN:
		return PROMPT_DONE;
	case KEY_ESCAPE:
		return PROMPT_GIVEN_UP;
	case KEY_ERASE:
		if (!prompt->text[0])
			return PROMPT_GIVEN_UP;
		drop_last(prompt);
		return PROMPT_OPEN;
	case KEY_CTRL_U:
		prompt->text[0] = '\0';
		return PROMPT_OPEN;
	case KEY_CTRL_W:
		drop_word(prompt);
		return PROMPT_OPEN;
	default:
		break;
	}
	bool control = key < ' ' || (key >= 0x7f && key < 0xa0) || key > 0x10ffff;
	if (control)
		return PROMPT_NO_KEY;
	add(prompt, key);
	return PROMPT_OPEN;
}

void prompt_draw(const struct prompt *prompt, struct cells *cells, int row, const char *label)
{
	struct text safe = {0};
	text_add_safe(&safe, prompt->text);
	const char *text = text_string(&safe);
	int col = cells_put(cells, row, 0, cells->cols, ROLE_KEY, label);
	/* The end is what one types at: what has no room is cut off in front. */
	int room = cells->cols - col - 1;
	while (*text && room > 0 && (int)text_cols(text) > room)
		text += text_fit(text, 1) ? text_fit(text, 1) : text_fit(text, 2);
	col += cells_put(cells, row, col, room, ROLE_TEXT, text);
	cells_mark(cells, (struct area){row, col, 1, 1}, CELL_REVERSE);
	text_release(&safe);
}
