# SPDX-License-Identifier: MIT
# Stacks proven right, one by one; README.md there says which. Programs that cannot be built here
# (no musl, no libcrypto to link) are left out, and their cases skipped.

STACKS := $(BUILD)/stacks
STACK_TESTS := $(patsubst tests/stacks/%.c,$(STACKS)/%,$(filter-out $(OTHER_MACHINE_TESTS),$(wildcard tests/stacks/*.c)))
STACK_PROGRAMS := $(patsubst %,$(STACKS)/%,ladder ladder_cet ladder_static ladder_clang ladder_musl exceptions crypto far asan_gcc asan_clang)
STACK_FLAGS := -O2 -g -fomit-frame-pointer -fno-optimize-sibling-calls -D_GNU_SOURCE -Wall -Wextra
LADDER := tests/stacks/programs/ladder.c tests/stacks/programs/rungs.S

$(STACK_TESTS): $(STACKS)/%: tests/stacks/%.c $(ARCHIVES)
	@mkdir -p $(@D)
	@echo '  CC $<'
	@$(CC) $(CFLAGS) -Wno-missing-prototypes -MMD -MP -Isrc -Itests/unit -Itests/stacks -o $@ $< $(LDFLAGS) \
		-Wl,--start-group $(filter %.a,$^) -Wl,--end-group $(LIB_LIBS)

# $(call stack_program,compiler and flags): what cannot be built is not there.
stack_program = @mkdir -p $(@D); echo '  CC $@'; \
	$(1) $(STACK_FLAGS) -o $@ $(filter-out %.mk,$^) $(2) 2>$@.log || { rm -f $@; echo '  (not here)'; }

$(STACKS)/ladder: $(LADDER) ; $(call stack_program,gcc -Wl$(,)-z$(,)lazy,-pthread -ldl)
$(STACKS)/ladder_cet: $(LADDER)
	$(call stack_program,gcc -fcf-protection=full -no-pie -Wl$(,)-z$(,)lazy -Wl$(,)-z$(,)ibtplt,-pthread -ldl)
$(STACKS)/ladder_static: $(LADDER) ; $(call stack_program,gcc -static,-pthread)
$(STACKS)/ladder_clang: $(LADDER) ; $(call stack_program,clang -Wl$(,)-z$(,)now,-pthread -ldl)
$(STACKS)/ladder_musl: $(LADDER) ; $(call stack_program,musl-gcc,-pthread)
$(STACKS)/exceptions: tests/stacks/programs/exceptions.cpp
	$(call stack_program,g++ -static-libstdc++ -static-libgcc)
$(STACKS)/crypto: tests/stacks/programs/crypto.c ; $(call stack_program,gcc -static,-lcrypto)
# A lookup table of 32-bit distances would not reach, and no linker makes one of 64.
$(STACKS)/far: tests/stacks/programs/far.c
	$(call stack_program,gcc -mcmodel=large -fno-pie -no-pie -fno-dwarf2-cfi-asm \
		-Wl$(,)--section-start=.far_text=0x200000000 -Wl$(,)--no-eh-frame-hdr)
$(STACKS)/asan_gcc: tests/stacks/programs/asan.c ; $(call stack_program,gcc -fsanitize=address)
$(STACKS)/asan_clang: tests/stacks/programs/asan.c ; $(call stack_program,clang -fsanitize=address)

, := ,

.PHONY: stack-programs check-stacks check-shares
stack-programs: $(STACK_TESTS) $(STACK_PROGRAMS) $(BUILD)/unit/cfi/rules_beside_libdw
check-stacks: all stack-programs workloads faulty
	@BUILD=$(BUILD) STACKS=all tests/run $(STACK_TESTS) $(BUILD)/unit/cfi/rules_beside_libdw tests/stacks/beside_perf.py tests/stacks/runtimes.py \
		tests/stacks/joined.py tests/stacks/memo.py tests/stacks/without_tables.py

# A table; only that its numbers are not ctop's own would be a failure. SHARES="g++ go": these alone.
check-shares: all workloads
	@BUILD=$(BUILD) tests/stacks/shares.py $(SHARES)
