# SPDX-License-Identifier: MIT
# ctop for arm64, built and tested on any machine: gcc's cross compiler, the distribution's arm64
# libraries in a directory (tools/arm64-sysroot), and qemu's user-mode emulation, which knows neither
# perf_event_open nor ptrace.

ARM64_BUILD   ?= build-arm64
ARM64_TRIPLET := aarch64-linux-gnu
ARM64_SYSROOT  = $(abspath $(ARM64_BUILD))-sysroot
ARM64_CC       = $(ARM64_TRIPLET)-gcc --sysroot=$(ARM64_SYSROOT)
ARM64_ENV      = PKG_CONFIG_SYSROOT_DIR='$(ARM64_SYSROOT)' \
	PKG_CONFIG_LIBDIR='$(ARM64_SYSROOT)/usr/lib/$(ARM64_TRIPLET)/pkgconfig:$(ARM64_SYSROOT)/usr/share/pkgconfig'
# No C++ is built. Sanitizers know no emulator.
ARM64_SETTINGS = BUILD='$(ARM64_BUILD)' AR=$(ARM64_TRIPLET)-ar CC='$(ARM64_CC)' CXX='$(ARM64_CC)' SANITIZE=

# Rooms whose tests need no kernel of that machine, and those of them that do: the emulator has no openat2
# and no seccomp, and /proc/PID/exe is itself. Of unwind only what is not about x86-64's registers or another
# process's: there the steps are the test.
ARM64_ROOMS  := base ipc kernel store recording elf proc perfdata disassembler lines symbol symbolizer reader files history query format
ARM64_KERNEL := ipc/channel ipc/protocol kernel/ring kernel/record kernel/record_kinds elf/object files/module_file files/opener files/perf_map files/recorded_file
ARM64_UNITS  := $(foreach room,$(ARM64_ROOMS),$(wildcard tests/unit/$(room)/*.c)) tests/unit/cfi/expression.c \
	tests/unit/cfi/frame_program.c tests/unit/cfi/rules_beside_libdw.c \
	tests/unit/machine/machine_aarch64.c tests/unit/code/code_rule_aarch64.c
ARM64_TESTS  := $(patsubst tests/unit/%.c,$(ARM64_BUILD)/unit/%,$(filter-out $(ARM64_KERNEL:%=tests/unit/%.c),$(ARM64_UNITS)))
ARM64_STEPS  := tests/arm64/steps.py tests/arm64/starts.sh tests/arm64/code.sh
# Left to `make check-arm64`: the same C on every machine, and most of the emulator's time.
ARM64_SLOW   := base/function_name base/text proc/memory symbol/demangle symbol/perf_map query/hostile history/seconds \
	query/selection history/history_bound history/slices query/selection_processes reader/damage reader/deceit reader/recording
ARM64_QUICK  := $(filter-out $(ARM64_SLOW:%=$(ARM64_BUILD)/unit/%),$(ARM64_TESTS))
ARM64_RUN     = QEMU_LD_PREFIX='$(ARM64_SYSROOT)' ARM64_BUILD='$(ARM64_BUILD)' EMULATED='$(ARM64_BUILD)' EMULATOR=qemu-aarch64
ARM64_MAKE    = $(ARM64_ENV) $(MAKE) --no-print-directory $(ARM64_SETTINGS)

.PHONY: arm64 check-arm64 arm64-sysroot arm64-steps arm64-if-possible
arm64-sysroot: ; @tools/arm64-sysroot '$(ARM64_SYSROOT)'
arm64: arm64-sysroot ; +@$(ARM64_MAKE) all
check-arm64: arm64
	+@$(ARM64_MAKE) $(ARM64_TESTS) arm64-steps
	@$(ARM64_RUN) tests/run $(ARM64_TESTS) $(ARM64_STEPS)

# For make check-all: leaves the list of what there is to run. Without compiler, libraries or emulator that is
# a test that says so; a build that fails is a test that failed.
arm64-if-possible:
	+@mkdir -p '$(ARM64_BUILD)'; \
	if tests/arm64/possible '$(ARM64_SYSROOT)' qemu-aarch64 python3 >'$(ARM64_BUILD)/reason'; then \
		if $(ARM64_MAKE) all $(ARM64_QUICK) arm64-steps; then \
			echo '$(ARM64_QUICK) $(ARM64_STEPS)' >'$(ARM64_BUILD)/checks'; \
		else \
			echo tests/arm64/not_built.sh >'$(ARM64_BUILD)/checks'; \
		fi; \
	else \
		echo tests/arm64/skipped.sh >'$(ARM64_BUILD)/checks'; \
	fi

# What is stepped and what checks it, as BUILD and CC of the moment have it.
arm64-steps: $(BUILD)/arm64/ladder $(BUILD)/arm64/ladder_bare $(BUILD)/arm64/ladder_dynamic $(BUILD)/arm64/check_steps $(BUILD)/arm64/code_against_tables
STEPPED_FLAGS := -std=gnu11 -O2 -g -fno-optimize-sibling-calls -mbranch-protection=standard -D_GNU_SOURCE \
	-Wall -Wextra -no-pie
$(BUILD)/arm64/ladder: tests/arm64/ladder.c
	@mkdir -p $(@D)
	@$(CC) $(STEPPED_FLAGS) -static -o $@ $<
$(BUILD)/arm64/ladder_bare: $(BUILD)/arm64/ladder
	@$(ARM64_TRIPLET)-objcopy -R .eh_frame -R .eh_frame_hdr $< $@
$(BUILD)/arm64/ladder_dynamic: tests/arm64/ladder.c
	@mkdir -p $(@D)
	@$(CC) $(STEPPED_FLAGS) -fomit-frame-pointer -Wl,-z,lazy -o $@ $<
$(BUILD)/arm64/check_steps: tests/arm64/check_steps.c $(ARCHIVES)
	@mkdir -p $(@D)
	@$(CC) $(CFLAGS) -Wno-missing-prototypes -MMD -MP -Isrc -Itests/unit -o $@ $< $(LDFLAGS) \
		-Wl,--start-group $(filter %.a,$^) -Wl,--end-group $(LIB_LIBS)
$(BUILD)/arm64/code_against_tables: tests/stacks/code_against_tables.c $(ARCHIVES)
	@mkdir -p $(@D)
	@$(CC) $(CFLAGS) -Wno-missing-prototypes -MMD -MP -Isrc -Itests/unit -o $@ $< $(LDFLAGS) \
		-Wl,--start-group $(filter %.a,$^) -Wl,--end-group $(LIB_LIBS)
