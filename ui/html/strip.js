/* SPDX-License-Identifier: MIT */
/* Time, from left to right: how much was sampled when. A stretch of it is chosen by dragging, or by keys. */

const STRIP_PX = 52, STRIP_FOOT_PX = 14, SAMPLES_A_COLUMN = 6;

class Strip {
	/* choose(from, to): slices. */
	constructor(host, profile, choose) {
		Object.assign(this, {host, profile, choose});
		this.nr = profile.slices.parts.length;
		this.from = 0;
		this.to = this.nr;
		this.canvas = element("canvas");
		host.append(this.canvas);
		host.addEventListener("pointerdown", (event) => this.begin(event));
		host.addEventListener("pointermove", (event) => this.drag(event));
		host.addEventListener("pointerup", (event) => this.end(event));
		host.addEventListener("keydown", (event) => this.key(event));
		new ResizeObserver(() => this.draw()).observe(host);
	}
	get isWhole() {
		return this.from === 0 && this.to === this.nr;
	}
	show({strip, stripSamples}) {
		this.weights = strip;
		this.samples = stripSamples;
		this.draw();
	}
	sliceAt(event) {
		const share = (event.clientX - this.canvas.getBoundingClientRect().left) / this.host.clientWidth;
		return Math.min(this.nr - 1, Math.max(0, Math.floor(share * this.nr)));
	}
	begin(event) {
		if (event.button)
			return;
		this.anchor = this.sliceAt(event);
		this.anchorX = event.clientX;
		this.host.setPointerCapture(event.pointerId);
	}
	drag(event) {
		if (this.anchor === undefined || Math.abs(event.clientX - this.anchorX) < 3)
			return;
		const at = this.sliceAt(event);
		this.from = Math.min(this.anchor, at);
		this.to = Math.max(this.anchor, at) + 1;
		this.draw();
	}
	/* A click without dragging takes all of it again. */
	end(event) {
		if (this.anchor === undefined)
			return;
		if (Math.abs(event.clientX - this.anchorX) < 3)
			this.set(0, this.nr);
		else
			this.set(this.from, this.to);
		this.anchor = undefined;
	}
	set(from, to) {
		this.from = Math.max(0, Math.min(from, this.nr - 1));
		this.to = Math.min(this.nr, Math.max(to, this.from + 1));
		this.draw();
		this.choose(this.from, this.to);
	}
	/* Twice as long a stretch, or half of it, around its middle. */
	resize(factor) {
		const middle = (this.from + this.to) / 2, half = (this.to - this.from) * factor / 2;
		this.set(Math.floor(middle - half), Math.ceil(middle + half));
	}
	key(event) {
		const step = {ArrowLeft: -1, ArrowRight: 1}[event.key] * Math.max(1, Math.floor((this.to - this.from) / 4));
		if (!step)
			return;
		event.preventDefault();
		event.stopPropagation();
		const by = Math.max(-this.from, Math.min(step, this.nr - this.to));
		if (event.shiftKey)
			this.set(this.from, this.to + step);
		else
			this.set(this.from + by, this.to + by);
	}
	/* "1.20 s to 3.40 s of 10.0 s" */
	get text() {
		const {lengthNs} = this.profile.slices, end = duration(this.nr * lengthNs);
		return this.isWhole ? `all ${end}` : `${duration(this.from * lengthNs)} to ${duration(this.to * lengthNs)} of ${end}`;
	}

	/* For readers of screens. */
	say() {
		const values = {valuemin: 0, valuemax: this.nr, valuenow: this.from, valuetext: this.text};
		for (const [name, value] of Object.entries(values))
			this.host.setAttribute(`aria-${name}`, value);
	}

	/* ---- drawing ---- */

	draw() {
		const width = this.host.clientWidth;
		this.say();
		if (!width || !this.weights)
			return;
		const context = prepareCanvas(this.canvas, width, STRIP_PX);
		const columns = this.columns(width), most = Math.max(...columns, 1e-9);
		const room = STRIP_PX - STRIP_FOOT_PX - 2;
		const left = this.from / this.nr * width, right = this.to / this.nr * width;
		const px = width / columns.length, chosen = styleValue("--strip"), others = styleValue("--faint");
		columns.forEach((weight, i) => {
			const height = weight ? Math.max(1, weight / most * room) : 0, x = i * px;
			context.fillStyle = x + px > left + 0.01 && x < right - 0.01 ? chosen : others;
			context.fillRect(x, STRIP_PX - STRIP_FOOT_PX - height, px > 3 ? px - 0.5 : px, height);
		});
		context.fillStyle = styleValue("--line");
		context.fillRect(0, STRIP_PX - STRIP_FOOT_PX, width, 1);
		this.drawTimes(context, width);
		if (this.isWhole)
			return;
		context.fillStyle = styleValue("--ink");
		context.fillRect(left, 0, 1.5, STRIP_PX - STRIP_FOOT_PX);
		context.fillRect(right - 1.5, 0, 1.5, STRIP_PX - STRIP_FOOT_PX);
	}
	/* What each column stands for, per slice: so that wide and narrow ones are as high. Few samples make few columns. */
	columns(width) {
		const px = Math.min(12, Math.max(2, Math.ceil(width * SAMPLES_A_COLUMN / Math.max(1, this.samples))));
		const columns = new Float64Array(Math.max(1, Math.min(Math.floor(width / px), this.nr)));
		const perColumn = this.nr / columns.length;
		for (let x = 0; x < columns.length; x++) {
			const from = Math.floor(x * perColumn), to = Math.floor((x + 1) * perColumn);
			for (let slice = from; slice < to; slice++)
				columns[x] += this.weights[slice] / (to - from);
		}
		return columns;
	}
	drawTimes(context, width) {
		const whole = this.nr * this.profile.slices.lengthNs;
		const least = whole / Math.max(1, width / 90);
		const power = 10 ** Math.floor(Math.log10(least));
		const step = [1, 2, 5, 10].map((factor) => factor * power).find((length) => length >= least);
		context.font = "10px system-ui, sans-serif";
		context.textBaseline = "top";
		context.fillStyle = styleValue("--quiet");
		for (let ns = 0; ns < whole; ns += step) {
			const x = ns / whole * width;
			context.fillRect(x, STRIP_PX - STRIP_FOOT_PX, 1, 3);
			if (x + 40 < width)
				context.fillText(ns ? tickText(ns) : "0", x + 3, STRIP_PX - STRIP_FOOT_PX + 2);
		}
	}
}

function tickText(ns) {
	const [scale, unit] = ns >= 1e9 ? [1e9, "s"] : ns >= 1e6 ? [1e6, "ms"] : [1e3, "\u00b5s"];
	return `${Number((ns / scale).toFixed(3))} ${unit}`;
}
