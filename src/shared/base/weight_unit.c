/* SPDX-License-Identifier: MIT */
#include <ctop/weight_unit.h>

static const struct {
	const char *one, *many;
} names[NR_WEIGHT_UNITS] = {
	[WEIGHT_EVENTS] = {"event", "events"},
	[WEIGHT_NS] = {"ns", "ns"},
	[WEIGHT_FAULTS] = {"fault", "faults"},
	[WEIGHT_SWITCHES] = {"switch", "switches"},
	[WEIGHT_MIGRATIONS] = {"migration", "migrations"},
	[WEIGHT_CYCLES] = {"cycle", "cycles"},
	[WEIGHT_INSTRUCTIONS] = {"instruction", "instructions"},
	[WEIGHT_BRANCHES] = {"branch", "branches"},
	[WEIGHT_MISSES] = {"miss", "misses"},
	[WEIGHT_ACCESSES] = {"access", "accesses"},
	[WEIGHT_HITS] = {"hit", "hits"},
};

const char *weight_unit_name(uint32_t unit, uint64_t nr)
{
	unit = unit < NR_WEIGHT_UNITS ? unit : WEIGHT_EVENTS;
	return nr == 1 ? names[unit].one : names[unit].many;
}
