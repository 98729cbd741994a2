/* SPDX-License-Identifier: MIT */
#include <ctop/module_identity.h>

#include "test.h"

enum { ROOT = MODULE_OWNED_BY_ROOT, USER = 1 + 1000 };

static struct module_identity file(uint64_t inode, uint32_t owner_plus_1, const char *build_id)
{
	struct module_identity identity = {
		.inode = inode, .device_major = 8, .device_minor = 1, .owner_plus_1 = owner_plus_1};
	if (build_id)
		module_identity_set_build_id(&identity, build_id, strlen(build_id));
	return identity;
}

static bool same(struct module_identity a, struct module_identity b)
{
	bool result = module_identity_same(&a, &b);
	CHECK_EQ(module_identity_same(&b, &a), result);
	return result;
}

static bool same_content_key(struct module_identity a, struct module_identity b)
{
	struct module_identity of_a, of_b;
	CHECK(module_identity_content_key(&a, &of_a) && module_identity_content_key(&b, &of_b));
	return memcmp(&of_a, &of_b, sizeof(of_a)) == 0;
}

static void an_inode_is_one_file(void)
{
	CHECK(same(file(7, USER, "a"), file(7, USER, "a")));
	CHECK(same(file(7, 0, NULL), file(7, USER, "a"))); /* learnt late */
	CHECK(!same(file(7, USER, NULL), file(8, USER, NULL)));
	struct module_identity other = file(7, USER, "a");
	other.device_minor = 2;
	CHECK(!same(file(7, USER, "a"), other));
}

static void another_build_in_the_same_place_is_another(void)
{
	CHECK(!same(file(7, ROOT, "a"), file(7, ROOT, "b")));
	CHECK(!same(file(7, ROOT, "aa"), file(7, ROOT, "a")));
}

static void an_inode_used_again_is_another(void)
{
	struct module_identity first = file(7, USER, NULL), second = file(7, USER, NULL);
	first.generation = 1;
	CHECK(same(first, second)); /* not known */
	second.generation = 2;
	CHECK(!same(first, second));
}

/* Whoever writes a note may write any. */
static void a_build_id_is_roots_word_only(void)
{
	CHECK(same(file(7, ROOT, "a"), file(8, ROOT, "a")));
	CHECK(!same(file(7, ROOT, "a"), file(8, USER, "a")));
	CHECK(!same(file(7, USER, "a"), file(8, USER, "a")));
	CHECK(!same(file(7, ROOT, "a"), file(8, 0, "a")));
	CHECK(!same(file(7, 0, "a"), file(8, 0, "a")));
}

/* perf.data and old recordings say one or the other, and no owner. */
static void what_is_not_known_contradicts_nothing(void)
{
	const struct module_identity nothing = {0};
	struct module_identity build_id_alone = {0};
	module_identity_set_build_id(&build_id_alone, "a", 1);
	CHECK(same(nothing, nothing));
	CHECK(same(build_id_alone, build_id_alone));
	CHECK(same(build_id_alone, file(7, USER, "a")));
	CHECK(!same(build_id_alone, file(7, USER, "b")));
	CHECK(same(nothing, build_id_alone));
	CHECK(same(nothing, file(7, USER, NULL)));
}

static void a_build_id_that_is_too_long_is_none(void)
{
	static const uint8_t bytes[4000];
	struct module_identity identity = file(7, USER, "a");
	module_identity_set_build_id(&identity, bytes, sizeof(bytes));
	CHECK_EQ(identity.build_id_size, 0);
	/* Shared memory may say anything. */
	identity.build_id_size = 4000;
	CHECK(!module_identity_same_build_id(&identity, &identity));
	CHECK(same(identity, file(7, USER, "a")));
	struct module_identity key;
	CHECK(module_identity_content_key(&identity, &key));
	CHECK_EQ(key.build_id_size, 0);
}

static void equal_content_keys_are_one_module(void)
{
	static const char *const build_ids[] = {NULL, "a", "b"};
	struct module_identity all[2 * 3 * 3 * 2];
	size_t nr = 0;
	for (uint64_t inode = 0; inode < 2; inode++)
		for (uint32_t owner = 0; owner < 3; owner++)
			for (size_t i = 0; i < 3; i++)
				for (uint32_t generation = 0; generation < 2; generation++) {
					all[nr] = file(inode * 7, owner == 2 ? USER : owner,
						       build_ids[i]);
					all[nr++].generation = generation;
				}
	for (size_t i = 0; i < nr; i++)
		for (size_t j = 0; j < nr; j++) {
			struct module_identity a, b;
			bool known = module_identity_content_key(&all[i], &a) &&
				     module_identity_content_key(&all[j], &b);
			if (known && memcmp(&a, &b, sizeof(a)) == 0)
				CHECK(module_identity_same(&all[i], &all[j]));
		}
}

static void each_inode_is_read_by_itself(void)
{
	CHECK(!same_content_key(file(7, ROOT, "a"), file(8, ROOT, "a"))); /* one may be stripped */
	CHECK(!same_content_key(file(7, ROOT, "a"), file(8, USER, "a")));
	CHECK(same_content_key(file(0, 0, "a"), file(0, USER, "a")));
	CHECK(!same_content_key(file(7, USER, "a"), file(8, USER, "a")));
	CHECK(same_content_key(file(7, USER, "a"), file(7, 0, "a")));
}

/* Main opens a file before anybody has read its build-id. */
static void a_descriptor_is_found_whatever_was_learnt(void)
{
	const struct module_identity early = file(7, 0, NULL), late = file(7, ROOT, "a"),
				     copy = file(8, ROOT, "a");
	struct module_identity of_early, of_late, of_copy;
	CHECK(module_identity_file_key(&early, &of_early));
	CHECK(module_identity_file_key(&late, &of_late));
	CHECK(module_identity_file_key(&copy, &of_copy));
	CHECK(memcmp(&of_early, &of_late, sizeof(of_early)) == 0);
	CHECK(memcmp(&of_late, &of_copy, sizeof(of_late)) != 0);
	const struct module_identity nothing = {0};
	CHECK(!module_identity_file_key(&nothing, &of_early));
	CHECK(!module_identity_content_key(&nothing, &of_early));
}

static void learning_adds_and_never_changes(void)
{
	struct module_identity identity = file(7, 0, NULL), more = file(7, USER, "a");
	more.generation = 3;
	CHECK(module_identity_learn(&identity, &more));
	CHECK(memcmp(&identity, &more, sizeof(identity)) == 0);
	CHECK(!module_identity_learn(&identity, &more));
	const struct module_identity other = file(8, ROOT, "b");
	CHECK(!module_identity_learn(&identity, &other));
	struct module_identity no_inode = {0};
	CHECK(module_identity_learn(&no_inode, &more));
	CHECK(memcmp(&no_inode, &more, sizeof(more)) == 0);
}

static void a_process_starts_once(void)
{
	const uint64_t second_ns = 1000000000;
	CHECK(process_start_same(second_ns, second_ns));
	CHECK(process_start_same(second_ns, second_ns + 10000000)); /* a tick of /proc's */
	CHECK(process_start_same(second_ns + 10000000, second_ns));
	CHECK(process_start_same(0, second_ns) && process_start_same(second_ns, 0));
	CHECK(!process_start_same(second_ns, 2 * second_ns));
	/* A fork's record may be late; a process that began after it is another one. */
	CHECK(process_is_still(second_ns, 2 * second_ns));
	CHECK(process_is_still(second_ns + 10000000, second_ns));
	CHECK(!process_is_still(2 * second_ns, second_ns));
	CHECK(process_is_still(second_ns, 0) && process_is_still(0, second_ns));
}

int main(void)
{
	RUN(an_inode_is_one_file);
	RUN(another_build_in_the_same_place_is_another);
	RUN(an_inode_used_again_is_another);
	RUN(a_build_id_is_roots_word_only);
	RUN(what_is_not_known_contradicts_nothing);
	RUN(a_build_id_that_is_too_long_is_none);
	RUN(equal_content_keys_are_one_module);
	RUN(each_inode_is_read_by_itself);
	RUN(a_descriptor_is_found_whatever_was_learnt);
	RUN(learning_adds_and_never_changes);
	RUN(a_process_starts_once);
	return test_done();
}
