/* SPDX-License-Identifier: MIT */
/* What stands in tables of functions and threads; and how the profile was made. */

function functionColumns(profile, shown) {
	const of = ({number}) => profile.functions[number];
	return [
		{name: "self", title: "Self", value: (row) => row.self, share: (row) => row.self / shown().weight,
			text: (row) => percent(row.self, shown().weight)},
		{name: "self-weight", title: "", value: (row) => row.self, text: (row) => weightText(shown().event, row.self),
			exact: (row) => exactWeight(shown().event, row.self)},
		{name: "total", title: "Total", value: (row) => row.total, share: (row) => row.total / shown().weight,
			text: (row) => percent(row.total, shown().weight)},
		{name: "total-weight", title: "", value: (row) => row.total, text: (row) => weightText(shown().event, row.total),
			exact: (row) => exactWeight(shown().event, row.total)},
		{name: "samples", title: "Samples", value: (row) => row.totalSamples, text: (row) => grouped(row.totalSamples)},
		{name: "name", title: "Function", isText: true, value: (row) => of(row).name, text: (row) => of(row).name,
			fit: (row) => fitName(of(row).name, nameColumns(byId("functions")))},
		{name: "module", title: "Module", isText: true, value: (row) => moduleName(of(row)), text: (row) => moduleName(of(row)),
			exact: (row) => of(row).module ? of(row).module.path : ""},
	];
}

function threadColumns(shown) {
	return [
		{name: "total", title: "Share", value: (row) => row.weight, share: (row) => row.weight / shown().weight,
			text: (row) => percent(row.weight, shown().weight)},
		{name: "total-weight", title: "", value: (row) => row.weight, text: (row) => weightText(shown().event, row.weight),
			exact: (row) => exactWeight(shown().event, row.weight)},
		{name: "samples", title: "Samples", value: (row) => row.samples, text: (row) => grouped(row.samples)},
		{name: "name", title: "Thread", isText: true, value: (row) => row.thread.name,
			text: (row) => row.thread.label},
		{name: "module", title: "Process", isText: true, value: (row) => row.thread.process,
			text: (row) => `${row.thread.process} [${row.thread.pid}]`},
	];
}

/* How it was measured and how well: a line that says the most important, and all of it below. */
function showQuality(event, counts, stretch) {
	const lines = headerLines(event.header), whole = counts.samples;
	const complete = counts.ends[0] + counts.ends[1];
	const of = (label) => lines.filter((line) => line.label === label);
	const lost = of("duration").map(({value}) => (/lost .*|losses not known/.exec(value) || [""])[0]).find((text) => text);
	const parts = [element("span", {className: "chip", title: exactWeight(event, counts.weight)}, `${event.name}: ${weightText(event, counts.weight)}`),
		element("span", {className: "chip"}, samplesText(whole)), element("span", {id: "range", className: "chip"}, stretch)];
	if (lost)
		parts.push(element("span", {className: /^lost 0\b/.test(lost) ? "chip" : "chip concern"}, lost));
	parts.push(element("span", {className: complete < 0.95 * whole ? "chip concern" : "chip"},
		`stacks complete ${percent(complete, whole)}`));
	for (const label of CONCERNS)
		if (of(label).length)
			parts.push(element("span", {className: "chip concern"}, of(label).length > 1 ? `${of(label).length} ${label}s` : label));
	byId("quality-summary").replaceChildren(...parts);
	byId("quality-lines").replaceChildren(...headerItems(lines));
}
