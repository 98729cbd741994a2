# SPDX-License-Identifier: MIT
# The pages of `ctop export html` and `ctop diff --html`, put into the program as bytes. Scripts of a page become one, in this order.

PAGE_SCRIPTS := reader calls words dom box flame table header tooltip keyboard looks open
PROFILE_PARTS := $(patsubst %,ui/html/%,page.html style.css $(addsuffix .js,$(PAGE_SCRIPTS) \
	data counts trees colours strip tables detail keys page))
DIFF_PARTS := $(patsubst %,ui/html/%,diff.html style.css $(addsuffix .js,$(PAGE_SCRIPTS) \
	diff_data diff_colours diff_tables diff_keys diff_page))

$(BUILD)/made/html_pages.c: tools/page $(PROFILE_PARTS) $(DIFF_PARTS) ui/html/html.mk
	@mkdir -p $(@D)
	@{ printf '#include "html_page.h"\n'; tools/page profile $(PROFILE_PARTS); tools/page diff $(DIFF_PARTS); \
		printf 'const struct html_page html_pages[] = {\n'; \
		printf '\t{%s_head, %s_tail, sizeof(%s_head), sizeof(%s_tail)},\n' profile profile profile profile diff diff diff diff; \
		printf '};\n'; } >$@.new && mv $@.new $@

$(BUILD)/obj/src/main/format/html_pages.o: $(BUILD)/made/html_pages.c
	@mkdir -p $(@D)
	@$(CC) $(CFLAGS) -Isrc/main/format -c -o $@ $<

$(call archive_of,format): $(BUILD)/obj/src/main/format/html_pages.o
