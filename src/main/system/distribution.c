/* SPDX-License-Identifier: MIT */
#include <ctop/system/distribution.h>

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <ctop/system/proc_text.h>

/* No os-release is longer. */
enum { TEXT_MAX = 4096 };

static const struct {
	const char *id;
	enum distribution distribution;
} ids[] = {
	{"debian", DISTRIBUTION_DEBIAN},      {"ubuntu", DISTRIBUTION_UBUNTU},
	{"fedora", DISTRIBUTION_FEDORA},      {"rhel", DISTRIBUTION_FEDORA},
	{"centos", DISTRIBUTION_FEDORA},      {"rocky", DISTRIBUTION_FEDORA},
	{"almalinux", DISTRIBUTION_FEDORA},   {"ol", DISTRIBUTION_FEDORA},
	{"amzn", DISTRIBUTION_FEDORA},	      {"suse", DISTRIBUTION_SUSE},
	{"sles", DISTRIBUTION_SUSE},	      {"opensuse", DISTRIBUTION_SUSE},
	{"opensuse-leap", DISTRIBUTION_SUSE}, {"opensuse-tumbleweed", DISTRIBUTION_SUSE},
	{"arch", DISTRIBUTION_ARCH},
};

static const char *const words[NR_DISTRIBUTIONS] = {
	[DISTRIBUTION_UNKNOWN] = "unknown", [DISTRIBUTION_DEBIAN] = "debian",
	[DISTRIBUTION_UBUNTU] = "ubuntu",   [DISTRIBUTION_FEDORA] = "fedora",
	[DISTRIBUTION_SUSE] = "suse",	    [DISTRIBUTION_ARCH] = "arch",
};

static enum distribution of_id(const char *id, size_t size)
{
	for (size_t i = 0; i < sizeof(ids) / sizeof(*ids); i++)
		if (strlen(ids[i].id) == size && !memcmp(ids[i].id, id, size))
			return ids[i].distribution;
	return DISTRIBUTION_UNKNOWN;
}

/* The first known word of a value, perhaps in quotes, that ends with its line. */
static enum distribution of_value(const char *value)
{
	static const char between[] = " \t'\"";
	while (*value && *value != '\n') {
		const size_t size = strcspn(value, " \t'\"\n");
		const enum distribution found = of_id(value, size);
		if (found)
			return found;
		value += size;
		value += strspn(value, between);
	}
	return DISTRIBUTION_UNKNOWN;
}

static enum distribution of_key(const char *text, const char *key)
{
	const size_t size = strlen(key);
	for (const char *line = text; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (!strncmp(line, key, size))
			return of_value(line + size);
	}
	return DISTRIBUTION_UNKNOWN;
}

enum distribution distribution_of_text(const char *text)
{
	const enum distribution found = of_key(text, "ID=");
	return found ? found : of_key(text, "ID_LIKE=");
}

enum distribution distribution_own(void)
{
	static const char *const paths[] = {"/etc/os-release", "/usr/lib/os-release"};
	char text[TEXT_MAX];
	for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); i++) {
		int fd = open(paths[i], O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
		const ssize_t got = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
		if (fd >= 0)
			close(fd);
		if (got <= 0)
			continue;
		text[got] = '\0';
		return distribution_of_text(text);
	}
	return DISTRIBUTION_UNKNOWN;
}

const char *distribution_word(enum distribution distribution)
{
	return words[distribution < NR_DISTRIBUTIONS ? distribution : DISTRIBUTION_UNKNOWN];
}

enum distribution distribution_of_word(const char *word)
{
	for (enum distribution i = 0; word && i < NR_DISTRIBUTIONS; i++)
		if (!strcmp(words[i], word))
			return i;
	return DISTRIBUTION_UNKNOWN;
}

bool has_other_root(int32_t pid)
{
	char path[64];
	struct stat theirs, ours;
	snprintf(path, sizeof(path), "/proc/%d/ns/mnt", pid);
	return pid > 0 && !proc_stat(path, &theirs) && !proc_stat("/proc/self/ns/mnt", &ours) &&
	       (theirs.st_dev != ours.st_dev || theirs.st_ino != ours.st_ino);
}
