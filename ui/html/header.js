/* SPDX-License-Identifier: MIT */
/* How a profile was made, as the report says it above its table. */

/* "label      value" */
const LABEL_COLUMNS = 11;
const CONCERNS = ["problems", "fallback", "unreadable", "notice", "counted"];

function headerLines(header) {
	const [labelled, unnamed = ""] = header.split("\n\nFrames without a name, by module:\n\n");
	const lines = labelled.split("\n").filter((line) => line).map((line) => ({
		label: line.slice(0, LABEL_COLUMNS).trim(), value: line.slice(LABEL_COLUMNS).trim()}));
	unnamed.split("\n").filter((line) => line).forEach((line, i) => lines.push({
		label: i ? "" : "no name", value: line.trim()}));
	return lines;
}

const headerItems = (lines) => lines.flatMap(({label, value}) => [
	element("dt", {className: CONCERNS.includes(label) ? "concern" : ""}, label), element("dd", {}, value)]);
