/* SPDX-License-Identifier: MIT */
/*
 * A tree of calls as boxes on a canvas, as wide as their share: an icicle, the root on top, or a flame graph. Only what is wide enough to
 * be seen is looked at, and only what is in sight is drawn.
 */

const ROW_PX = 20, LEAST_PX = 0.5, PRINTED_ROWS = 45;
const BOX_FONT = "12px ui-monospace, 'SFMono-Regular', Menlo, Consolas, 'DejaVu Sans Mono', monospace";

class FlameGraph {
	/* host: element; events: {select(box), hover(box, event)}; colours: Colours. */
	constructor(host, colours, events) {
		this.host = host;
		this.colours = colours;
		this.events = events;
		this.canvas = element("canvas");
		this.room = element("div", {className: "room"});
		host.append(this.canvas, this.room);
		this.upwards = false;
		this.wanted = null; /* by function: found by a search */
		this.rows = [];
		this.listen();
	}
	listen() {
		this.host.addEventListener("scroll", () => this.draw());
		/* A finger does not rest above a box, and would be in the way of what is told of it. */
		this.canvas.addEventListener("pointermove", (event) => this.hover(
			event.pointerType === "mouse" ? this.hit(event) : null, event));
		this.canvas.addEventListener("pointerleave", (event) => this.hover(null, event));
		this.canvas.addEventListener("click", (event) => {
			const box = this.hit(event);
			if (box)
				this.zoomTo(box);
		});
		new ResizeObserver(() => this.resize()).observe(this.host);
	}
	resize() {
		if (this.root && this.host.clientWidth && this.host.clientWidth !== this.width)
			this.place();
		else
			this.draw();
	}
	/* Another tree; what was zoomed to and selected is found in it again. */
	show(root) {
		const zoomed = this.zoomed ? this.zoomed.path : [], cursor = this.cursor ? this.cursor.path : [];
		this.root = root;
		this.zoomed = boxOn(root, zoomed);
		this.cursor = boxOn(root, cursor);
		this.hovered = null;
		this.place();
	}
	zoomTo(box) {
		this.zoomed = box;
		this.cursor = box;
		this.place();
		this.keepInSight();
		this.events.select(box);
	}
	zoomOut() {
		if (!this.zoomed || !this.zoomed.parent)
			return false;
		this.zoomTo(this.zoomed.parent);
		return true;
	}
	reset() {
		this.zoomed = this.cursor = this.root;
		this.rows = [];
		this.place();
	}
	setUpwards(upwards) {
		this.upwards = upwards;
		this.rows = [];
	}

	/* ---- where boxes are ---- */

	/* What is zoomed to stays as high in sight as it was; without rows before, the root is in sight. */
	place() {
		this.width = this.host.clientWidth;
		if (!this.width)
			return;
		const y = this.rows.length ? this.top(this.zoomed.depth) : null;
		this.rows = [];
		const above = [];
		for (let box = this.zoomed.parent; box; box = box.parent)
			above.unshift(box);
		above.forEach((box) => this.put(box, 0, this.width, true));
		this.placeBelow(this.zoomed);
		this.room.style.height = `${this.rows.length * ROW_PX}px`;
		if (y === null)
			this.host.scrollTop = this.upwards ? this.rows.length * ROW_PX : 0;
		else
			this.host.scrollTop += this.top(this.zoomed.depth) - y;
		this.draw();
	}
	put(box, x, width, isAbove) {
		(this.rows[box.depth] = this.rows[box.depth] || []).push({box, x, width, isAbove});
	}
	placeBelow(zoomed) {
		const scale = zoomed.total ? this.width / zoomed.total : 0, waiting = [[zoomed, 0]];
		while (waiting.length) {
			const [box, x] = waiting.pop();
			this.put(box, x, zoomed.total ? box.total * scale : this.width, false);
			let at = x;
			const wide = [];
			for (const child of box.children) {
				if (child.total * scale < LEAST_PX)
					break;
				wide.push([child, at]);
				at += child.total * scale;
			}
			while (wide.length)
				waiting.push(wide.pop());
		}
		this.rows.forEach((row) => row.sort((a, b) => a.x - b.x));
	}
	top(depth) {
		const row = this.upwards ? this.rows.length - 1 - depth : depth;
		return row * ROW_PX - (this.isPrinting ? 0 : this.host.scrollTop) + this.offset();
	}
	/* A flame stands on the ground, however small it is. */
	offset() {
		return this.upwards ? Math.max(0, this.host.clientHeight - this.rows.length * ROW_PX) : 0;
	}
	placeOf(box) {
		return (this.rows[box.depth] || []).find((place) => place.box === box);
	}
	hit(event) {
		const row = Math.floor((event.offsetY - this.offset() + this.host.scrollTop) / ROW_PX);
		const depth = this.upwards ? this.rows.length - 1 - row : row;
		const place = (this.rows[depth] || []).find(({x, width}) => event.offsetX >= x && event.offsetX < x + width);
		return place ? place.box : null;
	}

	/* ---- drawing ---- */

	draw() {
		if (!this.root || !this.width)
			return;
		const height = this.isPrinting ? Math.min(this.rows.length, PRINTED_ROWS) * ROW_PX : this.host.clientHeight;
		const context = this.context = prepareCanvas(this.canvas, this.width, height);
		this.canvas.style.marginBottom = `${-height}px`; /* the room below is what scrolls */
		context.font = BOX_FONT;
		context.textBaseline = "middle";
		this.characterPx = this.characterPx || context.measureText("0000000000").width / 10;
		this.ink = styleValue("--box-ink");
		this.edge = styleValue("--edge");
		this.accent = styleValue("--accent");
		this.found = styleValue("--found");
		this.rows.forEach((row, depth) => {
			const y = this.top(depth);
			if (y > -ROW_PX && y < height)
				row.forEach((place) => this.drawBox(place, y));
		});
		this.outline(this.hovered, this.ink, 1);
		this.outline(this.cursor, this.accent, 2);
	}
	drawBox({box, x, width, isAbove}, y) {
		const {context} = this;
		const isFound = this.wanted && box.fn >= 0 && this.wanted[box.fn];
		context.globalAlpha = isAbove ? 0.55 : this.wanted && !isFound ? 0.35 : 1;
		context.fillStyle = isFound ? this.found : this.colours.ofBox(box);
		context.fillRect(x, y, width > 3 ? width - 1 : Math.max(width, LEAST_PX), ROW_PX - 1);
		context.globalAlpha = isAbove || (this.wanted && !isFound) ? 0.75 : 1;
		const columns = Math.floor((width - 9) / this.characterPx);
		if (columns > 1) {
			context.fillStyle = this.ink;
			context.fillText(fitName(this.nameOf(box), columns), x + 4, y + ROW_PX / 2, width - 8);
		}
		context.globalAlpha = 1;
	}
	nameOf(box) {
		return box.fn < 0 ? "[all]" : box.counts.profile.functions[box.fn].name;
	}
	outline(box, colour, px) {
		const place = box && this.placeOf(box);
		if (!place)
			return;
		this.context.strokeStyle = colour;
		this.context.lineWidth = px;
		this.context.strokeRect(place.x + px / 2, this.top(box.depth) + px / 2,
			Math.max(place.width - 1 - px, 1), ROW_PX - 1 - px);
	}
	hover(box, event) {
		this.events.hover(box, event);
		if (box === this.hovered)
			return;
		this.hovered = box;
		this.draw();
	}

	/* ---- keys ---- */

	/* beside: -1 or 1, a box to the left or right; inwards: -1 or 1, to the caller or the heaviest callee. */
	move(beside, inwards) {
		const row = this.rows[this.cursor.depth] || [];
		const neighbour = row[row.findIndex(({box}) => box === this.cursor) + beside];
		const next = inwards > 0 ? this.cursor.children[0] : inwards < 0 ? this.cursor.parent : neighbour && neighbour.box;
		if (!next || !this.placeOf(next))
			return;
		this.cursor = next;
		this.keepInSight();
		this.draw();
		this.events.select(next);
	}
	keepInSight() {
		const y = this.top(this.cursor.depth);
		if (y < 0)
			this.host.scrollTop += y;
		else if (y + ROW_PX > this.host.clientHeight)
			this.host.scrollTop += y + ROW_PX - this.host.clientHeight;
	}
	/* The next box that a search has found, by rows. step: 1 or -1. */
	nextFound(step) {
		const found = this.rows.flat().filter(({box}) => box.fn >= 0 && this.wanted && this.wanted[box.fn]);
		if (!found.length)
			return;
		const now = found.findIndex(({box}) => box === this.cursor);
		this.cursor = found[(now < 0 ? (step > 0 ? 0 : found.length - 1) : now + step + found.length) % found.length].box;
		this.keepInSight();
		this.draw();
		this.events.select(this.cursor);
	}
}
