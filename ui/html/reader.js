/* SPDX-License-Identifier: MIT */
/* The data that stands in a page, as src/main/format/page.c wrote it. */

async function unpack(base64) {
	const packed = Uint8Array.fromBase64 ? Uint8Array.fromBase64(base64)
		: Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
	const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
	return new Uint8Array(await new Response(stream).arrayBuffer());
}

/* Numbers of 7 bits a byte, low ones first. Above 2^53 they are rounded. */
class Reader {
	constructor(bytes) {
		this.bytes = bytes;
		this.at = 0;
		this.text = new TextDecoder();
	}
	number() {
		const bytes = this.bytes;
		let byte = bytes[this.at++], value = byte & 127;
		for (let scale = 128; byte > 127; scale *= 128) {
			byte = bytes[this.at++];
			value += (byte & 127) * scale;
		}
		return value;
	}
	signed() {
		const value = this.number();
		return value % 2 ? -(value + 1) / 2 : value / 2;
	}
	part() {
		const size = this.number();
		this.at += size;
		return this.bytes.subarray(this.at - size, this.at);
	}
	string() {
		return this.text.decode(this.part());
	}
	double() {
		const {buffer, byteOffset} = this.bytes;
		this.at += 8;
		return new DataView(buffer, byteOffset + this.at - 8, 8).getFloat64(0, true);
	}
	list(read) {
		return Array.from({length: this.number()}, (_, i) => read(i));
	}
}

/* Reads all of a page's data, of that version. */
async function readData(base64, version, read) {
	const reader = new Reader(await unpack(base64));
	if (reader.number() !== version)
		throw new Error("this page's data is of another version");
	const data = read(reader);
	if (reader.at !== reader.bytes.length)
		throw new Error("this page's data is damaged");
	return data;
}
