# SPDX-License-Identifier: MIT
# Names of system calls, from the kernel's headers for the machine that ctop is made for.

$(BUILD)/made/system_call_names.c: src/main/system/system_calls.mk
	@mkdir -p $(@D)
	@{ printf '#include <asm/unistd.h>\n#include "system_call_names.h"\n\nconst char *const system_call_names[] = {\n'; \
		printf '#include <asm/unistd.h>\n' | $(CC) $(CFLAGS) -E -dM - | LC_ALL=C sort | \
		sed -n '/ __NR_syscalls \|arch_specific/d; s/^#define __NR_\([a-z0-9_]*\) .*/\t[__NR_\1] = "\1",/p'; \
		printf '};\nconst size_t nr_system_call_names = sizeof(system_call_names) / sizeof(*system_call_names);\n'; } >$@.new && mv $@.new $@

$(BUILD)/obj/src/main/system/system_call_names.o: $(BUILD)/made/system_call_names.c
	@mkdir -p $(@D)
	@$(CC) $(CFLAGS) -Isrc/main/system -c -o $@ $<

$(call archive_of,system): $(BUILD)/obj/src/main/system/system_call_names.o
