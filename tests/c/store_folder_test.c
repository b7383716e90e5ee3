/* rooms: base store */
/* Folders: files, regions, locks, signal, refusals. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "store/store.h"

static char base[64]; /* of the test that runs */
static const grebe_allocator *const a = &grb_allocator_malloc;

static int folder_make(void **state) {
    snprintf(base, sizeof base, "/tmp/grebe-store-XXXXXX");
    return mkdtemp(base) == NULL;
}
static int folder_drop(void **state) {
    char command[192];
    snprintf(command, sizeof command, "chmod -R u+w %s; rm -rf %s", base,
             base);
    return system(command);
}

static grb_directory *folder_open(const char *path, grebe_store_kind kind) {
    grb_directory *d = NULL;
    grebe_error err = {0};
    grebe_status status =
        grb_directory_open_folder(a, path, kind, true, &d, &err);
    if (status != GREBE_OK) print_error("%s\n", err.message);
    assert_int_equal(status, GREBE_OK);
    return d;
}

static void file_put(grb_directory *d, const char *name, const void *bytes,
                     size_t size) {
    grb_file *f = NULL;
    assert_int_equal(d->ops->file_open(d, name, true, true, &f, NULL), 0);
    assert_int_equal(d->ops->file_write(f, 0, bytes, size, NULL), 0);
    assert_int_equal(grb_file_sync(f, NULL), 0);
    d->ops->file_close(f);
}

static int fd_count(void) {
    int n = 0;
    DIR *dir = opendir("/proc/self/fd");
    while (readdir(dir)) n++;
    closedir(dir);
    return n;
}

static void what_is_written_is_read_back(void **u) {
    grb_directory *d = folder_open(base, GREBE_STORE_MMAP);
    grb_file *f = NULL;
    uint64_t size;
    size_t got;
    char out[16];
    assert_int_equal(d->ops->file_open(d, "x", false, true, &f, NULL),
                     GREBE_NOT_FOUND);
    assert_int_equal(d->ops->file_open(d, "x", true, true, &f, NULL), 0);
    assert_int_equal(d->ops->file_write(f, 5, "hello", 5, NULL), 0);
    assert_int_equal(d->ops->file_size(f, &size, NULL), 0);
    assert_int_equal(size, 10);
    assert_int_equal(d->ops->file_read(f, 3, out, 16, &got, NULL), 0);
    assert_int_equal(got, 7);
    assert_memory_equal(out, "\0\0hello", 7);
    assert_int_equal(d->ops->file_truncate(f, 6, NULL), 0);
    assert_int_equal(d->ops->file_read(f, 3, out, 16, &got, NULL), 0);
    assert_int_equal(got, 3);
    d->ops->file_close(f);
    grebe_error err = {0};
    assert_int_equal(d->ops->file_open(d, "x", true, true, &f, &err),
                     GREBE_STORAGE);
    assert_int_equal(err.os_error, EEXIST);
    assert_string_equal(err.file, "x");
    assert_int_equal(d->ops->rename(d, "x", "y", NULL), 0);
    assert_int_equal(d->ops->remove(d, "x", NULL), GREBE_NOT_FOUND);
    assert_int_equal(d->ops->remove(d, "y", NULL), 0);
    assert_int_equal(grb_directory_sync(d, NULL), 0);
    assert_int_equal(atomic_load(&d->bytes_written), 5);
    grb_directory_close(d);
}

static void syncs_are_counted_and_can_be_off(void **u) {
    grb_directory *d = folder_open(base, GREBE_STORE_MMAP);
    file_put(d, "a", "1", 1);
    assert_int_equal(grb_directory_sync(d, NULL), 0);
    assert_int_equal(atomic_load(&d->syncs), 2);
    d->sync_off = true;
    file_put(d, "b", "1", 1);
    assert_int_equal(grb_directory_sync(d, NULL), 0);
    assert_int_equal(atomic_load(&d->syncs), 2);
    grb_directory_close(d);
}

static void region_checks(grebe_store_kind kind, bool mapped) {
    uint8_t *bytes = malloc(100000);
    for (int i = 0; i < 100000; i++) bytes[i] = (uint8_t)(i * 7);
    grb_directory *d = folder_open(base, kind);
    file_put(d, "seg-1", bytes, 100000);
    file_put(d, "seg-2", bytes, 0);
    grb_region *r = NULL, *empty = NULL;
    grb_arena arena;
    const uint8_t *out;
    grb_arena_init(&arena, a, 0);
    assert_int_equal(d->ops->region_open(d, "seg-1", &r, NULL), 0);
    assert_int_equal(d->ops->region_open(d, "seg-2", &empty, NULL), 0);
    assert_int_equal(d->ops->region_open(d, "seg-3", &r, NULL),
                     GREBE_NOT_FOUND);
    assert_int_equal(r->bytes != NULL, mapped);
    assert_int_equal(r->size, 100000);
    assert_int_equal(d->ops->remove(d, "seg-1", NULL), 0);
    grb_directory_close(d); /* a region outlives its directory */
    assert_int_equal(r->ops->read(r, 0, 100000, &arena, &out, NULL), 0);
    assert_memory_equal(out, bytes, 100000);
    assert_int_equal(r->ops->read(r, 99999, 1, &arena, &out, NULL), 0);
    assert_int_equal(out[0], bytes[99999]);
    assert_int_equal(r->ops->read(r, 99999, 2, &arena, &out, NULL),
                     GREBE_CORRUPT);
    assert_int_equal(r->ops->read(r, UINT64_MAX, 2, &arena, &out, NULL),
                     GREBE_CORRUPT);
    assert_int_equal(empty->size, 0);
    assert_int_equal(empty->ops->read(empty, 0, 0, &arena, &out, NULL), 0);
    r->ops->close(r);
    empty->ops->close(empty);
    grb_arena_deinit(&arena);
    free(bytes);
}

static void a_mapped_region_shows_the_file(void **u) {
    region_checks(GREBE_STORE_MMAP, true);
}
static void a_read_region_copies_the_file(void **u) {
    region_checks(GREBE_STORE_PREAD, false);
}

static void a_region_is_read_where_no_mapping_is_left(void **u) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    print_message("skipped: sanitizers need the address space\n");
#else
    size_t size = (size_t)1 << 30;
    grb_directory *d = folder_open(base, GREBE_STORE_MMAP);
    grb_file *f = NULL;
    grb_region *r = NULL;
    grb_arena arena;
    const uint8_t *out;
    struct rlimit old, tight;
    grb_arena_init(&arena, a, 0);
    assert_int_equal(d->ops->file_open(d, "seg-1", true, true, &f, NULL), 0);
    assert_int_equal(d->ops->file_write(f, size - 4, "last", 4, NULL), 0);
    d->ops->file_close(f);
    getrlimit(RLIMIT_AS, &old);
    tight = old;
    tight.rlim_cur = (size_t)512 << 20;
    setrlimit(RLIMIT_AS, &tight);
    grebe_status status = d->ops->region_open(d, "seg-1", &r, NULL);
    setrlimit(RLIMIT_AS, &old);
    assert_int_equal(status, GREBE_OK);
    assert_null(r->bytes);
    assert_int_equal(r->ops->read(r, size - 4, 4, &arena, &out, NULL), 0);
    assert_memory_equal(out, "last", 4);
    r->ops->close(r);
    grb_arena_deinit(&arena);
    grb_directory_close(d);
#endif
}

static void a_file_cut_under_a_read_region_is_damage(void **u) {
    grb_directory *d = folder_open(base, GREBE_STORE_PREAD);
    grb_region *r = NULL;
    grb_file *f = NULL;
    grb_arena arena;
    const uint8_t *out;
    grb_arena_init(&arena, a, 0);
    file_put(d, "seg-1", "0123456789", 10);
    assert_int_equal(d->ops->region_open(d, "seg-1", &r, NULL), 0);
    assert_int_equal(d->ops->file_open(d, "seg-1", false, true, &f, NULL), 0);
    assert_int_equal(d->ops->file_truncate(f, 4, NULL), 0);
    d->ops->file_close(f);
    grebe_error err = {0};
    assert_int_equal(r->ops->read(r, 2, 6, &arena, &out, &err), GREBE_CORRUPT);
    assert_int_equal(err.offset, 4);
    r->ops->close(r);
    grb_arena_deinit(&arena);
    grb_directory_close(d);
}

static void only_the_last_component_is_made(void **u) {
    char path[200];
    grb_directory *d = NULL;
    grebe_error err = {0};
    snprintf(path, sizeof path, "%s/a/b", base);
    assert_int_equal(
        grb_directory_open_folder(a, path, GREBE_STORE_MMAP, true, &d, &err),
        GREBE_NOT_FOUND);
    snprintf(path, sizeof path, "%s/a", base);
    assert_int_equal(
        grb_directory_open_folder(a, path, GREBE_STORE_MMAP, false, &d, &err),
        GREBE_NOT_FOUND);
    grb_directory_close(folder_open(path, GREBE_STORE_MMAP));
    assert_int_equal(
        grb_directory_open_folder(a, path, GREBE_STORE_MMAP, false, &d, &err),
        GREBE_OK);
    file_put(d, "file", "", 0);
    grb_directory_close(d);
    snprintf(path, sizeof path, "%s/a/file", base);
    assert_int_equal(
        grb_directory_open_folder(a, path, GREBE_STORE_MMAP, true, &d, &err),
        GREBE_STORAGE);
    assert_int_equal(err.os_error, ENOTDIR);
}

static void a_changed_working_directory_moves_nothing(void **u) {
    char here[1024];
    assert_non_null(getcwd(here, sizeof here));
    assert_int_equal(chdir(base), 0);
    grb_directory *d = folder_open("relative", GREBE_STORE_MMAP);
    assert_int_equal(chdir("/"), 0);
    file_put(d, "x", "1", 1);
    assert_int_equal(d->ops->remove(d, "x", NULL), 0);
    grb_directory_close(d);
    assert_int_equal(chdir(here), 0);
}

static void a_second_open_in_the_process_is_locked_with_its_pid(void **u) {
    char link[100], path[100];
    snprintf(path, sizeof path, "%s/i", base);
    snprintf(link, sizeof link, "%s/link", base);
    grb_directory *d = folder_open(path, GREBE_STORE_MMAP);
    assert_int_equal(symlink(path, link), 0);
    grb_directory *same = folder_open(link, GREBE_STORE_PREAD);
    grebe_error err = {0};
    assert_int_equal(d->ops->lock(d, NULL), GREBE_OK);
    assert_int_equal(d->ops->lock_check(d, NULL), GREBE_OK);
    assert_int_equal(same->ops->lock(same, &err), GREBE_LOCKED);
    assert_int_equal(err.pid, getpid());
    assert_non_null(strstr(err.message, "already open in this process"));
    assert_int_equal(d->ops->lock(d, &err), GREBE_LOCKED);
    grb_directory_close(d);
    assert_int_equal(same->ops->lock(same, &err), GREBE_OK);
    grb_directory_close(same);
}

/* Runs `body` in a child and gives its exit code. */
static int child_run(int (*body)(void *), void *context) {
    pid_t pid = fork();
    if (pid == 0) _exit(body(context));
    int status = 0;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int child_locks(void *context) {
    grb_directory *d = NULL;
    grebe_error err = {0};
    if (grb_directory_open_folder(a, base, GREBE_STORE_MMAP, false, &d,
                                  &err) != GREBE_OK)
        return 1;
    grebe_status status = d->ops->lock(d, &err);
    if (status == GREBE_LOCKED && err.pid != getppid()) return 2;
    grb_directory_close(d);
    return status == GREBE_LOCKED ? 10 : status == GREBE_OK ? 11 : 3;
}
static int child_closes(void *context) {
    grb_directory *d = context;
    if (d->ops->lock_check(d, NULL) != GREBE_FORKED) return 1;
    grb_directory_close(d);
    return 0;
}

static void
another_process_is_told_the_owner_and_a_child_frees_nothing(void **u) {
    grb_directory *d = folder_open(base, GREBE_STORE_MMAP);
    assert_int_equal(d->ops->lock(d, NULL), GREBE_OK);
    assert_int_equal(child_run(child_locks, NULL), 10);
    assert_int_equal(child_run(child_closes, d), 0);
    assert_int_equal(child_run(child_locks, NULL), 10);
    assert_int_equal(d->ops->lock_check(d, NULL), GREBE_OK);
    d->ops->unlock(d);
    assert_int_equal(child_run(child_locks, NULL), 11);
    assert_int_equal(d->ops->lock(d, NULL), GREBE_OK); /* it went with it */
    grb_directory_close(d);
}

static void a_replaced_lock_file_is_noticed(void **u) {
    char path[100];
    snprintf(path, sizeof path, "%s/write.lock", base);
    grb_directory *d = folder_open(base, GREBE_STORE_MMAP);
    assert_int_equal(d->ops->lock(d, NULL), GREBE_OK);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(d->ops->lock_check(d, NULL), GREBE_LOCKED);
    close(open(path, O_CREAT | O_WRONLY, 0666));
    assert_int_equal(d->ops->lock_check(d, NULL), GREBE_LOCKED);
    grb_directory_close(d);
}

static void the_signal_is_shared_and_reading_makes_none(void **u) {
    char path[100];
    snprintf(path, sizeof path, "%s/signal", base);
    grb_directory *w = folder_open(base, GREBE_STORE_MMAP);
    grb_directory *r = folder_open(base, GREBE_STORE_MMAP);
    assert_null(r->ops->signal(r, false));
    assert_int_equal(access(path, F_OK), -1);
    _Atomic uint64_t *writes = w->ops->signal(w, true);
    _Atomic uint64_t *reads = r->ops->signal(r, false);
    assert_non_null(writes);
    assert_non_null(reads);
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_size, 8192);
    atomic_store(writes, 42);
    assert_int_equal(atomic_load(reads), 42);
    grb_directory_close(w);
    assert_int_equal(atomic_load(reads), 42);
    grb_directory_close(r);
}

static void an_idle_folder_holds_one_descriptor(void **u) {
    int before = fd_count();
    grb_directory *d = folder_open(base, GREBE_STORE_MMAP);
    grb_region *r = NULL;
    assert_int_equal(fd_count(), before);
    assert_int_equal(d->ops->lock(d, NULL), GREBE_OK);
    d->ops->signal(d, true);
    file_put(d, "seg-1", "1", 1);
    assert_int_equal(d->ops->region_open(d, "seg-1", &r, NULL), 0);
    assert_int_equal(fd_count(), before + 1);
    r->ops->close(r);
    grb_directory_close(d);
    assert_int_equal(fd_count(), before);
}

static int child_without_stdio(void *context) {
    for (int fd = 0; fd < 3; fd++) close(fd);
    grb_directory *d = NULL;
    grb_file *f = NULL;
    if (grb_directory_open_folder(a, base, GREBE_STORE_MMAP, true, &d, NULL) !=
        GREBE_OK)
        return 1;
    if (d->ops->lock(d, NULL) != GREBE_OK) return 2;
    if (d->ops->file_open(d, "x", true, true, &f, NULL) != GREBE_OK) return 3;
    if (write(1, "damage", 6) >= 0 || write(2, "damage", 6) >= 0) return 4;
    d->ops->file_close(f);
    grb_directory_close(d);
    return 0;
}
static void closed_standard_descriptors_are_never_taken(void **u) {
    assert_int_equal(child_run(child_without_stdio, NULL), 0);
}

static int child_as_nobody(void *context) {
    grb_directory *d = NULL;
    grb_file *f = NULL;
    grebe_error err = {0};
    if (getuid() == 0 && setuid(65534) != 0) return 9;
    if (grb_directory_open_folder(a, base, GREBE_STORE_MMAP, false, &d,
                                  &err) != GREBE_OK)
        return 1;
    if (d->ops->lock(d, &err) != GREBE_READ_ONLY) return 2;
    if (d->ops->file_open(d, "x", false, true, &f, &err) != GREBE_READ_ONLY)
        return 3;
    if (err.os_error != EACCES || strcmp(err.file, "x") != 0) return 4;
    if (d->ops->file_open(d, "y", true, true, &f, &err) != GREBE_READ_ONLY)
        return 5;
    if (d->ops->remove(d, "x", &err) != GREBE_READ_ONLY) return 6;
    if (d->ops->file_open(d, "x", false, false, &f, &err) != GREBE_OK)
        return 7;
    d->ops->file_close(f);
    grb_directory_close(d);
    return 0;
}
static void a_read_only_folder_can_be_read_and_says_so_otherwise(void **u) {
    grb_directory *d = folder_open(base, GREBE_STORE_MMAP);
    file_put(d, "x", "1", 1);
    grb_directory_close(d);
    chmod(base, 0555);
    char path[100];
    snprintf(path, sizeof path, "%s/x", base);
    chmod(path, 0444);
    assert_int_equal(child_run(child_as_nobody, NULL), 0);
}

static void names_counter(void *context, const char *name) {
    if (name[0] == 'f') ++*(int *)context;
}
static void listing_gives_every_name_once(void **u) {
    grb_directory *d = folder_open(base, GREBE_STORE_MMAP);
    int n = 0;
    for (int i = 0; i < 40; i++) {
        char name[16];
        snprintf(name, sizeof name, "f%d", i);
        file_put(d, name, "", 0);
    }
    assert_int_equal(d->ops->list(d, names_counter, &n, NULL), 0);
    assert_int_equal(n, 40);
    char longest[80];
    grb_file *f = NULL;
    memset(longest, 'f', 64);
    longest[64] = 0;
    assert_int_equal(d->ops->file_open(d, longest, true, true, &f, NULL),
                     GREBE_LIMIT);
    longest[63] = 0;
    file_put(d, longest, "", 0);
    grb_directory_close(d);
}

/* An allocator that refuses its n-th request. */
typedef struct refusing {
    int left;
} refusing;
static void *refusing_resize(void *context, void *block, size_t old_size,
                             size_t new_size) {
    refusing *r = context;
    if (new_size > old_size && r->left-- == 0) return NULL;
    return grb_allocator_malloc.resize(NULL, block, old_size, new_size);
}
static void a_refused_allocation_leaves_no_descriptor(void **u) {
    int before = fd_count();
    grb_directory_close(folder_open(base, GREBE_STORE_MMAP));
    for (int n = 0; n < 6; n++) {
        refusing r = {n};
        grebe_allocator hook = {refusing_resize, &r};
        grb_directory *d = NULL;
        grb_file *f = NULL;
        grb_region *region = NULL;
        if (grb_directory_open_folder(&hook, base, GREBE_STORE_PREAD, false,
                                      &d, NULL) != GREBE_OK)
            continue;
        if (d->ops->file_open(d, "x", n == 1, true, &f, NULL) == GREBE_OK)
            d->ops->file_close(f);
        if (d->ops->region_open(d, "x", &region, NULL) == GREBE_OK)
            region->ops->close(region);
        grb_directory_close(d);
    }
    assert_int_equal(fd_count(), before);
}

#define TEST(name) \
    cmocka_unit_test_setup_teardown(name, folder_make, folder_drop)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(what_is_written_is_read_back),
        TEST(syncs_are_counted_and_can_be_off),
        TEST(a_mapped_region_shows_the_file),
        TEST(a_read_region_copies_the_file),
        TEST(a_region_is_read_where_no_mapping_is_left),
        TEST(a_file_cut_under_a_read_region_is_damage),
        TEST(only_the_last_component_is_made),
        TEST(a_changed_working_directory_moves_nothing),
        TEST(a_second_open_in_the_process_is_locked_with_its_pid),
        TEST(another_process_is_told_the_owner_and_a_child_frees_nothing),
        TEST(a_replaced_lock_file_is_noticed),
        TEST(the_signal_is_shared_and_reading_makes_none),
        TEST(an_idle_folder_holds_one_descriptor),
        TEST(closed_standard_descriptors_are_never_taken),
        TEST(a_read_only_folder_can_be_read_and_says_so_otherwise),
        TEST(listing_gives_every_name_once),
        TEST(a_refused_allocation_leaves_no_descriptor),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
