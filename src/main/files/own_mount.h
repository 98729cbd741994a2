/* SPDX-License-Identifier: MIT */
#ifndef CTOP_FILES_OWN_MOUNT_H
#define CTOP_FILES_OWN_MOUNT_H

/*
 * Main's side: files are held open for as long as a profile, and a mount is busy while a file of it is open. The target may want
 * to unmount what it ran from.
 */

/*
 * The same file, open for reading on a mount that is ours alone and nowhere to be seen. Takes fd over, and gives it
 * back where that cannot be: without privilege, or a file of another mount namespace.
 */
int own_mount(int fd);

#endif
