/* SPDX-License-Identifier: MIT */
#include <ctop/names_from.h>

static const char *const from_names[NR_NAMES_FROM] = {
	[NAMES_FROM_UNKNOWN] = "?",
	[NAMES_FROM_NOTHING] = "nothing",
	[NAMES_FROM_SYMTAB] = ".symtab",
	[NAMES_FROM_DYNSYM] = ".dynsym",
	[NAMES_FROM_DEBUG_BUILD_ID] = "debug file",
	[NAMES_FROM_DEBUG_LINK] = "debug link",
	[NAMES_FROM_MINI_DEBUG] = ".gnu_debugdata",
	[NAMES_FROM_DWARF] = "DWARF",
	[NAMES_FROM_PCLNTAB] = ".gopclntab",
	[NAMES_FROM_KALLSYMS] = "kallsyms",
	[NAMES_FROM_PERF_MAP] = "perf map",
	[NAMES_FROM_JITDUMP] = "jitdump",
};

static const char *const missing_texts[NR_NAMES_MISSING] = {
	[NAMES_MISSING_NOTHING] = "",
	[NAMES_MISSING_DEBUG_FILE] = "stripped, and no debug file is here",
	[NAMES_MISSING_FILE] = "the file could not be opened",
	[NAMES_MISSING_SAME_FILE] = "another file is in its place now",
	[NAMES_MISSING_PERMISSION] = "the file may not be read",
	[NAMES_MISSING_TIME] = "the file could not be opened in time",
	[NAMES_MISSING_SENSE] = "the file is damaged, or no ELF file",
	[NAMES_MISSING_KERNEL] = "the kernel's addresses are hidden (kernel.kptr_restrict)",
	[NAMES_MISSING_MAP] = "neither a jitdump nor a /tmp/perf-PID.map names it",
	[NAMES_MISSING_SPLIT] =
		"inlined functions are in .dwo files, or a .dwp package, that are not here",
	[NAMES_MISSING_DEBUG_SENSE] = "its debug file is damaged",
	[NAMES_MISSING_LINES] = "its debug information is damaged, or of an unknown kind",
};

const char *names_from_name(uint32_t from)
{
	return from_names[from < NR_NAMES_FROM ? from : NAMES_FROM_UNKNOWN];
}

const char *names_missing_text(uint32_t missing)
{
	return missing_texts[missing < NR_NAMES_MISSING ? missing : NAMES_MISSING_NOTHING];
}
