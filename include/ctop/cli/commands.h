/* SPDX-License-Identifier: MIT */
#ifndef CTOP_CLI_COMMANDS_H
#define CTOP_CLI_COMMANDS_H

/*
 * The commands, one per file. Each returns the exit status of the process, or
 * -errno with the cause and the remedy, which main prints.
 */

#include <ctop/base/error.h>
#include <ctop/options/options.h>

int command_live(const struct options *options, struct error *error);
int command_record(const struct options *options, struct error *error);
int command_report(const struct options *options, struct error *error);
int command_list(const struct options *options, struct error *error);
int command_doctor(const struct options *options, struct error *error);
int command_export(const struct options *options, struct error *error);
int command_diff(const struct options *options, struct error *error);
int command_merge(const struct options *options, struct error *error);
int command_dump(const struct options *options, struct error *error);

#endif
