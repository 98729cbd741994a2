/* SPDX-License-Identifier: MIT */
/* The page: what is chosen, and which parts show it. */

/* Of processes, and of a process's threads: nobody looks through a longer list. The view of threads has them all. */
const LISTED_MOST = 300;
const VIEWS = ["flame", "functions", "sandwich", "threads"];

/* A thread has a row for each event in the profile's table. By row: which of these is its first one. */
function firstRows(threads, of) {
	const known = new Map();
	return threads.map(({event, pid, tid, process}, row) => {
		const key = `${pid} ${tid} ${process}`;
		if (of.includes(event) && !known.has(key))
			known.set(key, row);
		return known.get(key);
	});
}

/*
 * Those that were sampled, each with the numbers of the events that it is of. Where waits are known, computing and waiting together are one
 * more; of several clocks, which count the same time, with the first.
 */
function shownEvents(profile) {
	const events = profile.events.map((event, number) => ({...event, number, of: [number], threadOf: (row) => row}))
		.filter(({number}) => profile.threads.some((thread) => thread.event === number));
	const wait = events.find(({isWait}) => isWait), clock = events.find(({isTime, isWait}) => isTime && !isWait);
	if (!wait || !clock)
		return events;
	const of = [clock.number, wait.number], first = firstRows(profile.threads, of);
	return [...events, {...clock, name: "wall", number: profile.events.length, of, threadOf: (row) => first[row]}];
}

class Page {
	constructor(profile) {
		this.profile = profile;
		this.calls = new Calls(profile);
		this.colours = new Colours(profile);
		this.events = shownEvents(profile);
		this.event = this.events[0];
		this.view = "flame";
		this.inverted = this.upwards = false;
		this.selected = -1;
		this.makeParts();
		this.fillHead();
		this.listen();
		this.recount();
	}
	makeParts() {
		this.tooltip = new Tooltip(byId("tooltip"));
		const hoverIn = (graph) => (box, pointer) => this.hover(graph(), box, pointer);
		this.flame = new FlameGraph(byId("flame"), this.colours, {
			select: (box) => this.selectBox(box), hover: hoverIn(() => this.flame)});
		const beside = {select: (box) => this.select(box.fn)};
		this.callers = new FlameGraph(byId("callers"), this.colours, {...beside, hover: hoverIn(() => this.callers)});
		this.callees = new FlameGraph(byId("callees"), this.colours, {...beside, hover: hoverIn(() => this.callees)});
		this.callers.upwards = true;
		const shown = () => ({weight: this.counts.weight, event: this.event});
		this.functions = new Table(byId("functions"), functionColumns(this.profile, shown), {
			sortedBy: "self", select: ({number}) => this.select(number), isSelected: ({number}) => number === this.selected});
		this.threads = new Table(byId("threads"), threadColumns(() => ({...shown(), weight: this.weightOfThreads})), {
			sortedBy: "total", select: ({number}) => this.chooseThread(`t${number}`),
			isSelected: ({number}) => this.thread === `t${number}`});
		this.detail = new Detail(byId("detail"), (number) => this.select(number));
		this.help = new HelpBox();
		this.looks = new Looks([this.flame, this.callers, this.callees], () => this.restyle());
		this.strip = new Strip(byId("strip"), this.profile, () => this.recount());
	}

	/* ---- the head ---- */

	fillHead() {
		const {profile} = this;
		document.title = `${profile.command || "profile"} \u2013 ctop`;
		byId("command").textContent = profile.command || "profile";
		byId("command").title = profile.command;
		byId("excerpt").textContent = profile.excerpt;
		byId("version").textContent = `ctop ${profile.version}`;
		const {startMs} = profile.slices;
		byId("date").textContent = startMs ? new Date(startMs).toLocaleString() : "";
		byId("event").replaceChildren(...this.events.map(({name, number}) => element("option", {value: number}, name)));
		byId("event").parentElement.hidden = this.events.length < 2;
		this.fillThreads();
	}
	/* Processes, and below each its threads where it has several. */
	fillThreads() {
		const processes = new Map(), threads = this.profile.threads;
		const weights = this.weighThreads();
		threads.forEach((thread, number) => {
			const key = `${thread.pid} ${thread.process}`;
			if (!this.event.of.includes(thread.event))
				return;
			if (!processes.has(key))
				processes.set(key, {thread, weight: 0, members: []});
			processes.get(key).weight += weights[number];
			if (this.event.threadOf(number) === number)
				processes.get(key).members.push(number);
		});
		this.processes = [...processes.values()].sort((a, b) => b.weight - a.weight);
		const options = [element("option", {value: ""}, "all threads")];
		this.processes.slice(0, LISTED_MOST).forEach(({thread, weight, members}, i) => {
			const name = `${thread.process} [${thread.pid}]`;
			options.push(element("option", {value: `p${i}`}, `${name}  ${percent(weight, this.allWeight)}`));
			if (members.length < 2)
				return;
			members.sort((a, b) => weights[b] - weights[a]).slice(0, LISTED_MOST).forEach((number) => options.push(element("option", {
				value: `t${number}`}, `\u00a0\u00a0${threads[number].label}  ${
				percent(weights[number], this.allWeight)}`)));
		});
		byId("thread").replaceChildren(...options);
		byId("thread").parentElement.hidden = options.length < 3;
		byId("thread").value = this.thread = "";
	}
	/* Over all the time there is. */
	weighThreads() {
		const {stacks, threads} = this.profile, weights = new Float64Array(threads.length);
		const isOf = threads.map(({event}) => this.event.of.includes(event));
		this.allWeight = 0;
		eachCell(this.profile, 0, this.profile.slices.parts.length, (slice, stack, samples, weight) => {
			const row = stacks.threads[stack];
			if (!isOf[row])
				return;
			weights[this.event.threadOf(row)] += weight;
			this.allWeight += weight;
		});
		return weights;
	}
	listen() {
		const {body} = document;
		byId("event").addEventListener("change", (event) => this.chooseEvent(Number(event.target.value)));
		byId("thread").addEventListener("change", (event) => this.chooseThread(event.target.value));
		byId("search").addEventListener("input", () => this.search());
		byId("search").addEventListener("keydown", (event) => {
			if (event.key === "Enter")
				this.nextFound(event.shiftKey ? -1 : 1);
		});
		for (const view of VIEWS)
			byId(`view-${view}`).addEventListener("click", () => this.setView(view));
		byId("invert").addEventListener("click", () => this.setInverted(!this.inverted));
		byId("direction").addEventListener("click", () => this.setUpwards(!this.upwards));
		byId("reset").addEventListener("click", () => this.reset());
		body.addEventListener("scroll", () => this.tooltip.hide());
		listenToKeys(this);
	}

	restyle() {
		this.colours.restyle();
		this.showLegend();
		this.strip.draw();
	}

	/* ---- what is chosen ---- */

	chooseEvent(number) {
		this.event = this.events.find((event) => event.number === number);
		byId("event").value = number;
		this.fillThreads();
		this.recount();
	}
	nextEvent() {
		const next = (this.events.indexOf(this.event) + 1) % this.events.length;
		this.chooseEvent(this.events[next].number);
	}
	/* "": all; pN: a process; tN: a thread. */
	chooseThread(thread) {
		this.thread = thread;
		byId("thread").value = thread;
		if (byId("thread").selectedIndex < 0) { /* the only thread of its process stands there as that */
			const number = Number(thread.slice(1));
			byId("thread").value = `p${this.processes.findIndex(({members}) => members.includes(number))}`;
		}
		this.recount();
	}
	isShown() {
		const number = Number(this.thread.slice(1));
		const members = new Set(this.thread.startsWith("p") ? this.processes[number].members : [number]);
		return Uint8Array.from(this.profile.threads, (thread, i) =>
			this.event.of.includes(thread.event) && (!this.thread || members.has(this.event.threadOf(i))) ? 1 : 0);
	}
	recount() {
		const {from, to} = this.strip;
		this.counts = new Counts(this.profile, this.calls, {isShown: this.isShown(), from, to});
		this.colours.assign(this.counts);
		this.strip.show(this.counts);
		this.trees = {};
		showQuality(this.event, this.counts, this.strip.text);
		this.showLegend();
		this.search();
	}
	showLegend() {
		const {modules} = this.colours;
		const chips = modules.filter(([, weight]) => weight).slice(0, 8).map(([module, weight]) => {
			const dot = element("span", {className: "dot"});
			dot.style.background = this.colours.ofModule(module);
			return element("span", {className: "module", title: module.path}, dot, element("bdi", {}, fileName(module.path)),
				element("span", {className: "quiet"}, ` ${percent(weight, this.counts.weight)}`));
		});
		byId("legend").replaceChildren(element("span", {className: "quiet"}, "self by module"), ...chips);
		byId("legend").hidden = !chips.length;
	}

	/* ---- views ---- */

	setView(view) {
		this.view = view;
		this.show();
	}
	setInverted(inverted) {
		this.inverted = inverted;
		this.view = "flame";
		this.flame.reset();
		this.show();
	}
	setUpwards(upwards) {
		this.upwards = upwards;
		this.flame.setUpwards(upwards);
		this.view = "flame";
		this.show();
	}
	tree() {
		const which = this.inverted ? "inverted" : "calls";
		this.trees[which] = this.trees[which] || (this.inverted ? invertedTree : callTree)(this.counts);
		return this.trees[which];
	}
	show() {
		for (const view of VIEWS) {
			byId(`${view}-view`).hidden = view !== this.view;
			byId(`view-${view}`).ariaPressed = String(view === this.view);
		}
		byId("invert").ariaPressed = String(this.inverted);
		byId("direction").ariaPressed = String(this.upwards);
		byId("invert").parentElement.hidden = this.view !== "flame";
		this.tooltip.hide();
		this.flame.wanted = this.callers.wanted = this.callees.wanted = this.wanted;
		({flame: () => this.flame.show(this.tree()), functions: () => this.showFunctions(),
			sandwich: () => this.showSandwich(), threads: () => this.showThreads()})[this.view]();
		this.showDetail();
	}
	showFunctions() {
		const {functions} = this.profile;
		this.functions.show(this.counts.functions.filter(({number, totalSamples}) => totalSamples &&
			functions[number].kind !== FUNCTION_LABEL && (!this.wanted || this.wanted[number])));
	}
	showSandwich() {
		const number = this.selected >= 0 ? this.selected : this.hottest();
		this.selected = number;
		if (number < 0)
			return;
		this.callers.show(callersOf(this.counts, number));
		this.callees.show(calleesOf(this.counts, number));
		for (const graph of [this.callers, this.callees])
			graph.reset();
	}
	hottest() {
		const best = this.counts.functions.reduce((a, b) => !a || b.self > a.self ? b : a, null);
		return best ? best.number : -1;
	}
	showThreads() {
		const all = this.profile.threads.map((thread, number) => ({number, thread, weight: 0, samples: 0}));
		this.counts.byThread.forEach(({weight, samples}, row) => {
			if (!this.event.of.includes(this.profile.threads[row].event))
				return;
			const counts = all[this.event.threadOf(row)];
			counts.weight += weight;
			counts.samples += samples;
		});
		const rows = all.filter(({samples}) => samples);
		this.weightOfThreads = rows.reduce((sum, {weight}) => sum + weight, 0);
		this.threads.show(rows);
	}
	showDetail() {
		const box = this.view === "flame" ? this.flame.cursor : null;
		this.detail.show(this.counts, this.event, this.selected, box);
		byId("said").textContent = saidOf(this.counts, this.selected, box);
	}
	selectBox(box) {
		this.selected = box.fn;
		this.showDetail();
	}
	select(number) {
		this.selected = number;
		if (this.view === "sandwich")
			this.showSandwich();
		else if (this.view === "functions")
			this.functions.draw();
		this.showDetail();
	}
	hover(graph, box, pointer) {
		if (box)
			this.tooltip.show(box, boxNumbers(box, this.event, graph.zoomed), pointer);
		else
			this.tooltip.hide();
	}

	/* ---- search ---- */

	search() {
		const text = byId("search").value;
		this.wanted = wantedFunctions(this.profile, text);
		const found = this.wanted && this.counts.having(this.wanted);
		const nr = found && this.counts.functions.filter(({number, totalSamples}) => totalSamples && this.wanted[number]).length;
		byId("found").textContent = found ? `${percent(found.weight, this.counts.weight)} in ${grouped(nr)} function${
			nr === 1 ? "" : "s"}` : "";
		this.show();
	}
	focusSearch() {
		byId("search").focus();
		byId("search").select();
	}
	nextFound(step) {
		if (this.view === "functions")
			this.functions.move(step);
		else if (this.view === "flame")
			this.flame.nextFound(step);
	}

	/* ---- keys ---- */

	move(beside, inwards) {
		const table = {functions: this.functions, threads: this.threads}[this.view];
		if (table && inwards)
			table.move(inwards);
		else if (this.view === "flame")
			this.flame.move(beside, this.upwards ? -inwards : inwards);
	}
	enter() {
		if (this.view === "flame")
			this.flame.zoomTo(this.flame.cursor);
		else if (this.view === "functions")
			this.setView("sandwich");
	}
	/* The last thing that was done comes first. */
	back() {
		if (this.help.isOpen)
			this.help.toggle();
		else if (byId("search").value || document.activeElement === byId("search"))
			this.clearSearch();
		else if (this.view === "flame" && this.flame.zoomOut())
			return;
		else if (this.view !== "flame")
			this.setView("flame");
		else if (this.thread)
			this.chooseThread("");
		else if (!this.strip.isWhole)
			this.strip.set(0, this.strip.nr);
	}
	clearSearch() {
		byId("search").value = "";
		byId("search").blur();
		this.search();
	}
	reset() {
		byId("search").value = "";
		this.inverted = this.upwards = this.flame.upwards = false;
		this.selected = -1;
		this.view = "flame";
		this.event = this.events[0];
		byId("event").value = this.event.number;
		this.fillThreads();
		this.flame.reset();
		this.strip.set(0, this.strip.nr);
	}
}

openPage(DATA_VERSION, readProfile, (profile) => {
	if (!profile.threads.length)
		throw new Error("it has no samples");
	return () => new Page(profile);
});
