/* SPDX-License-Identifier: MIT */
#include <ctop/files/locate.h>

#include <errno.h>
#include <sys/auxv.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <ctop/elf/object.h>

#include "apart.h"
#include "elf/small_elf.h"
#include "file_of_bytes.h"
#include "proved.h"
#include "test.h"

static struct {
	char directory[64];
	char file[96]; /* in it: a small ELF file */
	struct small_elf elf;
	struct stat stat; /* of file as it was made */
} t;

static const char *path_of(const char *name)
{
	static char path[256];
	snprintf(path, sizeof(path), "%s/%s", t.directory, name);
	return path;
}

static void write_file(const char *path, const void *bytes, size_t size)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);
	CHECK(fd >= 0);
	CHECK_EQ(write(fd, bytes, size), size);
	close(fd);
}

static void make_file(void)
{
	unlink(t.file);
	small_elf_init(&t.elf);
	write_file(t.file, &t.elf, sizeof(t.elf));
	CHECK_EQ(stat(t.file, &t.stat), 0);
}

static struct locate_request by_inode(pid_t pid, const char *path)
{
	return (struct locate_request){
		.pid = pid,
		.path = path,
		.start = 0x10000,
		.end = 0x20000,
		.device_major = major(t.stat.st_dev),
		.device_minor = minor(t.stat.st_dev),
		.inode = t.stat.st_ino,
	};
}

static struct locate_request by_build_id(pid_t pid, const char *path)
{
	return (struct locate_request){
		.pid = pid,
		.path = path,
		.start = 0x10000,
		.end = 0x20000,
		.build_id = t.elf.start.note.build_id,
		.build_id_size = 20,
	};
}

static void close_if_open(int fd)
{
	if (fd >= 0)
		close(fd);
}

static bool is_small_elf(int fd)
{
	struct small_elf found;
	bool same = fd >= 0 && pread(fd, &found, sizeof(found), 0) == sizeof(found) &&
		    memcmp(&found, &t.elf, sizeof(found)) == 0;
	close_if_open(fd);
	return same;
}

/* -errno; 0 when a file was opened. */
static int refusal(struct locate_request request)
{
	int fd = module_of(&request);
	close_if_open(fd);
	return fd < 0 ? fd : 0;
}

static pid_t gone_process(void)
{
	fflush(stdout);
	pid_t pid = fork();
	if (pid == 0)
		_exit(0);
	waitpid(pid, NULL, 0);
	return pid;
}

/* ---- by path and identity ---- */

static void a_file_by_its_inode_or_its_build_id(void)
{
	make_file();
	struct locate_request request = by_inode(getpid(), t.file);
	CHECK(is_small_elf(module_of(&request)));
	request = by_build_id(getpid(), t.file);
	CHECK(is_small_elf(module_of(&request)));
}

static void the_descriptor_is_for_reading_and_not_inherited(void)
{
	make_file();
	struct locate_request request = by_inode(getpid(), t.file);
	int fd = module_of(&request);
	CHECK(fd >= 0);
	CHECK_EQ(fcntl(fd, F_GETFL) & O_ACCMODE, O_RDONLY);
	CHECK(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	close(fd);
}

static void another_file_by_now_is_stale(void)
{
	make_file();
	struct locate_request request = by_inode(getpid(), t.file);
	request.inode++;
	CHECK_EQ(refusal(request), -ESTALE);
	request = by_inode(getpid(), t.file);
	request.device_minor++;
	CHECK_EQ(refusal(request), -ESTALE);
	request = by_inode(getpid(), t.file);
	request.inode = 0; /* nothing known: nothing believed */
	CHECK_EQ(refusal(request), -ESTALE);
	uint8_t other[20] = {1};
	request = by_build_id(getpid(), t.file);
	request.build_id = other;
	CHECK_EQ(refusal(request), -ESTALE);
	request = by_build_id(getpid(), t.file);
	request.build_id_size = 19;
	CHECK_EQ(refusal(request), -ESTALE);
}

static void a_replaced_program_is_stale(void)
{
	make_file();
	struct locate_request request = by_inode(getpid(), t.file);
	const char *fresh = path_of("fresh");
	write_file(fresh, &t.elf, sizeof(t.elf));
	CHECK_EQ(rename(fresh, t.file), 0);
	CHECK_EQ(refusal(request), -ESTALE);
	/* The same under the name that maps show for the file that is no more. */
	char deleted[128];
	snprintf(deleted, sizeof(deleted), "%s (deleted)", t.file);
	request.path = deleted;
	CHECK_EQ(refusal(request), -ESTALE);
	/* Installed again, byte for byte: as good as the old one. */
	request = by_build_id(getpid(), deleted);
	CHECK(is_small_elf(module_of(&request)));
}

static void a_build_id_beats_an_inode(void)
{
	make_file();
	struct locate_request request = by_build_id(getpid(), t.file);
	request.inode = 1;
	CHECK(is_small_elf(module_of(&request)));
	/* Written over in place: same inode, another build-id. */
	struct small_elf other = t.elf;
	other.start.note.build_id[0] ^= 1;
	write_file(t.file, &other, sizeof(other));
	request.inode = t.stat.st_ino;
	CHECK_EQ(refusal(request), -ESTALE);
}

static void what_is_not_there(void)
{
	make_file();
	CHECK_EQ(refusal(by_inode(getpid(), "/no/such/file")), -ENOENT);
	CHECK_EQ(refusal(by_inode(getpid(), "/no/such/file (deleted)")), -ENOENT);
	CHECK_EQ(refusal(by_inode(getpid(), " (deleted)")), -EINVAL);
	CHECK_EQ(refusal(by_inode(getpid(), "/ (deleted)")), -EINVAL);
	static char longest[10000];
	memset(longest, 'x', sizeof(longest) - 1);
	longest[0] = '/';
	CHECK_EQ(refusal(by_inode(getpid(), longest)), -ENAMETOOLONG);
	CHECK_EQ(refusal(by_inode(getpid(), "")), -EINVAL);
	CHECK_EQ(refusal(by_inode(getpid(), "[heap]")), -EINVAL);
	CHECK_EQ(refusal(by_inode(getpid(), "//anon")), -ENOENT);
}

static void only_regular_files_and_never_waiting(void)
{
	make_file();
	CHECK_EQ(mkfifo(path_of("fifo"), 0600), 0);
	CHECK_EQ(mkdir(path_of("directory"), 0700), 0);
	/* Without a writer, opening it for reading would wait for ever. */
	CHECK_EQ(refusal(by_inode(getpid(), path_of("fifo"))), -EINVAL);
	CHECK_EQ(refusal(by_inode(getpid(), path_of("directory"))), -EINVAL);
	CHECK_EQ(refusal(by_inode(getpid(), "/dev/null")), -EINVAL);
}

static void a_fifo_is_not_even_opened(void)
{
	make_file();
	const char *path = path_of("quiet");
	CHECK_EQ(mkfifo(path, 0600), 0);
	int watch = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	if (watch < 0)
		SKIP("no inotify");
	CHECK(inotify_add_watch(watch, path, IN_OPEN) >= 0);
	CHECK_EQ(refusal(by_inode(getpid(), path)), -EINVAL);
	CHECK_EQ(refusal(by_inode(gone_process(), path)), -EINVAL);
	struct inotify_event event;
	CHECK_EQ(read(watch, &event, sizeof(event)), -1);
	/* The watch does see it opened. */
	close(open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC));
	CHECK_EQ(read(watch, &event, sizeof(event)), sizeof(event));
	close(watch);
}

static void symlinks_inside_the_root_are_followed(void)
{
	make_file();
	CHECK_EQ(symlink(t.file, path_of("link")), 0);
	struct locate_request request = by_inode(getpid(), path_of("link"));
	CHECK(is_small_elf(module_of(&request)));
	/* Not so the kernel's own links into other processes. */
	char magic[64];
	int fd = open(t.file, O_RDONLY | O_CLOEXEC);
	snprintf(magic, sizeof(magic), "/proc/%d/fd/%d", getpid(), fd);
	int result = refusal(by_inode(getpid(), magic));
	close(fd);
	CHECK_EQ(result, -ELOOP);
}

static void a_process_that_has_gone(void)
{
	make_file();
	struct locate_request request = by_inode(gone_process(), t.file);
	CHECK(is_small_elf(module_of(&request)));
	request.inode++;
	CHECK_EQ(refusal(request), -ESTALE);
}

static void a_zombie(void)
{
	make_file();
	fflush(stdout);
	pid_t pid = fork();
	if (pid == 0)
		_exit(0);
	siginfo_t info;
	CHECK_EQ(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
	struct locate_request request = by_inode(pid, t.file);
	bool found = is_small_elf(module_of(&request));
	waitpid(pid, NULL, 0);
	CHECK(found);
}

/* ---- files without a path ---- */

static void own_mapping(const void *address, struct locate_request *request)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	char line[512];
	bool found = false;
	CHECK(maps);
	while (!found && fgets(line, sizeof(line), maps)) {
		unsigned long start, end, inode;
		unsigned device_major, device_minor;
		if (sscanf(line, "%lx-%lx %*s %*x %x:%x %lu", &start, &end, &device_major,
			   &device_minor, &inode) != 5 ||
		    start != (unsigned long)address)
			continue;
		request->start = start;
		request->end = end;
		request->device_major = device_major;
		request->device_minor = device_minor;
		request->inode = inode;
		found = true;
	}
	fclose(maps);
	CHECK(found);
}

static int locate_mapped(int fd, const char *path, bool unlinked)
{
	void *mapped = mmap(NULL, sizeof(t.elf), PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	CHECK(mapped != MAP_FAILED);
	struct locate_request request = {.pid = getpid(), .path = path};
	own_mapping(mapped, &request);
	if (unlinked)
		unlink(t.file);
	int located = module_of(&request);
	munmap(mapped, sizeof(t.elf));
	return located;
}

static void a_deleted_file_that_is_still_mapped(void)
{
	if (geteuid() != 0)
		SKIP("map_files takes root");
	make_file();
	char path[128];
	snprintf(path, sizeof(path), "%s (deleted)", t.file);
	CHECK(is_small_elf(locate_mapped(open(t.file, O_RDONLY | O_CLOEXEC), path, true)));
}

static void a_memfd(void)
{
	if (geteuid() != 0)
		SKIP("map_files takes root");
	make_file();
	CHECK(is_small_elf(locate_mapped(file_of_bytes(&t.elf, sizeof(t.elf)),
					 "/memfd:small (deleted)", false)));
}

static void another_file_in_the_same_range(void)
{
	make_file();
	struct locate_request request = by_inode(getpid(), "/no/such/file");
	int fd = file_of_bytes(&t.elf, sizeof(t.elf));
	void *mapped = mmap(NULL, sizeof(t.elf), PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	CHECK(mapped != MAP_FAILED);
	struct locate_request there = request;
	own_mapping(mapped, &there);
	request.start = there.start;
	request.end = there.end;
	int result = refusal(request);
	munmap(mapped, sizeof(t.elf));
	CHECK_EQ(result, -ENOENT);
}

static void a_deleted_program_without_privileges(void)
{
	char path[64];
	struct stat own;
	CHECK_EQ(stat("/proc/self/exe", &own), 0);
	snprintf(path, sizeof(path), "/no/such/program (deleted)");
	struct locate_request request = by_inode(getpid(), path);
	request.device_major = major(own.st_dev);
	request.device_minor = minor(own.st_dev);
	request.inode = own.st_ino;
	int fd = module_of(&request);
	CHECK(fd >= 0);
	struct stat found;
	CHECK_EQ(fstat(fd, &found), 0);
	close(fd);
	CHECK(found.st_ino == own.st_ino && found.st_dev == own.st_dev);
}

static void the_vdso(void)
{
	const char *own = (const char *)getauxval(AT_SYSINFO_EHDR); // NOLINT
	if (!own)
		SKIP("no vdso");
	const struct locate_request request = {.pid = gone_process(), .path = "[vdso]"};
	int fd = module_of(&request);
	CHECK(fd >= 0);
	char bytes[4096], byte = 0;
	CHECK_EQ(pread(fd, bytes, sizeof(bytes), 0), sizeof(bytes));
	CHECK(memcmp(bytes, own, sizeof(bytes)) == 0);
	CHECK_EQ(pwrite(fd, &byte, 1, 0), -1);
	CHECK_EQ(ftruncate(fd, 0), -1);
	struct error error;
	struct object *object = object_open(fd, &error);
	CHECK(object);
	CHECK(object_identity(object)->build_id_size > 0);
	uint64_t address;
	CHECK(object_elf_address(object, 0, &address));
	object_free(object);
}

/* ---- other namespaces and roots ---- */

static bool hide_file_elsewhere(void)
{
	if (!own_mounts() || mount("none", t.directory, "tmpfs", 0, NULL) != 0)
		return false;
	int fd = open(t.file, O_WRONLY | O_CREAT | O_CLOEXEC, 0755);
	return fd >= 0 && write(fd, &t.elf, sizeof(t.elf)) == (ssize_t)sizeof(t.elf);
}

static void another_mount_namespace(void)
{
	make_file();
	unlink(t.file);
	struct apart apart;
	apart_start(&apart, hide_file_elsewhere);
	struct locate_request request = by_build_id(apart.pid, t.file);
	int fd = apart.ready ? module_of(&request) : -1;
	request.pid = getpid();
	int here = refusal(request);
	bool ready = apart.ready;
	apart_end(&apart);
	if (!ready) {
		close_if_open(fd);
		SKIP("no mount namespaces here");
	}
	CHECK(is_small_elf(fd));
	CHECK_EQ(here, -ENOENT);
	/* With the process its namespace has gone. */
	request.pid = apart.pid;
	CHECK_EQ(refusal(request), -ENOENT);
}

static bool enter_root(void)
{
	return chroot(t.directory) == 0 && chdir("/") == 0;
}

static void no_symlink_leads_out_of_a_root(void)
{
	make_file();
	struct locate_request outside = by_inode(0, "/out");
	CHECK_EQ(symlink(t.file, path_of("out")), 0);
	CHECK_EQ(symlink("../../../../../../../..", path_of("up")), 0);
	struct apart apart;
	apart_start(&apart, enter_root);
	bool ready = apart.ready;
	outside.pid = apart.pid;
	int out = refusal(outside);
	char up[128];
	snprintf(up, sizeof(up), "/up%s", t.file);
	outside.path = up;
	int above = refusal(outside);
	struct locate_request inside = by_inode(apart.pid, "/up/file");
	int fd = module_of(&inside);
	apart_end(&apart);
	if (!ready) {
		close_if_open(fd);
		SKIP("no chroot here");
	}
	CHECK_EQ(out, -ENOENT);
	CHECK_EQ(above, -ENOENT);
	CHECK(is_small_elf(fd)); /* ".." of the root is the root */
}

static bool mount_overlay(void)
{
	char options[512];
	if (!own_mounts() || mount("none", t.directory, "tmpfs", 0, NULL) != 0)
		return false;
	static const char *const names[] = {"lower", "upper", "work", "merged"};
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (mkdir(path_of(names[i]), 0755) != 0)
			return false;
	int fd = open(path_of("lower/file"), O_WRONLY | O_CREAT | O_CLOEXEC, 0755);
	if (fd < 0 || write(fd, &t.elf, sizeof(t.elf)) != (ssize_t)sizeof(t.elf))
		return false;
	close(fd);
	snprintf(options, sizeof(options), "lowerdir=%s/lower,upperdir=%s/upper,workdir=%s/work",
		 t.directory, t.directory, t.directory);
	return mount("overlay", path_of("merged"), "overlay", 0, options) == 0;
}

/* Records of mappings name the layer's inode, which the overlay's own numbers are unlike. */
static int an_overlay_by_the_inode_below(void)
{
	struct stat below;
	if (!mount_overlay())
		return NOT_POSSIBLE;
	EXPECT(stat(path_of("lower/file"), &below) == 0);
	struct locate_request request = {
		.pid = getpid(),
		.path = path_of("merged/file"),
		.device_major = major(below.st_dev),
		.device_minor = minor(below.st_dev),
		.inode = below.st_ino,
	};
	EXPECT(is_small_elf(module_of(&request)));
	request.inode++;
	EXPECT(refusal(request) == -ESTALE);
	return 0;
}

static void overlay_file_systems(void)
{
	make_file();
	int result = run_apart(an_overlay_by_the_inode_below);
	if (result == NOT_POSSIBLE)
		SKIP("no overlay file system here");
	CHECK_EQ(result, 0);
}

/* ---- hostile candidates ---- */

static void a_build_id_is_looked_for_within_bounds(void)
{
	make_file();
	uint8_t *bytes = (uint8_t *)&t.elf;
	const size_t end = offsetof(struct small_elf, start.dynamic);
	static struct small_elf good;
	good = t.elf;
	const struct locate_request request = {.pid = getpid(),
					       .path = t.file,
					       .build_id = good.start.note.build_id,
					       .build_id_size = 20};
	for (size_t at = 0; at < end; at++) {
		bytes[at] ^= 0xff;
		write_file(t.file, &t.elf, sizeof(t.elf));
		int result = refusal(request);
		CHECK(result == 0 || result == -ESTALE);
		bytes[at] ^= 0xff;
	}
	for (size_t size = 0; size < end; size += 7) {
		write_file(t.file, &t.elf, size);
		CHECK_EQ(refusal(request), -ESTALE);
	}
	/* Notes larger than any, program headers beyond any. */
	t.elf.start.segments[3].p_filesz = UINT64_MAX;
	write_file(t.file, &t.elf, sizeof(t.elf));
	CHECK_EQ(refusal(request), -ESTALE);
	t.elf = good;
	t.elf.start.header.e_phoff = UINT64_MAX - 8;
	t.elf.start.header.e_phnum = 0xffff;
	write_file(t.file, &t.elf, sizeof(t.elf));
	CHECK_EQ(refusal(request), -ESTALE);
}

int main(void)
{
	snprintf(t.directory, sizeof(t.directory), "/tmp/ctop-locate-XXXXXX");
	if (!mkdtemp(t.directory))
		return 1;
	snprintf(t.file, sizeof(t.file), "%s/file", t.directory);
	RUN(a_file_by_its_inode_or_its_build_id);
	RUN(the_descriptor_is_for_reading_and_not_inherited);
	RUN(another_file_by_now_is_stale);
	RUN(a_replaced_program_is_stale);
	RUN(a_build_id_beats_an_inode);
	RUN(what_is_not_there);
	RUN(only_regular_files_and_never_waiting);
	RUN(a_fifo_is_not_even_opened);
	RUN(symlinks_inside_the_root_are_followed);
	RUN(a_process_that_has_gone);
	RUN(a_zombie);
	RUN(a_deleted_file_that_is_still_mapped);
	RUN(a_memfd);
	RUN(another_file_in_the_same_range);
	RUN(a_deleted_program_without_privileges);
	RUN(the_vdso);
	RUN(another_mount_namespace);
	RUN(no_symlink_leads_out_of_a_root);
	RUN(overlay_file_systems);
	RUN(a_build_id_is_looked_for_within_bounds);
	static const char *const left[] = {"file", "fresh", "fifo", "quiet", "link", "out", "up"};
	for (size_t i = 0; i < sizeof(left) / sizeof(left[0]); i++)
		unlink(path_of(left[i]));
	rmdir(path_of("directory"));
	rmdir(t.directory);
	return test_done();
}
