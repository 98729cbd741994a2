/* SPDX-License-Identifier: MIT */
#ifndef CTOP_IPC_UPROBE_PROTOCOL_H
#define CTOP_IPC_UPROBE_PROTOCOL_H

/*
 * Between main and the child that finds a uprobe's function: one datagram each way, the function's name with the file
 * beside it, and the answer, which is the file's own claim.
 */

#include <stdint.h>

enum { UPROBE_FUNCTION_MAX = 256 }; /* bytes of its name */

struct function_place {
	uint64_t offset; /* in the file */
	uint64_t size;	 /* of the function's code; 0: the table does not say */
};

struct uprobe_answer {
	int32_t error; /* 0 or -errno */
	struct function_place place;
};

#endif
