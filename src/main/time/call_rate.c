/* SPDX-License-Identifier: MIT */
#include <ctop/time/call_rate.h>

#include <ctop/base/clock.h>

static bool are_others(const struct call_rate *rate)
{
	return rate->others > rate->records / 2;
}

enum call_rate_word call_rate_note(struct call_rate *rate, uint64_t time_ns, bool is_others)
{
	enum call_rate_word word = CALL_RATE_FINE;
	if (time_ns >= rate->second_ns + NS_PER_SECOND) {
		word = are_others(rate) ? CALL_RATE_OTHERS : CALL_RATE_FINE;
		*rate = (struct call_rate){.second_ns = time_ns};
	}
	rate->records++;
	rate->others += is_others;
	if (rate->records <= 2 * CALL_RATE_HZ_MOST)
		return word;
	if (!are_others(rate) || rate->were_others)
		return CALL_RATE_TOO_MUCH;
	rate->were_others = true;
	rate->records = rate->others = 0;
	return CALL_RATE_OTHERS;
}
