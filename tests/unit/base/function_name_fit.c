/* SPDX-License-Identifier: MIT */
#include <ctop/base/function_name.h>

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "test.h"

static struct text out;

static const char *fit(const char *name, enum name_level level, size_t cols)
{
	text_clear(&out);
	name_add_fit(&out, name, level, cols);
	CHECK(!out.failed);
	return text_string(&out);
}

struct answer {
	size_t cols;
	const char *wanted;
};

static void check(const char *name, enum name_level level, const struct answer *answers, size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		CHECK_STR(fit(name, level, answers[i].cols), answers[i].wanted);
		CHECK(!answers[i].cols || text_cols(answers[i].wanted) <= answers[i].cols);
	}
}

#define CHECK_NAME(name, level, ...)                                                               \
	check(name, level, (const struct answer[]){__VA_ARGS__},                                   \
	      sizeof((const struct answer[]){__VA_ARGS__}) / sizeof(struct answer))

static void what_has_room_stays(void)
{
	CHECK_NAME("main", NAME_FULL, {0, "main"}, {4, "main"}, {80, "main"});
	CHECK_NAME("serve(int)", NAME_FULL, {0, "serve(int)"}, {10, "serve(int)"}, {9, "serve"});
	CHECK_NAME("serve(int)", NAME_NO_ARGUMENTS, {0, "serve"}, {80, "serve"});
	CHECK_NAME("", NAME_FULL, {0, ""}, {1, ""});
}

static void cpp_names(void)
{
	CHECK_NAME("std::map<int, std::vector<int> >::find(int const&)", NAME_FULL,
		   {80, "std::map<int, std::vector<int> >::find(int const&)"},
		   {49, "std::map<int, std::vector<int> >::find"}, {37, "std::map<…>::find"},
		   {14, "…::find"}, {6, "…find"}, {4, "find"}, {3, "f…d"}, {1, "…"});
	CHECK_NAME("v8::internal::(anonymous namespace)::JsonStringifier::Serialize_<false>("
		   "Handle<Object>, bool)",
		   NAME_NO_ARGUMENTS,
		   {60, "…::(anonymous namespace)::JsonStringifier::Serialize_<false>"},
		   {40, "…::JsonStringifier::Serialize_<false>"}, {20, "…::Serialize_<false>"},
		   {16, "…Serialize_"}, {11, "…Serialize_"}, {10, "Serialize_"}, {9, "Seri…ize_"});
	CHECK_NAME("v8::internal::JsonStringifier::Serialize_<std::vector<int>, 3>(int)",
		   NAME_NO_ARGUMENTS, {45, "v8::internal::JsonStringifier::Serialize_<…>"},
		   {43, "v8::internal::JsonStringifier::Serialize_"},
		   {30, "…::JsonStringifier::Serialize_"}, {13, "…::Serialize_"});
	CHECK_NAME("std::__detail::_Executor<__gnu_cxx::__normal_iterator<char const*, "
		   "std::string>, true>::_M_dfs(long)",
		   NAME_NO_ARGUMENTS, {36, "std::__detail::_Executor<…>::_M_dfs"},
		   {34, "…::__detail::_Executor<…>::_M_dfs"}, {26, "…::_Executor<…>::_M_dfs"},
		   {10, "…::_M_dfs"});
	/* What tells two instances apart stays while it is short. */
	CHECK_NAME("matcher::Level<12>::match(int)", NAME_NO_ARGUMENTS,
		   {25, "matcher::Level<12>::match"}, {20, "…::Level<12>::match"});
	CHECK_NAME("std::__introsort_loop<int*> [clone .constprop.0]", NAME_NO_ARGUMENTS,
		   {50, "std::__introsort_loop<int*> [clone .constprop.0]"},
		   {30, "std::__introsort_loop<int*>"});
	CHECK_NAME("Foo::Bar::operator->() const", NAME_NO_ARGUMENTS, {20, "Foo::Bar::operator->"},
		   {19, "…::Bar::operator->"}, {17, "…::operator->"});
	CHECK_NAME("a::operator<(a::b const&)", NAME_NO_ARGUMENTS, {12, "a::operator<"},
		   {11, "…operator<"});
}

static void names_of_other_languages(void)
{
	CHECK_NAME(
		"<alloc::vec::Vec<T> as core::iter::traits::collect::FromIterator<T>>::from_iter",
		NAME_NO_ARGUMENTS, {60, "<Vec<T> as FromIterator<T>>::from_iter"},
		{30, "…::from_iter"});
	CHECK_NAME("core::ptr::drop_in_place<alloc::vec::Vec<u8>>::h0123456789abcdef",
		   NAME_NO_ARGUMENTS, {40, "core::ptr::drop_in_place<…>"},
		   {24, "core::ptr::drop_in_place"}, {16, "…::drop_in_place"},
		   {15, "…drop_in_place"}, {11, "drop_…place"});
	CHECK_NAME("github.com/foo/bar/pkg.(*Server).ServeHTTP", NAME_NO_ARGUMENTS,
		   {40, "…/foo/bar/pkg.(*Server).ServeHTTP"}, {26, "…/pkg.(*Server).ServeHTTP"},
		   {17, "pkg.(*Se…erveHTTP"});
	/* The path comes behind the function: it is no scope. */
	CHECK_NAME("JS:*request /usr/lib/app/server.js:120:12", NAME_NO_ARGUMENTS,
		   {30, "JS:*request /us…rver.js:120:12"});
	CHECK_NAME("py::handle:/usr/lib/python3/server.py", NAME_NO_ARGUMENTS,
		   {24, "handle:/usr/…3/server.py"});
	CHECK_NAME("__memmove_avx512_unaligned_erms", NAME_NO_ARGUMENTS,
		   {26, "__memmove_avx…aligned_erms"});
	CHECK_NAME("漢字漢字漢字::漢字", NAME_NO_ARGUMENTS, {13, "…::漢字"}, {6, "…漢字"},
		   {4, "漢字"}, {3, "…"}, {2, "…"});
}

static void hostile_names(void)
{
	CHECK_NAME("a\x1b[31m::b", NAME_FULL, {80, "a\\x1b[31m::b"}, {6, "a\\x…:b"});
	CHECK_NAME("\xff::\xff", NAME_FULL, {80, "\\xff::\\xff"}, {7, "…::\\xff"});
	CHECK_NAME("::::", NAME_FULL, {4, "::::"}, {3, "…::"}, {2, "…"});
	CHECK_NAME("<<<<<<", NAME_FULL, {3, "<…<"});
}

static uint64_t random_next(uint64_t *state)
{
	*state = *state * UINT64_C(6364136223846793005) + 1442695040888963407U;
	return *state >> 33;
}

/* Whatever the bytes, the room is kept, and a name that has room is whole. */
static void any_bytes(void)
{
	static const char bytes[] = "ab::<>()/ .*&\xe2\x82\xac\xff\x1b[]{}_,";
	uint64_t state = 7;
	for (int round = 0; round < 20000; round++) {
		char name[64];
		size_t size = random_next(&state) % (sizeof(name) - 1);
		for (size_t i = 0; i < size; i++)
			name[i] = bytes[random_next(&state) % (sizeof(bytes) - 1)];
		name[size] = '\0';
		size_t cols = 1 + random_next(&state) % 40;
		for (enum name_level level = NAME_FULL; level <= NAME_COLLAPSED; level++)
			CHECK(text_cols(fit(name, level, cols)) <= cols);
	}
}

static void elided(void)
{
	text_clear(&out);
	name_add_elided(&out, "libverylong.so.6", 9);
	CHECK_STR(text_string(&out), "libv…so.6");
	text_clear(&out);
	name_add_elided(&out, "libc.so.6", 9);
	CHECK_STR(text_string(&out), "libc.so.6");
	text_clear(&out);
	name_add_elided(&out, "libc.so.6", 0);
	CHECK_STR(text_string(&out), "");
}

int main(void)
{
	RUN(what_has_room_stays);
	RUN(cpp_names);
	RUN(names_of_other_languages);
	RUN(hostile_names);
	RUN(any_bytes);
	RUN(elided);
	text_release(&out);
	return test_done();
}
