/* SPDX-License-Identifier: MIT */
#ifndef CTOP_DISASSEMBLER_LISTING_MAKER_H
#define CTOP_DISASSEMBLER_LISTING_MAKER_H

/* What the files that make a listing (ctop/disassembler/listing.h) use of each other. */

#include <ctop/base/index.h>
#include <ctop/ipc/listing_protocol.h>
#include <ctop/symbol/file_lines.h>
#include <ctop/symbol/jitdump.h>
#include <ctop/symbol/name_cache.h>

/* Which functions were inlined: listing_calls.c. */
struct calls_maker {
	bool may_have_any;
	struct source_inlined at; /* of the last look-up, and how far that goes */
	uint32_t at_row;	  /* its call: 1 + row of calls; 0: none, or not known */
	struct index by_id, by_content, names;
	/* Of ids that were asked for; what is not known has row 0. */
	struct {
		struct calls_known {
			uint64_t id;
			uint32_t row; /* 1 + row of calls */
		} * items;
		size_t nr, capacity;
	} known;
};

struct maker {
	struct symbol_files files; /* has none: its bound is of those */
	struct symbol_file file;   /* empty: there are only the function's bytes */
	struct name_cache *demangled;
	struct decoder *decoder;
	bool may_have_lines; /* there is more than the function's bytes */
	const struct jitdump
		*dump;	       /* lines are its; NULL: they are of the file, if there is one, */
	struct jit_code made;  /* and of this code */
	struct source_row row; /* of the last look-up, and how far that goes */
	uint32_t row_file;     /* 1 + row of files; 0: it has no line */
	struct calls_maker calls;
	struct listing_row *rows;
	struct listing_file *listed;
	struct listing_call *inlined;
	uint32_t *names;
	char *strings;
	struct listing_answer *answer;
};

/* 0: none, or there is no more room. */
uint32_t listing_add_string(struct maker *maker, const char *text);

/* Says which call was inlined at a row. */
void listing_add_call(struct maker *maker, struct listing_row *row);
void listing_calls_release(struct calls_maker *calls);

#endif
