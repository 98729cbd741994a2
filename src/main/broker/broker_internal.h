/* SPDX-License-Identifier: MIT */
#ifndef CTOP_BROKER_BROKER_INTERNAL_H
#define CTOP_BROKER_BROKER_INTERNAL_H

/*
 * The broker's state, shared by its files: broker_kept.c (files kept), broker.c (life, what is reported), broker_jobs.c
 * (requests under way), broker_modules.c, broker_generated.c, broker_debug.c, broker_common.c and broker_split.c (which file it is), broker_ahead.c (files opened before they are asked for),
 * broker_processes.c (what /proc says), broker_code.c (code that processes make).
 */

#include <limits.h>
#include <uthash.h>

#include <ctop/base/hash.h>
#include <ctop/base/index.h>
#include <ctop/broker/broker.h>
#include <ctop/files/fetcher.h>
#include <ctop/files/opener.h>
#include <ctop/files/prober.h>
#include <ctop/module_identity.h>

/* Which file a row means: as the kernel named it, and the build-id that the row claims. */
struct file_key {
	uint32_t kind;
	uint32_t
		build_id_size; /* of a recorded file, or one that nobody named; else 0: the inode says it, before and after it was read */
	uint8_t build_id[BUILD_ID_MAX];
	struct module_identity file;
	uint64_t path_hash; /* of a recorded file, or one that nobody named; else 0 */
	int64_t pid;	    /* of generated code: a map is its process's own; else 0 */
};

struct kept_file {
	struct file_key key;
	struct module_identity identity; /* the open file's */
	int fd;				 /* -1: opened again for each request */
	unsigned refused;		 /* to these readers (enum broker_reader) */
	bool is_told;			 /* that there is none */
	bool is_ahead;			 /* nobody has asked for it yet */
	bool is_nowhere;		 /* servers were asked for its debug file, in vain */
	bool has_no_common;		 /* the same for what dwz has put into a common file */
	bool is_told_of_split;		 /* that a file of one of its units is not there */
	/* Of generated code: the process that would leave its map in our /tmp, and whose that is (identity's owner). */
	uint64_t started_ns;
	UT_hash_handle hh;
};

/* A row and its path, copied out of shared memory before anything is decided by them. */
struct module_copy {
	struct module_row row;
	char path[PATH_MAX];
};

/* Of what one child may have of the code that processes have made: broker_code.c. */
struct code_spent {
	uint64_t left_bytes, filled_ns; /* what may be copied now; when it was filled up */
	uint64_t copied_bytes;		/* in all */
};

struct broker {
	struct kept_file *files;
	struct opener *opener;
	struct prober *prober;
	struct fetcher *fetcher; /* NULL: nothing is fetched */
	struct {
		struct opener *
			opener; /* of its own, as it takes longer than all others wait; NULL: none is wanted */
		enum kernel_names_from from;
	} kernel_names;
	const char *vmlinux; /* that the user has named; NULL: none */
	struct mapped_files *mapped;
	struct {
		struct ahead *first; /* asked of the opener */
		size_t nr, nr_kept;
		uint64_t spent_ns; /* up to when what may be opened ahead has been */
	} ahead;
	struct job *jobs;
	size_t nr_jobs[BROKER_SYMBOLIZER + 1]; /* of each reader */
	struct asked *asked;
	int cgroup_fd; /* -1: none */
	bool recorded;
	int64_t written_ns; /* when the file of rows was; by CLOCK_REALTIME, 0: not known */
	struct {
		size_t nr;
		int32_t pid; /* the first */
	} maps_used;	     /* perf maps of recorded processes */
	struct {
		struct code_spent collector, symbolizer;
		unsigned nr_hung; /* copies that took too long */
	} code;
	uint64_t opened_ns; /* older processes are in the profile only as targets */
	/* Modules of a file without one here: another has their place, or none. */
	struct absent {
		size_t nr;
		char first[128];
	} others, missing, hidden, debug_only;
	char notice[512];
	struct {
		char **items; /* see broker_unreadable() */
		size_t nr, capacity;
		size_t nr_more; /* files that were gone and are not said one by one, but in one line, */
		size_t more_at; /* which is this item, if there are any */
	} unreadable;
	struct {
		uint64_t *items; /* hashes of paths */
		size_t nr, capacity;
		struct index by_hash;
	} gone; /* files that the kernel named and that could not be opened */
};

/* A request under way. Each step asks the opener or the prober, and names what is done with the answer. */
struct job {
	struct job *prev, *next;
	struct broker *broker;
	struct channel *channel;
	enum broker_reader reader;
	enum message_kind
		answer; /* MESSAGE_MODULE, MESSAGE_DEBUG_FILE, MESSAGE_PROCESS, MESSAGE_CODE or MESSAGE_KERNEL_CODE */
	struct message_module request;
	struct message_process process;
	struct message_code code;
	struct message_kernel_code kernel_code;
	struct module_copy copy;
	struct mapped_file named; /* by the kernel; path is copy's */
	struct file_key key;
	struct module_identity identity; /* of the file that is given, as the opener saw it */
	enum opener_kind looking_for;
	unsigned candidate;
	int error; /* the first, which is reported when there are no more candidates */
	int fd;	   /* the file that is being proved; -1: none */
	bool knows_module;
	bool was_fetched; /* or could not be */
	struct refused_debug {
		const char *why; /* a debug file that is there is not used; NULL: none is there */
		bool by_link;
	} refused_debug;
	struct prober_answer module; /* what it says of its debug file */
	struct prober_answer
		namer; /* of dwz's common file, or a unit's: what names it says of it */
	bool looked_at_maps;
	void (*unproved)(struct job *job); /* what is done when it is not the right one */
};

/* The file as the kernel named it. */
static inline struct locate_request request_of(const struct mapped_file *file)
{
	return (struct locate_request){
		.pid = file->pid,
		.path = file->path,
		.start = file->start,
		.end = file->end,
		.file_offset = file->file_offset,
		.device_major = file->device_major,
		.device_minor = file->device_minor,
		.inode = file->inode,
		.generation = file->generation,
	};
}

/* ---- broker_kept.c ---- */

bool copy_module(const struct tables *tables, uint32_t module, struct module_copy *copy);
/* What a recording's tables say under that key, a claim; false, and "": nothing. */
bool recorded_info(const struct tables *tables, const char *key, char value[128]);
/* *named: the kernel named it, and says which file it is. */
struct file_key key_of(const struct broker *broker, const struct module_copy *copy,
		       struct mapped_file *file, bool *named);
struct kept_file *find_kept(const struct broker *broker, const struct file_key *key);
/* Makes or fills the entry; where too many are open, those used longest ago go. NULL: out of memory, and fd stays the caller's. */
struct kept_file *keep(struct broker *broker, const struct file_key *key, int fd);
/* The same of a file that nobody has asked for, of which there are few. */
struct kept_file *keep_ahead(struct broker *broker, const struct file_key *key, int fd);
/* It was asked for. */
void use_kept(struct broker *broker, struct kept_file *file);
void kept_free(struct broker *broker);
/* Whether a debug file's owner is one whose word for the module counts. */
bool may_name(const struct kept_file *module, const struct module_identity *candidate);

/* ---- broker.c ---- */

/* A code of 0: only its debug file is here. */
void note_absent(struct broker *broker, const struct module_copy *copy, int code);
/* A file that the kernel named and that could not be opened. */
void note_gone(struct broker *broker, const char *path, int code);
/* A debug file by a name that the module has for it, and why it is not used: "does not match". */
void note_refused_debug(struct broker *broker, const char *module, const char *name,
			const char *why);
/* The file of a unit, by the name that the module has for it: what was inlined there is not known. */
void note_split(struct broker *broker, const char *module, const char *name, const char *why);
/* A perf map of a recorded process, that proved to be of its time. */
void note_map_used(struct broker *broker, int32_t pid);
void note_refused_map(struct broker *broker, int32_t pid, int code);
/* The code that a process has made may not be read. */
void note_refused_code(struct broker *broker, int32_t pid, int code);

/* ---- broker_jobs.c ---- */

/* NULL: out of memory, or the child asks for too much at a time. */
struct job *job_new(struct broker *broker, struct channel *channel, enum broker_reader reader,
		    enum message_kind answer);
/* Answers with a descriptor, which stays the caller's, or -errno; ends the job. */
void job_answer(struct job *job, int fd);
/* Asks the opener; a failure to ask is given to the taker like any other. */
void job_open(struct job *job, const struct opener_request *request, opener_taker *taker);
/* Asks for the job's candidate, by build-id or, where the kind is one of names, by that of a debug link; as job_open(). */
void job_look_for(struct job *job, enum opener_kind kind, const uint8_t *build_id,
		  size_t build_id_size, const char *debuglink, opener_taker *taker);
/* Asks the prober about fd; as job_open(). */
void job_prove(struct job *job, int fd, bool sum_up, prober_taker *taker);
/* The same, about the unit that was asked for. */
void job_prove_unit(struct job *job, int fd, prober_taker *taker);
#define DEBUG_OF_OTHERS "is of an owner who is not believed here"
/* Why what a name led to is not used, by the opener's error; NULL: there is none. */
const char *why_not_opened(int error);
void jobs_free(struct broker *broker);
/* A row may be asked for so often and no more: opening costs, and a child that fell may ask for ever. */
bool may_ask_again(struct broker *broker, enum broker_reader reader,
		   const struct message_module *request, enum message_kind what);
void forget_asked(struct broker *broker, unsigned readers);

/* ---- broker_common.c ---- */

/* Answers with the common file that the one in hand names, which was proved; it stays the caller's, job->fd is none. */
void common_look_for(struct job *job, int fd);

/* ---- broker_generated.c ---- */

/* What names a job's module, which is generated code. */
void generated_look_for(struct job *job, const struct tables *tables);

/* ---- broker_kernel.c ---- */

/* The file that our own kernel was made of, for a job that asks for its debug file. */
void kernel_look_for(struct job *job);

/* ---- broker_split.c ---- */

/* The same of the file where the unit is that was asked for. */
void split_look_for(struct job *job, int fd);

/* ---- broker_ahead.c ---- */

void ahead_free(struct broker *broker);

/* ---- broker_processes.c ---- */

bool is_in_profile(struct broker *broker, int32_t pid);
/* The text of a process's maps, which names what is mapped there; fd stays the caller's, -1: it cannot be had. */
void take_maps(struct broker *broker, int32_t pid, int fd);

#endif
