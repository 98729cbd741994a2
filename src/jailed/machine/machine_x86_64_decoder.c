/* SPDX-License-Identifier: MIT */
/* Lengths of x86-64's instructions (Intel's manual, volume 2, appendix A): a map has a letter for each opcode. */
#include "machine_x86_64_decoder.h"

#include <string.h>

#include <ctop/machine/instruction.h>

/*
 * What follows an opcode. m: ModRM; 1, 2, 4: as many bytes (4: 2 with prefix 66); b, z: ModRM and 1 or 4 bytes;
 * v: 4 bytes, or 8 with REX.W, or 2; o: an address; e: enter's; j, J: a distance of 1 or 4 bytes; t, T: ModRM, and 1 or 4 bytes for a
 * test alone; x: no such instruction.
 */
static const char one_byte_forms[] = "mmmm14xxmmmm14x."
				     "mmmm14xxmmmm14xx"
				     "mmmm14.xmmmm14.x"
				     "mmmm14.xmmmm14.x"
				     "................"
				     "................"
				     "xx.m....4z1b...."
				     "jjjjjjjjjjjjjjjj"
				     "bzxbmmmmmmmmmmmm"
				     "..........x....."
				     "oooo....14......"
				     "11111111vvvvvvvv"
				     "bb2.xxbze.2..1x."
				     "mmmmxxx.mmmmmmmm"
				     "jjjj1111JJxj...."
				     "......tT......mm";

static const char two_byte_forms[] = "mmmmx.....x.xm.b"
				     "mmmmmmmmmmmmmmmm"
				     "mmmmxxxxmmmmmmmm"
				     "......x.xxxxxxxx"
				     "mmmmmmmmmmmmmmmm"
				     "mmmmmmmmmmmmmmmm"
				     "mmmmmmmmmmmmmmmm"
				     "bbbbmmm.mmmmmmmm"
				     "JJJJJJJJJJJJJJJJ"
				     "mmmmmmmmmmmmmmmm"
				     "...mbmmx...mbmmm"
				     "mmmmmmmmmmbmmmmm"
				     "mmbmbbbm........"
				     "mmmmmmmmmmmmmmmm"
				     "mmmmmmmmmmmmmmmm"
				     "mmmmmmmmmmmmmmmm";

static uint8_t next_byte(struct decoder *d)
{
	if (d->at < d->end)
		return *d->at++;
	d->failed = true;
	return 0;
}

/* A signed little-endian number. */
static int64_t next_number(struct decoder *d, size_t bytes)
{
	uint64_t value = 0;
	if (bytes == 0)
		return 0;
	if ((size_t)(d->end - d->at) < bytes) {
		d->failed = true;
		return 0;
	}
	for (size_t i = 0; i < bytes; i++)
		value |= (uint64_t)d->at[i] << 8 * i;
	d->at += bytes;
	const uint64_t sign = UINT64_C(1) << (8 * bytes - 1);
	return (int64_t)((value ^ sign) - sign);
}

static void read_prefixes(struct decoder *d)
{
	while (d->at < d->end) {
		switch (*d->at) {
		case 0x66:
			d->operand16 = true;
			break;
		case 0x67:
			d->address32 = true;
			break;
		case 0xf2:
		case 0xf3:
			d->repeated = true;
			break;
		case 0x26:
		case 0x2e:
		case 0x36:
		case 0x3e:
		case 0x64:
		case 0x65:
		case 0xf0:
			break;
		default:
			if ((*d->at & 0xf0) != 0x40)
				return;
			/* REX counts only just before the opcode. */
			d->rex = *d->at & 0xfU;
			d->has_rex = true;
			d->at++;
			if (d->at < d->end && (*d->at & 0xf0) != 0x40 &&
			    !memchr("\x66\x67\xf2\xf3\x26\x2e\x36\x3e\x64\x65\xf0", *d->at, 11))
				return;
			d->rex = 0;
			d->has_rex = false;
			continue;
		}
		d->at++;
	}
}

static void read_vex(struct decoder *d, uint8_t first)
{
	const unsigned second = next_byte(d);
	unsigned last = second;
	d->encoding = VEX;
	d->map = 2;
	d->rex = second & 0x80 ? 0 : REX_R;
	if (first == 0xc4) {
		d->rex = ~second >> 5 & 7;
		d->map = (second & 0x1f) + 1;
		last = next_byte(d);
		d->rex |= last & 0x80 ? REX_W : 0;
	}
	d->vvvv = ~last >> 3 & 0xf;
	d->operand16 = (last & 3) == 1;
	d->repeated = (last & 3) >= 2;
	d->opcode = next_byte(d);
}

static void read_evex(struct decoder *d)
{
	const unsigned first = next_byte(d), second = next_byte(d);
	next_byte(d);
	d->encoding = EVEX;
	d->rex = ~first >> 5 & 7;
	d->map = (first & 7) + 1;
	d->rex |= second & 0x80 ? REX_W : 0;
	d->vvvv = ~second >> 3 & 0xf;
	d->operand16 = (second & 3) == 1;
	d->repeated = (second & 3) >= 2;
	d->opcode = next_byte(d);
}

static void read_opcode(struct decoder *d)
{
	const uint8_t first = next_byte(d);
	d->map = 1;
	d->opcode = first;
	if (first == 0xc4 || first == 0xc5) {
		read_vex(d, first);
	} else if (first == 0x62) {
		read_evex(d);
	} else if (first == 0x0f) {
		d->map = 2;
		d->opcode = next_byte(d);
		if (d->opcode == 0x38 || d->opcode == 0x3a) {
			d->map = d->opcode == 0x38 ? 3 : 4;
			d->opcode = next_byte(d);
		}
	}
}

static char form_of(const struct decoder *d)
{
	switch (d->map) {
	case 1:
		return d->encoding == PLAIN ? one_byte_forms[d->opcode] : 'x';
	case 2:
		/* Comparisons with a mask, in place of VMX's and AMD's. */
		if (d->encoding == EVEX && d->opcode >= 0x78 && d->opcode <= 0x7b)
			return 'm';
		return two_byte_forms[d->opcode];
	case 3:
		return 'm';
	case 4:
		return 'b';
	case 6:
	case 7:
		return d->encoding == EVEX ? 'm' : 'x';
	default:
		return 'x';
	}
}

/* EVEX's displacements of one byte are multiples: only their length is right here, and no address of the stack's. */
static void read_modrm(struct decoder *d)
{
	const unsigned modrm = next_byte(d);
	d->has_modrm = true;
	d->mode = modrm >> 6;
	d->reg = (modrm >> 3 & 7) | (d->rex & REX_R ? 8 : 0);
	d->rm = (modrm & 7) | (d->rex & REX_B ? 8 : 0);
	d->base = d->rm;
	d->index = NONE;
	/* Moves from and to control and debug registers have no memory operands. */
	if (d->mode == 3 ||
	    (d->map == 2 && d->encoding == PLAIN && d->opcode >= 0x20 && d->opcode <= 0x23))
		return;
	size_t bytes = d->mode == 1 ? 1 : d->mode == 2 ? 4 : 0;
	if ((modrm & 7) == RSP) {
		const unsigned sib = next_byte(d);
		d->index = (sib >> 3 & 7) | (d->rex & REX_X ? 8 : 0);
		d->base = (sib & 7) | (d->rex & REX_B ? 8 : 0);
		d->scale = 1U << (sib >> 6);
		if (d->index == RSP)
			d->index = NONE;
		if ((sib & 7) == RBP && d->mode == 0) {
			d->base = NONE;
			bytes = 4;
		}
	} else if ((modrm & 7) == RBP && d->mode == 0) {
		d->base = NONE;
		d->relative = true;
		bytes = 4;
	}
	d->displacement = next_number(d, bytes);
}

static size_t immediate_bytes(const struct decoder *d)
{
	const bool wide = d->rex & REX_W;
	const size_t full = d->operand16 && !wide ? 2 : 4;
	switch (d->form) {
	case '1':
	case 'b':
	case 'j':
		return 1;
	case 't':
		return (d->reg & 7) < 2;
	case '2':
		return 2;
	case 'e':
		return 3;
	case 'J':
		return 4;
	case '4':
	case 'z':
		return full;
	case 'T':
		return (d->reg & 7) < 2 ? full : 0;
	case 'v':
		return wide ? 8 : full;
	case 'o':
		return d->address32 ? 4 : 8;
	default:
		return 0;
	}
}

bool decoder_read(struct decoder *d, const uint8_t *code, size_t size)
{
	*d = (struct decoder){
		.at = code,
		.end = code + (size < INSTRUCTION_MAX_BYTES ? size : INSTRUCTION_MAX_BYTES),
		.vvvv = NONE,
		.base = NONE,
		.index = NONE,
	};
	read_prefixes(d);
	read_opcode(d);
	d->form = form_of(d);
	if (d->form == 'x' || d->failed)
		return false;
	if (strchr("mbztT", d->form))
		read_modrm(d);
	d->immediate = next_number(d, d->form == 'e' ? 2 : immediate_bytes(d));
	if (d->form == 'e')
		next_byte(d);
	return !d->failed;
}
