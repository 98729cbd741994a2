/* SPDX-License-Identifier: MIT */
#ifndef CTOP_SERVE_CAPTURE_H
#define CTOP_SERVE_CAPTURE_H

/*
 * One capture: ctop record into memory, then ctop export from there, each a process of this very program. There is one at a time; it
 * ends by itself, by capture_end(), or when it takes far longer than it is to.
 */

#include <stdbool.h>
#include <sys/types.h>

#include <ctop/ipc/http_protocol.h>
#include <ctop/options/options.h>

struct capture {
	const struct options *options; /* what was given to ctop serve */
	struct http_ask ask;
	pid_t pid; /* 0: none runs */
	int pid_fd;
	bool exports;	   /* it is recorded */
	bool forgotten;	   /* nobody waits for it any more */
	uint64_t until_ns; /* by then its process has ended, or is ended */
	int recording_fd, output_fd, stats_fd, words_fd;
	const struct int32_list *pids; /* that are to be recorded */
};

/* What came of one. */
struct capture_result {
	unsigned status;	  /* as HTTP has it */
	int output_fd;		  /* sealed, the caller's; -1 */
	char text[HTTP_TEXT_MAX]; /* why there is none */
	uint64_t samples, lost, dropped, bytes;
	uint64_t kernel_ns; /* that samples took, about: with --budget */
	bool is_lowered;    /* by --budget: fewer or smaller samples than were asked for */
};

void capture_init(struct capture *capture, const struct options *options);
/* pids: borrowed until it has ended; none: whole CPUs. 0 or -errno. */
int capture_begin(struct capture *capture, const struct http_ask *ask,
		  const struct int32_list *pids);
/* Its pid_fd is readable, or its time is over: goes on. True: it has ended, and *result is what came of it. */
bool capture_serve(struct capture *capture, struct capture_result *result);
/* Kills what runs, and waits for it. */
void capture_end(struct capture *capture);
/* How long another would have to wait, in whole seconds, at least 1. */
uint32_t capture_left_s(const struct capture *capture);
/* Until capture_serve() is to be called whatever comes; -1: never. */
int capture_timeout_ms(const struct capture *capture);

#endif
