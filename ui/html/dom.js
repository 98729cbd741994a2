/* SPDX-License-Identifier: MIT */
/* Elements of the page. Texts are put in as texts: names never become markup. */

const byId = (id) => document.getElementById(id);

function element(tag, properties = {}, ...children) {
	const made = document.createElement(tag);
	for (const [name, value] of Object.entries(properties)) {
		if (name in made)
			made[name] = value;
		else
			made.setAttribute(name, value);
	}
	made.append(...children);
	return made;
}

/* A bar behind a number, as wide as its share. */
function withBar(cell, share) {
	const bar = element("span", {className: "bar"});
	bar.style.width = `${Math.min(100, 100 * share)}%`;
	cell.prepend(bar);
	return cell;
}

/* A canvas as large as its element, sharp on every screen: its context, with CSS pixels. */
function prepareCanvas(canvas, width, height) {
	const ratio = window.matchMedia("print").matches ? 3 : Math.max(1, window.devicePixelRatio || 1);
	canvas.width = Math.round(width * ratio);
	canvas.height = Math.round(height * ratio);
	canvas.style.width = `${width}px`;
	canvas.style.height = `${height}px`;
	const context = canvas.getContext("2d");
	context.setTransform(ratio, 0, 0, ratio, 0, 0);
	context.clearRect(0, 0, width, height);
	return context;
}

const styleValue = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
