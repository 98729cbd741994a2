/* SPDX-License-Identifier: MIT */
#ifndef CTOP_KERNEL_EVENT_UNIT_H
#define CTOP_KERNEL_EVENT_UNIT_H

/* What the kernel counts for an event: from its type and number, as main opens it or a perf.data file has it. */

#include <stdint.h>

#include <ctop/weight_unit.h>

/* Of a type that is this machine's own (a PMU, a uprobe): WEIGHT_EVENTS. */
enum weight_unit event_unit(uint32_t type, uint64_t config);

#endif
