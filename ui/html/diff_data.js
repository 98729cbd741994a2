/* SPDX-License-Identifier: MIT */
/*
 * What is in the data of a comparison, as src/main/compare/page.c wrote it. All values are shares of A's whole; a path's totals are
 * sums of what ends on it and below.
 */

const DATA_VERSION = 1, SIDES = ["a", "b"];
const FLAGS = {label: 1, kernel: 2, inA: 4, inB: 8};
const TESTED = 1, BEYOND = 2;

function readNoise(reader) {
	const noise = reader.double(), flags = reader.number();
	return {noise, tested: (flags & TESTED) !== 0, beyond: (flags & BEYOND) !== 0};
}

const readValue = (reader) => ({a: reader.double(), b: reader.double(), ...readNoise(reader)});

function readFunction(reader, number) {
	const flags = reader.number();
	const fn = {number, isLabel: (flags & FLAGS.label) !== 0, isKernel: (flags & FLAGS.kernel) !== 0, inA: (flags & FLAGS.inA) !== 0,
		inB: (flags & FLAGS.inB) !== 0, name: reader.string(), nameInA: reader.string()};
	const path = reader.string();
	return {...fn, module: path ? {path} : null, moduleInA: reader.string(), self: readValue(reader), total: readValue(reader)};
}

/* Node 0 is all: the caller of those that nobody called. */
function readNodes(reader) {
	const nr = reader.number() + 1;
	const callers = new Int32Array(nr), functions = new Int32Array(nr), noise = Array(nr).fill(null);
	const own = {a: new Float64Array(nr), b: new Float64Array(nr)};
	functions[0] = -1;
	for (let node = 0; node < nr; node++) {
		if (node) {
			callers[node] = node - reader.number();
			functions[node] = reader.number();
		}
		own.a[node] = reader.double();
		own.b[node] = reader.double();
		noise[node] = readNoise(reader);
	}
	const total = {a: own.a.slice(), b: own.b.slice()};
	for (let node = nr - 1; node > 0; node--)
		for (const side of SIDES)
			total[side][callers[node]] += total[side][node];
	return {nr, callers, functions, own, total, noise};
}

function readDiff(reader) {
	const diff = {version: reader.string(), names: {a: reader.string(), b: reader.string()}, header: reader.string(),
		measured: {a: reader.string(), b: reader.string()}};
	diff.functions = reader.list((number) => readFunction(reader, number));
	diff.nodes = readNodes(reader);
	return diff;
}

/* The tree of calls in the shape that one side has; a box has what both have. */
class DiffBox extends Box {
	constructor(counts, fn, parent, node) {
		super(counts, fn, parent);
		const {own, total, noise} = counts.profile.nodes;
		this.node = node;
		this.total = total[counts.side][node];
		this.change = {a: total.a[node], b: total.b[node], ...noise[node]};
		this.own = {a: own.a[node], b: own.b[node]};
	}
	findChildren() {
		const {calls, profile, side} = this.counts, {functions, total} = profile.nodes, children = new Map();
		for (let i = calls.first[this.node]; i < calls.first[this.node + 1]; i++) {
			const called = calls.nodes[i];
			if (total[side][called] > 0)
				children.set(called, new DiffBox(this.counts, functions[called], this, called));
		}
		return children;
	}
}

const diffTree = (profile, calls, side) => new DiffBox({profile, calls, side}, -1, null, 0);
