/* SPDX-License-Identifier: MIT */
#ifndef CTOP_BASE_ENVIRONMENT_H
#define CTOP_BASE_ENVIRONMENT_H

/*
 * What a program with more privileges than its caller believes of the caller's
 * environment: what its terminal is and speaks, and where programs are; nothing
 * that names a file to be opened (TERMINFO, TERMINFO_DIRS, TERMCAP, HOME, XDG_*).
 */

/*
 * In main, before anything reads the environment. With file capabilities
 * (AT_SECURE), and as root by way of sudo and its like, environ has only what is
 * believed from here on. The caller's own array stays as it is: a command
 * that ctop starts gets it.
 */
void environment_distrust(void);

#endif
