# SPDX-License-Identifier: MIT
# build/faulty/ctop: what is shipped, but that its children fall where a test asks them to. Only files with a place to
# fall at (base/fault.h) are compiled again; the rest is that of $(BUILD)/ctop.

FAULTY := $(BUILD)/faulty/ctop
FAULT_PLACES := $(filter $(foreach room,$(ROOMS),$(call sources_of,$(room))), \
	$(shell grep -l --include='*.c' -r 'ctop/base/fault\.h' src))
FAULT_SOURCES := $(wildcard tests/faults/*.c)
FAULTY_OBJECTS := $(patsubst %.c,$(BUILD)/faulty/obj/%.o,$(FAULT_PLACES) $(FAULT_SOURCES)) \
	$(filter-out $(patsubst %.c,$(BUILD)/obj/%.o,$(FAULT_PLACES)),$(call objects_of,cli))

.PHONY: faulty
faulty: $(FAULTY)

$(BUILD)/faulty/obj/%.o: %.c
	@mkdir -p $(@D)
	@echo '  CC $< (faulty)'
	@$(CC) $(CFLAGS) -DCTOP_FAULTS -MMD -MP -c -o $@ $<

# An archive's file is not taken where an object has all its names already.
$(FAULTY): $(FAULTY_OBJECTS) $(ARCHIVES)
	@echo '  LD $@'
	@$(CC) $(LDFLAGS) -o $@ $(FAULTY_OBJECTS) -Wl,--start-group $(ARCHIVES) -Wl,--end-group $(LIB_LIBS)
