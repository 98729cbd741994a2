/* SPDX-License-Identifier: MIT */
#include <ctop/recording/sample_code.h>

enum {
	SAME_TASK = 1,
	SAME_CPU = 2,
	SAME_EVENT = 4,
	SAME_END = 8, /* and reason */
	SAME_WEIGHT = 16,
	SAME_NODE = 32,
	SAME_LEAF = 64,
};

static int64_t difference(uint32_t now, uint32_t before)
{
	return (int64_t)now - (int64_t)before;
}

void put_sample(struct buffer *buffer, const struct sample *sample, struct sample *before)
{
	unsigned same = 0;
	same |= sample->task.index == before->task.index ? SAME_TASK : 0;
	same |= sample->cpu == before->cpu ? SAME_CPU : 0;
	same |= sample->event == before->event ? SAME_EVENT : 0;
	same |= sample->end == before->end && sample->reason == before->reason ? SAME_END : 0;
	same |= sample->weight == before->weight ? SAME_WEIGHT : 0;
	same |= sample->node.index == before->node.index ? SAME_NODE : 0;
	same |= sample->leaf.index == before->leaf.index ? SAME_LEAF : 0;
	put_varint(buffer, same);
	/* Signed: late records go back in time. */
	put_signed(buffer, (int64_t)(sample->time_ns - before->time_ns));
	if (!(same & SAME_TASK))
		put_varint(buffer, sample->task.index);
	if (!(same & SAME_CPU))
		put_varint(buffer, sample->cpu);
	if (!(same & SAME_EVENT))
		put_varint(buffer, sample->event);
	if (!(same & SAME_END)) {
		put_varint(buffer, sample->end);
		put_varint(buffer, sample->reason);
	}
	if (!(same & SAME_WEIGHT))
		put_varint(buffer, sample->weight);
	if (!(same & SAME_NODE))
		put_signed(buffer, difference(sample->node.index, before->node.index));
	if (!(same & SAME_LEAF))
		put_signed(buffer, difference(sample->leaf.index, before->leaf.index));
	*before = *sample;
}

void get_sample(struct payload *payload, struct sample *sample, struct sample *before)
{
	*sample = *before;
	uint64_t same = get_varint(payload);
	sample->time_ns += (uint64_t)get_signed(payload);
	if (!(same & SAME_TASK))
		sample->task.index = (uint32_t)get_varint(payload);
	if (!(same & SAME_CPU))
		sample->cpu = (uint16_t)get_varint(payload);
	if (!(same & SAME_EVENT))
		sample->event = (uint8_t)get_varint(payload);
	if (!(same & SAME_END)) {
		sample->end = (uint8_t)get_varint(payload);
		sample->reason = (uint8_t)get_varint(payload);
	}
	if (!(same & SAME_WEIGHT))
		sample->weight = get_varint(payload);
	if (!(same & SAME_NODE))
		sample->node.index += (uint32_t)get_signed(payload);
	if (!(same & SAME_LEAF))
		sample->leaf.index += (uint32_t)get_signed(payload);
	*before = *sample;
}
