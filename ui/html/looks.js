/* SPDX-License-Identifier: MIT */
/* Light or dark, as the system has it or as was chosen; and how it looks on paper, which is white and does not scroll. */

class Looks {
	/* restyle(): draws again what does not follow the style by itself, besides the graphs. */
	constructor(graphs, restyle) {
		this.graphs = graphs;
		this.restyleRest = restyle;
		byId("theme").addEventListener("click", () => this.next());
		matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.restyle());
		window.addEventListener("beforeprint", () => this.print(true));
		window.addEventListener("afterprint", () => this.print(false));
	}
	next() {
		const {dataset} = document.documentElement;
		const isDark = dataset.theme ? dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
		dataset.theme = isDark ? "light" : "dark";
		this.restyle();
	}
	restyle() {
		this.restyleRest();
		for (const graph of this.graphs)
			graph.draw();
	}
	print(isPrinting) {
		const {dataset} = document.documentElement;
		for (const graph of this.graphs)
			graph.isPrinting = isPrinting;
		if (isPrinting)
			this.themeBefore = dataset.theme;
		dataset.theme = isPrinting ? "light" : this.themeBefore || "";
		this.restyle();
	}
}
