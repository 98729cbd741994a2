/* SPDX-License-Identifier: MIT */
#ifndef CTOP_RECORDING_SAMPLE_CODE_H
#define CTOP_RECORDING_SAMPLE_CODE_H

/*
 * Samples as bytes: a byte of flags that say which fields are as in the sample
 * before, the time since then, and the fields that are not. Six to ten bytes per sample before packing.
 * Each chunk begins with an all-zero sample before its first.
 */

#include <ctop/store/tables.h>

#include <ctop/recording/varint.h>

void put_sample(struct buffer *buffer, const struct sample *sample, struct sample *before);
void get_sample(struct payload *payload, struct sample *sample, struct sample *before);

#endif
