/* SPDX-License-Identifier: MIT */
/*
 * What is in the data, as src/main/format/html.c wrote it. Tables refer to each other by number: a stack is a node, a
 * node has a function and its caller's node.
 */

const DATA_VERSION = 3;
const FUNCTION_NAMELESS = 1, FUNCTION_LABEL = 2;
const MODULE_KERNEL = 2, MODULE_GENERATED = 4;
const STACK_ENDS = ["complete", "joined", "switched", "truncated", "broken", "kernel only"];

function readEvent(reader) {
	return {name: reader.string(), unit: reader.string(), units: reader.string(), isTime: reader.number() === 1,
		isWait: reader.number() === 1, usual: reader.number(), header: reader.string()};
}

function readFunction(reader, modules) {
	const name = reader.string(), module = reader.number(), kind = reader.number();
	return {name, module: module ? modules[module - 1] : null, kind, file: reader.string(), line: reader.number()};
}

/* Node 0 is all: the caller of those that nobody called. */
function readNodes(reader) {
	const nr = reader.number() + 1;
	const callers = new Int32Array(nr), functions = new Int32Array(nr);
	functions[0] = -1;
	for (let node = 1; node < nr; node++) {
		callers[node] = node - reader.number();
		functions[node] = reader.number();
	}
	return {nr, callers, functions};
}

function readThread(reader) {
	const thread = {event: reader.number(), pid: reader.signed(), tid: reader.signed(), process: reader.string(),
		name: reader.string()};
	// A goroutine's name has its number; as a thread it has none.
	return {...thread, label: thread.tid < 0 ? thread.name : `${thread.name} [${thread.tid}]`};
}

function readStacks(reader) {
	const nr = reader.number();
	const nodes = new Int32Array(nr), threads = new Int32Array(nr), ends = new Uint8Array(nr);
	for (let stack = 0, node = 0; stack < nr; stack++) {
		node += reader.signed();
		nodes[stack] = node;
		threads[stack] = reader.number();
		ends[stack] = reader.number();
	}
	return {nr, nodes, threads, ends};
}

/* What is in a slice is read whenever it is counted: counts.js. */
function readSlices(reader) {
	const startMs = reader.number() / 1000, lengthNs = 2 ** reader.number();
	return {startMs, lengthNs, parts: reader.list(() => reader.part())};
}

function readProfile(reader) {
	const profile = {version: reader.string(), command: reader.string(), excerpt: reader.string()};
	profile.events = reader.list(() => readEvent(reader));
	profile.modules = reader.list((number) => ({number, path: reader.string(), kind: reader.number()}));
	profile.functions = reader.list(() => readFunction(reader, profile.modules));
	profile.nodes = readNodes(reader);
	profile.threads = reader.list(() => readThread(reader));
	profile.stacks = readStacks(reader);
	profile.slices = readSlices(reader);
	return profile;
}
