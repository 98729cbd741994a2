/* SPDX-License-Identifier: MIT */
const ROWS_AT_ONCE = 200;

/* A table that is sorted by a click on a column. columns: [{name, title, value(row), text(row), share(row), isText}] */
class Table {
	constructor(host, columns, {sortedBy, select, isSelected}) {
		Object.assign(this, {host, columns, sortedBy, select, isSelected, most: ROWS_AT_ONCE, reversed: false});
	}
	show(rows) {
		this.rows = rows;
		this.draw();
	}
	sortBy(name) {
		this.reversed = this.sortedBy === name && !this.reversed;
		this.sortedBy = name;
		this.draw();
	}
	sorted() {
		const column = this.columns.find(({name}) => name === this.sortedBy);
		const order = column.isText ? (a, b) => compareText(column.value(a), column.value(b))
			: (a, b) => column.value(b) - column.value(a);
		const rows = this.rows.slice().sort(order);
		return this.reversed ? rows.reverse() : rows;
	}
	draw() {
		this.shown = this.sorted();
		const head = element("tr", {}, ...this.columns.map((column) => this.headOf(column)));
		const body = element("tbody", {}, ...this.shown.slice(0, this.most).map((row) => this.rowOf(row)));
		const left = this.shown.length - this.most;
		this.host.replaceChildren(element("table", {}, element("thead", {}, head), body));
		if (left > 0)
			this.host.append(element("button", {className: "more", onclick: () => this.showMore()},
				`${grouped(left)} more`));
	}
	showMore() {
		this.most *= 5;
		this.draw();
	}
	headOf(column) {
		const isSorted = column.name === this.sortedBy;
		const button = element("button", {onclick: () => this.sortBy(column.name)}, column.title,
			element("span", {className: "arrow"}, isSorted ? (this.reversed ? " \u25b4" : " \u25be") : ""));
		const cell = element("th", {className: `${column.name} ${column.isText ? "text" : "number"}`}, button);
		cell.ariaSort = isSorted ? (this.reversed ? "ascending" : "descending") : "none";
		return cell;
	}
	rowOf(row) {
		const cells = this.columns.map((column) => {
			const cell = element("td", {className: `${column.name} ${column.isText ? "text" : "number"}`});
			cell.append(element("span", {title: column.exact ? column.exact(row) : column.isText ? column.text(row) : ""}, (column.fit || column.text)(row)));
			if (column.classOf)
				cell.lastChild.className = column.classOf(row);
			return column.share ? withBar(cell, column.share(row)) : cell;
		});
		const made = element("tr", {onclick: () => this.select(row)}, ...cells);
		made.classList.toggle("selected", this.isSelected(row));
		return made;
	}
	/* The row below the selected one, or above it. */
	move(step) {
		const now = this.shown.findIndex((row) => this.isSelected(row));
		const next = Math.min(this.shown.length - 1, Math.max(0, now + step));
		if (!this.shown.length)
			return;
		if (next >= this.most)
			this.most = next + ROWS_AT_ONCE;
		this.select(this.shown[next]);
		const row = this.host.querySelector("tr.selected");
		if (row)
			row.scrollIntoView({block: "nearest"});
	}
}

/* How many characters of a name there is room for beside the numbers. */
const NUMBERS_PX = 530, NARROW_NUMBERS_PX = 220, CHARACTER_PX = 7.3;
function nameColumns(host) {
	return Math.max(12, Math.floor((host.clientWidth - (innerWidth > 560 ? NUMBERS_PX : NARROW_NUMBERS_PX)) / CHARACTER_PX));
}
