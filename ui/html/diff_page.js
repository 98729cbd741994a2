/* SPDX-License-Identifier: MIT */
/* The page of a comparison: a flame graph in the shape of one side, coloured by change, and the functions of both. */

const VIEWS = ["flame", "functions"];

class DiffPage {
	constructor(profile) {
		this.profile = profile;
		this.calls = new Calls(profile);
		this.colours = new DiffColours();
		this.tooltip = new Tooltip(byId("tooltip"));
		this.flame = new FlameGraph(byId("flame"), this.colours, {
			select: (box) => this.selectBox(box), hover: (box, pointer) => this.hover(box, pointer)});
		this.functions = new Table(byId("functions"), diffColumns(), {
			sortedBy: "change", select: (row) => this.select(row.number),
			isSelected: (row) => row.number === this.selected});
		this.detail = new DiffDetail(byId("detail"), (number) => this.select(number));
		this.help = new HelpBox();
		this.looks = new Looks([this.flame], () => this.restyle());
		this.rows = inOrder(profile.functions.filter(({isLabel, inA, inB}) => !isLabel && (inA || inB)));
		this.fillHead();
		this.listen();
		this.reset();
	}
	fillHead() {
		const {names, header, measured, version} = this.profile;
		document.title = `${names.a} \u2192 ${names.b} \u2013 ctop diff`;
		byId("command").textContent = byId("command").title = `${names.a} \u2192 ${names.b}`;
		byId("version").textContent = `ctop ${version}`;
		const beyond = this.rows.filter(({self, total}) => self.beyond || total.beyond).length;
		const lines = headerLines(header);
		const matches = lines.find(({label}) => label === "functions");
		byId("quality-summary").replaceChildren(
			element("span", {className: "chip"}, beyond ? `${grouped(beyond)} of ${grouped(this.rows.length)} functions differ by more than noise`
				: "nothing differs by more than noise"),
			...(matches ? matches.value.split(", ").map((text) => element("span", {className: "chip"}, text)) : []));
		byId("quality-lines").replaceChildren(...headerItems(lines));
		for (const side of SIDES)
			byId(`measured-${side}`).replaceChildren(...headerItems(headerLines(measured[side])));
		this.restyle();
	}
	listen() {
		byId("search").addEventListener("input", () => this.search());
		byId("search").addEventListener("keydown", (event) => {
			if (event.key === "Enter")
				this.nextFound(event.shiftKey ? -1 : 1);
		});
		for (const view of VIEWS)
			byId(`view-${view}`).addEventListener("click", () => this.setView(view));
		for (const side of SIDES)
			byId(`shape-${side}`).addEventListener("click", () => this.setSide(side));
		byId("direction").addEventListener("click", () => this.setUpwards(!this.upwards));
		byId("reset").addEventListener("click", () => this.reset());
		document.body.addEventListener("scroll", () => this.tooltip.hide());
		listenToKeys(this);
	}
	restyle() {
		this.colours.restyle();
		showDiffLegend(byId("legend"), this.colours);
	}

	/* ---- views ---- */

	setView(view) {
		this.view = view;
		this.show();
	}
	setSide(side) {
		this.side = side;
		this.view = "flame";
		this.show();
	}
	setUpwards(upwards) {
		this.upwards = upwards;
		this.flame.setUpwards(upwards);
		this.view = "flame";
		this.show();
	}
	show() {
		for (const view of VIEWS) {
			byId(`${view}-view`).hidden = view !== this.view;
			byId(`view-${view}`).ariaPressed = String(view === this.view);
		}
		for (const side of SIDES)
			byId(`shape-${side}`).ariaPressed = String(side === this.side);
		byId("direction").ariaPressed = String(this.upwards);
		byId("direction").parentElement.hidden = this.view !== "flame";
		this.tooltip.hide();
		this.flame.wanted = this.wanted;
		if (this.view === "flame")
			this.flame.show(this.trees[this.side]);
		else
			this.functions.show(this.rows.filter((row) => !this.wanted || this.wanted[row.number]));
		this.showDetail();
	}
	showDetail() {
		const box = this.view === "flame" ? this.flame.cursor : null, fn = this.profile.functions[this.selected];
		this.detail.show(this.profile, this.selected, box);
		byId("said").textContent = fn ? `${fn.name}: self ${changeText(fn.self)}, total ${changeText(fn.total)}` : "";
	}
	selectBox(box) {
		this.selected = box.fn;
		this.showDetail();
	}
	select(number) {
		this.selected = number;
		if (this.view === "functions")
			this.functions.draw();
		this.showDetail();
	}
	hover(box, pointer) {
		if (box)
			this.tooltip.show(box, boxRows(box), pointer);
		else
			this.tooltip.hide();
	}

	/* ---- search ---- */

	search() {
		this.wanted = wantedFunctions(this.profile, byId("search").value);
		const nr = this.wanted && this.rows.filter((row) => this.wanted[row.number]).length;
		byId("found").textContent = this.wanted ? `${grouped(nr)} function${nr === 1 ? "" : "s"}` : "";
		this.show();
	}
	focusSearch() {
		byId("search").focus();
		byId("search").select();
	}
	nextFound(step) {
		if (this.view === "functions")
			this.functions.move(step);
		else
			this.flame.nextFound(step);
	}

	/* ---- keys ---- */

	move(beside, inwards) {
		if (this.view === "functions" && inwards)
			this.functions.move(inwards);
		else if (this.view === "flame")
			this.flame.move(beside, this.upwards ? -inwards : inwards);
	}
	enter() {
		if (this.view === "flame")
			this.flame.zoomTo(this.flame.cursor);
	}
	/* The last thing that was done comes first. */
	back() {
		if (this.help.isOpen)
			this.help.toggle();
		else if (byId("search").value || document.activeElement === byId("search"))
			this.clearSearch();
		else if (this.view !== "flame")
			this.setView("flame");
		else
			this.flame.zoomOut();
	}
	clearSearch() {
		byId("search").value = "";
		byId("search").blur();
		this.search();
	}
	reset() {
		byId("search").value = "";
		this.trees = {a: diffTree(this.profile, this.calls, "a"), b: diffTree(this.profile, this.calls, "b")};
		this.upwards = this.flame.upwards = false;
		this.selected = -1;
		this.view = "flame";
		this.side = "b";
		this.flame.rows = [];
		this.flame.zoomed = this.flame.cursor = null;
		this.search();
	}
}

openPage(DATA_VERSION, readDiff, (profile) => () => new DiffPage(profile));
