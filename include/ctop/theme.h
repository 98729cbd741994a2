/* SPDX-License-Identifier: MIT */
#ifndef CTOP_THEME_H
#define CTOP_THEME_H

/* The colours that a user may ask for: a closed list. */
enum theme {
	THEME_AUTO, /* mono without colours or with NO_COLOR; else colours that suit dark and light backgrounds */
	THEME_DARK,
	THEME_LIGHT,
	THEME_MONO
};

#endif
