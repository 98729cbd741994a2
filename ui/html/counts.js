/* SPDX-License-Identifier: MIT */
/* What of a profile is shown (an event, threads, a stretch of time), counted by stack, by node and by function. */

/* Calls count(slice, stack, samples, weight) for what was sampled in these slices. */
function eachCell(profile, from, to, count) {
	const {parts} = profile.slices, {threads} = profile.stacks;
	const usual = profile.threads.map((thread) => profile.events[thread.event].usual);
	for (let slice = from; slice < to; slice++) {
		const reader = new Reader(parts[slice]);
		for (let stack = 0; reader.at < reader.bytes.length;) {
			stack += reader.signed();
			const number = reader.number(), samples = Math.floor(number / 2);
			count(slice, stack, samples, number % 2 ? reader.number() : samples * usual[threads[stack]]);
		}
	}
}

class Counts {
	/* isShown: by thread; from, to: slices. */
	constructor(profile, calls, {isShown, from, to}) {
		this.profile = profile;
		this.calls = calls;
		this.countStacks(isShown, from, to);
		this.countNodes();
		this.countFunctions();
	}
	countStacks(isShown, from, to) {
		const {profile} = this, {nr, threads, ends} = profile.stacks;
		const weights = new Float64Array(nr), samples = new Float64Array(nr);
		const strip = new Float64Array(profile.slices.parts.length);
		this.stripSamples = 0;
		this.byThread = profile.threads.map(() => ({weight: 0, samples: 0})); /* shown or not */
		eachCell(profile, 0, strip.length, (slice, stack, nrSamples, weight) => {
			const thread = threads[stack], isThen = slice >= from && slice < to;
			if (isThen) {
				this.byThread[thread].weight += weight;
				this.byThread[thread].samples += nrSamples;
			}
			if (!isShown[thread])
				return;
			strip[slice] += weight;
			this.stripSamples += nrSamples;
			if (!isThen)
				return;
			weights[stack] += weight;
			samples[stack] += nrSamples;
		});
		this.stackWeights = weights;
		this.stackSamples = samples;
		this.strip = strip;
		this.ends = STACK_ENDS.map(() => 0);
		for (let stack = 0; stack < nr; stack++)
			this.ends[ends[stack]] += samples[stack];
	}
	/* Callers have lower numbers than whom they call. */
	countNodes() {
		const {nr, callers} = this.profile.nodes, {nodes} = this.profile.stacks;
		const self = new Float64Array(nr), selfSamples = new Float64Array(nr);
		for (let stack = 0; stack < nodes.length; stack++) {
			self[nodes[stack]] += this.stackWeights[stack];
			selfSamples[nodes[stack]] += this.stackSamples[stack];
		}
		const total = self.slice(), totalSamples = selfSamples.slice();
		for (let node = nr - 1; node > 0; node--) {
			total[callers[node]] += total[node];
			totalSamples[callers[node]] += totalSamples[node];
		}
		Object.assign(this, {self, selfSamples, total, totalSamples, weight: total[0], samples: totalSamples[0]});
	}
	/* Recursion counts once. */
	countFunctions() {
		const {nr, functions} = this.profile.nodes;
		this.functions = this.profile.functions.map((_, number) => ({
			number, self: 0, selfSamples: 0, total: 0, totalSamples: 0}));
		for (let node = 1; node < nr; node++) {
			if (!this.totalSamples[node])
				continue;
			const counts = this.functions[functions[node]];
			counts.self += this.self[node];
			counts.selfSamples += this.selfSamples[node];
			if (!this.calls.outermost[node])
				continue;
			counts.total += this.total[node];
			counts.totalSamples += this.totalSamples[node];
		}
	}
	/* Of all stacks that have one of these functions in them. isWanted: by function. */
	having(isWanted) {
		const {nr, callers, functions} = this.profile.nodes;
		const has = new Uint8Array(nr);
		let weight = 0, samples = 0;
		for (let node = 1; node < nr; node++) {
			if (has[callers[node]]) {
				has[node] = 1;
			} else if (isWanted[functions[node]]) {
				has[node] = 1;
				weight += this.total[node];
				samples += this.totalSamples[node];
			}
		}
		return {weight, samples};
	}
}
