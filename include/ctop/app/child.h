/* SPDX-License-Identifier: MIT */
#ifndef CTOP_APP_CHILD_H
#define CTOP_APP_CHILD_H

/* What `ctop --child=ROLE` does: enters the jail, then serves the channel. Returns the exit status. */
int child_main(const char *role);

#endif
