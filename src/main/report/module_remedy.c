/* SPDX-License-Identifier: MIT */
#include <ctop/report/module_remedy.h>

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <ctop/history/generated.h>
#include <ctop/system/distribution.h>
#include <ctop/system/runtimes.h>

/* ---- packages ---- */

/* Where packages put what they bring; what is elsewhere is of nobody's archive. */
static bool is_packaged(const char *path)
{
	static const char *const directories[] = {"/usr/", "/lib/", "/lib64/", "/bin/", "/sbin/"};
	if (!strncmp(path, "/usr/local/", strlen("/usr/local/")))
		return false;
	for (size_t i = 0; i < sizeof(directories) / sizeof(*directories); i++)
		if (!strncmp(path, directories[i], strlen(directories[i])))
			return true;
	return false;
}

/* It is no word of more than itself to any shell. */
static bool is_plain(const char *path)
{
	return !path[strspn(path, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				  "0123456789/_.+-")];
}

/* A server that has the distribution's debug files; of others, one that asks those of many. */
static const char *server_of(enum distribution distribution)
{
	switch (distribution) {
	case DISTRIBUTION_DEBIAN:
		return "https://debuginfod.debian.net";
	case DISTRIBUTION_UBUNTU:
		return "https://debuginfod.ubuntu.com";
	case DISTRIBUTION_FEDORA:
		return "https://debuginfod.fedoraproject.org";
	case DISTRIBUTION_SUSE:
		return "https://debuginfod.opensuse.org";
	case DISTRIBUTION_ARCH:
		return "https://debuginfod.archlinux.org";
	case DISTRIBUTION_UNKNOWN:
	case NR_DISTRIBUTIONS:
		break;
	}
	return "https://debuginfod.elfutils.org";
}

static void add_package(const struct history_module_facts *facts, enum distribution distribution,
			struct text *out)
{
	const uint8_t *id = facts->identity.build_id;
	const size_t size = facts->identity.build_id_size;
	const bool is_debian =
		distribution == DISTRIBUTION_DEBIAN || distribution == DISTRIBUTION_UBUNTU;
	if (size < 2 || size > BUILD_ID_MAX || !is_packaged(facts->path))
		return;
	if (is_debian && is_plain(facts->path)) {
		text_addf(out, "find-dbgsym-packages --install %s", facts->path);
	} else if (distribution == DISTRIBUTION_FEDORA) {
		text_addf(out, "dnf --enablerepo='*debug*' install /usr/lib/debug/.build-id/%02x/",
			  id[0]);
		text_add_hex(out, id + 1, size - 1);
		text_add(out, ".debug");
	} else if (distribution == DISTRIBUTION_SUSE) {
		text_add(out, "zypper install -C 'debuginfo(build-id)=");
		text_add_hex(out, id, size);
		text_add(out, "'");
	} else {
		text_addf(out, "DEBUGINFOD_URLS=%s debuginfod-find debuginfo ",
			  server_of(distribution));
		text_add_hex(out, id, size);
	}
}

/* What runs on another machine's packages is told so by a recording; perf's files do not say it, and are read where they are. */
static enum distribution distribution_of(const struct history *history)
{
	const char *word = history_info(history, "distribution");
	return word || !history_info(history, "recorder") ? distribution_of_word(word)
							  : distribution_own();
}

/* ---- generated code ---- */

static void add_runtime(struct history *history, int32_t pid, struct text *out)
{
	struct history_generated *processes = NULL;
	size_t nr = 0;
	if (history_generated(history, runtime_of_file, NULL, 0, &processes, &nr))
		return;
	for (size_t i = 0; i < nr; i++) {
		if (processes[i].pid != pid)
			continue;
		for (int k = 0; k < NR_RUNTIMES && !out->size; k++)
			if (processes[i].classes >> k & 1 && !runtimes[k].interpreter)
				runtime_add_names_remedy(&runtimes[k], pid, out);
		break;
	}
	free(processes);
}

void module_remedy_add(struct history *history, uint32_t module, struct text *out)
{
	const struct history_module_facts facts = history_module(history, module);
	switch ((int)facts.names.missing) {
	case NAMES_MISSING_DEBUG_FILE:
		if (facts.kind == MODULE_FILE)
			add_package(&facts, distribution_of(history), out);
		break;
	case NAMES_MISSING_KERNEL:
		text_add(out, "sudo sysctl kernel.kptr_restrict=0");
		break;
	case NAMES_MISSING_MAP:
		add_runtime(history, facts.pid, out);
		break;
	default:
		break;
	}
}
