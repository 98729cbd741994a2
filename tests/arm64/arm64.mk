# SPDX-License-Identifier: MIT
# ctop for arm64, built and tested on any machine: gcc's cross compiler, Debian's arm64 libraries in a
# folder (tools/arm64-sysroot), and qemu's user-mode emulation, which has no perf_event_open.

ARM64_BUILD   ?= build-arm64
ARM64_TRIPLET := aarch64-linux-gnu
ARM64_SYSROOT  = $(abspath $(ARM64_BUILD))-sysroot
ARM64_LIBS     = $(ARM64_SYSROOT)/usr/lib/$(ARM64_TRIPLET):$(ARM64_SYSROOT)/lib/$(ARM64_TRIPLET)
ARM64_MAKE     = PKG_CONFIG_SYSROOT_DIR='$(ARM64_SYSROOT)' \
	PKG_CONFIG_LIBDIR='$(ARM64_SYSROOT)/usr/lib/$(ARM64_TRIPLET)/pkgconfig:$(ARM64_SYSROOT)/usr/share/pkgconfig' \
	$(MAKE) --no-print-directory BUILD='$(ARM64_BUILD)' AR=$(ARM64_TRIPLET)-ar \
	CC='$(ARM64_TRIPLET)-gcc --sysroot=$(ARM64_SYSROOT)' CXX='$(ARM64_TRIPLET)-g++ --sysroot=$(ARM64_SYSROOT)'

.PHONY: arm64 check-arm64
arm64:
	@tools/arm64-sysroot '$(ARM64_SYSROOT)'
	+@$(ARM64_MAKE) all

# What needs perf_event_open, ptrace or another process's memory cannot run there.
ARM64_LAYERS := base object unwind proc perfdata symbol profile format
ARM64_TESTS  := $(foreach layer,$(ARM64_LAYERS),$(filter $(ARM64_BUILD)/unit/$(layer)/%, \
	$(patsubst tests/unit/%.c,$(ARM64_BUILD)/unit/%,$(UNIT_SOURCES))))
check-arm64:
	@tools/arm64-sysroot '$(ARM64_SYSROOT)'
	+@$(ARM64_MAKE) all $(ARM64_TESTS)
	@QEMU_LD_PREFIX='$(ARM64_SYSROOT)' BUILD='$(ARM64_BUILD)' RUN_UNDER=qemu-aarch64 tests/run $(ARM64_TESTS)
