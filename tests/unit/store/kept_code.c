/* SPDX-License-Identifier: MIT */
#include <ctop/store/kept_code.h>

#include <errno.h>
#include <string.h>

#include "test.h"

static const struct symbols_capacity small = {.nr_frames = 1, .nr_code = 3, .code_bytes = 100};

static void code_is_read_as_it_was_kept(void)
{
	static const uint8_t bytes[] = {1, 2, 3, 4, 5};
	struct symbols symbols;
	struct kept_code got;
	const uint8_t *at;
	CHECK_EQ(symbols_map(&symbols, -1, &small, true), 0);
	const struct kept_code code = {
		.start = 0x1000,
		.bias = UINT64_MAX - 0xfff, /* -0x1000 */
		.read_ns = 77,
		.name = "work and more",
		.name_bytes = 4,
		.module = {7},
		.size = sizeof(bytes),
		.machine = 62,
		.is_cut = true,
	};
	CHECK_EQ(symbols_nr_code(&symbols), 0);
	CHECK_EQ(symbols_keep_code(&symbols, &code, bytes), 0);
	CHECK_EQ(symbols_nr_code(&symbols), 1);
	CHECK_EQ(symbols_code_room(&symbols), 91);
	CHECK(symbols_code(&symbols, 0, &got, &at));
	CHECK_EQ(got.start, code.start);
	CHECK_EQ(got.bias, code.bias);
	CHECK_EQ(got.module.index, 7);
	CHECK_EQ(got.size, sizeof(bytes));
	CHECK_EQ(got.machine, 62);
	CHECK(got.is_cut);
	CHECK_EQ(got.read_ns, 77);
	CHECK_EQ(got.name_bytes, 4);
	CHECK(memcmp(got.name, "work", 4) == 0);
	CHECK(memcmp(at, bytes, sizeof(bytes)) == 0);
	symbols_unmap(&symbols);
}

static void there_is_room_for_so_much(void)
{
	static const uint8_t bytes[KEPT_FUNCTION_MAX + 1];
	struct symbols symbols;
	struct kept_code code = {.start = 16, .module = {1}, .size = 60};
	CHECK_EQ(symbols_map(&symbols, -1, &small, true), 0);
	CHECK_EQ(symbols_keep_code(&symbols, &code, bytes), 0);
	CHECK_EQ(symbols_keep_code(&symbols, &code, bytes), -ENOSPC);
	code.size = 40;
	CHECK_EQ(symbols_keep_code(&symbols, &code, bytes), 0);
	code.size = 1;
	CHECK_EQ(symbols_keep_code(&symbols, &code, bytes), -ENOSPC);
	CHECK_EQ(symbols_nr_code(&symbols), 2);
	symbols_unmap(&symbols);
	/* Names take room, too. */
	CHECK_EQ(symbols_map(&symbols, -1, &small, true), 0);
	code.size = 95;
	code.name = (const char *)bytes;
	code.name_bytes = 6;
	CHECK_EQ(symbols_keep_code(&symbols, &code, bytes), -ENOSPC);
	code.name_bytes = 5;
	CHECK_EQ(symbols_keep_code(&symbols, &code, bytes), 0);
	CHECK_EQ(symbols_code_room(&symbols), 0);
	symbols_unmap(&symbols);
	code = (struct kept_code){.start = 16, .module = {1}, .size = 1};
	CHECK_EQ(symbols_map(&symbols, -1, &small, true), 0);
	for (uint32_t i = 0; i < 3; i++)
		CHECK_EQ(symbols_keep_code(&symbols, &code, bytes), 0);
	CHECK_EQ(symbols_keep_code(&symbols, &code, bytes), -ENOSPC);
	symbols_unmap(&symbols);
}

static void nonsense_is_refused(void)
{
	static const struct kept_code nonsense[] = {
		{.start = 16, .size = 0},
		{.start = 16, .size = KEPT_FUNCTION_MAX + 1},
		{.start = UINT64_MAX - 3, .size = 4},
		{.start = 16, .bias = UINT64_MAX - 20, .size = 5},
		{.start = 16, .size = 5, .name = "", .name_bytes = KEPT_NAME_MAX + 1},
	};
	static const uint8_t bytes[KEPT_FUNCTION_MAX + 1];
	struct symbols symbols;
	CHECK_EQ(symbols_map(&symbols, -1, &symbols_capacity_default, true), 0);
	for (size_t i = 0; i < sizeof(nonsense) / sizeof(*nonsense); i++)
		CHECK_EQ(symbols_keep_code(&symbols, &nonsense[i], bytes), -EINVAL);
	CHECK_EQ(symbols_nr_code(&symbols), 0);
	symbols_unmap(&symbols);
}

/* Whatever a fallen writer leaves there, a reader stays within the region, and bytes. */
static void a_region_that_lies_is_seen_through(void)
{
	static const uint8_t bytes[100];
	struct symbols symbols;
	struct kept_code code = {
		.start = 16, .module = {1}, .size = 50, .name = "name", .name_bytes = 4};
	const uint8_t *at;
	CHECK_EQ(symbols_map(&symbols, -1, &small, true), 0);
	CHECK_EQ(symbols_keep_code(&symbols, &code, bytes), 0);
	uint32_t *words = (uint32_t *)(void *)symbols.code;
	const uint8_t *end = (const uint8_t *)symbols.header + symbols.bytes;
	static const uint32_t lies[] = {0, 1, 51, 100, 101, 1u << 16, INT32_MAX, UINT32_MAX};
	/* The head, and the first row. */
	for (size_t word = 0; word < 15; word++)
		for (size_t i = 0; i < sizeof(lies) / sizeof(*lies); i++) {
			const uint32_t before = words[word];
			words[word] = lies[i];
			CHECK(symbols_nr_code(&symbols) <= 3 && symbols_code_room(&symbols) <= 100);
			for (uint32_t number = 0; number < 5; number++)
				if (symbols_code(&symbols, number, &code, &at))
					CHECK(at > (const uint8_t *)words && code.size <= 100 &&
					      code.name == (const char *)at + code.size &&
					      at + code.size + code.name_bytes <= end);
			words[word] = before;
		}
	symbols_unmap(&symbols);
}

int main(void)
{
	RUN(code_is_read_as_it_was_kept);
	RUN(there_is_room_for_so_much);
	RUN(nonsense_is_refused);
	RUN(a_region_that_lies_is_seen_through);
	return test_done();
}
