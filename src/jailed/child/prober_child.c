/* SPDX-License-Identifier: MIT */
#include "child_link.h"

#include <errno.h>
#include <unistd.h>
#include <zlib.h>

#include <ctop/elf/build_id.h>
#include <ctop/ipc/channel.h>
#include <ctop/lines/split_names.h>

#include "prober_look.h"

#define SUM_MAX (INT64_C(4) << 30)

/* The CRC-32 of a debug link is zlib's: GDB's manual, "Debugging Information in Separate Files". */
static int sum_up(int fd, uint32_t *crc)
{
	static unsigned char bytes[256 << 10];
	off_t at = 0;
	ssize_t got;
	uLong sum = crc32(0, NULL, 0);
	while ((got = pread(fd, bytes, sizeof(bytes), at)) > 0) {
		sum = crc32(sum, bytes, (uInt)got);
		at += got;
		if (at > SUM_MAX)
			return -EFBIG;
	}
	*crc = (uint32_t)sum;
	return got < 0 ? -errno : 0;
}

void prober_look(int fd, const struct prober_question *question, struct prober_answer *answer)
{
	*answer = (struct prober_answer){0};
	if (question->sum_up) {
		answer->error = sum_up(fd, &answer->crc);
		return;
	}
	if (question->unit) {
		answer->has_unit = split_is_in(fd, question->unit);
		if (!split_name(fd, question->unit, answer->split_name, sizeof(answer->split_name)))
			answer->split_name[0] = '\0';
		return;
	}
	answer->build_id_size = (uint32_t)read_build_id(fd, answer->build_id);
	answer->common_build_id_size =
		(uint32_t)read_common_link(fd, answer->common, answer->common_build_id);
	answer->has_debuglink = read_debuglink(fd, answer->debuglink, &answer->debuglink_crc);
}

int prober_child_run(struct channel *channel)
{
	struct prober_question question;
	struct prober_answer answer;
	int fd = -1;
	int result = child_await_question(channel);
	if (!result && (channel_receive(channel, &question, sizeof(question), &fd) !=
				(ssize_t)sizeof(question) ||
			fd < 0))
		result = -EPROTO;
	if (!result) {
		prober_look(fd, &question, &answer);
		result = channel_send(channel, &answer, sizeof(answer), -1);
	}
	channel_free(channel);
	return result;
}
