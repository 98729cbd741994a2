/* SPDX-License-Identifier: MIT */
/* All that is known of a box; and of the function selected, beside the view. */

const ROWS_BESIDE = 14, NAME_COLUMNS = 30, SAID_COLUMNS = 120;

const shareOfAll = (event, weight, counts) => `${weightText(event, weight)}, ${percent(weight, counts.weight)} of all`;

/* What a reader of screens says of a box, or of a function. */
function saidOf(counts, number, box) {
	const {total, self} = box && box.fn === number ? box : counts.functions[number] || {};
	const name = number < 0 ? "" : counts.profile.functions[number].name;
	return number < 0 ? "" : `${fitName(name, SAID_COLUMNS)}: total ${percent(total, counts.weight)}, self ${
		percent(self, counts.weight)}`;
}

/* [[what, value]]: of a box on its path. */
function boxNumbers(box, event, zoomed) {
	const {counts} = box;
	const rows = [["total", shareOfAll(event, box.total, counts)], ["self", shareOfAll(event, box.self, counts)],
		["samples", `${grouped(box.totalSamples)}, of its own ${grouped(box.selfSamples)}`]];
	if (box.parent)
		rows.push(["of its parent", percent(box.total, box.parent.total)]);
	if (zoomed && zoomed.parent && zoomed !== box)
		rows.push(["of the zoom", percent(box.total, zoomed.total)]);
	return rows;
}

/* The function selected: what it costs everywhere and on this path, who calls it, whom it calls. */
class Detail {
	constructor(host, select) {
		this.host = host;
		this.select = select;
	}
	show(counts, event, number, box) {
		const {profile} = counts;
		if (number < 0) {
			this.showHottest(counts, event);
			return;
		}
		const fn = counts.functions[number];
		const everywhere = [["total", shareOfAll(event, fn.total, counts)], ["self", shareOfAll(event, fn.self, counts)],
			["samples", `${grouped(fn.totalSamples)}, of its own ${grouped(fn.selfSamples)}`]];
		const parts = [element("h2", {}, ...titleOf(profile, number)),
			element("h3", {}, "everywhere"), definitions(everywhere)];
		if (box && box.parent && box.fn === number)
			parts.push(element("h3", {}, "in the box selected"), definitions(boxNumbers(box, event, null)));
		parts.push(this.list("callers", callersOf(counts, number), event, "[no caller]"),
			this.list("callees", calleesOf(counts, number), event, "[itself]"));
		this.host.replaceChildren(...parts);
	}
	/* While nothing is selected. */
	showHottest(counts, event) {
		const rows = counts.functions.filter(({self}) => self).map(({number, self}) => ({fn: number, weight: self}));
		this.host.replaceChildren(this.rows("hottest functions", "self", rows, counts.weight, event, counts.profile));
	}
	/* rest: what of it goes on no further. */
	list(title, root, event, rest) {
		const rows = root.children.map(({fn, total}) => ({fn, weight: total}));
		if (root.self)
			rows.push({fn: -1, weight: root.self, name: rest});
		return this.rows(title, "of its total", rows, root.total, event, root.counts.profile);
	}
	/* share: what of. */
	rows(title, share, rows, whole, event, profile) {
		const items = rows.sort((a, b) => b.weight - a.weight).slice(0, ROWS_BESIDE).map((row) => {
			const name = row.name || profile.functions[row.fn].name;
			const item = element("button", {className: "row", title: `${name}: ${exactWeight(event, row.weight)}`,
				disabled: row.fn < 0, onclick: () => this.select(row.fn)},
			element("span", {className: "share"}, percent(row.weight, whole)), element("span", {className: "name"}, fitName(name, NAME_COLUMNS)));
			return withBar(item, row.weight / whole);
		});
		const left = rows.length - items.length;
		const more = left ? [element("p", {className: "quiet"}, `${grouped(left)} more`)] : [];
		return element("section", {className: title}, element("h3", {}, `${title}, ${share}`), ...items, ...more);
	}
}
