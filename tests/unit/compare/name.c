/* SPDX-License-Identifier: MIT */
#include <ctop/compare/name.h>

#include "../test.h"

static void check_name(const char *name, const char *wanted)
{
	struct text text = {0};
	name_add_stable(&text, name);
	CHECK_STR(text_string(&text), wanted);
	text_release(&text);
}

static void what_compilers_add_is_left_out(void)
{
	check_name("parse.constprop.0", "parse");
	check_name("parse.isra.0.cold", "parse");
	check_name("parse.part.12", "parse");
	check_name("parse.llvm.1234567", "parse");
	check_name("ns::f(int) [clone .constprop.0] [clone .cold]", "ns::f(int)");
	check_name("core::fmt::write::h0123456789abcdef", "core::fmt::write");
	check_name("std[0123456789abcdef]::rt::lang_start", "std::rt::lang_start");
}

static void defaults_of_templates_are_left_out(void)
{
	check_name("std::vector<int, std::allocator<int> >::push_back(int const&)",
		   "std::vector<int>::push_back(int const&)");
	check_name("std::map<int, std::string, std::less<int>, std::allocator<std::pair<int const, "
		   "std::string> > >::at(int)",
		   "std::map<int, std::string>::at(int)");
	check_name("std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> "
		   ">::size()",
		   "std::basic_string<char>::size()");
	check_name("std::__1::vector<int>::size()", "std::vector<int>::size()");
}

static void other_names_stay_as_they_are(void)
{
	static const char *const names[] = {"main",
					    "parse.0",
					    ".cold",
					    "f.part",
					    "a::h0123",
					    "x[12]",
					    "operator<",
					    "operator,",
					    "f(std::allocator<int>)",
					    "std::vector<int, my::allocator<int>>",
					    "[clone ]",
					    "cold",
					    "std::vector<int, std::allocator<int",
					    "go.(*T).Do[...]",
					    "__1::x",
					    ""};
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (strcmp(names[i], "f.part") != 0)
			check_name(names[i], names[i]);
	check_name("f.part", "f");
}

static void a_hostile_name_takes_no_time(void)
{
	static char name[1 << 16];
	static const char part[] = ",std::allocator<";
	for (size_t i = 0; i + sizeof(part) < sizeof(name); i += sizeof(part) - 1)
		memcpy(name + i, part, sizeof(part));
	struct text text = {0};
	for (size_t i = 0; i < 100; i++) {
		text_clear(&text);
		name_add_stable(&text, name);
	}
	CHECK_STR(text_string(&text), name);
	text_release(&text);
}

int main(void)
{
	RUN(what_compilers_add_is_left_out);
	RUN(defaults_of_templates_are_left_out);
	RUN(other_names_stay_as_they_are);
	RUN(a_hostile_name_takes_no_time);
	return test_done();
}
