/* SPDX-License-Identifier: MIT */
#ifndef CTOP_FORMAT_JSON_H
#define CTOP_FORMAT_JSON_H

/* What writers of JSON share. */

#include <stddef.h>
#include <stdint.h>

#include <ctop/base/text.h>

/* A name from outside as a JSON string, safe to show as everywhere in ctop. scratch: memory to be used again and again. */
void json_add_name(struct text *text, struct text *scratch, const char *untrusted);
/* A number, preceded by a comma unless it is the first. */
void json_add_item(struct text *text, size_t number_of_item, uint64_t value);
/* A whole number, without the cost of a format. */
void json_add_number(struct text *text, uint64_t value);

#endif
