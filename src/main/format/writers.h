/* SPDX-License-Identifier: MIT */
#ifndef CTOP_FORMAT_WRITERS_H
#define CTOP_FORMAT_WRITERS_H

/* One function per format, in the file of its name; formats.c has the table. */

#include <ctop/format/formats.h>

int folded_write(const struct export_request *request);
int script_write(const struct export_request *request);
int frames_write(const struct export_request *request);
int pprof_write(const struct export_request *request);
int speedscope_write(const struct export_request *request);
int csv_write(const struct export_request *request);
int json_write(const struct export_request *request);
int callgrind_write(const struct export_request *request);
int firefox_write(const struct export_request *request);
int chrome_write(const struct export_request *request);
int svg_write(const struct export_request *request);
int html_write(const struct export_request *request);
int selection_recording_write(const struct export_request *request);

#endif
