/* SPDX-License-Identifier: MIT */
#include "test.h"

#include <stdint.h>

#include <ctop/symbol/demangle.h>

#include "jailed/symbol/demangle_languages.h"

/* What a name of D that has no end had is lost, within a bound. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
	return "leak:xmalloc\nleak:xrealloc\n";
}

struct known {
	const char *mangled, *shown; /* shown NULL: kept as it is */
};

static void check_known(const struct known *known, size_t nr)
{
	char out[1024];
	for (size_t i = 0; i < nr; i++) {
		bool done = demangle(known[i].mangled, out, sizeof(out));
		if (done != (known[i].shown != NULL))
			printf("# %s\n", known[i].mangled);
		CHECK_EQ(done, known[i].shown != NULL);
		if (done)
			CHECK_STR(out, known[i].shown);
	}
}
#define CHECK_KNOWN(known) check_known(known, sizeof(known) / sizeof((known)[0]))

static void cplus(void)
{
	static const struct known known[] = {
		{"_Z3foov", "foo()"},
		{"_ZN3foo3barEi", "foo::bar(int)"},
		{"_ZSt4sortIPiEvT_S1_", "std::sort<int*>(int*, int*)"},
		{"_ZNSt6vectorIiSaIiEE9push_backEOi",
		 "std::vector<int, std::allocator<int> >::push_back(int&&)"},
		{"_ZNK5Shape4areaEv", "Shape::area() const"},
		{"_ZZ4mainENKUlvE_clEv", "main::{lambda()#1}::operator()() const"},
		{"_ZN12_GLOBAL__N_14workEv", "(anonymous namespace)::work()"},
		{"_ZN3FooC1Ev", "Foo::Foo()"},
		{"_ZN3FooC2Ev", "Foo::Foo()"},
		{"_ZN3FooD0Ev", "Foo::~Foo()"},
		{"_ZThn8_N3Foo3runEv", "non-virtual thunk to Foo::run()"},
		{"_ZlsRSoRK3Foo", "operator<<(std::ostream&, Foo const&)"},
		{"_ZN3foocvT_IiEEv", "foo::operator int<int>()"},
	};
	CHECK_KNOWN(known);
}

static void rust(void)
{
	static const struct known known[] = {
		{"_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE", "core::fmt::Write::write_fmt"},
		{"_ZN71_$LT$Test$u20$$u2b$$u20$$u27$static$u20$as$u20$foo..Bar$LT$Test$GT$$GT$3bar"
		 "17h930b740aa94f1d3aE",
		 "<Test + 'static as foo::Bar<Test>>::bar"},
		{"_RNvCs1234_7mycrate3foo", "mycrate::foo"},
		{"_RNvNtCs1234_7mycrate3mod3foo", "mycrate::mod::foo"},
		{"_RINvCs1234_7mycrate3foolE", "mycrate::foo::<i32>"},
		{"_RNCNvCs1234_7mycrate4main0", "mycrate::main::{closure#0}"},
	};
	CHECK_KNOWN(known);
}

static void d_and_ocaml(void)
{
	static const struct known known[] = {
		{"_Dmain", "D main"},
		{"_D1a__T5ShapeTmZQj4workMFNaNbNiNfmZm", "a.Shape!(ulong).Shape.work(ulong)"},
		{"_D1a4mainFAAyaZv.part.0.cold",
		 "a.main(immutable(char)[][]) [clone .part.0.cold]"},
		{"_D", NULL},
		{"_Done", NULL},
		{"camlShapes__work_81", "Shapes.work_81"},
		{"camlShapes__Inner__$2b$3a_84", "Shapes.Inner.+:_84"},
		{"camlStdlib.List.map_12", "Stdlib.List.map_12"},
		{"camlA__$2__", "A.$2__"},
		{"camlA__$00", "A.$00"},
		{"caml_alloc", NULL},
		{"caml", NULL},
	};
	CHECK_KNOWN(known);
}

static void ada(void)
{
	char out[64];
	CHECK(demangle_ada("_ada_busy", out, sizeof(out)));
	CHECK_STR(out, "busy");
	CHECK(demangle_ada("shapes__Oadd", out, sizeof(out)));
	CHECK_STR(out, "shapes.\"+\"");
	CHECK(demangle_ada("shapes__work__2", out, sizeof(out)));
	CHECK_STR(out, "shapes.work");
	CHECK(!demangle_ada("__gnat_malloc", out, sizeof(out)));
	CHECK(!demangle_ada("Main", out, sizeof(out)));
	CHECK(!demangle_ada("", out, sizeof(out)));
}

/* Each level of a tuple is the one before, twice, by reference: QB says how far back. Some such names end all of D. */
static void exponential_d(void)
{
	char name[2048] = "_D1fFB2ii", out[256];
	size_t previous = 5, used = strlen(name);
	for (int level = 0; level < 40; level++) {
		const size_t here = used;
		used += (size_t)sprintf(name + used, "B2");
		for (int i = 0; i < 2; i++) {
			const size_t distance = used - previous;
			CHECK(distance < 26);
			used += (size_t)sprintf(name + used, "Q%c", (char)('a' + distance));
		}
		previous = here;
	}
	strcpy(name + used, "Zv");
	CHECK(demangle("_Dmain", out, sizeof(out)));
	for (int i = 0; i < 100; i++)
		CHECK(!demangle(name, out, sizeof(out)));
	CHECK(!demangle("_Dmain", out, sizeof(out)));
	CHECK(demangle("_Z3foov", out, sizeof(out)));
}

static void suffixes(void)
{
	static const struct known known[] = {
		{"_ZN3foo3barEv.cold", "foo::bar() [clone .cold]"},
		{"_ZN3foo3barEv.part.0.cold", "foo::bar() [clone .part.0] [clone .cold]"},
		{"_ZN3foo3barEv.constprop.0", "foo::bar() [clone .constprop.0]"},
		{"_ZN3foo3barEv.llvm.1234567890", "foo::bar()"},
		{"_ZN3foo3barEv.llvm.1234567890.cold", "foo::bar() [clone .cold]"},
		{"_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE.llvm.999",
		 "core::fmt::Write::write_fmt"},
		{"_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE.cold",
		 "core::fmt::Write::write_fmt [clone .cold]"},
		{"_RNvCs1234_7mycrate3foo.llvm.123", "mycrate::foo"},
		{"_RNvCs1234_7mycrate3foo.cold.1", "mycrate::foo [clone .cold.1]"},
	};
	CHECK_KNOWN(known);
}

static void other_names_stay(void)
{
	static const struct known known[] = {
		{"", NULL},
		{"main", NULL},
		{"_", NULL},
		{"_Z", NULL},
		{"_ZN", NULL},
		{"_ZN3foo", NULL},
		{"_R", NULL},
		{"_Rx", NULL},
		{"i", NULL},
		{"Pi", NULL},
		{"foo.cold", NULL},
		{"foo.llvm.12", NULL},
		{"_start", NULL},
		{"__libc_start_main", NULL},
		{"_Z3foov@plt", NULL},
		{"runtime.(*mheap).alloc", NULL},
		{"_ZN4core3fmt17h", NULL},
		{"\xff\xfe", NULL},
	};
	CHECK_KNOWN(known);
}

/* prefix, then middle nr times, then suffix nr times; the caller frees it. */
static char *repeated(const char *prefix, const char *middle, const char *suffix, size_t nr)
{
	size_t size = strlen(prefix) + nr * (strlen(middle) + strlen(suffix)) + 1;
	char *name = malloc(size), *at = stpcpy(name, prefix);
	for (size_t i = 0; i < nr; i++)
		at = stpcpy(at, middle);
	for (size_t i = 0; i < nr; i++)
		at = stpcpy(at, suffix);
	return name;
}

/* The result ends inside the buffer and nothing behind it is touched. */
static bool demangle_guarded(const char *name, size_t out_bytes)
{
	char out[600];
	memset(out, 0x5a, sizeof(out));
	bool done = demangle(name, out, out_bytes);
	for (size_t i = out_bytes; i < sizeof(out); i++)
		CHECK_EQ(out[i], 0x5a);
	if (done)
		CHECK(memchr(out, '\0', out_bytes) != NULL);
	return done;
}

static void nesting(void)
{
	static const char *const middles[] = {
		"P",   "K",	"N",  "I",   "1aI",  "XL", "XadL_Z1f", "F",   "M",	"A_",
		"Dp",  "X",	"DT", "S",   "T_",   "cv", "dt",       "Z1f", "NZ",	"J",
		"E",   "U3abc", "Lb", "XLZ", "St1a", "gs", "fp",       "il",  "Xstfp_", "Xsr1aI",
		"1fI", "TB_",	"Nv", "R",   "Q",    "FU", "Y",	       "D",   "B_",	"IC1a",
	};
	static const char *const prefixes[] = {"_Z", "_Z1f",   "_Z1fI", "_ZN",
					       "_R", "_RIC1a", "_RNv"};
	static const size_t repeats[] = {10, 300, 1000, 2000, 4000, 100000};
	for (size_t m = 0; m < sizeof(middles) / sizeof(middles[0]); m++)
		for (size_t p = 0; p < sizeof(prefixes) / sizeof(prefixes[0]); p++)
			for (size_t r = 0; r < sizeof(repeats) / sizeof(repeats[0]); r++) {
				char *name = repeated(prefixes[p], middles[m], "", repeats[r]);
				demangle_guarded(name, 500);
				free(name);
				name = repeated(prefixes[p], middles[m], "E", repeats[r]);
				demangle_guarded(name, 500);
				free(name);
			}
}

/* Each substitution names the one before twice: 2^34 ints, were they written out. */
static void exponential(void)
{
	static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
	char name[512] = "_Z1fSt4pairIiiES_IS0_S0_E", out[256];
	char *at = name + strlen(name);
	for (int i = 1; i < 34; i++)
		at += sprintf(at, "S_IS%c_S%c_E", digits[i], digits[i]);
	CHECK(demangle(name, out, sizeof(out)));
	CHECK_EQ(strlen(out), sizeof(out) - 1);
	CHECK_STR(out + sizeof(out) - 4, "...");
	CHECK(strncmp(out, "f(std::pair<int, int>, std::pair<", 30) == 0);
	CHECK(demangle_guarded(name, 16));
}

/* Rust's back references do the same. */
static void exponential_rust(void)
{
	char name[512] = "_RINvC1a1bThhE", out[256];
	char *at = name + strlen(name);
	size_t previous = 8; /* "T", counted behind "_R" */
	for (int i = 0; i < 40; i++) {
		size_t here = (size_t)(at - name) - 2;
		char digit[3] = {0};
		static const char base62[] =
			"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
		/* B_ is 0, B0_ is 1, ...: the numbers are one less than the place. */
		size_t value = previous - 1;
		if (value < 62) {
			digit[0] = base62[value];
		} else {
			digit[0] = base62[value / 62];
			digit[1] = base62[value % 62];
		}
		at += sprintf(at, "TB%s_B%s_E", digit, digit);
		previous = here;
	}
	strcpy(at, "E");
	CHECK(demangle(name, out, sizeof(out)));
	CHECK_STR(out + sizeof(out) - 4, "...");
}

static void long_names(void)
{
	char out[8192];
	/* Longer than libiberty's own limit, as template libraries have them. */
	char *name = repeated("_ZN3fooI", "St6vectorIiSaIiEE", "", 120);
	name = realloc(name, strlen(name) + 8);
	strcat(name, "E3barEv");
	CHECK(strlen(name) > 2000);
	CHECK(demangle(name, out, sizeof(out)));
	CHECK(strncmp(out, "foo<std::vector<int, std::allocator<int> >, std::vec", 50) == 0);
	CHECK_STR(out + strlen(out) - 8, ">::bar()");
	free(name);
	name = repeated("_ZN", "3abc", "", 2000);
	CHECK(!demangle(name, out, sizeof(out)));
	free(name);
}

static void small_buffers(void)
{
	char out[64];
	CHECK(!demangle("_Z3foov", out, 0));
	CHECK(!demangle("_Z3foov", out, 1));
	for (size_t size = 16; size < 64; size++)
		CHECK(demangle_guarded("_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE.cold",
				       size));
	CHECK(demangle("_ZN10abcdefghij10abcdefghijEv", out, 16));
	CHECK_STR(out, "abcdefghij::...");
}

static uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static void mutations(void)
{
	static const char *const seeds[] = {
		"_ZNSt6vectorIiSaIiEE9push_backEOi",
		"_ZZN5boost6detail3fooIiEEvT_ENKUlRKSsE_clES4_.constprop.0",
		"_ZN71_$LT$Test$u20$as$u20$foo..Bar$LT$Test$GT$$GT$3bar17h930b740aa94f1d3aE",
		"_RINvNtCs1234_7mycrate3mod3fooTlRNtB2_3BarEE.llvm.12",
		"_RNvCs1234_7mycrateu8gdel_5qa6escher",
		"_Z1fIXadL_Z1gvEEEvDTcl1hfp_EE",
	};
	static const char letters[] = "_ZNRSTIEKPXLDBCF0123456789uvclfps.$@\xc3";
	uint64_t state = 0x2545f4914f6cdd1d;
	for (int round = 0; round < 200000; round++) {
		char name[256];
		strcpy(name, seeds[next_random(&state) % (sizeof(seeds) / sizeof(seeds[0]))]);
		size_t size = strlen(name);
		for (uint64_t i = next_random(&state) % 6 + 1; i > 0; i--)
			name[2 + next_random(&state) % (size - 2)] =
				letters[next_random(&state) % (sizeof(letters) - 1)];
		if (next_random(&state) % 4 == 0)
			name[2 + next_random(&state) % (size - 2)] = '\0';
		demangle_guarded(name, 16 + next_random(&state) % 500);
	}
}

int main(void)
{
	RUN(cplus);
	RUN(rust);
	RUN(d_and_ocaml);
	RUN(ada);
	RUN(suffixes);
	RUN(other_names_stay);
	RUN(nesting);
	RUN(exponential);
	RUN(exponential_rust);
	RUN(long_names);
	RUN(small_buffers);
	RUN(mutations);
	RUN(exponential_d);
	return test_done();
}
