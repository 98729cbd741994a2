/* SPDX-License-Identifier: MIT */
/* How inlined functions came to an instruction, and that as text. */
#include <string.h>

#include <ctop/annotate/annotation.h>
#include <ctop/base/base_name.h>
#include <ctop/base/function_name.h>

enum { FUNCTION_COLS = 40, FILE_COLS = 24 };
_Static_assert((int)LISTING_DEPTH_MAX <= (int)HISTORY_INLINED_MAX, "all of them have room");

static const char *name_of(const struct listing *listing, uint32_t name, const char *otherwise)
{
	return name ? listing->strings + listing->names[name - 1] : otherwise;
}

static size_t listed_chain(const struct listing *listing, uint32_t call,
			   struct annotated_call *calls)
{
	const size_t nr = call ? listing->calls[call - 1].depth : 0;
	for (size_t at = nr; at; call = listing->calls[call - 1].outer) {
		const struct listing_call *listed = &listing->calls[call - 1];
		calls[--at] = (struct annotated_call){
			.function = name_of(listing, listed->function, "[unknown]"),
			.file = name_of(listing, listed->file, ""),
			.line = listed->line,
		};
	}
	return nr;
}

static size_t sampled_chain(const struct history *history, uint32_t site,
			    struct annotated_call *calls)
{
	struct history_inlined chain[HISTORY_INLINED_MAX];
	const size_t nr = history_inlined_at(history, site, chain);
	for (size_t i = 0; i < nr; i++)
		calls[i] = (struct annotated_call){
			.function = history_function_name(history, chain[i].function),
			.file = chain[i].file,
			.line = chain[i].line,
		};
	return nr;
}

size_t annotation_chain(const struct annotation *annotation, const struct history *history,
			uint32_t row, struct annotated_call calls[HISTORY_INLINED_MAX])
{
	const struct listing *listing = annotation->listing;
	const uint32_t call = listing->rows[row].call;
	return call ? listed_chain(listing, call, calls)
		    : sampled_chain(history, annotation->rows[row].site, calls);
}

bool annotation_is_inlined(const struct annotation *annotation, uint32_t row)
{
	return annotation->listing->rows[row].call || annotation->rows[row].site;
}

bool annotation_is_inlined_alike(const struct annotation *annotation, const struct history *history,
				 uint32_t a, uint32_t b)
{
	const struct listing_row *rows = annotation->listing->rows;
	if (rows[a].call || rows[b].call)
		return rows[a].call == rows[b].call;
	return history_is_inlined_alike(history, annotation->rows[a].site,
					annotation->rows[b].site);
}

const char *annotation_inlined_name(const struct annotation *annotation,
				    const struct history *history, uint32_t row)
{
	const struct listing *listing = annotation->listing;
	const uint32_t call = listing->rows[row].call;
	if (call)
		return name_of(listing, listing->calls[call - 1].function, "[unknown]");
	return annotation->rows[row].site
		       ? history_function_name(history, annotation->rows[row].inlined)
		       : NULL;
}

static void add_function(const struct annotated_call *call, struct text *out)
{
	struct text file = {0};
	name_add_fit(out, call->function, NAME_NO_ARGUMENTS, FUNCTION_COLS);
	if (!call->line)
		return;
	text_add_safe(&file, base_name(call->file));
	text_add(out, " ");
	name_add_elided(out, text_string(&file), FILE_COLS);
	text_addf(out, ":%u", call->line);
	out->failed |= file.failed;
	text_release(&file);
}

void annotation_add_chain(const struct annotation *annotation, const struct history *history,
			  uint32_t row, size_t most, struct text *out)
{
	struct annotated_call chain[HISTORY_INLINED_MAX];
	const size_t nr = annotation_chain(annotation, history, row, chain);
	const size_t first = nr > most ? most / 2 : nr, last = nr > most ? nr - (most - first) : nr;
	for (size_t i = 0; i < nr; i = i + 1 == first && last > first ? last : i + 1) {
		if (i && i == last && last > first)
			text_addf(out, " > ... %zu more", last - first);
		text_add(out, i ? " > " : "");
		add_function(&chain[i], out);
	}
}
