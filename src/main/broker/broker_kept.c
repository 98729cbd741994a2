/* SPDX-License-Identifier: MIT */
/* The files that stay open for who asks next, by what they are; and those of which is known that they are not to be had. */
#include "broker_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <ctop/base/hash.h>
#include <ctop/files/locate.h>

/* Files kept open at most, and of those that nobody asked for: a target may map as many as it likes. */
enum { KEPT_FILES_MAX = 2048, AHEAD_FILES_MAX = 256 };

bool copy_module(const struct tables *tables, uint32_t module, struct module_copy *copy)
{
	struct tables_reader reader;
	tables_reader_init(&reader, tables);
	tables_reader_refresh(&reader);
	if (!tables_module(&reader, (struct module_id){module}, &copy->row))
		return false;
	const char *path = tables_string(&reader, copy->row.path);
	size_t size = strnlen(path, sizeof(copy->path) - 1);
	memcpy(copy->path, path, size);
	copy->path[size] = '\0';
	if (copy->row.identity.build_id_size > BUILD_ID_MAX)
		copy->row.identity.build_id_size = 0;
	return true;
}

bool recorded_info(const struct tables *tables, const char *key, char value[128])
{
	struct tables_reader reader;
	struct info_row info;
	tables_reader_init(&reader, tables);
	tables_reader_refresh(&reader);
	value[0] = '\0';
	for (uint32_t i = 1; i < reader.nr[TABLE_METADATA]; i++)
		if (tables_info(&reader, i, &info) &&
		    !strcmp(tables_string(&reader, info.key), key))
			snprintf(value, 128, "%.127s", tables_string(&reader, info.value));
	return value[0] != '\0';
}

struct file_key key_of(const struct broker *broker, const struct module_copy *copy,
		       struct mapped_file *file, bool *named)
{
	const struct module_row *row = &copy->row;
	struct module_identity identity = row->identity;
	struct file_key key;
	memset(&key, 0, sizeof(key)); /* uthash compares padding too */
	*named = !broker->recorded && row->kind == MODULE_FILE &&
		 mapped_files_find(broker->mapped, copy->path, identity.inode, row->pid, row->start,
				   file);
	if (*named) {
		identity.device_major = file->device_major;
		identity.device_minor = file->device_minor;
		identity.inode = file->inode;
		identity.generation = file->generation;
	}
	key.kind = row->kind;
	module_identity_file_key(&identity, &key.file);
	if (!*named) {
		key.build_id_size = identity.build_id_size;
		memcpy(key.build_id, identity.build_id, identity.build_id_size);
	}
	key.pid = row->kind == MODULE_ANON ? row->pid : 0;
	key.path_hash = *named ? 0 : hash_bytes(copy->path, strlen(copy->path));
	return key;
}

struct kept_file *find_kept(const struct broker *broker, const struct file_key *key)
{
	struct kept_file *file;
	HASH_FIND(hh, broker->files, key, sizeof(*key), file);
	return file;
}

static void drop_kept(struct broker *broker, struct kept_file *file)
{
	HASH_DEL(broker->files, file);
	broker->ahead.nr_kept -= file->is_ahead;
	if (file->fd >= 0)
		close(file->fd);
	free(file);
}

/* Closes the oldest; what is known of a file that is not to be had stays. */
static void drop_oldest(struct broker *broker, bool ahead)
{
	struct kept_file *file, *next;
	HASH_ITER (hh, broker->files, file, next) {
		if (file->fd < 0 || file->refused || (ahead && !file->is_ahead))
			continue;
		drop_kept(broker, file);
		return;
	}
}

void use_kept(struct broker *broker, struct kept_file *file)
{
	broker->ahead.nr_kept -= file->is_ahead;
	file->is_ahead = false;
	/* The table is in the order of what was added: the last used are its last. */
	HASH_DEL(broker->files, file);
	HASH_ADD(hh, broker->files, key, sizeof(file->key), file);
}

struct kept_file *keep_ahead(struct broker *broker, const struct file_key *key, int fd)
{
	if (broker->ahead.nr_kept >= AHEAD_FILES_MAX)
		drop_oldest(broker, true);
	struct kept_file *file = keep(broker, key, fd);
	if (file) {
		file->is_ahead = true;
		broker->ahead.nr_kept++;
	}
	return file;
}

struct kept_file *keep(struct broker *broker, const struct file_key *key, int fd)
{
	struct kept_file *file = find_kept(broker, key);
	if (!file && HASH_COUNT(broker->files) >= KEPT_FILES_MAX)
		drop_oldest(broker, false);
	if (!file) {
		file = calloc(1, sizeof(*file));
		if (!file)
			return NULL;
		file->key = *key;
		HASH_ADD(hh, broker->files, key, sizeof(file->key), file);
	}
	file->fd = fd;
	return file;
}

void kept_free(struct broker *broker)
{
	struct kept_file *file, *next;
	HASH_ITER (hh, broker->files, file, next) {
		HASH_DEL(broker->files, file);
		if (file->fd >= 0)
			close(file->fd);
		free(file);
	}
}

/* Both nobody's, as all files of a mount that grants no rights (nosuid) are, and of one file system. */
static bool are_nobodys(const struct module_identity *module,
			const struct module_identity *candidate)
{
	return !module->owner_plus_1 && !candidate->owner_plus_1 &&
	       module->device_major == candidate->device_major &&
	       module->device_minor == candidate->device_minor;
}

/*
 * Who runs somebody else's program where he has mounted what he likes does not name its functions for everybody: a debug
 * file is root's, ours, or whose the module is.
 */
bool may_name(const struct kept_file *module, const struct module_identity *candidate)
{
	const uint32_t owner = candidate->owner_plus_1;
	if (module && are_nobodys(&module->identity, candidate))
		return true;
	return owner == MODULE_OWNED_BY_ROOT || owner == invoking_uid() + 1 ||
	       (owner && module && owner == module->identity.owner_plus_1);
}

int broker_dump(const struct broker *broker, const struct module_row *row, const char *path)
{
	struct module_copy copy = {.row = *row};
	struct mapped_file unused;
	bool named;
	snprintf(copy.path, sizeof(copy.path), "%s", path);
	const struct file_key key = key_of(broker, &copy, &unused, &named);
	const struct kept_file *file = row->kind == MODULE_ANON ? find_kept(broker, &key) : NULL;
	return file && process_start_same(file->started_ns, row->started_ns) ? file->fd : -1;
}
