/* SPDX-License-Identifier: MIT */
#include <ctop/time_shown.h>

#include <stddef.h>

#include <ctop/goroutine.h>

static const struct {
	const char *name, *event;
} times[NR_TIMES_SHOWN] = {
	[TIME_SHOWN_CPU] = {"cpu", NULL},
	[TIME_SHOWN_WAIT] = {"wait", WAIT_EVENT},
	[TIME_SHOWN_WALL] = {"wall", NULL},
	[TIME_SHOWN_GOROUTINES] = {"goroutines", GOROUTINE_EVENT},
	[TIME_SHOWN_WAKEUPS] = {"wakeups", WAKEUP_EVENT},
};

const char *time_shown_name(enum time_shown time)
{
	return times[time].name;
}

const char *time_shown_event(enum time_shown time)
{
	return times[time].event;
}
