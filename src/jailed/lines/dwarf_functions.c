/* SPDX-License-Identifier: MIT */
#include "dwarf_functions.h"

#include <dwarf.h>
#include <stdlib.h>

#include <ctop/base/vec.h>
#include <ctop/elf/dwarf_bytes.h>

enum {
	DIES_MAX = 1 << 22, /* looked at for one unit's functions */
	DEPTH_MAX = 64,
	ABBREVS_MAX = 1 << 16,
	ATTRIBUTES_MAX = 256, /* of one kind of entry */
	STEPS_MAX = 1 << 20,  /* of all */
};

/* How to step over some of an entry's attributes. */
enum step_kind {
	STEP_BYTES, /* so many */
	STEP_LEB,
	STEP_STRING,
	STEP_BLOCK,	/* a length of so many bytes, and what it counts */
	STEP_LEB_BLOCK, /* a length as LEB128 */
	STEP_INDIRECT,	/* the attribute says itself of which form it is */
	STEP_SIBLING,	/* so many bytes, which say where the next entry beside this one is */
	STEP_NONE,	/* of no form that is known */
};

struct step {
	uint8_t kind, bytes;
};

struct abbrev {
	uint64_t code;
	unsigned tag;
	bool has_children, has_code;
	size_t first_step, nr_steps;
};

struct scan {
	Dwarf_Die unit;
	Dwarf_Half version;
	uint8_t address_bytes, offset_bytes;
	const uint8_t *start; /* of the unit */
	struct dwarf_bytes cursor;
	struct {
		struct abbrev *items;
		size_t nr, capacity;
	} abbrevs;
	struct {
		struct step *items;
		size_t nr, capacity;
	} steps;
};

/* ---- kinds of entries ---- */

static struct step bytes(size_t nr)
{
	return (struct step){STEP_BYTES, (uint8_t)nr};
}

/* DWARF 5, 7.5.6; and GNU's of DWARF 4. */
static struct step step_of(const struct scan *scan, unsigned form)
{
	switch (form) {
	case DW_FORM_addr:
		return bytes(scan->address_bytes);
	case DW_FORM_flag_present:
	case DW_FORM_implicit_const:
		return bytes(0);
	case DW_FORM_data1:
	case DW_FORM_ref1:
	case DW_FORM_flag:
	case DW_FORM_strx1:
	case DW_FORM_addrx1:
		return bytes(1);
	case DW_FORM_data2:
	case DW_FORM_ref2:
	case DW_FORM_strx2:
	case DW_FORM_addrx2:
		return bytes(2);
	case DW_FORM_strx3:
	case DW_FORM_addrx3:
		return bytes(3);
	case DW_FORM_data4:
	case DW_FORM_ref4:
	case DW_FORM_strx4:
	case DW_FORM_addrx4:
	case DW_FORM_ref_sup4:
		return bytes(4);
	case DW_FORM_data8:
	case DW_FORM_ref8:
	case DW_FORM_ref_sig8:
	case DW_FORM_ref_sup8:
		return bytes(8);
	case DW_FORM_data16:
		return bytes(16);
	case DW_FORM_strp:
	case DW_FORM_line_strp:
	case DW_FORM_sec_offset:
	case DW_FORM_strp_sup:
	case DW_FORM_GNU_ref_alt:
	case DW_FORM_GNU_strp_alt:
		return bytes(scan->offset_bytes);
	case DW_FORM_ref_addr:
		return bytes(scan->version == 2 ? scan->address_bytes : scan->offset_bytes);
	case DW_FORM_sdata:
	case DW_FORM_udata:
	case DW_FORM_ref_udata:
	case DW_FORM_strx:
	case DW_FORM_addrx:
	case DW_FORM_loclistx:
	case DW_FORM_rnglistx:
	case DW_FORM_GNU_addr_index:
	case DW_FORM_GNU_str_index:
		return (struct step){.kind = STEP_LEB};
	case DW_FORM_string:
		return (struct step){.kind = STEP_STRING};
	case DW_FORM_block1:
		return (struct step){STEP_BLOCK, 1};
	case DW_FORM_block2:
		return (struct step){STEP_BLOCK, 2};
	case DW_FORM_block4:
		return (struct step){STEP_BLOCK, 4};
	case DW_FORM_block:
	case DW_FORM_exprloc:
		return (struct step){.kind = STEP_LEB_BLOCK};
	case DW_FORM_indirect:
		return (struct step){.kind = STEP_INDIRECT};
	default:
		return (struct step){.kind = STEP_NONE};
	}
}

/* Those of fixed sizes are one step, where they fit into it. */
static bool add_step(struct scan *scan, const struct abbrev *abbrev, struct step step)
{
	struct step *last =
		scan->steps.nr > abbrev->first_step ? &scan->steps.items[scan->steps.nr - 1] : NULL;
	if (last && last->kind == STEP_BYTES && step.kind == STEP_BYTES &&
	    last->bytes + step.bytes <= UINT8_MAX) {
		last->bytes = (uint8_t)(last->bytes + step.bytes);
		return true;
	}
	if (scan->steps.nr >= STEPS_MAX || vec_reserve(&scan->steps, scan->steps.nr + 1))
		return false;
	scan->steps.items[scan->steps.nr++] = step;
	return true;
}

/* dwarf_getattrcnt() of elfutils 0.188 miscounts where there is a DW_FORM_implicit_const: behind the last there is none. */
static bool add_steps(struct scan *scan, struct abbrev *abbrev, Dwarf_Abbrev *from)
{
	unsigned name, form;
	for (size_t i = 0; !dwarf_getabbrevattr_data(from, i, &name, &form, NULL, NULL); i++) {
		abbrev->has_code = abbrev->has_code || name == DW_AT_low_pc ||
				   name == DW_AT_high_pc || name == DW_AT_ranges;
		struct step step = step_of(scan, form);
		/* Counted from the unit's beginning, as compilers write it. */
		if (name == DW_AT_sibling && step.kind == STEP_BYTES && form != DW_FORM_ref_addr)
			step.kind = STEP_SIBLING;
		if (i >= ATTRIBUTES_MAX || !add_step(scan, abbrev, step))
			return false;
	}
	abbrev->nr_steps = scan->steps.nr - abbrev->first_step;
	return true;
}

static int compare_codes(const void *a, const void *b)
{
	const uint64_t left = ((const struct abbrev *)a)->code,
		       right = ((const struct abbrev *)b)->code;
	return (left > right) - (left < right);
}

static bool read_abbrevs(struct scan *scan)
{
	size_t length;
	bool is_sorted = true;
	for (Dwarf_Off at = 0;; at += length) {
		Dwarf_Abbrev *from = dwarf_getabbrev(&scan->unit, at, &length);
		if (!from)
			return false;
		if (from == DWARF_END_ABBREV)
			break;
		if (scan->abbrevs.nr >= ABBREVS_MAX ||
		    vec_reserve(&scan->abbrevs, scan->abbrevs.nr + 1))
			return false;
		struct abbrev *abbrev = &scan->abbrevs.items[scan->abbrevs.nr++];
		*abbrev = (struct abbrev){
			.code = dwarf_getabbrevcode(from),
			.tag = dwarf_getabbrevtag(from),
			.has_children = dwarf_abbrevhaschildren(from) > 0,
			.first_step = scan->steps.nr,
		};
		if (!add_steps(scan, abbrev, from))
			return false;
		is_sorted = is_sorted && (scan->abbrevs.nr < 2 || abbrev[-1].code < abbrev->code);
	}
	if (!is_sorted)
		qsort(scan->abbrevs.items, scan->abbrevs.nr, sizeof(*scan->abbrevs.items),
		      compare_codes);
	return scan->abbrevs.nr > 0;
}

/* Compilers count them from 1. */
static const struct abbrev *abbrev_of(const struct scan *scan, uint64_t code)
{
	const struct abbrev key = {.code = code}, *abbrevs = scan->abbrevs.items;
	if (code - 1 < scan->abbrevs.nr && abbrevs[code - 1].code == code)
		return &abbrevs[code - 1];
	return bsearch(&key, abbrevs, scan->abbrevs.nr, sizeof(*abbrevs), compare_codes);
}

/* ---- entries ---- */

static void take_step(const struct scan *scan, struct dwarf_bytes *cursor, struct step step)
{
	switch ((enum step_kind)step.kind) {
	case STEP_BYTES:
	case STEP_SIBLING:
		dwarf_skip(cursor, step.bytes);
		break;
	case STEP_LEB:
		dwarf_skip_leb(cursor);
		break;
	case STEP_STRING:
		dwarf_string(cursor);
		break;
	case STEP_BLOCK:
		dwarf_skip(cursor, dwarf_fixed(cursor, step.bytes));
		break;
	case STEP_LEB_BLOCK:
		dwarf_skip(cursor, dwarf_uleb(cursor));
		break;
	case STEP_INDIRECT: /* once: of its own kind there is none */
		step = step_of(scan, (unsigned)dwarf_uleb(cursor));
		if (step.kind == STEP_INDIRECT)
			dwarf_fail(cursor);
		else
			take_step(scan, cursor, step);
		break;
	case STEP_NONE:
		dwarf_fail(cursor);
		break;
	}
}

/* Over an entry's attributes. Returns where the next one beside it is; NULL: it does not say, or nothing that leads on. */
static const uint8_t *skip_attributes(const struct scan *scan, struct dwarf_bytes *cursor,
				      const struct abbrev *abbrev)
{
	const uint8_t *sibling = NULL;
	for (size_t i = 0; i < abbrev->nr_steps; i++) {
		const struct step step = scan->steps.items[abbrev->first_step + i];
		if (step.kind != STEP_SIBLING) {
			take_step(scan, cursor, step);
			continue;
		}
		const uint64_t at = dwarf_fixed(cursor, step.bytes);
		if (at < (uint64_t)(cursor->end - scan->start))
			sibling = scan->start + at;
	}
	return sibling && sibling > cursor->at ? sibling : NULL;
}

static bool may_have_functions(unsigned tag)
{
	switch (tag) {
	case DW_TAG_namespace:
	case DW_TAG_module:
	case DW_TAG_class_type:
	case DW_TAG_structure_type:
	case DW_TAG_union_type:
	case DW_TAG_enumeration_type:
	case DW_TAG_subprogram:
		return true;
	default:
		return false;
	}
}

/* Entries stand in the order of the tree; behind the last child of one there is a 0. */
static void walk(struct scan *scan, dwarf_function_found *found, void *context)
{
	struct dwarf_bytes *cursor = &scan->cursor;
	size_t depth = 0, skipped = 0; /* of those that are looked into; below them */
	for (int i = 0; i < DIES_MAX; i++) {
		const uint8_t *at = cursor->at;
		const uint64_t code = dwarf_uleb(cursor);
		if (!code) {
			if (cursor->bad || (!skipped && !depth))
				return;
			skipped ? skipped-- : depth--;
			continue;
		}
		const struct abbrev *abbrev = abbrev_of(scan, code);
		if (!abbrev)
			return;
		const uint8_t *sibling = skip_attributes(scan, cursor, abbrev);
		if (cursor->bad)
			return;
		Dwarf_Die die = {.addr = (void *)(uintptr_t)at, .cu = scan->unit.cu};
		if (!skipped && abbrev->tag == DW_TAG_subprogram && abbrev->has_code &&
		    !found(context, &die))
			return;
		if (!abbrev->has_children)
			continue;
		if (!skipped && may_have_functions(abbrev->tag) && depth + 1 < DEPTH_MAX)
			depth++;
		else if (sibling)
			cursor->at = sibling;
		else
			skipped++;
	}
}

/* The bytes of the unit, from its entry on. */
static bool find_bytes(struct scan *scan, const uint8_t *end)
{
	uint8_t address_bytes = 0, offset_bytes = 0;
	Dwarf_Die die;
	if (!dwarf_cu_die(scan->unit.cu, &die, &scan->version, NULL, &address_bytes, &offset_bytes,
			  NULL, NULL))
		return false;
	const uint8_t *at = scan->unit.addr;
	scan->address_bytes = address_bytes;
	scan->offset_bytes = offset_bytes;
	scan->start = at - dwarf_cuoffset(&scan->unit);
	scan->cursor = (struct dwarf_bytes){.at = scan->start, .end = end};
	if (at >= end)
		return false;
	dwarf_enter(&scan->cursor);
	scan->cursor.at = at;
	return at < scan->cursor.end;
}

void dwarf_functions_find(Dwarf_Die *unit, const uint8_t *end, dwarf_function_found *found,
			  void *context)
{
	struct scan scan = {.unit = *unit};
	if (find_bytes(&scan, end) && read_abbrevs(&scan)) {
		const struct abbrev *own = abbrev_of(&scan, dwarf_uleb(&scan.cursor));
		if (own && own->has_children) {
			skip_attributes(&scan, &scan.cursor, own);
			walk(&scan, found, context);
		}
	}
	free(scan.abbrevs.items);
	free(scan.steps.items);
}
