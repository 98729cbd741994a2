/* SPDX-License-Identifier: MIT */
#include <ctop/symbol/function_offset.h>

#include <errno.h>
#include <gelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include <ctop/base/function_name.h>
#include <ctop/elf/object.h>
#include <ctop/symbol/demangle.h>

/* A table that claims more is lying, and would take its time. */
enum { SYMBOLS_MAX = 8 << 20 };

/* Demangled names longer than this are nobody's to type. */
enum { NAME_MAX_BYTES = 512 };

struct match {
	const char *name;
	const char *
		word; /* the last identifier of name: in whatever it is demangled from; NULL: name is a symbol's own */
	size_t word_size;
	uint64_t address, size;
	bool found, global;
	bool ambiguous; /* of names as they are written: several addresses */
};

/* The string at an offset of a table, when it ends there. */
static const char *string_at(const Elf_Data *strings, size_t at)
{
	const char *bytes = strings->d_buf;
	if (!bytes || at >= strings->d_size || !memchr(bytes + at, '\0', strings->d_size - at))
		return NULL;
	return bytes + at;
}

/* Whether two names are the same but for blanks. */
static bool is_alike(const char *a, const char *b)
{
	for (;; a++, b++) {
		a += strspn(a, " ");
		b += strspn(b, " ");
		if (*a != *b)
			return false;
		if (!*a)
			return true;
	}
}

/* As it is written, in full or without parameters. */
static bool is_written_so(const struct match *match, const char *symbol)
{
	char name[NAME_MAX_BYTES], bare[NAME_MAX_BYTES];
	if (!memmem(symbol, strlen(symbol), match->word, match->word_size) ||
	    !demangle(symbol, name, sizeof(name)))
		return false;
	name_shorten(name, NAME_NO_ARGUMENTS, bare, sizeof(bare));
	return is_alike(name, match->name) || is_alike(bare, match->name);
}

static void match_symbol(struct match *match, const GElf_Sym *symbol, const Elf_Data *strings)
{
	const char *name = string_at(strings, symbol->st_name);
	bool global = GELF_ST_BIND(symbol->st_info) != STB_LOCAL;
	/* Of an indirect function the value is its resolver's: that is not what anybody calls. */
	if (!name || GELF_ST_TYPE(symbol->st_info) != STT_FUNC || symbol->st_shndx == SHN_UNDEF ||
	    (match->word ? !is_written_so(match, name) : strcmp(name, match->name) != 0))
		return;
	if (match->word && match->found)
		match->ambiguous |= match->address != symbol->st_value;
	if (match->found && (match->global || !global))
		return;
	match->address = symbol->st_value;
	match->size = symbol->st_size;
	match->found = true;
	match->global = global;
}

static void match_table(struct match *match, Elf *elf, uint32_t type)
{
	for (Elf_Scn *section = NULL; (section = elf_nextscn(elf, section));) {
		GElf_Shdr header;
		if (!gelf_getshdr(section, &header) || header.sh_type != type || !header.sh_entsize)
			continue;
		Elf_Data *data = elf_getdata(section, NULL);
		Elf_Scn *linked = elf_getscn(elf, header.sh_link);
		const Elf_Data *strings = linked ? elf_getdata(linked, NULL) : NULL;
		if (!data || !strings)
			continue;
		size_t nr = data->d_size / (size_t)header.sh_entsize;
		GElf_Sym symbol;
		for (int i = 0; i < (int)(nr < SYMBOLS_MAX ? nr : SYMBOLS_MAX); i++)
			if (gelf_getsym(data, i, &symbol))
				match_symbol(match, &symbol, strings);
	}
}

static int offset_of(Elf *elf, uint64_t address, uint64_t *offset)
{
	size_t nr = 0;
	if (elf_getphdrnum(elf, &nr))
		return -ENOEXEC;
	for (size_t i = 0; i < nr && i < INT16_MAX; i++) {
		GElf_Phdr segment;
		if (!gelf_getphdr(elf, (int)i, &segment) || segment.p_type != PT_LOAD ||
		    !(segment.p_flags & PF_X) || address < segment.p_vaddr ||
		    address - segment.p_vaddr >= segment.p_filesz)
			continue;
		*offset = address - segment.p_vaddr + segment.p_offset;
		return 0;
	}
	return -ENOENT;
}

/* The last identifier in front of the parameters. */
static void find_word(struct match *match)
{
	static const char letters[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
	size_t end = strlen(match->name);
	const char *parameters = strchr(match->name, '(');
	if (parameters && parameters > match->name)
		end = (size_t)(parameters - match->name);
	const char *template = memchr(match->name, '<', end);
	if (template && template > match->name)
		end = (size_t)(template - match->name);
	size_t start = end;
	while (start && strchr(letters, match->name[start - 1]))
		start--;
	match->word = match->name + start;
	/* Operators are spelled otherwise: anything may be one. */
	match->word_size = strstr(match->name, "operator") ? 0 : end - start;
}

static void match_tables(struct match *match, Elf *elf)
{
	match_table(match, elf, SHT_SYMTAB);
	if (!match->found)
		match_table(match, elf, SHT_DYNSYM);
}

int function_offset(int fd, const char *name, struct function_place *place)
{
	struct error error;
	struct object *object = object_open(fd, &error);
	if (!object)
		return -ENOEXEC;
	Elf *elf = object_elf(object);
	struct match match = {.name = name};
	match_tables(&match, elf);
	if (!match.found) {
		find_word(&match);
		match_tables(&match, elf);
	}
	int result = match.ambiguous ? -ENOTUNIQ
		     : match.found   ? offset_of(elf, match.address, &place->offset)
				     : -ENOENT;
	place->size = match.size;
	object_free(object);
	return result;
}
