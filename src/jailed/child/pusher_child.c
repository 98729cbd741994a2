/* SPDX-License-Identifier: MIT */
/*
 * Posts one body to one server by libcurl, where that is installed: ctop is not linked with it. Runs as the user who called ctop, without
 * privileges, and writes nowhere.
 */
#include "child_link.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <ctop/ipc/channel.h>
#include <ctop/ipc/pusher_protocol.h>
#include <ctop/jail/jail.h>

/* Of libcurl's manual, whose header need not be there where ctop is built. */
enum curl_option {
	CURL_URL = 10002,
	CURL_TIMEOUT = 13,
	CURL_POSTFIELDS = 10015,
	CURL_HTTPHEADER = 10023,
	CURL_POST = 47,
	CURL_CONNECTTIMEOUT = 78,
	CURL_NOSIGNAL = 99,
	CURL_PROTOCOLS = 181,
	CURL_WRITEFUNCTION = 20011,
	CURL_POSTFIELDSIZE = 30120,
};
enum { CURL_RESPONSE_CODE = 0x200002, CURL_HTTP_AND_HTTPS = 3, CONNECT_S = 10 };

struct curl_library {
	void *(*begin)(void);
	int (*set)(void *curl, enum curl_option option, ...);
	int (*perform)(void *curl);
	int (*info)(void *curl, int what, ...);
	const char *(*error)(int code);
	void *(*add_header)(void *list, const char *header);
};

/* dlsym() gives objects, and POSIX lets them be functions. */
static bool take(void *handle, const char *name, void *function)
{
	void *symbol = handle ? dlsym(handle, name) : NULL;
	memcpy(function, &symbol, sizeof(symbol));
	return symbol != NULL;
}

static bool open_library(struct curl_library *library)
{
	void *handle = dlopen("libcurl.so.4", RTLD_NOW);
	if (!handle)
		handle = dlopen("libcurl-gnutls.so.4", RTLD_NOW);
	return take(handle, "curl_easy_init", &library->begin) &&
	       take(handle, "curl_easy_setopt", &library->set) &&
	       take(handle, "curl_easy_perform", &library->perform) &&
	       take(handle, "curl_easy_getinfo", &library->info) &&
	       take(handle, "curl_easy_strerror", &library->error) &&
	       take(handle, "curl_slist_append", &library->add_header);
}

/* What the server has to say beyond its status interests nobody. */
static size_t drop(const char *bytes, size_t size, size_t nr, void *context)
{
	(void)bytes;
	(void)context;
	return size * nr;
}

static void post(const struct curl_library *library, const struct push_question *question,
		 const void *body, size_t size, struct push_report *report)
{
	void *curl = library->begin(), *headers = NULL;
	long status = 0;
	if (!curl) {
		snprintf(report->why, sizeof(report->why), "out of memory");
		return;
	}
	headers = library->add_header(headers, question->type);
	headers = library->add_header(headers, "Expect:"); /* no question before the body */
	library->set(curl, CURL_URL, question->url);
	library->set(curl, CURL_PROTOCOLS, (long)CURL_HTTP_AND_HTTPS);
	library->set(curl, CURL_NOSIGNAL, 1L);
	library->set(curl, CURL_CONNECTTIMEOUT, (long)CONNECT_S);
	library->set(curl, CURL_TIMEOUT, (long)question->patience_s);
	library->set(curl, CURL_WRITEFUNCTION, drop);
	library->set(curl, CURL_HTTPHEADER, headers);
	library->set(curl, CURL_POST, 1L);
	library->set(curl, CURL_POSTFIELDSIZE, (int64_t)size);
	library->set(curl, CURL_POSTFIELDS, body);
	const int code = library->perform(curl);
	if (code)
		snprintf(report->why, sizeof(report->why), "%s", library->error(code));
	else if (library->info(curl, CURL_RESPONSE_CODE, &status) == 0 && status > 0)
		report->status = (uint32_t)status;
}

static int push(const struct push_question *question, int fd, struct push_report *report)
{
	struct curl_library library;
	struct stat status;
	if (fstat(fd, &status) || status.st_size <= 0)
		return -EPROTO;
	const size_t size = (size_t)status.st_size;
	void *body = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (body == MAP_FAILED)
		return -errno;
	if (open_library(&library))
		post(&library, question, body, size, report);
	else
		report->error = -ENOSYS;
	return 0;
}

/* It ends behind that, and with it all that the library has. */
int pusher_child_run(struct channel *channel)
{
	static struct push_question question;
	struct push_report report = {.status = 0};
	int fd = -1;
	int result = child_await_question(channel);
	if (!result && (channel_receive(channel, &question, sizeof(question), &fd) !=
				(ssize_t)sizeof(question) ||
			fd < 0))
		result = -EPROTO;
	question.url[sizeof(question.url) - 1] = '\0';
	question.type[sizeof(question.type) - 1] = '\0';
	if (!result)
		result = jail_write_nowhere();
	if (!result)
		result = push(&question, fd, &report);
	if (!result)
		result = channel_send(channel, &report, sizeof(report), -1);
	channel_free(channel);
	return result;
}
