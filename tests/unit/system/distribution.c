/* SPDX-License-Identifier: MIT */
#include <ctop/system/distribution.h>

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "test.h"

static void known_ones(void)
{
	static const struct {
		const char *text;
		enum distribution distribution;
	} texts[] = {
		{"PRETTY_NAME=\"Debian GNU/Linux 12\"\nID=debian\n", DISTRIBUTION_DEBIAN},
		{"NAME=\"Ubuntu\"\nID_LIKE=debian\nID=ubuntu\n", DISTRIBUTION_UBUNTU},
		{"ID=linuxmint\nID_LIKE=\"ubuntu debian\"", DISTRIBUTION_UBUNTU},
		{"ID=\"rocky\"\nID_LIKE=\"rhel centos fedora\"\n", DISTRIBUTION_FEDORA},
		{"ID='opensuse-leap'\n", DISTRIBUTION_SUSE},
		{"ID=manjaro\nID_LIKE=arch\n", DISTRIBUTION_ARCH},
		{"ID=nixos\n", DISTRIBUTION_UNKNOWN},
		{"", DISTRIBUTION_UNKNOWN},
	};
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		CHECK_EQ(distribution_of_text(texts[i].text), texts[i].distribution);
}

/* Nobody's text goes further than to one of the list. */
static void odd_texts(void)
{
	static const char *const texts[] = {
		"ID=",
		"ID=\n",
		"ID_LIKE=\"\"",
		"VERSION_ID=debian\n",
		"XID=debian",
		" ID=debian",
		"ID=debian;reboot",
		"ID=$(debian)",
		"ID=Debian",
		"ID=debia",
		"ID=debiann",
		"\n\n\n",
		"ID=\"\x1b]52;c;x\a\"\n",
		"ID='''\"\"\" \t",
		"NAME=\nID_LIKE=\xff\xfe",
	};
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		CHECK_EQ(distribution_of_text(texts[i]), DISTRIBUTION_UNKNOWN);
	enum { LONG = 1 << 16 };
	char *text = malloc(LONG + 1);
	for (int fill = 1; fill < 256; fill++) {
		memset(text, fill, LONG);
		text[LONG] = '\0';
		memcpy(text, "ID=", 3);
		CHECK_EQ(distribution_of_text(text), DISTRIBUTION_UNKNOWN);
	}
	free(text);
}

static void words(void)
{
	for (enum distribution i = 0; i < NR_DISTRIBUTIONS; i++)
		CHECK_EQ(distribution_of_word(distribution_word(i)), i);
	CHECK_EQ(distribution_of_word(NULL), DISTRIBUTION_UNKNOWN);
	CHECK_EQ(distribution_of_word("beos"), DISTRIBUTION_UNKNOWN);
	CHECK_STR(distribution_word(NR_DISTRIBUTIONS), "unknown");
	CHECK(!has_other_root(getpid()));
	CHECK(!has_other_root(0));
	CHECK(!has_other_root(-1));
}

int main(void)
{
	RUN(known_ones);
	RUN(odd_texts);
	RUN(words);
	return test_done();
}
