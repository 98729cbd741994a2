/* SPDX-License-Identifier: MIT */
#ifndef CTOP_SCREEN_SHARES_H
#define CTOP_SCREEN_SHARES_H

/* Shares of what is shown, in percent, and what threads did in its time. */

#include <ctop/screen/model.h>

/* What a thread did in the window, or all of a process (tid -1), whatever the filters. False: not known. */
bool model_times(const struct model *model, int32_t pid, int32_t tid, struct ui_times *times);

double model_percent(const struct model *model, uint64_t weight);
/* What weighs less is hidden; what weighs more may be, too: model_hides(). */
uint64_t model_least_weight(const struct model *model);
/* Too small a share to be shown. */
bool model_hides(const struct model *model, uint64_t weight);
/* Of heat; where changes are shown these alone have colours. */
enum role model_percent_role(const struct model *model, double percent);

#endif
