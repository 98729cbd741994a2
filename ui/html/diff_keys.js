/* SPDX-License-Identifier: MIT */
/* Keys of a comparison: those of the profile's page, as far as they make sense. */

const KEYS = [
	{keys: ["1"], what: "functions by change", act: (page) => page.setView("functions")},
	{keys: ["5"], what: "the flame graph", act: (page) => page.setView("flame")},
	{keys: ["s"], what: "the shape of A, or of B", act: (page) => page.setSide(page.side === "a" ? "b" : "a")},
	{keys: ["Tab"], what: "the next part of the page", act: null},
	{keys: ["ArrowUp", "k"], what: "towards the root; a row up", act: (page) => page.move(0, -1)},
	{keys: ["ArrowDown", "j"], what: "towards the leaves; a row down", act: (page) => page.move(0, 1)},
	{keys: ["ArrowLeft", "h"], what: "the box to the left", act: (page) => page.move(-1, 0)},
	{keys: ["ArrowRight", "l"], what: "the box to the right", act: (page) => page.move(1, 0)},
	{keys: ["Enter"], what: "zoom to the box", act: (page) => page.enter()},
	{keys: ["Escape"], what: "undo: close, search, zoom", act: (page) => page.back()},
	{keys: ["/"], what: "find names; capitals count only if there are some", act: (page) => page.focusSearch()},
	{keys: ["n"], what: "next match", act: (page) => page.nextFound(1)},
	{keys: ["N"], what: "previous match", act: (page) => page.nextFound(-1)},
	{keys: ["o"], what: "the root on top, or at the bottom", act: (page) => page.setUpwards(!page.upwards)},
	{keys: ["r"], what: "reset: everything as at first", act: (page) => page.reset()},
	{keys: ["i"], what: "how the profiles were made", act: () => byId("quality").toggleAttribute("open")},
	{keys: ["?"], what: "the keys", act: (page) => page.help.toggle()},
];
