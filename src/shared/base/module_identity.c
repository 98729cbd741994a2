/* SPDX-License-Identifier: MIT */
#include <ctop/module_identity.h>

#include <string.h>

/* A tick of /proc's is 10 ms, and a record is written a little later than the process is made. */
#define START_TOLERANCE_NS UINT64_C(50000000)

_Static_assert(sizeof(struct module_identity) ==
		       sizeof(uint64_t) + 5 * sizeof(uint32_t) + BUILD_ID_MAX,
	       "an identity has no padding");

void module_identity_set_build_id(struct module_identity *identity, const void *build_id,
				  uint64_t size)
{
	memset(identity->build_id, 0, sizeof(identity->build_id));
	identity->build_id_size = size <= BUILD_ID_MAX ? (uint32_t)size : 0;
	memcpy(identity->build_id, build_id, identity->build_id_size);
}

static bool has_build_id(const struct module_identity *identity)
{
	return identity->build_id_size > 0 && identity->build_id_size <= BUILD_ID_MAX;
}

bool module_identity_same_build_id(const struct module_identity *a, const struct module_identity *b)
{
	return has_build_id(a) && a->build_id_size == b->build_id_size &&
	       memcmp(a->build_id, b->build_id, a->build_id_size) == 0;
}

static bool same_inode(const struct module_identity *a, const struct module_identity *b)
{
	return a->inode == b->inode && a->device_major == b->device_major &&
	       a->device_minor == b->device_minor &&
	       (!a->generation || !b->generation || a->generation == b->generation);
}

static bool is_roots(const struct module_identity *identity)
{
	return identity->owner_plus_1 == MODULE_OWNED_BY_ROOT;
}

bool module_identity_same(const struct module_identity *a, const struct module_identity *b)
{
	bool same_build = module_identity_same_build_id(a, b);
	/* Another build in the same place: it was overwritten. */
	if (has_build_id(a) && has_build_id(b) && !same_build)
		return false;
	/* What was recorded elsewhere may not say. */
	return !a->inode || !b->inode || same_inode(a, b) ||
	       (same_build && is_roots(a) && is_roots(b));
}

bool module_identity_learn(struct module_identity *identity, const struct module_identity *more)
{
	const struct module_identity before = *identity;
	if (!identity->inode && more->inode) {
		identity->inode = more->inode;
		identity->device_major = more->device_major;
		identity->device_minor = more->device_minor;
	}
	if (!identity->generation && identity->inode == more->inode)
		identity->generation = more->generation;
	if (!identity->owner_plus_1)
		identity->owner_plus_1 = more->owner_plus_1;
	if (!has_build_id(identity))
		module_identity_set_build_id(identity, more->build_id, more->build_id_size);
	return memcmp(&before, identity, sizeof(before)) != 0;
}

bool module_identity_content_key(const struct module_identity *identity,
				 struct module_identity *key)
{
	*key = (struct module_identity){0};
	if (has_build_id(identity))
		module_identity_set_build_id(key, identity->build_id, identity->build_id_size);
	if (identity->inode) {
		key->inode = identity->inode;
		key->device_major = identity->device_major;
		key->device_minor = identity->device_minor;
		key->generation = identity->generation;
	}
	return key->inode || key->build_id_size;
}

bool module_identity_file_key(const struct module_identity *identity, struct module_identity *key)
{
	*key = (struct module_identity){0};
	if (identity->inode) {
		key->inode = identity->inode;
		key->device_major = identity->device_major;
		key->device_minor = identity->device_minor;
		return true;
	}
	if (has_build_id(identity))
		module_identity_set_build_id(key, identity->build_id, identity->build_id_size);
	return key->build_id_size != 0;
}

bool process_start_same(uint64_t a_ns, uint64_t b_ns)
{
	uint64_t apart_ns = a_ns > b_ns ? a_ns - b_ns : b_ns - a_ns;
	return !a_ns || !b_ns || apart_ns <= START_TOLERANCE_NS;
}

bool process_is_still(uint64_t lives_since_ns, uint64_t recorded_ns)
{
	return lives_since_ns < recorded_ns || process_start_same(lives_since_ns, recorded_ns);
}
