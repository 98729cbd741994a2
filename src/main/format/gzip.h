/* SPDX-License-Identifier: MIT */
#ifndef CTOP_FORMAT_GZIP_H
#define CTOP_FORMAT_GZIP_H

/* A sink's bytes, compressed on the way (RFC 1952). */

#include <stddef.h>

#include <ctop/format/formats.h>

struct gzip;

struct gzip *gzip_new(const struct export_sink *sink);		 /* borrowed; NULL: out of memory */
int gzip_add(struct gzip *gzip, const void *bytes, size_t size); /* 0 or what the sink said */
int gzip_end(struct gzip *gzip);   /* hands over the rest; 0 or what the sink said */
void gzip_free(struct gzip *gzip); /* NULL is fine */

#endif
