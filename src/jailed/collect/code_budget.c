/* SPDX-License-Identifier: MIT */
#include "code_budget.h"

#include <ctop/base/clock.h>
#include <ctop/unwind/unwind.h>

#include "internal.h"

/* An instruction takes 50 to 150 ns. A round's: 20 to 40 ms, and enough for any one rule. */
#define PER_ROUND (UINT64_C(1) << 18)
/* At once: two seconds' work, or 40 modules as large as libc. After that a tenth of a CPU at most. */
#define AT_ONCE	   (UINT64_C(1) << 25)
#define PER_SECOND (UINT64_C(1) << 20)

static void fill(struct code_budget *budget, uint64_t now)
{
	const uint64_t passed_ms = (now - budget->filled_ns) / NS_PER_MS;
	if (!budget->filled_ns || passed_ms / 1000 >= AT_ONCE / PER_SECOND) {
		budget->left = AT_ONCE;
		budget->filled_ns = now;
		return;
	}
	budget->left += PER_SECOND * passed_ms / 1000;
	budget->filled_ns += passed_ms * NS_PER_MS;
	if (budget->left > AT_ONCE)
		budget->left = AT_ONCE;
}

/* A file waits for as long as it takes: nothing is lost meanwhile, and its modules have bounds of their own. */
void code_budget_begin(struct collector *collector)
{
	struct code_budget *budget = &collector->code_budget;
	budget->allowed = PER_ROUND;
	if (!collector->source.file) {
		fill(budget, clock_now_ns());
		if (budget->allowed > budget->left)
			budget->allowed = 0;
	}
	unwinder_allow_code(collector->unwinding.unwinder, budget->allowed, budget->allowed != 0);
}

void code_budget_end(struct collector *collector)
{
	struct code_budget *budget = &collector->code_budget;
	if (!collector->source.file)
		budget->left -= budget->allowed - unwinder_code_left(collector->unwinding.unwinder);
}
