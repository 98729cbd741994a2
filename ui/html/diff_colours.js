/* SPDX-License-Identifier: MIT */
/* What grew by more than noise is red, what shrank blue, the stronger the larger the change is beside what A has; the rest is grey. */

const MORE_HUE = 25, LESS_HUE = 255;
const LEAST_STRENGTH = 0.35;

class DiffColours {
	constructor() {
		this.restyle();
	}
	restyle() {
		this.lightness = Number(styleValue("--box-lightness"));
		this.chroma = Number(styleValue("--box-chroma"));
	}
	/* by: how many times what A has. */
	mix(by) {
		const strength = by ? LEAST_STRENGTH + (1 - LEAST_STRENGTH) * Math.min(1, Math.abs(by)) : 0;
		return `oklch(${this.lightness - 0.08 * strength} ${1.9 * this.chroma * strength} ${by > 0 ? MORE_HUE : LESS_HUE})`;
	}
	ofBox({change}) {
		return this.mix(change.beyond ? (change.b - change.a) / (change.a || 1e-9) : 0);
	}
}

const LEGEND = [[1, "twice A or more, or new"], [0.05, "a little more"], [0, "within noise"], [-0.05, "a little less"], [-1, "gone"]];

function showDiffLegend(host, colours) {
	host.replaceChildren(...LEGEND.map(([by, what]) => {
		const dot = element("span", {className: "dot"});
		dot.style.background = colours.mix(by);
		return element("span", {className: "module"}, dot, what);
	}));
}
