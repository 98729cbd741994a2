/* SPDX-License-Identifier: MIT */
#ifndef CTOP_HTTP_MICROHTTPD_H
#define CTOP_HTTP_MICROHTTPD_H

/*
 * What of libmicrohttpd is used (libmicrohttpd.so.12, from 0.9.71 on): its header need not be there where ctop is built, and the
 * library only where `ctop serve` runs. Types, numbers and prototypes are those of its manual.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct MHD_Daemon;
struct MHD_Connection;
struct MHD_Response;

enum mhd_result { MHD_NO, MHD_YES };

enum mhd_flag {
	MHD_USE_SUPPRESS_DATE = 128,
	MHD_USE_EPOLL = 512,
	MHD_ALLOW_SUSPEND_RESUME = 8192 | 1024,
};

enum mhd_option {
	MHD_OPTION_END = 0,
	MHD_OPTION_CONNECTION_MEMORY_LIMIT = 1, /* size_t */
	MHD_OPTION_CONNECTION_LIMIT = 2,	/* unsigned */
	MHD_OPTION_LISTEN_SOCKET = 12,		/* int */
	MHD_OPTION_NOTIFY_CONNECTION = 27,	/* mhd_notify *, void * */
	MHD_OPTION_STRICT_FOR_CLIENT = 29,	/* int */
};

enum mhd_value_kind { MHD_HEADER_KIND = 1, MHD_ARGUMENT_KIND = 8 };
enum mhd_notification { MHD_CONNECTION_STARTED, MHD_CONNECTION_CLOSED };
enum mhd_memory { MHD_MUST_COPY = 2 };
enum mhd_connection_info { MHD_CONNECTION_FD = 6, MHD_CONNECTION_CONTEXT = 7 };
enum mhd_daemon_info { MHD_DAEMON_EPOLL_FD = 3 };

union mhd_info {
	int fd;
	void *context;
};

typedef enum mhd_result mhd_handler(void *context, struct MHD_Connection *connection,
				    const char *path, const char *method, const char *version,
				    const char *bytes, size_t *size, void **request);
typedef void mhd_notify(void *context, struct MHD_Connection *connection, void **socket_context,
			enum mhd_notification what);
typedef enum mhd_result mhd_value(void *context, enum mhd_value_kind kind, const char *name,
				  const char *value);
typedef ssize_t mhd_reader(void *context, uint64_t position, char *bytes, size_t most);
typedef void mhd_free(void *context);

struct microhttpd {
	struct MHD_Daemon *(*start)(unsigned flags, uint16_t port, void *accept,
				    void *accept_context, mhd_handler *handler, void *context, ...);
	void (*stop)(struct MHD_Daemon *daemon);
	enum mhd_result (*run)(struct MHD_Daemon *daemon);
	enum mhd_result (*timeout)(struct MHD_Daemon *daemon, unsigned long long *ms);
	const union mhd_info *(*daemon_info)(struct MHD_Daemon *daemon, enum mhd_daemon_info what,
					     ...);
	const union mhd_info *(*connection_info)(struct MHD_Connection *connection,
						 enum mhd_connection_info what, ...);
	int (*values)(struct MHD_Connection *connection, enum mhd_value_kind kind, mhd_value *take,
		      void *context);
	void (*suspend)(struct MHD_Connection *connection);
	void (*resume)(struct MHD_Connection *connection);
	struct MHD_Response *(*of_bytes)(size_t size, void *bytes, enum mhd_memory mode);
	struct MHD_Response *(*of_reader)(uint64_t size, size_t block, mhd_reader *reader,
					  void *context, mhd_free *free);
	enum mhd_result (*add_header)(struct MHD_Response *response, const char *name,
				      const char *value);
	enum mhd_result (*queue)(struct MHD_Connection *connection, unsigned status,
				 struct MHD_Response *response);
	void (*drop)(struct MHD_Response *response);
};

/* Finds what http_prepare() has loaded. False: it is not installed, or too old. */
bool microhttpd_load(struct microhttpd *library);

#endif
