/* SPDX-License-Identifier: MIT */
#include "microhttpd.h"

#include <ctop/base/library.h>
#include <ctop/http/http_server.h>

static const char library_name[] = "libmicrohttpd.so.12";

void http_prepare(void)
{
	library_load(library_name);
}

bool microhttpd_load(struct microhttpd *library)
{
	void *handle = library_load(library_name);
	return handle && library_find(handle, "MHD_start_daemon", &library->start) &&
	       library_find(handle, "MHD_stop_daemon", &library->stop) &&
	       library_find(handle, "MHD_run", &library->run) &&
	       library_find(handle, "MHD_get_timeout", &library->timeout) &&
	       library_find(handle, "MHD_get_daemon_info", &library->daemon_info) &&
	       library_find(handle, "MHD_get_connection_info", &library->connection_info) &&
	       library_find(handle, "MHD_get_connection_values", &library->values) &&
	       library_find(handle, "MHD_suspend_connection", &library->suspend) &&
	       library_find(handle, "MHD_resume_connection", &library->resume) &&
	       library_find(handle, "MHD_create_response_from_buffer", &library->of_bytes) &&
	       library_find(handle, "MHD_create_response_from_callback", &library->of_reader) &&
	       library_find(handle, "MHD_add_response_header", &library->add_header) &&
	       library_find(handle, "MHD_queue_response", &library->queue) &&
	       library_find(handle, "MHD_destroy_response", &library->drop);
}
