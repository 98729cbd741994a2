/* SPDX-License-Identifier: MIT */
#ifndef CTOP_IPC_PROBER_PROTOCOL_H
#define CTOP_IPC_PROBER_PROTOCOL_H

/*
 * Between main and a prober, a child that is given one file: one datagram each way, the question with the file beside it,
 * and the answer. What that says is the file's own claim.
 */

#include <limits.h>
#include <stdint.h>

#include <ctop/module_identity.h>

struct prober_question {
	uint32_t sum_up; /* 1: the CRC of the whole file; 0: what it says of itself */
	uint64_t unit;	 /* not 0: what it says of that unit of -gsplit-dwarf's, alone */
};

struct prober_answer {
	int32_t error; /* 0; -ETIMEDOUT, -EFBIG: more than 4 GiB to sum up, or another -errno */
	uint32_t build_id_size; /* 0: none */
	uint8_t build_id[20];
	uint32_t has_debuglink;
	uint32_t debuglink_crc;
	char debuglink[DEBUGLINK_MAX];
	uint32_t common_build_id_size; /* of the common file that dwz made; 0: none is named */
	uint8_t common_build_id[20];
	char common[DEBUGLINK_MAX];
	uint32_t crc; /* of all its bytes, if that was asked for */
	/* Of the unit that was asked for: */
	uint32_t has_unit;	   /* it is there */
	char split_name[PATH_MAX]; /* the file where it is instead; "": nothing is said of it */
};

#endif
