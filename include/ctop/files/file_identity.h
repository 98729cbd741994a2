/* SPDX-License-Identifier: MIT */
#ifndef CTOP_FILES_FILE_IDENTITY_H
#define CTOP_FILES_FILE_IDENTITY_H

/* Main's side: which file a descriptor is, as far as the kernel says so. Nothing of it is read. */

#include <ctop/module_identity.h>

/*
 * Device, inode, generation, owner of a file that a process has mapped (0: nobody in particular). The owner is left out where that is nobody's word: others may write to the file, or
 * the file system may be a user's (FUSE; for root's files, any that is mounted nosuid, as removable media are, or in
 * a mount namespace that is neither ours nor that process's, or not root's).
 */
struct module_identity file_identity(int fd, int32_t pid);

#endif
