# SPDX-License-Identifier: MIT
# Targets are tests/fuzz/NAME.c; tests/fuzz/README.md says how to work with them.
#
# `make fuzz-replay` builds them with CC and the sanitizers and without a fuzzer; `make check` runs that.
# `make fuzz` builds them with clang's libFuzzer and searches each for FUZZ_SECONDS.

FUZZ_SECONDS ?= 60
FUZZ_TARGETS := $(filter-out replay,$(patsubst tests/fuzz/%.c,%,$(wildcard tests/fuzz/*.c)))
FUZZ ?= $(FUZZ_TARGETS)

# Changed inputs a target; FUZZ_MUTATIONS_NAME for one that takes long.
FUZZ_MUTATIONS := 4000
FUZZ_MUTATIONS_collector := 1000
FUZZ_MUTATIONS_kallsyms := 400
FUZZ_MUTATIONS_parts := 1000
FUZZ_MUTATIONS_perfdata := 2000
FUZZ_MUTATIONS_timeline := 400

# Functions that a target replaces, by the linker's --wrap.
FUZZ_WRAP_broker := opener_ask prober_ask
FUZZ_WRAP_event := near_name tracepoint_id
FUZZ_WRAP_fetcher := jail_spawn jail_end
FUZZ_WRAP_collector := poll clock_now_ns
FUZZ_WRAP_output := openat fstatat renameat unlinkat poll
FUZZ_WRAP_session := jail_spawn jail_protect_main kill wait4

FUZZ_HEADERS := $(wildcard tests/fuzz/*.h)

# Private headers of the parsers.
FUZZ_FLAGS = -Wno-missing-prototypes -Isrc -Itests/fuzz

# Built in a directory of its own, as the sanitizers want all of the code; this one when it has them already.
FUZZ_SANITIZERS := address,undefined
FUZZ_REPLAY_BUILD := $(if $(findstring address,$(SANITIZE)),$(BUILD),$(BUILD)/asan)
FUZZ_REPLAYS := $(patsubst %,$(FUZZ_REPLAY_BUILD)/fuzz/%,$(FUZZ_TARGETS))

fuzz_link = $(LDFLAGS) $(patsubst %,-Wl$(COMMA)--wrap=%,$(FUZZ_WRAP_$(@F))) \
	-Wl,--start-group $(ARCHIVES) -Wl,--end-group $(LIB_LIBS)
COMMA := ,

$(BUILD)/fuzz/%: tests/fuzz/%.c tests/fuzz/replay.c $(FUZZ_HEADERS) tests/fuzz/fuzz.mk $(ARCHIVES)
	@mkdir -p $(@D)
	@echo '  CC $<'
	@$(CC) $(CFLAGS) $(FUZZ_FLAGS) -DFUZZ_TARGET='"$*"' -DFUZZ_CORPUS='"tests/fuzz/corpus/$*"' \
		-DFUZZ_CRASH='"$@.crash"' -DFUZZ_MUTATIONS=$(or $(FUZZ_MUTATIONS_$*),$(FUZZ_MUTATIONS))u \
		-o $@ $< tests/fuzz/replay.c $(fuzz_link)

$(BUILD)/libfuzzer/%: tests/fuzz/%.c $(FUZZ_HEADERS) $(ARCHIVES)
	@mkdir -p $(@D)
	@echo '  CC $<'
	@$(CC) $(CFLAGS) $(FUZZ_FLAGS) -fsanitize=fuzzer -o $@ $< $(fuzz_link)

.PHONY: fuzz-replay fuzz-replay-here fuzz fuzz-here
fuzz-replay:
	@sanitize=$(or $(SANITIZE),$(FUZZ_SANITIZERS)); \
	if ! echo 'int main(void) { return 0; }' | $(CC) -x c -fsanitize=$$sanitize -o /dev/null - 2>/dev/null; then \
		echo '$(CC) has no sanitizers here: the corpora are replayed without'; sanitize=; \
	fi; \
	$(MAKE) --no-print-directory BUILD=$(FUZZ_REPLAY_BUILD) SANITIZE=$$sanitize fuzz-replay-here
fuzz-replay-here: $(patsubst %,$(BUILD)/fuzz/%,$(FUZZ_TARGETS))

fuzz:
	@BUILD=$(BUILD) tests/fuzz/search --check
	@$(MAKE) --no-print-directory BUILD=$(BUILD)/libfuzzer CC=clang CXX=clang++ \
		SANITIZE=fuzzer-no-link,$(FUZZ_SANITIZERS) FUZZ='$(FUZZ)' fuzz-here
	@BUILD=$(BUILD) FUZZ_SECONDS=$(FUZZ_SECONDS) tests/fuzz/search $(FUZZ)
fuzz-here: $(patsubst %,$(BUILD)/libfuzzer/%,$(FUZZ))
