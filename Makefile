# SPDX-License-Identifier: MIT
# ctop: builds out of tree under build/. `make help` lists the targets.

BUILD   ?= build
PREFIX  ?= /usr/local
DESTDIR ?=
# SETCAP=1: a group may profile everybody's processes, without sudo.
SETCAP  ?=
SETCAP_GROUP ?= perf
CAPABILITIES := cap_perfmon,cap_sys_ptrace,cap_syslog,cap_ipc_lock=p
ifeq ($(origin CC),default)
CC := gcc
endif
ifeq ($(origin CXX),default)
CXX := g++
endif
WERROR  ?=
SANITIZE ?=

VERSION := 0.1.0

# src/FLOOR/ROOM: what all processes share, what runs jailed, what main does; tests/layers checks who includes whom.
ROOMS := $(notdir $(wildcard src/shared/* src/jailed/* src/main/*))

# The machine that is built for; src/jailed/machine has files for each.
MACHINE := $(firstword $(subst -, ,$(shell $(CC) -dumpmachine 2>/dev/null)))
OTHER_MACHINES := $(filter-out src/jailed/machine/machine_$(MACHINE)%,$(wildcard src/jailed/machine/machine_*.c))
BRANCH_PROTECTION := $(if $(filter aarch64,$(MACHINE)),-mbranch-protection=standard,-fcf-protection)

LIBRARIES := libdw libelf ncursesw zlib libzstd liblzma
NO_BUILD_GOALS := help clean deps format
INSTALLING_GOALS := demo check check-all check-pmu
ifneq ($(filter-out $(NO_BUILD_GOALS) $(INSTALLING_GOALS),$(or $(MAKECMDGOALS),all)),)
MISSING := $(shell CC='$(CC)' CXX='$(CXX)' tools/deps --missing)
ifneq ($(strip $(MISSING)),)
$(error missing: $(strip $(MISSING)). Run `make deps` to install what ctop needs)
endif
endif
LIB_CFLAGS = $(shell pkg-config --cflags $(LIBRARIES))
LIB_LIBS   = $(shell pkg-config --libs $(LIBRARIES)) -liberty -lm

WARNINGS := -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion \
	-Wstrict-prototypes -Wmissing-prototypes -Wundef -Wcast-qual -Wwrite-strings \
	-Wformat=2 -Wvla -Wnull-dereference -Wimplicit-fallthrough -Wswitch-enum
ifneq ($(findstring clang,$(CC)),clang)
WARNINGS += -Wduplicated-cond -Wduplicated-branches -Wlogical-op
endif
ifneq ($(WERROR),)
WARNINGS += -Werror
endif

ifneq ($(SANITIZE),)
MODE := -O1 -fsanitize=$(SANITIZE) -fno-sanitize-recover=all
MODE_LINK := -fsanitize=$(SANITIZE)
else
MODE := -O2 -D_FORTIFY_SOURCE=3 -fstack-protector-strong -fstack-clash-protection \
	$(BRANCH_PROTECTION) -fPIE
# gcc before 12 has no such option, clang before 16 refuses it.
MODE += $(shell $(CC) -ftrivial-auto-var-init=zero -x c -c -o /dev/null /dev/null 2>/dev/null && \
	echo -ftrivial-auto-var-init=zero)
MODE_LINK := -pie -Wl,-z,relro,-z,now,-z,noexecstack
endif

# uthash hashes as all tables do: include/ctop/base/hash.h.
override CFLAGS += -std=gnu11 -g -fno-omit-frame-pointer -fno-common -D_GNU_SOURCE \
	-DCTOP_VERSION='"$(VERSION)"' -DHASH_FUNCTION=HASH_KEYED -DHASH_NONFATAL_OOM=1 \
	$(MODE) $(WARNINGS) -Iinclude $(LIB_CFLAGS)
override LDFLAGS += $(MODE_LINK) -Wl,--as-needed

sources_of = $(filter-out $(OTHER_MACHINES),$(wildcard src/*/$(1)/*.c))
objects_of = $(patsubst %.c,$(BUILD)/obj/%.o,$(call sources_of,$(1)))
archive_of = $(BUILD)/lib/$(1).a

.PHONY: all
all: $(BUILD)/ctop

$(BUILD)/obj/%.o: %.c
	@mkdir -p $(@D)
	@echo '  CC $<'
	@$(CC) $(CFLAGS) -MMD -MP -c -o $@ $<

define room_rule
$(call archive_of,$(1)): $(call objects_of,$(1))
	@mkdir -p $$(@D)
	@rm -f $$@
	@$$(AR) rcs $$@ $$^
endef
$(foreach room,$(ROOMS),$(eval $(call room_rule,$(room))))

include ui/html/html.mk
include src/main/system/system_calls.mk

# main() is the command line's; what else there is is taken where it is called.
ARCHIVES := $(foreach room,$(filter-out cli,$(ROOMS)),$(call archive_of,$(room)))

$(BUILD)/ctop: $(call objects_of,cli) $(ARCHIVES)
	@echo '  LD $@'
	@$(CC) $(LDFLAGS) -o $@ $(call objects_of,cli) -Wl,--start-group $(ARCHIVES) -Wl,--end-group $(LIB_LIBS)

# ---- tests ----
# Of x86-64's registers and instructions; those of arm64's are stepped (tests/arm64).
X86_64_TESTS := $(patsubst %,tests/unit/%.c,code/code_entries code/code_rule code/code_starts machine/machine \
	$(addprefix unwind/,behind_switch dumps hostile known_functions ladder memo oracle signal_frames without_cfi)) $(wildcard tests/stacks/*.c)
OTHER_MACHINE_TESTS := $(if $(filter x86_64,$(MACHINE)),,$(X86_64_TESTS))

UNIT_SOURCES := $(filter-out $(OTHER_MACHINE_TESTS),$(wildcard tests/unit/*/*.c))
UNIT_TESTS := $(patsubst tests/unit/%.c,$(BUILD)/unit/%,$(UNIT_SOURCES))

$(BUILD)/unit/%: tests/unit/%.c $(ARCHIVES)
	@mkdir -p $(@D)
	@echo '  CC $<'
	@$(CC) $(CFLAGS) -Wno-missing-prototypes -MMD -MP -Isrc -Itests/unit -o $@ $< $(LDFLAGS) \
		-Wl,--start-group $(ARCHIVES) -Wl,--end-group $(LIB_LIBS)

UNIT_ROOMS := $(sort $(patsubst tests/unit/%/,%,$(dir $(UNIT_SOURCES))))
.PHONY: $(UNIT_ROOMS:%=unit-%)
define unit_room_rule
unit-$(1): $(filter $(BUILD)/unit/$(1)/%,$(UNIT_TESTS)) ; @tests/run $$^
endef
$(foreach room,$(UNIT_ROOMS),$(eval $(call unit_room_rule,$(room))))
.PHONY: check-unit
check-unit: $(UNIT_TESTS) ; @tests/run $^

include tests/workloads/workloads.mk
include tests/fuzz/fuzz.mk
include tests/faults/faults.mk
include tests/arm64/arm64.mk
include tests/pmu/pmu.mk
include tests/stacks/stacks.mk
include tests/symbols/symbols.mk

.PHONY: deps
deps: ; @CC='$(CC)' CXX='$(CXX)' tools/deps

# The longest first: at the end none is to be left to itself.
LONG_CHECKS := $(patsubst %,tests/%.py,cli/children cli/perfdata tui/live) $(filter %/steps,$(STACK_TESTS)) \
	$(patsubst %,tests/cli/%.py,events uprobes accounting stacks sample_filter record bounded names perf_maps perfdata_modules)
SCRIPTED_CHECKS := $(filter-out %/busy_programs.py %/events_common.py %/harness.py %/browser.py %/comparing.py %/exporting.py %/flight_recorder.py %/fuse.py %/generating.py %/hung.py %/inlined_program.py %/listings.py %/made_recording.py %/recorded_by_perf.py %/tmux.py,$(wildcard tests/cli/*.py tests/tui/*.py tests/tasks/*.py \
	tests/security/*.py tests/symbols/*.py tests/cli/*.sh tests/layers/*.sh))
CHECKS := $(LONG_CHECKS) $(filter-out $(LONG_CHECKS),$(SCRIPTED_CHECKS)) $(UNIT_TESTS) $(FUZZ_REPLAYS) \
	$(if $(OTHER_MACHINE_TESTS),tests/unit/other_machine.sh)
RUN_CHECKS = BUILD=$(BUILD) OTHER_MACHINE_TESTS='$(OTHER_MACHINE_TESTS)' tests/run $(CHECKS)

BENCH_PROGRAMS := $(patsubst tests/bench/%.c,$(BUILD)/bench/%,$(wildcard tests/bench/*.c))
$(BUILD)/bench/%: tests/bench/%.c $(ARCHIVES)
	@mkdir -p $(@D)
	@echo '  CC $<'
	@$(CC) $(CFLAGS) -MMD -MP -Isrc -Itests/unit -o $@ $< $(LDFLAGS) -Wl,--start-group $(ARCHIVES) -Wl,--end-group $(LIB_LIBS)

# Built with a job for each CPU, unless a number was given.
ALL_CPUS = $(if $(findstring -j,$(MAKEFLAGS)),,-j$(shell nproc))

.PHONY: check check-built check-all check-all-built checked
check:
	@CC='$(CC)' CXX='$(CXX)' BUILD='$(BUILD)' tools/deps --test
	+@$(MAKE) --no-print-directory $(ALL_CPUS) check-built
check-built: checked ; @$(RUN_CHECKS)
# What they run.
checked: $(BUILD)/ctop $(FAULTY) $(UNIT_TESTS) workloads fuzz-replay stack-programs symbol-tools $(BENCH_PROGRAMS)

check-all:
	@CC='$(CC)' CXX='$(CXX)' BUILD='$(BUILD)' tools/deps --all
	+@$(MAKE) --no-print-directory $(ALL_CPUS) check-all-built
check-all-built: checked
	+@$(MAKE) --no-print-directory arm64-if-possible # one after the other: they build in one directory
	+@$(MAKE) --no-print-directory pmu-if-possible
	@CHECK_ALL=1 STACKS=all $(ARM64_RUN) $(RUN_CHECKS) $$(cat '$(ARM64_BUILD)/checks' '$(ARM64_BUILD)/pmu-checks')

.PHONY: demo
demo:
	@CC='$(CC)' CXX='$(CXX)' tools/deps
	@$(MAKE) --no-print-directory -s $(BUILD)/ctop $(BUILD)/workloads/demo
	@BUILD=$(BUILD) tools/demo

# Which lines of what guards privileges the tests reach: unit tests, corpora, attacks, and what is asked of the broker in
# peace, in a build of its own. What
# jailed children run is not counted: they may not write their counts, and say so on stderr, where a few cases want nothing.
COVERED := $(wildcard src/main/broker/broker*.c src/shared/jail/jail*.c) src/main/output/output.c src/main/output/save.c
COVERAGE_BUILD := $(BUILD)-coverage
COVERAGE_TESTS = $(patsubst %,$(BUILD)/unit/%,broker/broker broker/broker_kept child/jail_calls output/output report/stats jail/jail jail/jail_filter jail/jail_spawn) $(BUILD)/fuzz/broker $(BUILD)/fuzz/output
COVERAGE_SCRIPTS ?= $(wildcard tests/security/*.py) $(patsubst %,tests/cli/%.py,sample_filter names perf_maps perfdata_modules targets)
.PHONY: coverage coverage-here
coverage:
	@find $(COVERAGE_BUILD) -name '*.gcda' -delete 2>/dev/null || true
	@$(MAKE) --no-print-directory BUILD=$(COVERAGE_BUILD) CFLAGS=--coverage LDFLAGS=--coverage coverage-here
coverage-here: all faulty workloads $(COVERAGE_TESTS)
	@BUILD=$(BUILD) tests/run $(COVERAGE_TESTS) $(COVERAGE_SCRIPTS) >$(BUILD)/tests.log 2>&1 || true
	@tail -n 1 $(BUILD)/tests.log
	@$(foreach file,$(COVERED),gcov -n -o $(BUILD)/obj/$(file:.c=.o) $(file) | grep -A 1 "^File '$(file)'";)

SOAK_SECONDS = 7200
.PHONY: soak
soak: all workloads ; @BUILD='$(BUILD)' SOAK_SECONDS=$(SOAK_SECONDS) tests/cli/soak.py memory_is_flat_and_slices_have_their_moments

.PHONY: bench
bench: all workloads faulty symbol-tools $(BENCH_PROGRAMS) ; @BUILD=$(BUILD) tests/bench/run

.PHONY: format format-check lint
FORMATTED = $(shell git ls-files '*.c' '*.h')
format: ; clang-format -i $(FORMATTED)
format-check: ; clang-format --dry-run --Werror $(FORMATTED)
lint: ; clang-tidy --quiet $(filter-out $(OTHER_MACHINES),$(wildcard src/*/*/*.c)) -- $(filter-out -Wduplicated-% -Wlogical-op -ftrivial-%,$(CFLAGS))

.PHONY: install uninstall
install: all
ifneq ($(SETCAP),)
	@getent group $(SETCAP_GROUP) >/dev/null || { echo 'there is no group $(SETCAP_GROUP): sudo groupadd $(SETCAP_GROUP)' >&2; exit 1; }
	install -D -m 0710 -g $(SETCAP_GROUP) $(BUILD)/ctop $(DESTDIR)$(PREFIX)/bin/ctop
	setcap $(CAPABILITIES) $(DESTDIR)$(PREFIX)/bin/ctop
else
	install -D -m 0755 $(BUILD)/ctop $(DESTDIR)$(PREFIX)/bin/ctop
endif
	install -D -m 0644 docs/ctop.1 $(DESTDIR)$(PREFIX)/share/man/man1/ctop.1
	install -D -m 0644 completions/ctop.bash $(DESTDIR)$(PREFIX)/share/bash-completion/completions/ctop
	install -D -m 0644 completions/_ctop $(DESTDIR)$(PREFIX)/share/zsh/site-functions/_ctop
	install -D -m 0644 completions/ctop.fish $(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d/ctop.fish
uninstall:
	rm -f $(DESTDIR)$(PREFIX)/bin/ctop $(DESTDIR)$(PREFIX)/share/man/man1/ctop.1 \
		$(DESTDIR)$(PREFIX)/share/bash-completion/completions/ctop \
		$(DESTDIR)$(PREFIX)/share/zsh/site-functions/_ctop \
		$(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d/ctop.fish

.PHONY: clean
clean: ; rm -rf $(BUILD)

.PHONY: help
help:
	@echo 'make              build $(BUILD)/ctop'
	@echo 'make demo         install what is missing, build, profile a bundled workload, show the result'
	@echo 'make check        install what is missing, build, test'
	@echo 'make check-all    the same, with what takes long, arm64 emulated, and a machine with a PMU emulated'
	@echo 'make faulty       $(FAULTY), whose children fall where a test asks them to'
	@echo 'make unit-ROOM    the unit tests of one room: $(UNIT_ROOMS)'
	@echo 'make check-unit   all of them'
	@echo 'make check-stacks every stack of many programs, beside a shadow stack and libdwfl'
	@echo 'make check-shares which share of stacks is complete, live; SHARES="g++ go": of these alone'
	@echo 'make check-symbols names of functions beside those that other tools find'
	@echo 'make arm64        a ctop for arm64 in $(ARM64_BUILD); check-arm64 runs its tests emulated'
	@echo 'make check-pmu    ctop in an emulated arm64 machine whose PMU interrupts'
	@echo 'make fuzz         search the parsers for crashes, FUZZ_SECONDS=$(FUZZ_SECONDS) each; FUZZ="$(FUZZ_TARGETS)"'
	@echo 'make coverage     which lines of $(notdir $(COVERED)) the tests reach'
	@echo 'make soak         a flight recorder that runs for SOAK_SECONDS=$(SOAK_SECONDS): its memory and its slices'
	@echo 'make bench        ratios against perf in the same run (never a pass or fail)'
	@echo 'make deps         install what is missing, through the package manager'
	@echo 'make format, format-check, lint'
	@echo 'make install      PREFIX=$(PREFIX) DESTDIR=  (and uninstall); SETCAP=1: with capabilities, for'
	@echo '                  the group $(SETCAP_GROUP) alone (SETCAP_GROUP=)'
	@echo 'make clean'
	@echo 'variables         BUILD CC CFLAGS LDFLAGS WERROR=1 SANITIZE=address,undefined'

-include $(shell find $(BUILD) -name '*.d' 2>/dev/null)
