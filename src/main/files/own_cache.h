/* SPDX-License-Identifier: MIT */
#ifndef CTOP_FILES_OWN_CACHE_H
#define CTOP_FILES_OWN_CACHE_H

/*
 * The directory of what ctop keeps between runs: "ctop" in $XDG_CACHE_HOME; without that, root's is in /var/cache, a user's in $HOME/.cache. On the
 * way there is nothing that others could put another directory in place of: each one is of root's or of the user whose privileges we
 * have, and others may not write to it (but as to /tmp, where they may not touch what is not theirs). In the opener: it may hang.
 */

/* Made where it is missing. A descriptor, or -errno: -EPERM: others could. */
int own_cache_open(void);

#endif
