/* SPDX-License-Identifier: MIT */
/* Values of both sides as numbers, in the words of `ctop diff --stdio`. */

const inPercent = (share) => (100 * share).toFixed(2);
const signed = (value) => (value < 0 || Object.is(value, -0) ? "" : "+") + value.toFixed(2);
const changeText = ({a, b, beyond}) => signed(100 * (b - a)) + (beyond ? "" : "~");
const noiseText = ({noise, tested}) => tested ? inPercent(noise) : "few";
const sizeOfChange = ({a, b, beyond}) => beyond ? Math.abs(b - a) : 0;
const larger = ({a, b}) => Math.max(a, b);

/* What is to be known of a function beside its numbers. */
function noteOf({inA, inB, nameInA, moduleInA}) {
	if (!inA || !inB)
		return `only in ${inA ? "A" : "B"}`;
	return nameInA || moduleInA ? `in A${nameInA ? ` ${nameInA}` : ""}${moduleInA ? ` in ${moduleInA}` : ""}` : "";
}

/* In the order of the text. */
const inOrder = (rows) => rows.slice().sort((x, y) => sizeOfChange(y.self) - sizeOfChange(x.self) ||
	sizeOfChange(y.total) - sizeOfChange(x.total) || larger(y.self) - larger(x.self) || larger(y.total) - larger(x.total) ||
	compareText(x.name, y.name));

function diffColumns() {
	const number = (name, title, value, text, classOf) => ({name, title, value, text, classOf});
	const byChange = (of) => (row) => of(row).beyond ? (of(row).b > of(row).a ? "grew" : "shrank") : "quiet";
	const self = (row) => row.self, total = (row) => row.total;
	return [
		number("self-a", "Self A", (row) => row.self.a, (row) => inPercent(row.self.a)),
		number("self-b", "Self B", (row) => row.self.b, (row) => inPercent(row.self.b)),
		number("change", "Change", (row) => sizeOfChange(row.self), (row) => changeText(row.self), byChange(self)),
		number("noise", "Noise", (row) => row.self.noise, (row) => noiseText(row.self)),
		number("total-a", "Total A", (row) => row.total.a, (row) => inPercent(row.total.a)),
		number("total-b", "Total B", (row) => row.total.b, (row) => inPercent(row.total.b)),
		number("total-change", "Change", (row) => sizeOfChange(row.total), (row) => changeText(row.total), byChange(total)),
		number("total-noise", "Noise", (row) => row.total.noise, (row) => noiseText(row.total)),
		{name: "name", title: "Function", isText: true, value: (row) => row.name, text: (row) => row.name,
			fit: (row) => fitName(row.name, nameColumns(byId("functions")))},
		{name: "module", title: "Module", isText: true, value: moduleName, text: moduleName, exact: (row) => row.module ? row.module.path : ""},
		{name: "note", title: "Matched", isText: true, value: noteOf, text: noteOf},
	];
}

/* [[what, value]] of a path, or of a function's total. */
const valueRows = (what, value) => [[`${what} A`, `${inPercent(value.a)} %`], [`${what} B`, `${inPercent(value.b)} %`],
	["change", changeText(value)], ["noise", noiseText(value)]];
const boxRows = ({change, own}) => [...valueRows("total", change), ["self", `${inPercent(own.a)} %, ${inPercent(own.b)} %`]];

const CHANGED_MOST = 30, CHANGED_COLUMNS = 30;

/* The function selected, beside the view; or what changed most. */
class DiffDetail {
	constructor(host, select) {
		this.host = host;
		this.select = select;
	}
	show(profile, number, box) {
		if (number < 0) {
			this.showChanged(profile);
			return;
		}
		const fn = profile.functions[number], note = noteOf(fn);
		const parts = [element("h2", {}, ...titleOf(profile, number))];
		if (note)
			parts.push(element("p", {className: "quiet"}, note));
		parts.push(element("h3", {}, "everywhere"), definitions([...valueRows("self", fn.self), ...valueRows("total", fn.total)]));
		if (box && box.parent && box.fn === number)
			parts.push(element("h3", {}, "in the box selected"), definitions(boxRows(box)));
		this.host.replaceChildren(...parts);
	}
	showChanged(profile) {
		const changed = inOrder(profile.functions.filter(({self, total, isLabel}) => !isLabel && (self.beyond || total.beyond)));
		const rows = changed.slice(0, CHANGED_MOST).map((fn) => {
			const value = fn.self.beyond ? fn.self : fn.total;
			return element("button", {className: "row", title: fn.name, onclick: () => this.select(fn.number)},
				element("span", {className: `share ${value.b > value.a ? "grew" : "shrank"}`}, changeText(value)),
				element("span", {className: "name"}, fitName(fn.name, CHANGED_COLUMNS)));
		});
		this.host.replaceChildren(element("h3", {}, changed.length ? "differs by more than noise: self, or else total" :
			"Nothing differs by more than noise."), ...rows);
	}
}
