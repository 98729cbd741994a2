# SPDX-License-Identifier: MIT
# Programs whose stacks are known; each says in its first comment which. Built the way
# distributions build: optimized, with debug information, without frame pointers. They are what
# is measured, so ctop's own flags (sanitizers among them) stay out. Tail calls stay calls, or
# the callers that the comments name would be gone.

WORKLOAD_C   := recursion threads forkexec dlopen sigalt sleepwork spin pace newstacks crowd jit jitdump faults weights paced storm paths refuse attacker family deadlock lying_code untouched slower waits waiters woken hidden silent moved mapped
WORKLOAD_CXX := templates demo
PLUGINS      := one two
# The same, with frame pointers.
FRAMED       := framed_spin framed_threads framed_waiters
WORKLOADS    := $(patsubst %,$(BUILD)/workloads/%,$(WORKLOAD_C) $(WORKLOAD_CXX) $(FRAMED) \
	$(patsubst %,plugin_%.so,$(PLUGINS)))
WORKLOAD_FLAGS := -O2 -g -fomit-frame-pointer -fno-optimize-sibling-calls -D_GNU_SOURCE \
	-Wall -Wextra $(if $(WERROR),-Werror) -pthread -MMD -MP

.PHONY: workloads
workloads: $(WORKLOADS)

$(patsubst %,$(BUILD)/workloads/%,$(WORKLOAD_C)): $(BUILD)/workloads/%: tests/workloads/%.c
	@mkdir -p $(@D)
	@echo '  CC $<'
	@$(CC) -std=gnu11 $(WORKLOAD_FLAGS) -o $@ $< -ldl

$(patsubst %,$(BUILD)/workloads/%,$(FRAMED)): $(BUILD)/workloads/framed_%: tests/workloads/%.c
	@mkdir -p $(@D)
	@echo '  CC $< (framed)'
	@$(CC) -std=gnu11 $(WORKLOAD_FLAGS) -fno-omit-frame-pointer -o $@ $< -ldl

$(patsubst %,$(BUILD)/workloads/%,$(WORKLOAD_CXX)): $(BUILD)/workloads/%: tests/workloads/%.cpp
	@mkdir -p $(@D)
	@echo '  CXX $<'
	@$(CXX) -std=c++17 $(WORKLOAD_FLAGS) -o $@ $<

$(patsubst %,$(BUILD)/workloads/plugin_%.so,$(PLUGINS)): \
		$(BUILD)/workloads/plugin_%.so: tests/workloads/plugin.c
	@mkdir -p $(@D)
	@echo '  CC $< ($*)'
	@$(CC) -std=gnu11 $(WORKLOAD_FLAGS) -fPIC -shared -DPLUGIN=$* -o $@ $<

# dlopen looks for them beside itself.
$(BUILD)/workloads/dlopen: | $(patsubst %,$(BUILD)/workloads/plugin_%.so,$(PLUGINS))
