/* SPDX-License-Identifier: MIT */
#include <ctop/report/unnamed_text.h>

#include <stdlib.h>
#include <string.h>

#include <ctop/base/base_name.h>
#include <ctop/report/numbers.h>
#include <ctop/store/tables.h>

/* The largest ones: a JIT may have as many as there are processes. */
enum { MODULES_MOST = 20 };

/* As the symbolizer found it; where it found nothing missing, functions have names that do not cover all. */
static const char *why(const struct history_unnamed *module)
{
	const char *missing = names_missing_text(module->names.missing);
	if (*missing)
		return missing;
	switch (module->kind) {
	case MODULE_FILE:
		return "no symbol of it or of its debug file covers them";
	case MODULE_KERNEL:
		return "the kernel's symbols are hidden (kernel.kptr_restrict)";
	case MODULE_VDSO:
		return "no symbol of the vdso covers them";
	case MODULE_ANON:
		return "code without a file, and no /tmp/perf-PID.map names it";
	case MODULE_NONE:
	case NR_MODULE_KINDS:
		break;
	}
	return "nothing was mapped there when it was looked at";
}

void unnamed_add(struct history *history, struct text *out)
{
	struct history_unnamed *modules = NULL;
	size_t nr = 0;
	if (history_unnamed(history, &modules, &nr) || !nr) {
		free(modules);
		return;
	}
	text_add(out, "\nFrames without a name, by module:\n\n");
	for (size_t i = 0; i < nr && i < MODULES_MOST; i++) {
		struct text share = {0};
		add_percent(&share, modules[i].frames, modules[i].all_frames);
		text_addf(out, "%7s%% of ", text_string(&share));
		text_release(&share);
		text_add_safe(out, modules[i].path[0] ? base_name(modules[i].path) : "[unknown]");
		text_addf(out, ": %s\n", why(&modules[i]));
	}
	if (nr > MODULES_MOST)
		text_addf(out, "        and %zu others\n", nr - MODULES_MOST);
	text_add(out, "\n8 shows the modules, and what would help.\n");
	free(modules);
}
