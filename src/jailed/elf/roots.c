/* SPDX-License-Identifier: MIT */
#include <ctop/elf/object.h>

#include <gelf.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include <ctop/base/vec.h>
#include <ctop/elf/go_functions.h>

#include "object_internal.h"

/*
 * Functions known by name. Only names that no program may give to a function of its own:
 * `clone` is left out (in musl, and in any program, it is an ordinary function), since glibc's is `__clone` too.
 */
static const struct known_name {
	const char *name;
	enum known_function is;
} known_names[] = {
	/* ELF's start, glibc's and musl's loaders, the threads of glibc, musl and bionic. */
	{"_start", FUNCTION_ROOT},
	{"_dl_start_user", FUNCTION_ROOT},
	{"_dlstart", FUNCTION_ROOT},
	{"__clone", FUNCTION_ROOT},
	{"__clone3", FUNCTION_ROOT},
	{"__bionic_clone", FUNCTION_ROOT},
	/*
	 * Go (runtime/asm_*.s): the last frames of goroutines and of system stacks. Through
	 * cgocallback and systemstack_switch the way goes on: they lay out their caller's frame on the same stack.
	 */
	{"runtime.goexit", FUNCTION_ROOT},
	{"runtime.rt0_go", FUNCTION_ROOT},
	{"runtime.mstart", FUNCTION_ROOT},
	{"runtime.systemstack", FUNCTION_SWITCH},
	{"runtime.mcall", FUNCTION_SWITCH_FOR_GOOD},
	{"runtime.morestack", FUNCTION_SWITCH_FOR_GOOD},
	{"runtime.asmcgocall", FUNCTION_SWITCH},
	/* The clocks of Go call the vdso on a system stack, unless they are on it already. */
	{"runtime.nanotime1", FUNCTION_SWITCH_WITH_RECORD},
	{"runtime.walltime", FUNCTION_SWITCH_WITH_RECORD},
	{"runtime.walltime1", FUNCTION_SWITCH_WITH_RECORD},
	{"time.now", FUNCTION_SWITCH_WITH_RECORD},
	/* What Go's signal handlers make of a program: as if the interrupted code had called it. */
	{"runtime.asyncPreempt", FUNCTION_AS_IF_CALLED},
	{"runtime.sigpanic0", FUNCTION_AS_IF_CALLED},
	/* Its CFI is that of an ordinary function. */
	{"runtime.sigreturn", FUNCTION_RESTORER},
	{"runtime.sigreturn__sigaction", FUNCTION_RESTORER},
	{"_PyEval_EvalFrameDefault", FUNCTION_EVALUATOR},
	{"_PyEval_EvalFrameDefault.cold", FUNCTION_EVALUATOR},
	/* The thread in which the sanitizers look for leaks: internal_clone(int (*)(void*), void*, int, ...). */
	{"_ZN11__sanitizer14internal_cloneEPFiPvES0_iS0_PiS0_S3_", FUNCTION_ROOT},
};
enum { NR_KNOWN_NAMES = sizeof(known_names) / sizeof(known_names[0]) };

/* A file has a handful of them; more are made up. */
enum { RANGES_MAX = 64 };
/*
 * Functions written in assembly may have no size; these are at most so long, up to their last call: a
 * program's _start, and the others, of which glibc's _dl_start_user is the longest.
 */
enum { START_BYTES = 48, SIZELESS_BYTES = 64 };

struct symbol {
	const char *name;
	uint64_t start, bytes;
	bool is_function;
	bool by_go; /* of the table that Go's runtime has for itself */
};

/* What is gathered in one pass over the symbols. */
struct gathered {
	struct found {
		const struct known_name *known; /* NULL: the entry point */
		uint64_t start;
		uint64_t guessed_bytes; /* at most, for one without a size */
		uint64_t bytes;		/* 0: no symbol tells */
		uint64_t next;		/* where the next symbol is */
		uint64_t
			next_function; /* and the next with a size: no size is true that goes beyond */
		bool is_abi0;
	} found[RANGES_MAX];
	size_t nr;
	bool defines_tls_get_addr;
};

static void add(struct gathered *gathered, struct found found)
{
	found.next = found.next_function = UINT64_MAX;
	if (gathered->nr < RANGES_MAX)
		gathered->found[gathered->nr++] = found;
}

static void each_symbol_of(struct object *object, Elf_Scn *section, const GElf_Shdr *header,
			   void (*each)(struct gathered *, const struct symbol *),
			   struct gathered *gathered)
{
	Elf_Data *data = elf_getdata(section, NULL);
	size_t nr = data && header->sh_entsize ? data->d_size / header->sh_entsize : 0;
	for (size_t i = 0; i < nr && i <= INT_MAX; i++) {
		GElf_Sym symbol;
		if (!gelf_getsym(data, (int)i, &symbol))
			return;
		/* Assembly may leave its labels without a type. */
		unsigned type = GELF_ST_TYPE(symbol.st_info);
		if ((type != STT_FUNC && type != STT_NOTYPE) || symbol.st_shndx == SHN_UNDEF ||
		    symbol.st_shndx == SHN_ABS)
			continue;
		const char *name = elf_strptr(object->elf, header->sh_link, symbol.st_name);
		/* A $ begins marks between code and data, which end no function. */
		if (name && name[0] != '$')
			each(gathered, &(struct symbol){name, symbol.st_value, symbol.st_size,
							type == STT_FUNC, false});
	}
}

/* Of Go, stripped. */
static void each_go_function(const struct object *object,
			     void (*each)(struct gathered *, const struct symbol *),
			     struct gathered *gathered)
{
	struct go_functions functions;
	struct go_function function;
	if (!go_functions_open(&functions, object->elf))
		return;
	for (size_t i = 0; i < functions.nr; i++)
		if (go_functions_get(&functions, i, &function))
			each(gathered, &(struct symbol){function.name, function.start,
							function.end - function.start, true, true});
}

static void each_symbol(struct object *object,
			void (*each)(struct gathered *, const struct symbol *),
			struct gathered *gathered)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;
	bool is_stripped = true;
	while ((section = elf_nextscn(object->elf, section))) {
		if (!gelf_getshdr(section, &header) ||
		    (header.sh_type != SHT_SYMTAB && header.sh_type != SHT_DYNSYM))
			continue;
		is_stripped = is_stripped && header.sh_type != SHT_SYMTAB;
		each_symbol_of(object, section, &header, each, gathered);
	}
	if (is_stripped)
		each_go_function(object, each, gathered);
}

static bool has_found(const struct gathered *gathered, const struct known_name *known)
{
	for (size_t i = 0; i < gathered->nr; i++)
		if (gathered->found[i].known == known)
			return true;
	return false;
}

static void gather(struct gathered *gathered, const struct symbol *symbol)
{
	static const char abi0[] = ".abi0", sanitizers[] = "_ZN11__sanitizer";
	/* C++ and Rust: most of the names there are, one of ours. */
	if (symbol->name[0] == '_' && symbol->name[1] == 'Z' &&
	    strncmp(symbol->name, sanitizers, sizeof(sanitizers) - 1) != 0)
		return;
	if (strcmp(symbol->name, "__tls_get_addr") == 0)
		gathered->defines_tls_get_addr = true;
	for (size_t i = 0; i < NR_KNOWN_NAMES; i++) {
		const struct known_name *known = &known_names[i];
		size_t length = strlen(known->name);
		if (strncmp(symbol->name, known->name, length) != 0)
			continue;
		const char *rest = symbol->name + length;
		if (*rest != '\0' && strcmp(rest, abi0) != 0)
			continue;
		/* That table has one name for both conventions; wrappers come last. */
		if (symbol->by_go && has_found(gathered, known))
			continue;
		const struct found found = {
			.known = known,
			.start = symbol->start,
			.guessed_bytes = symbol->bytes ? 0 : SIZELESS_BYTES,
			.bytes = symbol->bytes,
			.is_abi0 = *rest != '\0',
		};
		add(gathered, found);
	}
}

/* What other symbols say about the extent of functions: their own may have no size, or one that lies. */
static void look_around(struct gathered *gathered, const struct symbol *symbol)
{
	for (size_t i = 0; i < gathered->nr; i++) {
		struct found *found = &gathered->found[i];
		if (symbol->is_function && symbol->bytes && symbol->start > found->start &&
		    symbol->start < found->next_function)
			found->next_function = symbol->start;
		if (!found->guessed_bytes)
			continue;
		if (symbol->start > found->start && symbol->start < found->next)
			found->next = symbol->start;
		if (symbol->start == found->start && symbol->bytes > found->bytes)
			found->bytes = symbol->bytes;
	}
}

static struct range extent(const struct found *found)
{
	uint64_t room = found->next - found->start;
	uint64_t guess = found->guessed_bytes < room ? found->guessed_bytes : room;
	uint64_t bytes = found->bytes > guess ? found->bytes : guess;
	uint64_t end;
	if (__builtin_add_overflow(found->start, bytes, &end) || end > found->next_function)
		end = found->next_function;
	return (struct range){found->start, end};
}

/*
 * Where Go has a function under both calling conventions, the one with the plain
 * name only calls the other, on the same stack.
 */
static bool is_wrapper(const struct gathered *gathered, const struct found *found)
{
	for (size_t i = 0; i < gathered->nr && !found->is_abi0; i++)
		if (gathered->found[i].is_abi0 && gathered->found[i].known == found->known)
			return true;
	return false;
}

static void read_symbols(struct object *object)
{
	struct gathered gathered = {0};
	if (object->symbols_read)
		return;
	object->symbols_read = true;
	each_symbol(object, gather, &gathered);
	/*
	 * Old linkers let a library's entry point be just anything; a program's is its
	 * start, and so is the loader's, which alone defines this and needs nobody.
	 */
	const bool is_loader = gathered.defines_tls_get_addr && !object->needs_libraries;
	if (object->entry && (object->is_program || is_loader))
		add(&gathered,
		    (struct found){
			    .start = object->entry,
			    .guessed_bytes = object->is_program ? START_BYTES : SIZELESS_BYTES,
		    });
	if (gathered.nr)
		each_symbol(object, look_around, &gathered);
	for (size_t i = 0; i < gathered.nr; i++) {
		const struct found *found = &gathered.found[i];
		if (is_wrapper(&gathered, found) ||
		    vec_reserve(&object->known, object->known.nr + 1))
			continue;
		object->known.items[object->known.nr++] = (struct known_range){
			.extent = extent(found),
			.is = found->known ? found->known->is : FUNCTION_ROOT,
		};
	}
}

enum known_function object_known_function(struct object *object, uint64_t elf_address)
{
	enum known_function is = FUNCTION_ORDINARY;
	read_symbols(object);
	/* Several names of one function say the same, but for an entry point that is everything. */
	for (size_t i = 0; i < object->known.nr && is != FUNCTION_ROOT; i++) {
		const struct known_range *range = &object->known.items[i];
		if (elf_address >= range->extent.start && elf_address < range->extent.end)
			is = range->is;
	}
	return is;
}

bool object_is_root(struct object *object, uint64_t elf_address)
{
	return object_known_function(object, elf_address) == FUNCTION_ROOT;
}
