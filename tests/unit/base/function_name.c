/* SPDX-License-Identifier: MIT */
#include <ctop/base/function_name.h>

#include <stdint.h>

#include "test.h"

enum { ROOM = 1024 };

struct answer {
	const char *full, *no_arguments, *collapsed; /* NULL: the same as before it */
};

static void check(const struct answer *answer)
{
	char out[ROOM];
	const char *wanted = answer->full;
	CHECK_EQ(name_shorten(answer->full, NAME_FULL, out, sizeof(out)), strlen(wanted));
	CHECK_STR(out, wanted);
	if (answer->no_arguments)
		wanted = answer->no_arguments;
	CHECK_EQ(name_shorten(answer->full, NAME_NO_ARGUMENTS, out, sizeof(out)), strlen(out));
	CHECK_STR(out, wanted);
	if (answer->collapsed)
		wanted = answer->collapsed;
	CHECK_EQ(name_shorten(answer->full, NAME_COLLAPSED, out, sizeof(out)), strlen(out));
	CHECK_STR(out, wanted);
}

#define CHECK_ANSWERS(answers)                                                                     \
	for (size_t i = 0; i < sizeof(answers) / sizeof(*(answers)); i++)                          \
		check(&(answers)[i]);

static void plain_names(void)
{
	static const struct answer answers[] = {
		{"", NULL, NULL},
		{"main", NULL, NULL},
		{"__libc_start_main@@GLIBC_2.34", NULL, NULL},
		{"foo.isra.0.cold", NULL, NULL},
		{"memcpy@plt", NULL, NULL},
		{"[unknown]", NULL, NULL},
		{"[libc.so.6]", NULL, NULL},
		{"(deleted)", NULL, NULL},
	};
	CHECK_ANSWERS(answers);
}

static void cpp_functions(void)
{
	static const struct answer answers[] = {
		{"foo()", "foo", NULL},
		{"foo(int, char const*)", "foo", NULL},
		{"ns::Class::method(std::vector<int, std::allocator<int> > const&) const",
		 "ns::Class::method", NULL},
		{"Class::on_rvalue() &&", "Class::on_rvalue", NULL},
		{"Class::on_const_lvalue() const &", "Class::on_const_lvalue", NULL},
		{"Class::~Class()", "Class::~Class", NULL},
		{"foo(int) [clone .isra.0]", "foo [clone .isra.0]", NULL},
		{"foo[abi:cxx11](int)", "foo[abi:cxx11]", NULL},
		{"foo(void (*)(int, char))", "foo", NULL},
		{"std::function<void (int)>::operator()(int) const",
		 "std::function<void (int)>::operator()", "std::function<…>::operator()"},
		{"std::vector<int, std::allocator<int> >::push_back(int&&)",
		 "std::vector<int, std::allocator<int> >::push_back", "std::vector<…>::push_back"},
		{"std::__cxx11::basic_string<char>::size() const",
		 "std::__cxx11::basic_string<char>::size", NULL},
		{"void sort<int*>(int*, int*)", "sort<int*>", NULL},
		{"std::enable_if<true, int>::type f<std::pair<int, int> >(int)",
		 "f<std::pair<int, int> >", "f<…>"},
		{"unsigned long ns::count<char>(char)", "ns::count<char>", NULL},
		{"decltype(auto) ns::visit<char>(char)", "ns::visit<char>", NULL},
		{"decltype (x.f()) ns::call<char>(char)", "ns::call<char>", NULL},
		{"f<A>(int)", "f<A>", NULL}, /* <…> would be longer */
		{"Array<(1>2), (3<4)>::get()", "Array<(1>2), (3<4)>::get", "Array<…>::get"},
		{"Holder<&Other::operator<< >::get()", "Holder<&Other::operator<< >::get",
		 "Holder<…>::get"},
		{"Holder<&Other::operator-> >::get()", "Holder<&Other::operator-> >::get",
		 "Holder<…>::get"},
		{"vtable for foo", NULL, NULL},
		{"non-virtual thunk to Class::method(int)", "non-virtual thunk to Class::method",
		 NULL},
		{"guard variable for foo(int)::counter", "guard variable for foo::counter", NULL},
		{"int (*chooser<int>(char))(int)", NULL, NULL},
	};
	CHECK_ANSWERS(answers);
}

static void cpp_scopes(void)
{
	static const struct answer answers[] = {
		{"(anonymous namespace)::helper(int)", "(anonymous namespace)::helper", NULL},
		{"ns::(anonymous namespace)::Class<int>::method()",
		 "ns::(anonymous namespace)::Class<int>::method",
		 "ns::(anonymous namespace)::Class<int>::method"},
		{"void (anonymous namespace)::f<double>(double)",
		 "(anonymous namespace)::f<double>", NULL},
		{"foo(int)::{lambda(char, long)#2}::operator()(char, long) const",
		 "foo::{lambda#2}::operator()", NULL},
		{"{lambda()#1}::operator()() const", "{lambda#1}::operator()", NULL},
		{"main::{lambda(std::vector<int>&)#1}::_FUN(std::vector<int>&)",
		 "main::{lambda#1}::_FUN", NULL},
		{"main::'lambda'(int)::operator()(int) const", "main::'lambda'::operator()", NULL},
		{"auto f()::{lambda(auto:1)#1}::operator()<int>(int) const",
		 "f::{lambda#1}::operator()<int>", "f::{lambda#1}::operator()<int>"},
		{"foo(int)::Local::method()", "foo::Local::method", NULL},
		{"{unnamed type#1}::operator()() const", "{unnamed type#1}::operator()", NULL},
		{"ns::{lambda(foo)#1}<double>::call()", "ns::{lambda#1}<double>::call", NULL},
	};
	CHECK_ANSWERS(answers);
}

static void cpp_operators(void)
{
	static const struct answer answers[] = {
		{"Class::operator()(int)", "Class::operator()", NULL},
		{"Class::operator[](unsigned long)", "Class::operator[]", NULL},
		{"operator<(A const&, A const&)", "operator<", NULL},
		{"operator<<(std::ostream&, A const&)", "operator<<", NULL},
		{"operator<=>(A const&, A const&)", "operator<=>", NULL},
		{"A::operator->() const", "A::operator->", NULL},
		{"A::operator->*(int)", "A::operator->*", NULL},
		{"A::operator>>(int)", "A::operator>>", NULL},
		{"A::operator==(A const&) const", "A::operator==", NULL},
		{"A::operator,(A&)", "A::operator,", NULL},
		{"operator new(unsigned long)", "operator new", NULL},
		{"operator new[](unsigned long)", "operator new[]", NULL},
		{"operator delete(void*, unsigned long)", "operator delete", NULL},
		{"A::operator bool() const", "A::operator bool", NULL},
		{"A::operator std::vector<int, alloc>() const",
		 "A::operator std::vector<int, alloc>", "A::operator std::vector<…>"},
		{"A::operator std::function<void ()>()", "A::operator std::function<void ()>",
		 "A::operator std::function<…>"},
		{"operator\"\" _kb(unsigned long long)", "operator\"\" _kb", NULL},
		{"std::ostream& std::operator<< <std::char_traits<char> >(std::ostream&, char "
		 "const*)",
		 "std::operator<< <std::char_traits<char> >", "std::operator<<<…>"},
		{"bool operator< <int, int>(A<int> const&)", "operator< <int, int>",
		 "operator<<…>"},
		{"bool A::operator==<long, int>(A const&)", "A::operator==<long, int>",
		 "A::operator==<…>"},
		{"my_operator(int)", "my_operator", NULL},
		{"operators::add(int)", "operators::add", NULL},
	};
	CHECK_ANSWERS(answers);
}

static void rust_names(void)
{
	static const struct answer answers[] = {
		{"core::ptr::drop_in_place<alloc::vec::Vec<u8>>", NULL,
		 "core::ptr::drop_in_place<…>"},
		{"<alloc::vec::Vec<T> as core::iter::Iterator>::next", NULL,
		 "<alloc::vec::Vec<T> as core::iter::Iterator>::next"},
		{"<alloc::vec::Vec<T,A> as core::ops::drop::Drop>::drop", NULL,
		 "<alloc::vec::Vec<T,A> as core::ops::drop::Drop>::drop"},
		{"<alloc::vec::Vec<alloc::string::String> as core::iter::Iterator>::next", NULL,
		 "<alloc::vec::Vec<…> as core::iter::Iterator>::next"},
		{"<core::iter::Map<I,F> as Iterator>::fold::<usize, core::ops::Add>", NULL,
		 "<core::iter::Map<I,F> as Iterator>::fold::<…>"},
		{"alloc::slice::<impl [alloc::string::String]>::to_vec", NULL, NULL},
		{"std::rt::lang_start::{{closure}}", NULL, NULL},
		{"core::ops::function::FnOnce::call_once{{vtable.shim}}", NULL, NULL},
		{"main::run::{closure#0}", NULL, NULL},
		{"main::run::h0123456789abcdef", "main::run", NULL},
		{"main::run::h0123456789abcdeg", NULL, NULL},
		{"::h0123456789abcdef", NULL, NULL},
		{"<dyn core::fmt::Debug as a::B>::f", NULL, NULL},
		{"call::<fn(i32) -> core::option::Option<u8>>", NULL, "call::<…>"},
		{"<T as core::convert::Into<alloc::string::String>>::into", NULL,
		 "<T as core::convert::Into<…>>::into"},
	};
	CHECK_ANSWERS(answers);
}

static void go_names(void)
{
	static const struct answer answers[] = {
		{"main.main", NULL, NULL},
		{"net/http.(*conn).serve", NULL, NULL},
		{"net/http.(*Server).Serve.func1", NULL, NULL},
		{"main.Map[go.shape.int,go.shape.string]", NULL, "main.Map[…]"},
		{"main.(*Stack[go.shape.int]).Push", NULL, "main.(*Stack[…]).Push"},
		{"type..eq.[2]interface {}", NULL, NULL},
		{"type:.eq.struct { a int; b string }", NULL, NULL},
		{"gopkg.in/yaml%2ev2.(*parser).parse", NULL, NULL},
		{"runtime.mallocgc", NULL, NULL},
	};
	CHECK_ANSWERS(answers);
}

static void names_of_others(void)
{
	static const struct answer answers[] = {
		{"Ljava/lang/Object;::<init>", NULL, NULL},
		{"py::<module>:/home/me/a.py", NULL, NULL},
		{"LazyCompile:*<anonymous> /home/me/app.js:10:3", NULL, NULL},
		{"-[NSString initWithFormat:(int)]", NULL, NULL},
		{"+[NSObject alloc]", NULL, NULL},
		{"Program::<Main>b__0", NULL, NULL},
		{"a->b", NULL, NULL},
	};
	CHECK_ANSWERS(answers);
}

/* What does not match stays. */
static void unbalanced_names(void)
{
	static const struct answer answers[] = {
		{"(", NULL, NULL},	     {")", NULL, NULL},
		{"foo(", NULL, NULL},	     {"foo)", NULL, NULL},
		{"foo(int", NULL, NULL},     {"foo<int", NULL, NULL},
		{"foo<(int>)", NULL, NULL},  {"foo<[int)>(x)", NULL, NULL},
		{"foo(int]", NULL, NULL},    {"foo{lambda(", NULL, NULL},
		{"{lambda(}", NULL, NULL},   {"operator", NULL, NULL},
		{"operator ", NULL, NULL},   {"operator bool", NULL, NULL},
		{"operator <(", NULL, NULL}, {"operator<< <", NULL, NULL},
		{"<", NULL, NULL},	     {"<<<<", NULL, NULL},
		{"(*f)(", NULL, NULL},
	};
	CHECK_ANSWERS(answers);
}

static uint64_t random_next(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

/* Never longer than the name, never beyond its room, and the same bytes with little room as with much. */
static void any_bytes(void)
{
	static const char *const parts[] = {
		"<",	">",	 "(",	     ")",	  "[",	       "]",	   "{",
		"}",	"::",	 " ",	     "operator",  "operator ", "{lambda(", "->",
		"()",	"const", "&",	     "a",	  "B9",	       "\xc3\xa9", "\xff",
		" as ", "impl ", "decltype", "anonymous", ".*",	       "."};
	uint64_t state = 1;
	for (int round = 0; round < 200000; round++) {
		char name[512] = "", out[512], cut[512];
		for (uint64_t i = random_next(&state) % 24; i > 0; i--)
			strcat(name, parts[random_next(&state) % (sizeof(parts) / sizeof(*parts))]);
		for (enum name_level level = NAME_FULL; level <= NAME_COLLAPSED; level++) {
			size_t size = name_shorten(name, level, out, sizeof(out));
			CHECK(size <= strlen(name));
			CHECK_EQ(strlen(out), size);
			size_t room = random_next(&state) % 40;
			memset(cut, 'x', sizeof(cut));
			CHECK_EQ(name_shorten(name, level, cut, room), size);
			CHECK(cut[room] == 'x');
			if (room) {
				CHECK(strlen(cut) < room);
				CHECK(strncmp(cut, out, strlen(cut)) == 0);
				CHECK(size >= room ? strlen(cut) + 4 >= room : strlen(cut) == size);
			}
		}
	}
}

static void cut_at_a_character(void)
{
	char out[8];
	CHECK_EQ(name_shorten("ab\xe2\x82\xac", NAME_FULL, out, 5), 5);
	CHECK_STR(out, "ab");
	CHECK_EQ(name_shorten("ab\xe2\x82\xac", NAME_FULL, out, 6), 5);
	CHECK_STR(out, "ab\xe2\x82\xac");
	CHECK_EQ(name_shorten("ab\xe2\x82\xac!", NAME_FULL, out, 6), 6);
	CHECK_STR(out, "ab\xe2\x82\xac");
	CHECK_EQ(name_shorten("abc", NAME_FULL, NULL, 0), 3);
}

static void very_deep(void)
{
	enum { DEEP = 100000 };
	char *name = malloc(3 * DEEP + 1), *out = malloc(3 * DEEP + 1);
	CHECK(name && out);
	memset(name, '<', DEEP);
	memset(name + DEEP, 'a', DEEP);
	memset(name + 2 * (size_t)DEEP, '>', DEEP);
	name[3 * DEEP] = '\0';
	CHECK_EQ(name_shorten(name, NAME_COLLAPSED, out, 3 * DEEP + 1), 3 * DEEP);
	CHECK_STR(out, name);
	memset(name, '&', 3 * DEEP);
	memcpy(name, "f()", 3);
	CHECK_EQ(name_shorten(name, NAME_COLLAPSED, out, 3 * DEEP + 1), 1);
	free(name);
	free(out);
}

int main(void)
{
	RUN(plain_names);
	RUN(cpp_functions);
	RUN(cpp_scopes);
	RUN(cpp_operators);
	RUN(rust_names);
	RUN(go_names);
	RUN(names_of_others);
	RUN(unbalanced_names);
	RUN(any_bytes);
	RUN(cut_at_a_character);
	RUN(very_deep);
	return test_done();
}
