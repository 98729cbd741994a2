/* SPDX-License-Identifier: MIT */
/* The nodes that each node calls, one list behind the other; and which are the outermost call of their function in their stacks. */
class Calls {
	constructor(profile) {
		const {nr, callers} = profile.nodes;
		this.first = new Int32Array(nr + 1);
		for (let node = 1; node < nr; node++)
			this.first[callers[node] + 1]++;
		for (let node = 0; node < nr; node++)
			this.first[node + 1] += this.first[node];
		this.nodes = new Int32Array(nr);
		const next = this.first.slice();
		for (let node = 1; node < nr; node++)
			this.nodes[next[callers[node]]++] = node;
		this.outermost = this.findOutermost(profile);
	}
	/* On the way down the functions above are counted; on the way back they are taken away. */
	findOutermost(profile) {
		const {nr, functions} = profile.nodes;
		const outermost = new Uint8Array(nr), above = new Int32Array(profile.functions.length);
		const next = this.first.slice(0, nr);
		const path = new Int32Array(nr + 1);
		for (let depth = 0; depth >= 0;) {
			const node = path[depth];
			if (next[node] < this.first[node + 1]) {
				const called = this.nodes[next[node]++];
				outermost[called] = above[functions[called]]++ === 0 ? 1 : 0;
				path[++depth] = called;
			} else {
				if (node)
					above[functions[node]]--;
				depth--;
			}
		}
		return outermost;
	}
}
