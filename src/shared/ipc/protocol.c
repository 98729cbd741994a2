/* SPDX-License-Identifier: MIT */
#include <ctop/ipc/protocol.h>

#include <errno.h>
#include <string.h>
#include <unistd.h>

#define BODY(member) (offsetof(struct message, member) + sizeof(((struct message *)0)->member))

/* The size of each kind's datagram: the same both ways, because both ends are one program. */
static const size_t sizes[NR_MESSAGE_KINDS] = {
	[MESSAGE_STATUS] = sizeof(uint32_t),
	[MESSAGE_TO_MAIN] = sizeof(uint32_t),
	[MESSAGE_TO_CHILD] = sizeof(uint32_t),
	[MESSAGE_CONFIG] = BODY(config),
	[MESSAGE_EVENT] = BODY(event),
	[MESSAGE_IDS] = BODY(ids),
	[MESSAGE_PIDS] = BODY(pids),
	[MESSAGE_RING] = BODY(ring),
	[MESSAGE_TABLES] = BODY(epoch),
	[MESSAGE_SYMBOLS] = BODY(epoch),
	[MESSAGE_SOURCE] = sizeof(uint32_t),
	[MESSAGE_OUTPUT] = sizeof(uint32_t),
	[MESSAGE_MODULE] = BODY(module),
	[MESSAGE_DEBUG_FILE] = BODY(module),
	[MESSAGE_PROCESS] = BODY(process),
	[MESSAGE_THREADS] = BODY(threads),
	[MESSAGE_OWNER] = BODY(owner),
	[MESSAGE_CODE] = BODY(code),
	[MESSAGE_KERNEL_CODE] = BODY(kernel_code),
	[MESSAGE_OWN] = BODY(own),
	[MESSAGE_SET] = BODY(set),
	[MESSAGE_START] = sizeof(uint32_t),
	[MESSAGE_PAUSE] = sizeof(uint32_t),
	[MESSAGE_STOP] = sizeof(uint32_t),
	[MESSAGE_LINES] = sizeof(uint32_t),
	[MESSAGE_KEEP_CODE] = sizeof(uint32_t),
	[MESSAGE_PAUSED] = sizeof(uint32_t),
	[MESSAGE_MAPPED] = BODY(result),
	[MESSAGE_NEED_MODULE] = BODY(module),
	[MESSAGE_NEED_DEBUG_FILE] = BODY(module),
	[MESSAGE_NEED_PROCESS] = BODY(process),
	[MESSAGE_NEED_OWNER] = BODY(owner),
	[MESSAGE_NEED_CODE] = BODY(code),
	[MESSAGE_NEED_KERNEL_CODE] = BODY(kernel_code),
	[MESSAGE_NEED_TABLES] = sizeof(uint32_t),
	[MESSAGE_DOUBLE] = BODY(duplicates),
	[MESSAGE_READ] = BODY(read),
	[MESSAGE_DONE] = BODY(result),
};

int protocol_send(struct channel *channel, const struct message *message, int fd)
{
	return channel_send(channel, message, sizes[message->kind], fd);
}

static void terminate(char *string, size_t size)
{
	string[size - 1] = '\0';
}

/* Any other byte than these in a bool is undefined behaviour where it is looked at. */
static bool is_bool(const bool *value)
{
	unsigned char byte;
	memcpy(&byte, value, sizeof(byte));
	return byte <= 1;
}

/* Makes every count and string of a message of the right size safe to use. */
static bool sane(struct message *message)
{
	switch ((enum message_kind)message->kind) {
	case MESSAGE_CONFIG:
		terminate(message->config.comm, sizeof(message->config.comm));
		return message->config.sets[0].nr <= SAMPLER_MAX_SETS &&
		       message->config.sets[1].nr <= SAMPLER_MAX_SETS &&
		       message->config.part.nr <= PROTOCOL_PARTS_MAX &&
		       message->config.part.nr_skipped <= PROTOCOL_SKIPPED_MAX &&
		       is_bool(&message->config.format.sample_id_all) &&
		       is_bool(&message->config.format.inodes_only) &&
		       is_bool(&message->config.is_calm) &&
		       is_bool(&message->config.frame_pointers) &&
		       is_bool(&message->config.leaf_only) &&
		       is_bool(&message->config.filters_pids) &&
		       is_bool(&message->config.drop_own) &&
		       is_bool(&message->config.filters_comm) &&
		       is_bool(&message->config.filters_uid) &&
		       is_bool(&message->config.without_tables);
	case MESSAGE_EVENT:
		terminate(message->event.asked, sizeof(message->event.asked));
		terminate(message->event.opened, sizeof(message->event.opened));
		return message->event.unit < NR_WEIGHT_UNITS &&
		       is_bool(&message->event.without_period) && is_bool(&message->event.paced);
	case MESSAGE_IDS:
		return message->ids.nr <= PROTOCOL_IDS_MAX;
	case MESSAGE_PIDS:
		return message->pids.nr <= PROTOCOL_PIDS_MAX;
	case MESSAGE_THREADS:
		for (size_t i = 0; i < PROTOCOL_THREADS_MAX; i++)
			terminate(message->threads.threads[i].comm, COMM_MAX);
		return message->threads.nr <= PROTOCOL_THREADS_MAX;
	case MESSAGE_MODULE:
	case MESSAGE_DEBUG_FILE:
	case MESSAGE_NEED_MODULE:
	case MESSAGE_NEED_DEBUG_FILE:
		terminate(message->module.name, sizeof(message->module.name));
		return message->module.build_id_size <= sizeof(message->module.build_id) &&
		       message->module.which < NR_DEBUG_FILES && message->module.error <= 0;
	case MESSAGE_MAPPED:
	case MESSAGE_DONE:
		terminate(message->result.cause, sizeof(message->result.cause));
		return message->result.error <= 0;
	case MESSAGE_OWNER:
	case MESSAGE_NEED_OWNER:
		return message->owner.error <= 0;
	case MESSAGE_PROCESS:
	case MESSAGE_NEED_PROCESS:
		return message->process.error <= 0;
	case MESSAGE_CODE:
	case MESSAGE_NEED_CODE:
		return message->code.error <= 0 && message->code.start <= message->code.end &&
		       message->code.end - message->code.start <= PROTOCOL_CODE_MAX;
	case MESSAGE_KERNEL_CODE:
	case MESSAGE_NEED_KERNEL_CODE:
		terminate(message->kernel_code.name, sizeof(message->kernel_code.name));
		return message->kernel_code.error <= 0;
	case MESSAGE_STATUS:
	case MESSAGE_TO_MAIN:
	case MESSAGE_TO_CHILD:
	case MESSAGE_RING:
	case MESSAGE_TABLES:
	case MESSAGE_SYMBOLS:
	case MESSAGE_SOURCE:
	case MESSAGE_OUTPUT:
	case MESSAGE_OWN:
	case MESSAGE_SET:
	case MESSAGE_START:
	case MESSAGE_PAUSE:
	case MESSAGE_STOP:
	case MESSAGE_LINES:
	case MESSAGE_KEEP_CODE:
	case MESSAGE_PAUSED:
	case MESSAGE_NEED_TABLES:
	case MESSAGE_DOUBLE:
		return true;
	case MESSAGE_READ:
		return message->read.whole <= 1;
	case NR_MESSAGE_KINDS:
		break;
	}
	return false;
}

int protocol_receive(struct channel *channel, struct message *message, int *fd)
{
	ssize_t size = channel_receive(channel, message, sizeof(*message), fd);
	if (size == 0 || size == -EAGAIN)
		return (int)size;
	if (size < (ssize_t)sizeof(uint32_t) || message->kind == 0 ||
	    message->kind >= NR_MESSAGE_KINDS || (size_t)size != sizes[message->kind] ||
	    !sane(message)) {
		if (size > 0 && *fd >= 0)
			close(*fd);
		*fd = -1;
		return -EPROTO;
	}
	return 1;
}
