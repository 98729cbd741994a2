/* SPDX-License-Identifier: MIT */
#include <ctop/screen/keys.h>

enum {
	TOP = VIEW_BIT(VIEW_TOP),
	TREE = VIEW_BIT(VIEW_TREE),
	CALLERS = VIEW_BIT(VIEW_CALLERS),
	SANDWICH = VIEW_BIT(VIEW_SANDWICH),
	FLAME = VIEW_BIT(VIEW_FLAME),
	THREADS = VIEW_BIT(VIEW_THREADS),
	PICKER = VIEW_BIT(VIEW_PICKER),
	HELP = VIEW_BIT(VIEW_HELP) | VIEW_BIT(VIEW_INFO),
	REFUSAL = VIEW_BIT(VIEW_REFUSAL),
	CALLS = VIEW_BIT(VIEW_CALLS),
	MODULES = VIEW_BIT(VIEW_MODULES),
	CODE = VIEW_BIT(VIEW_CODE),
	TIMELINE = VIEW_BIT(VIEW_TIMELINE),
	TREES = TREE | CALLERS | SANDWICH,
	FUNCTIONS = TOP | TREES | FLAME | CALLS,
	PROFILE = FUNCTIONS | THREADS | MODULES | CODE | TIMELINE,
	LISTS = PROFILE | HELP | REFUSAL,
	ALL = LISTS | PICKER,
};

/* In the picker letters are typed, not pressed: only keys that are no letters work there, and no name needs the two that mark. */
/* clang-format off */
const struct key_row key_rows[] = {
	{ACTION_HELP, {'?', KEY_F1}, KEYS_GLOBAL, PROFILE | HELP, "help", "? F1", "this help"},
	{ACTION_QUIT, {'q'}, KEYS_GLOBAL, LISTS, "quit", "q", NULL},
	{ACTION_VIEW_TOP, {'1'}, KEYS_VIEWS, PROFILE | HELP, NULL, "1", "functions by cost"},
	{ACTION_VIEW_TREE, {'2'}, KEYS_VIEWS, PROFILE | HELP, NULL, "2",
	 "the call tree, from the root down"},
	{ACTION_VIEW_CALLERS, {'3'}, KEYS_VIEWS, PROFILE | HELP, NULL, "3",
	 "callers: the tree upside down, from where time is spent"},
	{ACTION_VIEW_SANDWICH, {'4'}, KEYS_VIEWS, PROFILE | HELP, NULL, "4",
	 "sandwich: one function between its callers and callees"},
	{ACTION_VIEW_FLAME, {'5'}, KEYS_VIEWS, PROFILE | HELP, NULL, "5", "the flame graph"},
	{ACTION_VIEW_THREADS, {'6'}, KEYS_VIEWS, PROFILE | HELP, NULL, "6", "the threads"},
	{ACTION_VIEW_CODE, {'7'}, KEYS_VIEWS, PROFILE | HELP, NULL, "7",
	 "annotate: a function's instructions and source lines"},
	{ACTION_VIEW_MODULES, {'8'}, KEYS_VIEWS, PROFILE | HELP, NULL, "8",
	 "modules: where names come from, and what brings missing ones"},
	{ACTION_VIEW_TIMELINE, {'9'}, KEYS_VIEWS, PROFILE | HELP, NULL, "9",
	 "the timeline: what each thread did when"},
	{ACTION_VIEW_CALLS, {'S'}, KEYS_VIEWS, PROFILE | HELP, NULL, "S",
	 "system calls by cost, and who calls them"},
	{ACTION_NEXT_SPOT, {'H', KEY_TAB}, KEYS_TREE, CODE, "hot", "H Tab",
	 "in annotate: the next hot spot, the hottest first"},
	{ACTION_PREVIOUS_SPOT, {KEY_SHIFT_TAB}, KEYS_TREE, CODE, NULL, "S-Tab",
	 "in annotate: the hot spot before"},
	{ACTION_ENTER, {KEY_RETURN}, KEYS_TREE, CODE, NULL, "Enter",
	 "in annotate: follow the jump"},
	{ACTION_NEXT_VIEW, {KEY_TAB}, KEYS_VIEWS, PROFILE & ~CODE, NULL, "Tab", "next view"},
	{ACTION_PREVIOUS_VIEW, {KEY_SHIFT_TAB}, KEYS_VIEWS, PROFILE & ~CODE, NULL, "S-Tab", "previous view"},
	{ACTION_UP, {KEY_ARROW_UP, KEY_WHEEL_UP}, KEYS_MOVE, ALL, NULL, NULL, NULL},
	{ACTION_DOWN, {KEY_ARROW_DOWN, KEY_WHEEL_DOWN}, KEYS_MOVE, ALL, NULL, NULL, NULL},
	{ACTION_UP, {'k'}, KEYS_MOVE, LISTS, NULL, "Up k", "up"},
	{ACTION_DOWN, {'j'}, KEYS_MOVE, LISTS, NULL, "Down j", "down"},
	{ACTION_PAGE_UP, {KEY_PAGE_UP}, KEYS_MOVE, ALL, NULL, "PgUp", "a screen up"},
	{ACTION_PAGE_DOWN, {KEY_PAGE_DOWN}, KEYS_MOVE, ALL, NULL, "PgDn", "a screen down"},
	{ACTION_FIRST, {KEY_TO_HOME}, KEYS_MOVE, ALL, NULL, NULL, NULL},
	{ACTION_LAST, {KEY_TO_END}, KEYS_MOVE, ALL, NULL, NULL, NULL},
	{ACTION_FIRST, {'g'}, KEYS_MOVE, LISTS, NULL, "g Home", "the first row"},
	{ACTION_LAST, {'G'}, KEYS_MOVE, LISTS, NULL, "G End", "the last row"},
	{ACTION_OPEN, {KEY_ARROW_RIGHT, 'l', '+'}, KEYS_TREE, TREES, "open", "Right l +",
	 "open the row; again: a chain's rows, or on to the first child"},
	{ACTION_CLOSE, {KEY_ARROW_LEFT, 'h', '-'}, KEYS_TREE, TREES, NULL, "Left h -",
	 "close the row; again: to its parent"},
	{ACTION_OPEN, {KEY_ARROW_RIGHT, 'l', '+'}, KEYS_TREE, FLAME, NULL, "Right l +",
	 "in the flame graph: the next box to the right"},
	{ACTION_CLOSE, {KEY_ARROW_LEFT, 'h', '-'}, KEYS_TREE, FLAME, NULL, "Left h -",
	 "in the flame graph: the next box to the left"},
	{ACTION_ENTER, {KEY_RETURN}, KEYS_TREE, FLAME, "zoom", "Enter",
	 "in the flame graph: zoom, the box fills the width"},
	{ACTION_OPEN, {KEY_ARROW_RIGHT}, KEYS_TIMELINE, TIMELINE, NULL, "Right",
	 "the cursor to later"},
	{ACTION_CLOSE, {KEY_ARROW_LEFT}, KEYS_TIMELINE, TIMELINE, NULL, "Left",
	 "the cursor to earlier"},
	{ACTION_PAN_RIGHT, {'l'}, KEYS_TIMELINE, TIMELINE, NULL, "l", "half a screen to later"},
	{ACTION_PAN_LEFT, {'h'}, KEYS_TIMELINE, TIMELINE, NULL, "h", "half a screen to earlier"},
	{ACTION_ZOOM_IN, {'+', '='}, KEYS_TIMELINE, TIMELINE, "in", "+ =",
	 "a column is half as long"},
	{ACTION_ZOOM_OUT, {'-'}, KEYS_TIMELINE, TIMELINE, "out", "-",
	 "a column is twice as long"},
	{ACTION_RANGE_FROM, {'['}, KEYS_TIMELINE, TIMELINE, "from", "[",
	 "a range begins at the cursor: with ] all views narrow to it"},
	{ACTION_RANGE_TO, {']'}, KEYS_TIMELINE, TIMELINE, "to", "]", "a range ends at the cursor"},
	{ACTION_LONGEST_WAIT, {'W'}, KEYS_TIMELINE, TIMELINE, "waits", "W",
	 "the longest wait; again: the next one"},
	{ACTION_OPEN_SUBTREE, {'*'}, KEYS_TREE, TREES, NULL, "*", "open all below the row"},
	{ACTION_OPEN_ALL, {'E'}, KEYS_TREE, TREES, NULL, "E", "open everything"},
	{ACTION_CLOSE_ALL, {'C'}, KEYS_TREE, TREES, NULL, "C", "close everything"},
	{ACTION_HOT_PATH, {'H'}, KEYS_TREE, TREES, "hot", "H",
	 "open the hottest path below the row, and go to its end"},
	{ACTION_FIND, {'/'}, KEYS_FIND, PROFILE, "find", "/",
	 "find a name, ignoring case; in the timeline: the moments of a function"},
	{ACTION_FIND_NEXT, {'n'}, KEYS_FIND, PROFILE, NULL, "n", "next match"},
	{ACTION_FIND_PREVIOUS, {'N'}, KEYS_FIND, PROFILE, NULL, "N", "previous match"},
	{ACTION_FILTER, {'\\', KEY_F4}, KEYS_FIND, PROFILE, "filter", "\\ F4",
	 "only stacks with a function whose name contains this"},
	{ACTION_ZOOM_THREAD, {'t'}, KEYS_ZOOM, PROFILE, NULL, "t",
	 "one thread or process only: the row's, or one chosen in the threads view"},
	{ACTION_ZOOM_MODULE, {'d'}, KEYS_ZOOM, FUNCTIONS | MODULES, NULL, "d",
	 "only samples in the row's module"},
	{ACTION_ZOOM_KERNEL, {'K'}, KEYS_ZOOM, PROFILE, "kernel", "K",
	 "all, without the kernel, the kernel only"},
	{ACTION_EVENT, {'e'}, KEYS_ZOOM, PROFILE, NULL, "e",
	 "the next event, where several are sampled"},
	{ACTION_TIME, {'o'}, KEYS_ZOOM, PROFILE, NULL, "o",
	 "computing, waiting, both; goroutines, wakeups where known"},
	{ACTION_FOCUS, {'f'}, KEYS_ZOOM, FUNCTIONS, NULL, "f",
	 "only stacks with the row's function, or of its process"},
	{ACTION_FOCUS_SUBTREE, {'F'}, KEYS_ZOOM, FUNCTIONS, NULL, "F",
	 "only what is below the row, which is the root then"},
	{ACTION_DROP, {'D'}, KEYS_ZOOM, FUNCTIONS, NULL, "D",
	 "leave out stacks with the row's function, or of its process"},
	{ACTION_BACK, {KEY_ESCAPE}, KEYS_ZOOM, ALL, NULL, "Esc",
	 "undo the last zoom or filter; close what is open"},
	{ACTION_SORT, {'s'}, KEYS_SORT, TOP | FLAME, "sort", "s",
	 "sort by the next column"},
	{ACTION_SORT, {'s'}, KEYS_SORT, TIMELINE, "sort", "s",
	 "in the timeline: rows by number, computing, waiting"},
	{ACTION_CALLERS_TOO, {'z'}, KEYS_SORT, TOP, NULL, "z",
	 "while sorted by self: show functions without time of their own, too"},
	{ACTION_INVERT, {'I'}, KEYS_SORT, TOP, NULL, "I", "reverse the order"},
	{ACTION_PROCESSES, {'p'}, KEYS_SORT, THREADS, "processes", "p",
	 "threads, processes or, of whole machines, programs"},
	{ACTION_PROCESSES, {'p'}, KEYS_SORT, TREE | FLAME, NULL, "p",
	 "a row for each process, or the stacks of all together"},
	{ACTION_PROCESSES, {'p'}, KEYS_SORT, TIMELINE, "processes", "p",
	 "in the timeline: a row for each thread, process or cgroup"},
	{ACTION_RELATIVE, {'%'}, KEYS_SORT, FUNCTIONS | MODULES, NULL, "%",
	 "percent of all samples, or of those that pass the filter"},
	{ACTION_LEAST, {'L'}, KEYS_SORT, FUNCTIONS, NULL, "L",
	 "hide rows below 0, 0.1, 0.5, 1, 5 percent"},
	{ACTION_PAUSE, {' ', 'Z'}, KEYS_TIME, PROFILE, "pause", "Space Z",
	 "pause the screen; sampling goes on"},
	{ACTION_WINDOW, {'w'}, KEYS_TIME, PROFILE, "window", "w",
	 "the last seconds, or all since the start"},
	{ACTION_SHORTER, {'['}, KEYS_TIME, PROFILE & ~TIMELINE, NULL, "[", "a shorter window"},
	{ACTION_LONGER, {']'}, KEYS_TIME, PROFILE & ~TIMELINE, NULL, "]", "a longer window"},
	{ACTION_RESET, {'r'}, KEYS_TIME, PROFILE, NULL, "r", "reset: forget all samples so far"},
	{ACTION_LOWER, {'<'}, KEYS_TIME, PROFILE, NULL, "<",
	 "lower the overhead: smaller copies of the stack, then a lower rate"},
	{ACTION_NAMES, {'v'}, KEYS_NAMES, FUNCTIONS, "names", "v",
	 "names in full, without arguments, without template arguments"},
	{ACTION_SCROLL_LEFT, {KEY_SHIFT_LEFT}, KEYS_NAMES, PROFILE, NULL, "S-Left",
	 "scroll long names back"},
	{ACTION_SCROLL_RIGHT, {KEY_SHIFT_RIGHT}, KEYS_NAMES, PROFILE, NULL, "S-Right",
	 "scroll long names"},
	{ACTION_ENTER, {KEY_RETURN}, KEYS_ITEM, PICKER, "profile", "Enter", NULL},
	{ACTION_ENTER, {KEY_RETURN}, KEYS_ITEM, PROFILE & ~FLAME & ~CODE, NULL, "Enter",
	 "open the row: its sandwich, the process, the module, the zoom"},
	{ACTION_MARK, {' '}, KEYS_ITEM, PICKER, "mark", "Space",
	 "in the list of processes: mark one, to profile several"},
	{ACTION_MARK_ALL, {'*'}, KEYS_ITEM, PICKER, "all", "*",
	 "mark all processes that are listed; again: none"},
	{ACTION_SANDWICH, {'b'}, KEYS_ITEM, FUNCTIONS & ~TOP, NULL, "b",
	 "sandwich of the row's function"},
	{ACTION_COPY, {'y'}, KEYS_ITEM, PROFILE | REFUSAL | VIEW_BIT(VIEW_INFO), "copy", "y",
	 "copy the full name, the line or the command to the clipboard"},
	{ACTION_EXPORT, {'x'}, KEYS_ITEM, PROFILE, "export", "x",
	 "write what is shown to a file; Tab: another format"},
	{ACTION_CODE, {'a'}, KEYS_ITEM, FUNCTIONS, "code", "a",
	 "annotate the row's function: its instructions, with their samples"},
	{ACTION_GROUP, {'b'}, KEYS_SORT, TOP, "group", "b",
	 "rows by function, line, address, module, thread, process"},
	{ACTION_INFO, {'i'}, KEYS_ITEM, PROFILE | HELP, NULL, "i",
	 "how the profile is made, and how good it is"},
	{ACTION_MOUSE, {'m'}, KEYS_GLOBAL, PROFILE, NULL, "m",
	 "mouse on (rows, ranges of the timeline) or off (the terminal selects)"},
	{ACTION_REPAINT, {KEY_CTRL_L}, KEYS_GLOBAL, ALL, NULL, "^L", "redraw the screen"},
	{ACTION_SUSPEND, {KEY_CTRL_Z}, KEYS_GLOBAL, ALL, NULL, "^Z", "suspend; fg comes back"},
	{ACTION_QUIT, {KEY_CTRL_C, KEY_F10}, KEYS_GLOBAL, ALL, NULL, "q ^C F10", "quit"},
};
/* clang-format on */
const size_t nr_key_rows = sizeof(key_rows) / sizeof(*key_rows);

enum action keys_action(int key, enum view_kind view)
{
	for (size_t i = 0; i < nr_key_rows; i++) {
		const struct key_row *row = &key_rows[i];
		for (size_t k = 0; k < KEYS_A_ROW && row->keys[k]; k++)
			if (row->keys[k] == key && (row->views & VIEW_BIT(view)))
				return row->action;
	}
	return ACTION_NONE;
}

const char *key_group_title(enum key_group group)
{
	static const char *const titles[NR_KEY_GROUPS] = {
		[KEYS_VIEWS] = "Views",
		[KEYS_MOVE] = "Move",
		[KEYS_TREE] = "Tree",
		[KEYS_TIMELINE] = "Timeline",
		[KEYS_FIND] = "Find and filter",
		[KEYS_ZOOM] = "Zoom (it stacks)",
		[KEYS_SORT] = "Sort and columns",
		[KEYS_TIME] = "Time",
		[KEYS_NAMES] = "Names",
		[KEYS_ITEM] = "The selected row",
		[KEYS_GLOBAL] = "General",
	};
	return titles[group];
}

const char *view_name(enum view_kind view)
{
	static const char *const names[NR_ALL_VIEWS] = {
		[VIEW_TOP] = "Top",
		[VIEW_TREE] = "Tree",
		[VIEW_CALLERS] = "Callers",
		[VIEW_SANDWICH] = "Sandwich",
		[VIEW_FLAME] = "Flame",
		[VIEW_THREADS] = "Threads",
		[VIEW_PICKER] = "Processes",
		[VIEW_INFO] = "Info",
		[VIEW_HELP] = "Help",
		[VIEW_REFUSAL] = "Refusal",
		[VIEW_CALLS] = "System calls",
		[VIEW_MODULES] = "Modules",
		[VIEW_CODE] = "Annotate",
		[VIEW_TIMELINE] = "Timeline",
	};
	return names[view];
}

/* A backslash begins a request, a hyphen may become a dash. */
static void add_roff(struct text *out, const char *string)
{
	for (; *string; string++) {
		if (*string == '\\')
			text_add(out, "\\e");
		else if (*string == '-')
			text_add(out, "\\-");
		else
			text_add_bytes(out, string, 1);
	}
}

void keys_add_man(struct text *out)
{
	for (int group = 0; group < NR_KEY_GROUPS; group++) {
		text_addf(out, ".SS %s\n", key_group_title((enum key_group)group));
		for (size_t i = 0; i < nr_key_rows; i++) {
			const struct key_row *row = &key_rows[i];
			if ((int)row->group != group || !row->help)
				continue;
			text_add(out, ".TP\n.B ");
			add_roff(out, row->label);
			text_add(out, "\n");
			add_roff(out, row->help);
			text_add(out, "\n");
		}
	}
}
