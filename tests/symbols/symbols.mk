# SPDX-License-Identifier: MIT
# Names beside those of other tools; README.md there says which.

SYMBOL_TOOLS := $(patsubst tests/symbols/%.c,$(BUILD)/symbols/%,$(wildcard tests/symbols/*.c))

$(SYMBOL_TOOLS): $(BUILD)/symbols/%: tests/symbols/%.c $(ARCHIVES)
	@mkdir -p $(@D)
	@echo '  CC $<'
	@$(CC) $(CFLAGS) -MMD -MP -Isrc -o $@ $< $(LDFLAGS) -Wl,--start-group $(filter %.a,$^) -Wl,--end-group $(LIB_LIBS)

.PHONY: symbol-tools check-symbols
symbol-tools: $(SYMBOL_TOOLS)
check-symbols: all symbol-tools
	@BUILD=$(BUILD) CHECK_ALL=1 tests/run tests/symbols/*.py
