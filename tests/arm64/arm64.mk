# SPDX-License-Identifier: MIT
# ctop for arm64, built and tested on any machine: gcc's cross compiler, the distribution's arm64
# libraries in a folder (tools/arm64-sysroot), and qemu's user-mode emulation, which knows neither
# perf_event_open nor ptrace.

ARM64_BUILD   ?= build-arm64
ARM64_TRIPLET := aarch64-linux-gnu
ARM64_SYSROOT  = $(abspath $(ARM64_BUILD))-sysroot
ARM64_CC       = $(ARM64_TRIPLET)-gcc --sysroot=$(ARM64_SYSROOT)
ARM64_ENV      = PKG_CONFIG_SYSROOT_DIR='$(ARM64_SYSROOT)' \
	PKG_CONFIG_LIBDIR='$(ARM64_SYSROOT)/usr/lib/$(ARM64_TRIPLET)/pkgconfig:$(ARM64_SYSROOT)/usr/share/pkgconfig'
ARM64_SETTINGS = BUILD='$(ARM64_BUILD)' AR=$(ARM64_TRIPLET)-ar CC='$(ARM64_CC)' \
	CXX='$(ARM64_TRIPLET)-g++ --sysroot=$(ARM64_SYSROOT)'

# Layers whose tests need no kernel of that machine. Of unwind only what is not about x86-64's registers
# or another process's: there the steps are the test.
ARM64_LAYERS := base object proc perfdata symbol profile format
ARM64_UNITS  := $(foreach layer,$(ARM64_LAYERS),$(wildcard tests/unit/$(layer)/*.c)) tests/unit/unwind/expression.c \
	tests/unit/unwind/machine_aarch64.c
ARM64_TESTS  := $(patsubst tests/unit/%.c,$(ARM64_BUILD)/unit/%,$(ARM64_UNITS))

.PHONY: arm64 check-arm64 arm64-sysroot arm64-steps
arm64-sysroot: ; @tools/arm64-sysroot '$(ARM64_SYSROOT)'
arm64: arm64-sysroot ; +@$(ARM64_ENV) $(MAKE) --no-print-directory $(ARM64_SETTINGS) all
check-arm64: arm64
	+@$(ARM64_ENV) $(MAKE) --no-print-directory $(ARM64_SETTINGS) $(ARM64_TESTS) arm64-steps
	@QEMU_LD_PREFIX='$(ARM64_SYSROOT)' BUILD='$(ARM64_BUILD)' RUN_UNDER=qemu-aarch64 \
		tests/run $(ARM64_TESTS) tests/arm64/steps.py tests/arm64/starts.sh

# What is stepped and what checks it, as BUILD and CC of the moment have it.
arm64-steps: $(BUILD)/arm64/ladder $(BUILD)/arm64/ladder_dynamic $(BUILD)/arm64/check_steps
STEPPED_FLAGS := -std=gnu11 -O2 -g -fno-optimize-sibling-calls -mbranch-protection=standard -D_GNU_SOURCE \
	-Wall -Wextra -no-pie
$(BUILD)/arm64/ladder: tests/arm64/ladder.c
	@mkdir -p $(@D)
	@$(CC) $(STEPPED_FLAGS) -static -o $@ $<
$(BUILD)/arm64/ladder_dynamic: tests/arm64/ladder.c
	@mkdir -p $(@D)
	@$(CC) $(STEPPED_FLAGS) -fomit-frame-pointer -Wl,-z,lazy -o $@ $<
$(BUILD)/arm64/check_steps: tests/arm64/check_steps.c $(foreach layer,unwind object base,$(call archive_of,$(layer)))
	@mkdir -p $(@D)
	@$(CC) $(CFLAGS) -Wno-missing-prototypes -MMD -MP -Itests/unit -o $@ $< $(LDFLAGS) \
		-Wl,--start-group $(filter %.a,$^) -Wl,--end-group $(LIB_LIBS)
