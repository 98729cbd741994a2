/* SPDX-License-Identifier: MIT */
/* Numbers and names as people read them. */

const compareText = (a, b) => (a > b) - (a < b);
const grouped = (number) => number.toLocaleString("en-US", {maximumFractionDigits: 0});

/* 100.00 and 0.00 are kept for exactly all and exactly nothing, as in the report. */
function percent(part, whole) {
	if (!whole || !part)
		return "0.00 %";
	const share = 100 * part / whole;
	return (part === whole ? 100 : Math.min(99.99, Math.max(0.01, share))).toFixed(2) + " %";
}

function duration(ns) {
	const units = [[1e9, "s"], [1e6, "ms"], [1e3, "\u00b5s"]];
	const [scale, unit] = units.find(([least]) => ns >= least) || [1, "ns"];
	const value = ns / scale;
	return (scale === 1 ? grouped(value) : value.toFixed(value < 10 ? 3 : value < 100 ? 2 : 1)) + " " + unit;
}

/* What samples of an event stand for. */
function weightText(event, weight) {
	return event.isTime ? duration(weight) : `${grouped(weight)} ${weight === 1 ? event.unit : event.units}`;
}

/* To the last digit, for who compares. */
function exactWeight(event, weight) {
	return event.isTime ? `${grouped(weight)} ns` : weightText(event, weight);
}

const samplesText = (samples) => `${grouped(samples)} sample${samples === 1 ? "" : "s"}`;
const fileName = (path) => path.slice(path.lastIndexOf("/") + 1) || path;
const moduleName = (fn) => fn.module ? fileName(fn.module.path) : "";

/*
 * Without what stands in brackets of this kind, where that leaves a name: template arguments; or parameters, which are not those of
 * functions within template arguments. The signs of operators open and close nothing.
 */
function withoutBrackets(name, open, close) {
	const operator = /\boperator *(\(\)|\[\]|->\*?|<=>|<<=?|>>=?|<=?|>=?)/y;
	let depth = 0, templates = 0, text = "";
	for (let i = 0; i < name.length; i++) {
		operator.lastIndex = i;
		const [signs] = operator.exec(name) || [name[i]];
		const isBracket = signs.length === 1 && (depth || !templates);
		if (open !== "<" && !depth)
			templates += (signs === "<") - (signs === ">" && templates > 0);
		depth += isBracket && signs === open;
		text += depth ? "" : signs;
		depth -= isBracket && signs === close && depth > 0;
		i += signs.length - 1;
	}
	return depth || !text.trim() ? name : text.trim();
}

/* What is the same in many names goes first: parameters, template arguments, namespaces; then what is too long. */
function fitName(name, columns) {
	if (name.length <= columns)
		return name;
	let text = name.replaceAll("(anonymous namespace)::", "");
	if (text.length > columns && text.includes("(", 1))
		text = withoutBrackets(text, "(", ")").replace(/ const$/, "");
	if (text.length > columns && text.includes("<"))
		text = withoutBrackets(text, "<", ">");
	if (text.length > columns && text.includes("::"))
		text = text.split("::").slice(-2).join("::");
	if (text.length > columns && text.includes("::"))
		text = text.slice(text.lastIndexOf("::") + 2);
	return text.length <= columns ? text : columns < 3 ? "" : text.slice(0, columns - 1) + "\u2026";
}

/* The text that was typed, as the terminal finds it: by function; null: nothing is looked for. */
function wantedFunctions(profile, text) {
	if (!text)
		return null;
	const ignoresCase = text === text.toLowerCase();
	return Uint8Array.from(profile.functions, ({name}) => (ignoresCase ? name.toLowerCase() : name).includes(text) ? 1 : 0);
}
