/* SPDX-License-Identifier: MIT */
#include <ctop/symbol/mini_debug.h>

#include <errno.h>
#include <gelf.h>
#include <lzma.h>
#include <stdlib.h>

#include <ctop/elf/section.h>

/* Those of Fedora's largest programs unpack to a few MiB. */
enum { UNPACKED_MAX_BYTES = 64 << 20, FIRST_BYTES = 1 << 20, DECODER_MAX_BYTES = 128 << 20 };

/* Twice the room, until all is there. */
static int grow(struct mini_debug *mini, lzma_stream *stream, size_t *room)
{
	size_t more = *room ? *room * 2 : FIRST_BYTES;
	if (more > UNPACKED_MAX_BYTES)
		return -EFBIG;
	void *bytes = realloc(mini->bytes, more);
	if (!bytes)
		return -ENOMEM;
	mini->bytes = bytes;
	stream->next_out = (uint8_t *)bytes + *room;
	stream->avail_out = more - *room;
	*room = more;
	return 0;
}

static int unpack(struct mini_debug *mini, const Elf_Data *packed, size_t *size)
{
	lzma_stream stream = LZMA_STREAM_INIT;
	size_t room = 0;
	int result = 0;
	lzma_ret status = lzma_stream_decoder(&stream, DECODER_MAX_BYTES, 0);
	stream.next_in = packed->d_buf;
	stream.avail_in = packed->d_size;
	while (!result && status == LZMA_OK) {
		if (!stream.avail_out)
			result = grow(mini, &stream, &room);
		if (!result)
			status = lzma_code(&stream, LZMA_FINISH);
	}
	*size = room - stream.avail_out;
	lzma_end(&stream);
	if (result)
		return result;
	return status == LZMA_STREAM_END ? 0 : status == LZMA_MEM_ERROR ? -ENOMEM : -ENOENT;
}

int mini_debug_open(struct mini_debug *mini, Elf *elf)
{
	GElf_Shdr header;
	const Elf_Data *packed = elf_section_named(elf, ".gnu_debugdata", &header);
	size_t size = 0;
	*mini = (struct mini_debug){0};
	if (!packed || !packed->d_buf || !packed->d_size)
		return -ENOENT;
	int result = unpack(mini, packed, &size);
	if (!result) {
		mini->elf = elf_memory(mini->bytes, size);
		result = mini->elf && elf_kind(mini->elf) == ELF_K_ELF ? 0 : -ENOENT;
	}
	if (result)
		mini_debug_release(mini);
	return result;
}

void mini_debug_release(struct mini_debug *mini)
{
	elf_end(mini->elf);
	free(mini->bytes);
	*mini = (struct mini_debug){0};
}
