/* SPDX-License-Identifier: MIT */
#include <ctop/session/region.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include <ctop/ipc/protocol.h>

int region_open(struct region *region, uint32_t epoch)
{
	*region = (struct region){.epoch = epoch, .tables_fd = -1, .symbols_fd = -1};
	region->tables_fd = tables_memfd_new(&tables_capacity_default);
	if (region->tables_fd < 0)
		return region->tables_fd;
	int result = tables_map(&region->tables, region->tables_fd, &tables_capacity_default, true);
	if (!result) {
		region->symbols_fd = symbols_memfd_new(&symbols_capacity_default);
		result = region->symbols_fd < 0 ? region->symbols_fd
						: symbols_map(&region->symbols, region->symbols_fd,
							      &symbols_capacity_default, false);
	}
	if (result)
		region_close(region);
	else
		tables_reader_init(&region->reader, &region->tables);
	return result;
}

void region_close(struct region *region)
{
	if (!region->epoch)
		return;
	if (region->tables.header)
		tables_unmap(&region->tables);
	if (region->symbols.header)
		symbols_unmap(&region->symbols);
	if (region->tables_fd >= 0)
		close(region->tables_fd);
	if (region->symbols_fd >= 0)
		close(region->symbols_fd);
	*region = (struct region){.tables_fd = -1, .symbols_fd = -1};
}

/* For one who only reads: a descriptor that cannot be mapped otherwise. */
static int send_tables_to_read(const struct region *region, struct channel *channel,
			       const struct message *message)
{
	char path[64];
	snprintf(path, sizeof(path), "/proc/self/fd/%d", region->tables_fd);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	int result = protocol_send(channel, message, fd);
	close(fd);
	return result;
}

int region_send(const struct region *region, struct channel *channel, enum region_writer writes)
{
	struct message message = {.kind = MESSAGE_SYMBOLS, .epoch = {region->epoch}};
	int result =
		writes & REGION_NAMES ? protocol_send(channel, &message, region->symbols_fd) : 0;
	message.kind = MESSAGE_TABLES;
	if (result)
		return result;
	return writes & REGION_TABLES ? protocol_send(channel, &message, region->tables_fd)
				      : send_tables_to_read(region, channel, &message);
}

uint64_t region_used_bytes(struct region *region)
{
	if (!region->epoch)
		return 0;
	tables_reader_refresh(&region->reader);
	return tables_used_bytes(&region->reader) + symbols_used_bytes(&region->symbols);
}
