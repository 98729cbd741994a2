/* SPDX-License-Identifier: MIT */
/*
 * What a looker that has fallen may say: an answer to a question of each kind, cut or too long. What is believed lies within what was asked
 * for, ends, and is safe to show.
 *
 * The first byte is the kind of the question, the second how many bytes or pieces were asked for; then the answer.
 */
#include "main/system/looker_protocol.h"

#include <ctop/base/text.h>
#include <string.h>

#include "fuzz.h"

static void check_object(const struct wait_object *object, const struct looker_request *request)
{
	struct text text = {0};
	REQUIRE(object->kind <= WAIT_ON_PROCESS && object->pid == request->pid);
	wait_object_add(object, &text);
	for (const char *at = text_string(&text); *at; at++)
		REQUIRE((unsigned char)*at >= ' ');
	REQUIRE(wait_object_is_same(object, object));
	text_release(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct looker_answer answer = {0};
	if (size < 2)
		return 0;
	const struct looker_request request = {
		.kind = (enum looker_kind)(bytes[0] % (LOOKER_PIECES + 1)),
		.pid = 7,
		.tid = 8,
		.size = bytes[1],
		.nr = bytes[1] % LOOKER_PIECES_MAX,
	};
	bytes += 2;
	size -= 2;
	memcpy(&answer, bytes, size < sizeof(answer) ? size : sizeof(answer));
	if (!looker_answer_is_sane(&answer, size, &request))
		return 0;
	REQUIRE(size == sizeof(answer));
	if (request.kind == LOOKER_READ)
		REQUIRE(answer.nr <= request.size);
	if (request.kind == LOOKER_PIECES)
		REQUIRE(answer.nr <= request.nr);
	if (request.kind == LOOKER_LOOK)
		REQUIRE(answer.look.stack_bytes <= request.size &&
			answer.look.kind < NR_WAIT_KINDS);
	if (request.kind == LOOKER_OBJECT || (request.kind == LOOKER_LOOK && !answer.result))
		check_object(&answer.look.object, &request);
	return 0;
}
