/* SPDX-License-Identifier: MIT */
/* Keys, as the interface in the terminal has them: one table for what they do and for the help. */

const KEYS = [
	{keys: ["1"], what: "functions by cost", act: (page) => page.setView("functions")},
	{keys: ["3"], what: "the flame graph from the leaves to their callers", act: (page) => page.setInverted(!page.inverted)},
	{keys: ["4", "b"], what: "the selected function between its callers and callees", act: (page) => page.setView("sandwich")},
	{keys: ["5"], what: "the flame graph", act: (page) => page.setView("flame")},
	{keys: ["6"], what: "threads", act: (page) => page.setView("threads")},
	{keys: ["Tab"], what: "the next part of the page", act: null},
	{keys: ["ArrowUp", "k"], what: "towards the root; a row up", act: (page) => page.move(0, -1)},
	{keys: ["ArrowDown", "j"], what: "towards the leaves; a row down", act: (page) => page.move(0, 1)},
	{keys: ["ArrowLeft", "h"], what: "the box to the left", act: (page) => page.move(-1, 0)},
	{keys: ["ArrowRight", "l"], what: "the box to the right", act: (page) => page.move(1, 0)},
	{keys: ["Enter"], what: "zoom to the box; the row's callers and callees", act: (page) => page.enter()},
	{keys: ["Escape"], what: "undo: close, search, zoom, thread, time", act: (page) => page.back()},
	{keys: ["/"], what: "find names; capitals count only if there are some", act: (page) => page.focusSearch()},
	{keys: ["n"], what: "next match", act: (page) => page.nextFound(1)},
	{keys: ["N"], what: "previous match", act: (page) => page.nextFound(-1)},
	{keys: ["o"], what: "the root on top, or at the bottom", act: (page) => page.setUpwards(!page.upwards)},
	{keys: ["e"], what: "next event", act: (page) => page.nextEvent()},
	{keys: ["["], what: "half the time, around its middle", act: (page) => page.strip.resize(0.5)},
	{keys: ["]"], what: "twice the time", act: (page) => page.strip.resize(2)},
	{keys: ["r"], what: "reset: everything as at first", act: (page) => page.reset()},
	{keys: ["i"], what: "how the profile was made", act: () => byId("quality").toggleAttribute("open")},
	{keys: ["?"], what: "the keys", act: (page) => page.help.toggle()},
];
