/* SPDX-License-Identifier: MIT */
/* Each module has its hue, those with most weight the ones that differ most; the kernel is orange. */

const HUES = [255, 150, 325, 200, 95, 290, 20, 175, 120, 230, 350, 70];
const KERNEL_HUE = 48;

class Colours {
	constructor(profile) {
		this.hues = new Map();
		this.profile = profile;
	}
	/* Hues are given once, so that a module keeps its own whatever is shown. */
	assign(counts) {
		const weights = new Map();
		counts.functions.forEach((fn, number) => {
			const {module} = this.profile.functions[number];
			if (module)
				weights.set(module, (weights.get(module) || 0) + fn.self);
		});
		this.modules = [...weights].sort((a, b) => b[1] - a[1]);
		let next = 0;
		for (const [module] of this.modules)
			if (!this.hues.has(module))
				this.hues.set(module, module.kind === MODULE_KERNEL ? KERNEL_HUE : HUES[next++ % HUES.length]);
		this.restyle();
	}
	restyle() {
		this.lightness = Number(styleValue("--box-lightness"));
		this.chroma = Number(styleValue("--box-chroma"));
		this.known = new Map();
	}
	ofModule(module) {
		return `oklch(${this.lightness} ${this.chroma} ${this.hues.get(module) ?? 0})`;
	}
	ofBox(box) {
		return this.of(box.fn);
	}
	/* Functions of a module differ a little; what has no name is pale. */
	of(number) {
		if (!this.known.has(number))
			this.known.set(number, this.mix(number));
		return this.known.get(number);
	}
	mix(number) {
		const fn = number < 0 ? null : this.profile.functions[number];
		if (!fn || !fn.module)
			return `oklch(${this.lightness} 0 0)`;
		const chroma = this.chroma * (fn.kind === FUNCTION_NAMELESS ? 0.4 : 1);
		const step = (number * 7 % 5 - 2) * 0.012;
		return `oklch(${this.lightness + step} ${chroma} ${this.hues.get(fn.module)})`;
	}
}
