/* SPDX-License-Identifier: MIT */
/* Trees of calls from nodes. */

/* Top-down: the paths of several nodes, of which each is a call of the box's function. */
class CallBox extends Box {
	constructor(counts, fn, parent) {
		super(counts, fn, parent);
		this.nodes = [];
	}
	add(node) {
		this.nodes.push(node);
		this.total += this.counts.total[node];
		this.totalSamples += this.counts.totalSamples[node];
		this.self += this.counts.self[node];
		this.selfSamples += this.counts.selfSamples[node];
	}
	findChildren() {
		const {calls, profile, totalSamples} = this.counts, children = new Map();
		for (const node of this.nodes) {
			for (let i = calls.first[node]; i < calls.first[node + 1]; i++) {
				const called = calls.nodes[i], fn = profile.nodes.functions[called];
				if (!totalSamples[called])
					continue;
				if (!children.has(fn))
					children.set(fn, new CallBox(this.counts, fn, this));
				children.get(fn).add(called);
			}
		}
		return children;
	}
}

/* Bottom-up: where the stacks go on that came to the box's function from below. self: of those that go on no more. */
class CallerBox extends Box {
	constructor(counts, fn, parent) {
		super(counts, fn, parent);
		this.callers = []; /* the next node of each, with what it weighs */
		this.weights = [];
		this.samples = [];
	}
	add(caller, weight, samples) {
		this.callers.push(caller);
		this.weights.push(weight);
		this.samples.push(samples);
		this.total += weight;
		this.totalSamples += samples;
		if (caller)
			return;
		this.self += weight;
		this.selfSamples += samples;
	}
	findChildren() {
		const {functions, callers} = this.counts.profile.nodes, children = new Map();
		this.callers.forEach((node, i) => {
			if (!node)
				return;
			const fn = functions[node];
			if (!children.has(fn))
				children.set(fn, new CallerBox(this.counts, fn, this));
			children.get(fn).add(callers[node], this.weights[i], this.samples[i]);
		});
		return children;
	}
}

function callTree(counts) {
	const root = new CallBox(counts, -1, null);
	root.add(0);
	return root;
}

function invertedTree(counts) {
	const root = new CallerBox(counts, -1, null);
	for (let node = 1; node < counts.profile.nodes.nr; node++)
		if (counts.selfSamples[node])
			root.add(node, counts.self[node], counts.selfSamples[node]);
	return root;
}

/* Both begin at the outermost call of the function in each stack. */
function outermostCalls(counts, fn) {
	const {nr, functions} = counts.profile.nodes, nodes = [];
	for (let node = 1; node < nr; node++)
		if (functions[node] === fn && counts.calls.outermost[node] && counts.totalSamples[node])
			nodes.push(node);
	return nodes;
}

function calleesOf(counts, fn) {
	const root = new CallBox(counts, fn, null);
	outermostCalls(counts, fn).forEach((node) => root.add(node));
	return root;
}

function callersOf(counts, fn) {
	const root = new CallerBox(counts, fn, null);
	for (const node of outermostCalls(counts, fn))
		root.add(counts.profile.nodes.callers[node], counts.total[node], counts.totalSamples[node]);
	return root;
}
