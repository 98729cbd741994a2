/* SPDX-License-Identifier: MIT */
/*
 * Trees of calls, made a box at a time, as somebody looks at it. A box is a function on a path of functions; its children are in
 * the order of their weight.
 */

class Box {
	constructor(counts, fn, parent) {
		this.counts = counts;
		this.fn = fn; /* number of the function; -1: all */
		this.parent = parent;
		this.depth = parent ? parent.depth + 1 : 0;
		this.total = this.totalSamples = this.self = this.selfSamples = 0;
		this.found = null;
	}
	get children() {
		if (!this.found) {
			const {functions} = this.counts.profile;
			this.found = [...this.findChildren().values()];
			this.found.sort((a, b) => b.total - a.total || compareText(functions[a.fn].name, functions[b.fn].name));
		}
		return this.found;
	}
	/* The functions from the root to here. */
	get path() {
		const path = [];
		for (let box = this; box.parent; box = box.parent)
			path.unshift(box.fn);
		return path;
	}
}

/* The box on a path of functions, or the last one on it that there is. */
function boxOn(root, path) {
	let box = root;
	for (const fn of path) {
		const next = box.children.find((child) => child.fn === fn);
		if (!next)
			break;
		box = next;
	}
	return box;
}
