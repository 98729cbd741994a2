/* SPDX-License-Identifier: MIT */
/* What is known of a box, where the pointer is. */

/* A name as it is shown, its module below, and where in its source it is hottest. */
function titleOf(profile, number) {
	if (number < 0)
		return [element("strong", {}, "[all]")];
	const fn = profile.functions[number];
	const parts = [element("strong", {}, fn.name)];
	if (fn.module)
		parts.push(element("span", {className: "path"}, fn.module.path));
	if (fn.line)
		parts.push(element("span", {className: "path"}, `hottest at ${fn.file}:${fn.line}`));
	return parts;
}

const definitions = (rows) => element("dl", {}, ...rows.flatMap(([what, value]) => [
	element("dt", {}, what), element("dd", {}, value)]));

class Tooltip {
	constructor(host) {
		this.host = host;
	}
	/* rows: [[what, value]] of a box. */
	show(box, rows, pointer) {
		this.host.replaceChildren(...titleOf(box.counts.profile, box.fn), definitions(rows));
		this.host.hidden = false;
		const {offsetWidth, offsetHeight} = this.host, margin = 14;
		const left = pointer.clientX + margin + offsetWidth > innerWidth ? pointer.clientX - margin - offsetWidth
			: pointer.clientX + margin;
		const top = pointer.clientY + margin + offsetHeight > innerHeight ? pointer.clientY - margin - offsetHeight
			: pointer.clientY + margin;
		this.host.style.left = `${Math.max(4, left)}px`;
		this.host.style.top = `${Math.max(4, top)}px`;
	}
	hide() {
		this.host.hidden = true;
	}
}
