/* SPDX-License-Identifier: MIT */
#include "microhttpd.h"

#include <dlfcn.h>
#include <string.h>

#include <ctop/http/http_server.h>

static const char library_name[] = "libmicrohttpd.so.12";

void http_prepare(void)
{
	/* Stays loaded, and is found there when it is asked for again. */
	dlopen(library_name, RTLD_NOW | RTLD_LOCAL);
}

/* dlsym() gives objects, and POSIX lets them be functions. */
static bool find(void *library, const char *name, void *function)
{
	void *symbol = dlsym(library, name);
	memcpy(function, &symbol, sizeof(symbol));
	return symbol != NULL;
}

bool microhttpd_load(struct microhttpd *library)
{
	void *handle = dlopen(library_name, RTLD_NOW | RTLD_LOCAL);
	return handle && find(handle, "MHD_start_daemon", &library->start) &&
	       find(handle, "MHD_stop_daemon", &library->stop) &&
	       find(handle, "MHD_run", &library->run) &&
	       find(handle, "MHD_get_timeout", &library->timeout) &&
	       find(handle, "MHD_get_daemon_info", &library->daemon_info) &&
	       find(handle, "MHD_get_connection_info", &library->connection_info) &&
	       find(handle, "MHD_get_connection_values", &library->values) &&
	       find(handle, "MHD_suspend_connection", &library->suspend) &&
	       find(handle, "MHD_resume_connection", &library->resume) &&
	       find(handle, "MHD_create_response_from_buffer", &library->of_bytes) &&
	       find(handle, "MHD_create_response_from_callback", &library->of_reader) &&
	       find(handle, "MHD_add_response_header", &library->add_header) &&
	       find(handle, "MHD_queue_response", &library->queue) &&
	       find(handle, "MHD_destroy_response", &library->drop);
}
