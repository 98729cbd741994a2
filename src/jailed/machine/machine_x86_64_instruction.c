/* SPDX-License-Identifier: MIT */
/*
 * Effects of x86-64's instructions (Intel's manual, volume 2, appendix A). A map has a letter for each opcode, which
 * says which of its operands it writes.
 */
#include <ctop/machine/instruction.h>

#include <ctop/machine/machine.h>

#include "machine_x86_64_decoder.h"

/*
 * Which general register an instruction writes. r: ModRM's reg; m: ModRM's r/m, if that is a register; 2: both; o: the
 * register in the opcode; a: rax; 7: r/m unless reg is 7 (cmp); u: unary (see write_unary); s: string operations' registers;
 * d: rdx; i: r/m if reg is 0 or 1; c: by cpuid; k: by a system call; t: rax and rdx; .: none.
 */
static const char one_byte_writes[] = "mmrraa..mmrraa.."
				      "mmrraa..mmrraa.."
				      "mmrraa..mmrraa.."
				      "mmrraa.........."
				      "................"
				      "................"
				      "...r.....r.rssss"
				      "................"
				      "77.7..22mmrr.r.m"
				      "oooooooo.d.....a"
				      "aa..ssss..ssssss"
				      "oooooooooooooooo"
				      "mm....mm........"
				      "mmmm...a.......a"
				      "ssss....aa..aa.."
				      "......uu......ii";

static const char two_byte_writes[] = "m.rr.k.........."
				      "................"
				      "m...........rr.."
				      ".ttt............"
				      "rrrrrrrrrrrrrrrr"
				      "r..............."
				      "................"
				      "..............m."
				      "................"
				      "mmmmmmmmmmmmmmmm"
				      "..c.mm.....mmm.r"
				      "aarmrrrrr.mmrrrr"
				      "22...r.toooooooo"
				      ".......r........"
				      "................"
				      "................";

static const uint8_t dwarf_number[16] = {0, 2, 1, 3, 7, 6, 4, 5, 8, 9, 10, 11, 12, 13, 14, 15};

/* ---- what it writes ---- */

static uint32_t bit(unsigned number)
{
	return number < 16 ? UINT32_C(1) << dwarf_number[number] : 0;
}

/* Without REX, numbers 4 to 7 of registers of one byte are the second bytes of rax, rcx, rdx and rbx. */
static unsigned whole_register(const struct decoder *d, unsigned number)
{
	const bool one_byte =
		(d->map == 1 && !(d->opcode & 1) &&
		 (d->opcode < 0x40 || d->opcode == 0x80 || d->opcode == 0x86 || d->opcode == 0x88 ||
		  d->opcode == 0x8a || d->opcode == 0xc0 || d->opcode == 0xc6 ||
		  d->opcode == 0xd0 || d->opcode == 0xd2 || d->opcode == 0xf6 ||
		  d->opcode == 0xfe)) ||
		(d->map == 1 && d->opcode >= 0xb0 && d->opcode <= 0xb7) ||
		(d->map == 2 && (d->opcode >> 4 == 9 || d->opcode == 0xb0 || d->opcode == 0xc0));
	return one_byte && !d->has_rex && d->encoding == PLAIN && number >= 4 && number < 8
		       ? number - 4
		       : number;
}

static uint32_t write_unary(const struct decoder *d, unsigned rm)
{
	switch (d->reg & 7) {
	case 0:
	case 1:
		return 0;
	case 2:
	case 3:
		return d->mode == 3 ? bit(rm) : 0;
	default:
		return bit(RAX) | bit(RDX);
	}
}

/* 0f ba: bt, bts, btr, btc. 0f ae: rdfsbase and its like. 0f c7: cmpxchg16b, rdrand. 0f 01: xgetbv, rdtscp, smsw, ... */
static uint32_t write_group(const struct decoder *d)
{
	const unsigned which = d->reg & 7;
	const uint32_t rm = d->mode == 3 ? bit(d->rm) : 0;
	if (d->opcode == 0xba)
		return which == 4 ? 0 : rm;
	if (d->opcode == 0xae)
		return d->repeated && which < 2 ? rm : 0;
	if (d->opcode == 0x1e)
		return d->repeated && which == 1 ? rm : 0; /* rdssp */
	if (d->opcode == 0x01)
		return which == 4 ? rm : d->mode == 3 ? bit(RAX) | bit(RCX) | bit(RDX) : 0;
	return d->mode == 3 ? rm : bit(RAX) | bit(RDX);
}

static uint32_t write_by_letter(const struct decoder *d, char letter)
{
	const unsigned rm = whole_register(d, d->rm), reg = whole_register(d, d->reg);
	const uint32_t to_rm = d->has_modrm && d->mode == 3 ? bit(rm) : 0;
	switch (letter) {
	case 'r':
		return bit(reg);
	case 'm':
		return to_rm;
	case '2':
		return to_rm | bit(reg);
	case '7':
		return (d->reg & 7) == 7 ? 0 : to_rm;
	case 'i':
		return (d->reg & 7) < 2 ? to_rm : 0;
	case 'o':
		return bit(whole_register(d, (d->opcode & 7) | (d->rex & REX_B ? 8 : 0))) |
		       (d->opcode >> 4 == 9 ? bit(RAX) : 0);
	case 'a':
		return bit(RAX);
	case 'd':
		return bit(RDX);
	case 't':
		return bit(RAX) | bit(RDX);
	case 'u':
		return write_unary(d, rm);
	case 's':
		return bit(RSI) | bit(RDI) | bit(RCX) |
		       (d->opcode >> 1 == 0xac >> 1 ? bit(RAX) : 0);
	case 'c':
		return bit(RAX) | bit(RBX) | bit(RCX) | bit(RDX);
	case 'k':
		return bit(RAX) | bit(RCX) | bit(R11);
	default:
		return 0;
	}
}

static uint32_t write_two_byte(const struct decoder *d)
{
	const bool vector = d->encoding != PLAIN;
	switch (d->opcode) {
	case 0x01:
	case 0x1e:
	case 0xae:
	case 0xba:
	case 0xc7:
		return vector ? 0 : write_group(d);
	case 0x2c:
	case 0x2d:
		/* From floating point; of cvttps2pi and its like, which have no prefix f2 or f3, into MMX. */
		return d->repeated ? bit(d->reg) : 0;
	case 0x7e:
		/* With f3 it is movq between vectors. */
		return !d->repeated && d->mode == 3 ? bit(d->rm) : 0;
	case 0x78:
	case 0x79:
		if (d->encoding == EVEX)
			return d->repeated ? bit(d->reg) : 0;
		return d->opcode == 0x78 && d->mode == 3 ? bit(d->rm) : 0;
	case 0x93:
		return vector ? bit(d->reg) : write_by_letter(d, 'm');
	case 0x50:
	case 0xc5:
	case 0xd7:
		return bit(d->reg);
	default:
		return vector ? 0 : write_by_letter(d, two_byte_writes[d->opcode]);
	}
}

static uint32_t written(const struct decoder *d)
{
	if (d->map == 1)
		return write_by_letter(d, one_byte_writes[d->opcode]);
	if (d->map == 2)
		return write_two_byte(d);
	if (d->map == 3 && d->opcode >= 0xf0) {
		/* movbe, crc32, adcx, and those of VEX: andn, blsr, bzhi, pext, mulx, shlx. */
		if (d->opcode == 0xf3)
			return bit(d->vvvv);
		if (d->encoding == PLAIN && d->opcode == 0xf1 && !d->repeated)
			return d->mode == 3 ? bit(d->rm) : 0; /* movbe to memory */
		return d->opcode <= 0xf7 ? bit(d->reg) | (d->encoding == VEX && d->opcode == 0xf6
								  ? bit(d->vvvv)
								  : 0)
					 : 0;
	}
	if (d->map == 4 && d->opcode >= 0x14 && d->opcode <= 0x17)
		return d->mode == 3 ? bit(d->rm) : 0; /* pextr */
	if (d->map == 4 && d->opcode == 0xf0)
		return bit(d->reg); /* rorx */
	if (d->map == 4 && d->opcode >= 0x60 && d->opcode <= 0x63)
		return bit(RCX); /* pcmpestri and its like */
	return 0;
}

/* ---- what it does ---- */

static bool wide(const struct decoder *d)
{
	return d->rex & REX_W;
}

static void set(struct instruction *instruction, enum instruction_kind kind, unsigned reg,
		unsigned base, int64_t value)
{
	instruction->kind = (uint8_t)kind;
	instruction->reg = reg < 16 ? dwarf_number[reg] : NONE;
	instruction->base = base < 16 ? dwarf_number[base] : NONE;
	instruction->value = value;
	instruction->writes = 0;
}

/* Every push and pop is of 8 bytes, unless its operand has 16 bits. */
static void set_push(const struct decoder *d, struct instruction *instruction,
		     enum instruction_kind kind, unsigned reg)
{
	set(instruction, d->operand16 ? INSTRUCTION_OTHER : kind, reg, NONE, 0);
	if (d->operand16)
		instruction->writes = bit(RSP) | bit(reg);
}

/* Only an address of one register and a distance is followed. */
static bool has_simple_address(const struct decoder *d)
{
	return d->mode != 3 && d->index == NONE && d->base != NONE && !d->address32;
}

static void take_group_ff(const struct decoder *d, struct instruction *instruction)
{
	const bool table = d->mode != 3 && d->base == NONE && !d->relative && d->index != NONE &&
			   d->scale == 8;
	switch (d->reg & 7) {
	case 2:
	case 3:
		set(instruction, INSTRUCTION_CALL_INDIRECT, NONE, NONE, 0);
		break;
	case 4:
		if (d->mode == 3)
			set(instruction, INSTRUCTION_JUMP_REGISTER, d->rm, NONE, 0);
		else if (table)
			set(instruction, INSTRUCTION_JUMP_TABLE, NONE, NONE, d->displacement);
		else if (d->index != NONE && d->scale == 8)
			set(instruction, INSTRUCTION_JUMP_INDEXED, NONE, d->base, d->displacement);
		else if (d->index != NONE)
			set(instruction, INSTRUCTION_JUMP_INDEXED, NONE, NONE, 0);
		else
			set(instruction, INSTRUCTION_JUMP_MEMORY, NONE, NONE, 0);
		break;
	case 5:
		set(instruction, INSTRUCTION_STOP, NONE, NONE, 0);
		break;
	case 6:
		if (d->mode == 3)
			set_push(d, instruction, INSTRUCTION_PUSH, d->rm);
		else
			set_push(d, instruction, INSTRUCTION_PUSH_VALUE, NONE);
		break;
	case 0:
	case 1:
		if (d->mode == 3 && wide(d))
			set(instruction, INSTRUCTION_ADD, d->rm, NONE, (d->reg & 7) == 0 ? 1 : -1);
		break;
	default:
		break;
	}
}

static void take_arithmetic(const struct decoder *d, struct instruction *instruction)
{
	if ((d->reg & 7) == 7)
		set(instruction, INSTRUCTION_COMPARE_VALUE, NONE, NONE, d->immediate);
	if (d->mode != 3 || !wide(d))
		return;
	switch (d->reg & 7) {
	case 0:
		set(instruction, INSTRUCTION_ADD, d->rm, NONE, d->immediate);
		break;
	case 4:
		if (d->immediate < 0)
			set(instruction, INSTRUCTION_ALIGN, d->rm, NONE, d->immediate);
		break;
	case 5:
		set(instruction, INSTRUCTION_ADD, d->rm, NONE, -d->immediate);
		break;
	default:
		break;
	}
}

static void take_lea(const struct decoder *d, struct instruction *instruction)
{
	if (!wide(d) || d->mode == 3)
		return;
	if (d->relative && !d->address32)
		set(instruction, INSTRUCTION_ADDRESS, d->reg, NONE, d->displacement);
	else if (has_simple_address(d))
		set(instruction, INSTRUCTION_SUM, d->reg, d->base, d->displacement);
}

static void take_move(const struct decoder *d, struct instruction *instruction)
{
	const bool to_register = d->opcode == 0x8b;
	if (!wide(d))
		return;
	if (d->mode == 3)
		set(instruction, INSTRUCTION_COPY, to_register ? d->reg : d->rm,
		    to_register ? d->rm : d->reg, 0);
	else if (to_register && !d->relative && d->index != NONE && d->scale == 8)
		set(instruction, INSTRUCTION_LOAD_POINTER, d->reg, d->base, d->displacement);
	else if (has_simple_address(d))
		set(instruction, to_register ? INSTRUCTION_LOAD : INSTRUCTION_STORE, d->reg,
		    d->base, d->displacement);
}

static void take_one_byte(const struct decoder *d, struct instruction *instruction)
{
	const unsigned in_opcode = (d->opcode & 7) | (d->rex & REX_B ? 8 : 0);
	switch (d->opcode) {
	case 0x01:
	case 0x03:
		if (d->mode == 3 && wide(d))
			set(instruction, INSTRUCTION_ADD_REGISTER, d->opcode == 1 ? d->rm : d->reg,
			    d->opcode == 1 ? d->reg : d->rm, 0);
		break;
	case 0x39:
	case 0x3b:
		if (d->mode == 3 && wide(d))
			set(instruction, INSTRUCTION_COMPARE, d->reg, d->rm, 0);
		break;
	case 0x3c:
	case 0x3d:
		set(instruction, INSTRUCTION_COMPARE_VALUE, NONE, NONE,
		    d->opcode == 0x3c ? (uint8_t)d->immediate : d->immediate);
		break;
	case 0x63:
		if (wide(d) && d->mode != 3 && d->base != NONE && d->index != NONE && d->scale == 4)
			set(instruction, INSTRUCTION_LOAD_ENTRY, d->reg, d->base, d->displacement);
		break;
	case 0x68:
	case 0x6a:
	case 0x9c:
		set_push(d, instruction, INSTRUCTION_PUSH_VALUE, NONE);
		break;
	case 0x80:
		if ((d->reg & 7) == 7)
			set(instruction, INSTRUCTION_COMPARE_VALUE, NONE, NONE,
			    (uint8_t)d->immediate);
		break;
	case 0x81:
	case 0x83:
		take_arithmetic(d, instruction);
		break;
	case 0x89:
	case 0x8b:
		take_move(d, instruction);
		break;
	case 0x8d:
		take_lea(d, instruction);
		break;
	case 0x8f:
		if (d->mode == 3)
			set_push(d, instruction, INSTRUCTION_POP, d->rm);
		else
			set_push(d, instruction, INSTRUCTION_POP_VALUE, NONE);
		break;
	case 0x90:
		if (!(d->rex & REX_B))
			set(instruction, INSTRUCTION_NOP, NONE, NONE, 0);
		break;
	case 0x9d:
		set_push(d, instruction, INSTRUCTION_POP_VALUE, NONE);
		break;
	case 0xc2:
	case 0xc3:
		set(instruction, INSTRUCTION_RETURN, NONE, NONE, 0);
		break;
	case 0xc7:
		if (d->mode == 3 && (d->reg & 7) == 0)
			set(instruction, INSTRUCTION_CONSTANT, d->rm, NONE, d->immediate);
		break;
	case 0xc8:
		instruction->writes = bit(RSP) | bit(RBP);
		break;
	case 0xc9:
		set(instruction, INSTRUCTION_LEAVE, NONE, NONE, 0);
		break;
	case 0xca:
	case 0xcb:
	case 0xcc:
	case 0xcf:
	case 0xf1:
	case 0xf4:
		set(instruction, INSTRUCTION_STOP, NONE, NONE, 0);
		break;
	case 0xe8:
		set(instruction, INSTRUCTION_CALL, NONE, NONE, d->immediate);
		break;
	case 0xe9:
	case 0xeb:
		set(instruction, INSTRUCTION_JUMP, NONE, NONE, d->immediate);
		break;
	case 0xff:
		take_group_ff(d, instruction);
		break;
	default:
		if (d->opcode >> 3 == 0x50 >> 3)
			set_push(d, instruction, INSTRUCTION_PUSH, in_opcode);
		else if (d->opcode >> 3 == 0x58 >> 3)
			set_push(d, instruction, INSTRUCTION_POP, in_opcode);
		else if (d->opcode >> 3 == 0xb8 >> 3 && !d->operand16)
			set(instruction, INSTRUCTION_CONSTANT, in_opcode, NONE,
			    wide(d) ? d->immediate : (int64_t)(uint32_t)d->immediate);
		else if (d->opcode >> 4 == 7 || (d->opcode >= 0xe0 && d->opcode <= 0xe3))
			set(instruction, INSTRUCTION_BRANCH, NONE, NONE, d->immediate);
		break;
	}
}

static void take_two_byte(const struct decoder *d, struct instruction *instruction)
{
	if (d->encoding != PLAIN)
		return;
	if (d->opcode == 0x1f)
		set(instruction, INSTRUCTION_NOP, NONE, NONE, 0);
	else if (d->opcode >> 4 == 8)
		set(instruction, INSTRUCTION_BRANCH, NONE, NONE, d->immediate);
	else if (d->opcode == 0x0b || d->opcode == 0xb9 || d->opcode == 0xff || d->opcode == 0x07)
		set(instruction, INSTRUCTION_STOP, NONE, NONE, 0);
	else if (d->opcode == 0xa0 || d->opcode == 0xa8)
		set_push(d, instruction, INSTRUCTION_PUSH_VALUE, NONE);
	else if (d->opcode == 0xa1 || d->opcode == 0xa9)
		set_push(d, instruction, INSTRUCTION_POP_VALUE, NONE);
}

bool instruction_read(const uint8_t *code, size_t size, struct instruction *instruction)
{
	struct decoder d;
	if (!decoder_read(&d, code, size))
		return false;
	set(instruction, INSTRUCTION_OTHER, NONE, NONE, 0);
	instruction->writes = written(&d);
	instruction->length = (uint8_t)(d.at - code);
	instruction->second = NONE;
	instruction->writeback = 0;
	if (code[0] == 0 && code[1] == 0) /* what linkers fill gaps between sections with */
		set(instruction, INSTRUCTION_STOP, NONE, NONE, 0);
	else if (d.map == 1)
		take_one_byte(&d, instruction);
	else if (d.map == 2)
		take_two_byte(&d, instruction);
	return true;
}
