/* SPDX-License-Identifier: MIT */
#ifndef CTOP_CHILD_CHILD_H
#define CTOP_CHILD_CHILD_H

/* What `ctop --child=ROLE` does: enters the jail, then serves the channel. Returns the exit status. */
int child_main(const char *role);

#endif
