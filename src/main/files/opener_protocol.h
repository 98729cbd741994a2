/* SPDX-License-Identifier: MIT */
#ifndef CTOP_FILES_OPENER_PROTOCOL_H
#define CTOP_FILES_OPENER_PROTOCOL_H

/* What main and its opener say to each other: one datagram a request, one a reply, with the descriptor beside it. */

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include <ctop/files/opener.h>
#include <ctop/module_identity.h>

struct opener_message {
	uint32_t kind, candidate;
	int32_t pid;
	uint32_t device_major, device_minor, generation;
	uint64_t start, end, file_offset, inode;
	uint32_t uid;
	int64_t since_ns, until_ns;
	uint32_t build_id_size;
	uint8_t build_id[20];
	char debuglink[DEBUGLINK_MAX];
	char path[PATH_MAX];
};

struct opener_reply {
	int32_t error; /* 0, or -errno: no descriptor */
	bool by_name;
	struct module_identity identity;     /* OPENER_MODULE, unless by name, and debug files */
	int64_t written_ns;		     /* OPENER_SOURCE */
	uint64_t whole_bytes;		     /* OPENER_KERNEL_CODE */
	enum kernel_names_from kernel_names; /* OPENER_KERNEL_NAMES */
};

/* 0, or -E2BIG: a string is too long. */
int opener_message_fill(struct opener_message *message, const struct opener_request *request);
/* Does what a request asks for. A descriptor or -errno. */
int opener_open(const struct opener_message *message, struct opener_reply *reply);
/* Serves requests until main is gone. */
void opener_run(int fd);

#endif
