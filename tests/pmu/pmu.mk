# SPDX-License-Identifier: MIT
# ctop in an emulated arm64 machine whose PMU interrupts: tests/pmu/README.md. Part of `make check-all`.

PMU_WORKLOADS := recursion spin threads
PMU_PROGRAMS  := $(foreach name,$(PMU_WORKLOADS),$(BUILD)/pmu/$(name) $(BUILD)/pmu/$(name)_static)
PMU_FLAGS     := -std=gnu11 -O2 -g -fomit-frame-pointer -fno-optimize-sibling-calls -mbranch-protection=standard \
	-D_GNU_SOURCE -Wall -Wextra -pthread

.PHONY: check-pmu pmu-programs pmu-if-possible
check-pmu:
	@CC='$(CC)' CXX='$(CXX)' BUILD='$(BUILD)' tools/deps --pmu
	+@$(MAKE) --no-print-directory pmu-if-possible
	@ARM64_BUILD='$(ARM64_BUILD)' BUILD='$(BUILD)' tests/run $$(cat '$(ARM64_BUILD)/pmu-checks')

pmu-if-possible:
	+@mkdir -p '$(ARM64_BUILD)'; \
	if tests/arm64/possible '$(ARM64_SYSROOT)' qemu-system-aarch64 cpio python3 >'$(ARM64_BUILD)/pmu-reason'; then \
		if $(ARM64_MAKE) all pmu-programs; then \
			echo tests/pmu/counters.py tests/pmu/live.py >'$(ARM64_BUILD)/pmu-checks'; \
		else \
			echo tests/arm64/not_built.sh >'$(ARM64_BUILD)/pmu-checks'; \
		fi; \
	else \
		echo tests/pmu/skipped.sh >'$(ARM64_BUILD)/pmu-checks'; \
	fi

# As BUILD and CC of the moment have it.
pmu-programs: $(PMU_PROGRAMS)
$(BUILD)/pmu/%_static: tests/workloads/%.c tests/workloads/workload.h
	@mkdir -p $(@D)
	@$(CC) $(PMU_FLAGS) -static -o $@ $<
$(BUILD)/pmu/%: tests/workloads/%.c tests/workloads/workload.h
	@mkdir -p $(@D)
	@$(CC) $(PMU_FLAGS) -o $@ $<
