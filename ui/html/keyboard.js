/* SPDX-License-Identifier: MIT */
/* What keys do: each page has its own KEYS. */

const KEY_NAMES = {ArrowUp: "\u2191", ArrowDown: "\u2193", ArrowLeft: "\u2190", ArrowRight: "\u2192", Escape: "Esc"};

function listenToKeys(page) {
	document.addEventListener("keydown", (event) => {
		const isTyping = event.target.matches("input, select");
		if (event.ctrlKey || event.metaKey || event.altKey || (isTyping && event.key !== "Escape"))
			return;
		if (event.key === "Enter" && event.target.matches("button, summary"))
			return;
		const row = KEYS.find(({keys, act}) => act && keys.includes(event.key));
		if (!row)
			return;
		event.preventDefault();
		row.act(page);
	});
}

class HelpBox {
	constructor() {
		this.host = byId("help-box");
		byId("keys").replaceChildren(...KEYS.flatMap(({keys, what}) => [
			element("dt", {}, ...keys.flatMap((key, i) => [i ? " " : "", element("kbd", {}, KEY_NAMES[key] || key)])),
			element("dd", {}, what)]));
		byId("help").addEventListener("click", () => this.toggle());
		byId("help-close").addEventListener("click", () => this.toggle());
	}
	get isOpen() {
		return !this.host.hidden;
	}
	toggle() {
		this.host.hidden = !this.host.hidden;
		if (this.host.hidden) {
			this.focusBefore.focus();
			return;
		}
		this.focusBefore = document.activeElement;
		byId("help-close").focus();
	}
}
