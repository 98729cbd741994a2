/* SPDX-License-Identifier: MIT */
#ifndef CTOP_STORE_CODE_AREA_H
#define CTOP_STORE_CODE_AREA_H

#include <ctop/store/symbols.h>

/* What a region's part for code takes, as kept_code.c lays it out. */
size_t code_area_bytes(const struct symbols_capacity *capacity);

#endif
