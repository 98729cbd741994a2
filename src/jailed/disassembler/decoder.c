/* SPDX-License-Identifier: MIT */
#include "decoder.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if __has_include(<capstone/capstone.h>)

#include <capstone/capstone.h>
#include <elf.h>

#include <ctop/base/library.h>

#define AS_TEXT(number) #number
#define LIBRARY(major)	"libcapstone.so." AS_TEXT(major)

/* The shapes of its structs are those of its header's major number. */
static const char library_name[] = LIBRARY(CS_API_MAJOR);

struct decoder {
	void *library;
	bool is_open;
	csh handle;
	cs_insn *scratch;
	uint16_t machine;
	__typeof__(&cs_open) open;
	__typeof__(&cs_close) close;
	__typeof__(&cs_option) option;
	__typeof__(&cs_malloc) malloc;
	__typeof__(&cs_free) free;
	__typeof__(&cs_disasm_iter) next;
	__typeof__(&cs_insn_group) is_in_group;
};

void decoder_prepare(void)
{
	library_load(library_name);
}

static bool load(struct decoder *decoder)
{
	void *library = library_load(library_name);
	decoder->library = library;
	return library && library_find(library, "cs_open", &decoder->open) &&
	       library_find(library, "cs_close", &decoder->close) &&
	       library_find(library, "cs_option", &decoder->option) &&
	       library_find(library, "cs_malloc", &decoder->malloc) &&
	       library_find(library, "cs_free", &decoder->free) &&
	       library_find(library, "cs_disasm_iter", &decoder->next) &&
	       library_find(library, "cs_insn_group", &decoder->is_in_group);
}

static bool is_x86(const struct decoder *decoder)
{
	return decoder->machine == EM_X86_64 || decoder->machine == EM_386;
}

static int begin(struct decoder *decoder)
{
	cs_arch arch = is_x86(decoder) ? CS_ARCH_X86 : CS_ARCH_ARM64;
	cs_mode mode = decoder->machine == EM_X86_64 ? CS_MODE_64
		       : decoder->machine == EM_386  ? CS_MODE_32
						     : CS_MODE_ARM;
	if (!is_x86(decoder) && decoder->machine != EM_AARCH64)
		return -ENOTSUP;
	if (!load(decoder))
		return -ENOSYS;
	cs_err error = decoder->open(arch, mode, &decoder->handle);
	decoder->is_open = error == CS_ERR_OK;
	if (!decoder->is_open)
		return error == CS_ERR_MEM ? -ENOMEM : -ENOTSUP;
	decoder->option(decoder->handle, CS_OPT_DETAIL, CS_OPT_ON);
	decoder->scratch = decoder->malloc(decoder->handle);
	return decoder->scratch ? 0 : -ENOMEM;
}

int decoder_open(uint16_t machine, struct decoder **decoder)
{
	struct decoder *made = calloc(1, sizeof(*made));
	int result = -ENOMEM;
	if (made) {
		made->machine = machine;
		result = begin(made);
	}
	if (result) {
		decoder_close(made);
		made = NULL;
	}
	*decoder = made;
	return result;
}

void decoder_close(struct decoder *decoder)
{
	if (!decoder)
		return;
	if (decoder->scratch)
		decoder->free(decoder->scratch, 1);
	if (decoder->is_open)
		decoder->close(&decoder->handle);
	if (decoder->library)
		dlclose(decoder->library);
	free(decoder);
}

/* The address is the last operand: arm64's tests of a bit or a register have others before it. */
static uint64_t target_of(const struct decoder *decoder, const cs_insn *insn)
{
	if (is_x86(decoder)) {
		const uint64_t mask = decoder->machine == EM_386 ? UINT32_MAX : UINT64_MAX;
		const cs_x86 *x86 = &insn->detail->x86;
		return x86->op_count == 1 && x86->operands[0].type == X86_OP_IMM
			       ? (uint64_t)x86->operands[0].imm & mask
			       : 0;
	}
	const cs_arm64 *arm64 = &insn->detail->arm64;
	const uint8_t nr = arm64->op_count;
	return nr && arm64->operands[nr - 1].type == ARM64_OP_IMM
		       ? (uint64_t)arm64->operands[nr - 1].imm
		       : 0;
}

static enum listing_kind kind_of(const struct decoder *decoder, const cs_insn *insn)
{
	if (decoder->is_in_group(decoder->handle, insn, CS_GRP_CALL) ||
	    (decoder->machine == EM_AARCH64 && !strncmp(insn->mnemonic, "bl", 2)))
		return LISTING_CALL;
	if (decoder->is_in_group(decoder->handle, insn, CS_GRP_RET))
		return LISTING_RETURN;
	return decoder->is_in_group(decoder->handle, insn, CS_GRP_JUMP) ? LISTING_JUMP
									: LISTING_PLAIN;
}

/* Bytes of a ModR/M byte and what belongs to it: Intel's manual, volume 2, 2.1.3. */
static size_t operand_bytes(const uint8_t *bytes, size_t left)
{
	const unsigned mode = left ? bytes[0] >> 6 : 3, base = left ? bytes[0] & 7 : 0;
	const bool has_sib = mode != 3 && base == 4;
	const bool is_absolute =
		mode == 0 && (base == 5 || (has_sib && left > 1 && (bytes[1] & 7) == 5));
	const size_t displacement_bytes = mode == 2 || is_absolute ? 4 : mode == 1 ? 1 : 0;
	return (has_sib ? 2u : 1u) + displacement_bytes;
}

/*
 * What libcapstone does not know yet are mostly AVX-512's: VEX and EVEX prefixes tell how long such instructions are (volume 2, 2.3 and
 * 2.7), so that the next one is found. 0: it is none of these.
 */
static size_t vector_bytes(const struct decoder *decoder, const uint8_t *bytes, size_t size)
{
	enum { VEX_2 = 0xc5, VEX_3 = 0xc4, EVEX = 0x62, MAP_0F = 1, MAP_0F3A = 3, REGISTER = 0xc0 };
	const size_t prefix = size < 6		  ? 0
			      : bytes[0] == VEX_2 ? 2
			      : bytes[0] == VEX_3 ? 3
			      : bytes[0] == EVEX  ? 4
						  : 0;
	/* In 32-bit code they are LDS, LES and BOUND where an operand in memory follows. */
	if (!prefix || (decoder->machine == EM_386 && (bytes[1] & REGISTER) != REGISTER))
		return 0;
	const unsigned map = prefix == 2 ? MAP_0F : bytes[1] & 7;
	const uint8_t opcode = bytes[prefix];
	const bool has_immediate =
		map == MAP_0F3A ||
		(map == MAP_0F && ((opcode >= 0x70 && opcode <= 0x73) || opcode == 0xc2 ||
				   (opcode >= 0xc4 && opcode <= 0xc6)));
	const size_t all =
		prefix + 1 + operand_bytes(bytes + prefix + 1, size - prefix - 1) + has_immediate;
	return all <= size ? all : 0;
}

/* As many bytes as it has; else one where instructions have any length, one word where all are one. */
static void skip(const struct decoder *decoder, const uint8_t *bytes, size_t size,
		 struct instruction *instruction)
{
	const size_t vector = is_x86(decoder) ? vector_bytes(decoder, bytes, size) : 0;
	const size_t unit = vector ? vector : is_x86(decoder) || size < 4 ? 1 : 4;
	char *text = instruction->operands;
	*instruction = (struct instruction){.size = (uint8_t)unit, .kind = LISTING_NOT_CODE};
	snprintf(instruction->mnemonic, sizeof(instruction->mnemonic), ".byte");
	for (size_t i = 0; i < unit; i++, text += strlen(text))
		snprintf(text, sizeof(", 0x00"), i ? ", 0x%02x" : "0x%02x", bytes[i]);
}

void decoder_next(struct decoder *decoder, const uint8_t *bytes, size_t size, uint64_t address,
		  struct instruction *instruction)
{
	const uint8_t *at = bytes;
	size_t left = size;
	uint64_t next = address;
	cs_insn *insn = decoder->scratch;
	if (!decoder->next(decoder->handle, &at, &left, &next, insn) || !insn->size ||
	    insn->size > size) {
		skip(decoder, bytes, size, instruction);
		return;
	}
	*instruction =
		(struct instruction){.size = (uint8_t)insn->size, .kind = kind_of(decoder, insn)};
	if (instruction->kind == LISTING_CALL || instruction->kind == LISTING_JUMP)
		instruction->target = target_of(decoder, insn);
	_Static_assert(sizeof(insn->mnemonic) <= sizeof(instruction->mnemonic) &&
			       sizeof(insn->op_str) <= sizeof(instruction->operands),
		       "both fit, with their NULs");
	strcpy(instruction->mnemonic, insn->mnemonic);
	strcpy(instruction->operands, insn->op_str);
}

#else /* built without its header */

void decoder_prepare(void)
{
}

int decoder_open(uint16_t machine, struct decoder **decoder)
{
	(void)machine;
	*decoder = NULL;
	return -ENOSYS;
}

void decoder_close(struct decoder *decoder)
{
	(void)decoder;
}

void decoder_next(struct decoder *decoder, const uint8_t *bytes, size_t size, uint64_t address,
		  struct instruction *instruction)
{
	(void)decoder;
	(void)bytes;
	(void)address;
	*instruction = (struct instruction){.size = size ? 1 : 0, .kind = LISTING_NOT_CODE};
}

#endif
