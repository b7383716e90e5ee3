/* rooms: base store doc commit */
/* Writers that are killed, and readers beside them, on a real folder. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "commit/durable.h"

#define KILLS 40
#define COMMITS_MAX 200000

/* After commit n the content is folds[n]. */
static uint64_t folds[COMMITS_MAX + 1];
static char path[] = "/tmp/grebe-process-XXXXXX";
static grebe_schema *schema;

static uint64_t fold(uint64_t content, uint64_t n) {
    return grb_hash(&n, sizeof n, content);
}

static grebe_status seen_add(void *context, grb_cursor *doc, bool overwrite,
                             grebe_error *err) {
    uint64_t *seen = context;
    seen[0] = fold(seen[0], grb_cursor_u64(doc));
    return GREBE_OK;
}
static grebe_status seen_commit(void *context, uint64_t number,
                                grebe_error *err) {
    ((uint64_t *)context)[1] = number;
    return GREBE_OK;
}

/* `seen` gets content and number. */
static grebe_status index_open(grb_directory *dir, bool writable,
                               grb_durable **out, uint64_t seen[2],
                               grebe_error *err) {
    grb_replay replay = {
        .context = seen, .add = seen_add, .commit = seen_commit};
    grebe_status status = grb_durable_open(dir, writable, out, err);
    if (status != GREBE_OK) return status;
    seen[0] = grb_durable_state(*out)->next_sequence;
    seen[1] = grb_durable_state(*out)->number;
    status = grb_durable_replay(*out, &replay, err);
    if (status != GREBE_OK) grb_durable_close(*out);
    return status;
}

static grb_directory *folder_open(void) {
    grb_directory *dir = NULL;
    assert_int_equal(grb_directory_open_folder(&grb_allocator_malloc, path,
                                               GREBE_STORE_MMAP, true, &dir,
                                               NULL),
                     GREBE_OK);
    return dir;
}

/* Commits until it is killed; tells each commit that returned. */
static int writer_run(int out) {
    grb_directory *dir = folder_open();
    grb_durable *d = NULL;
    uint64_t seen[2];
    grebe_error err = {0};
    if (dir->ops->lock(dir, &err) != GREBE_OK) return 2;
    if (index_open(dir, true, &d, seen, &err) != GREBE_OK) return 3;
    if (seen[0] != folds[seen[1]]) return 4;
    for (uint64_t n = seen[1] + 1; n < COMMITS_MAX; n++) {
        grebe_status status;
        if (n % 37 == 0) {
            grb_state state = {.number = n,
                               .next_sequence = folds[n],
                               .unique = true,
                               .schema = schema};
            status = grb_durable_checkpoint(d, &state, NULL, 0, &err);
        } else {
            grb_buf r;
            grb_buf_init(&r, &grb_allocator_malloc, 0);
            grb_record_add(&r, (const uint8_t *)&n, sizeof n, true);
            status = grb_durable_append(d, n, r.bytes, r.size, &err);
            grb_buf_deinit(&r);
        }
        if (status != GREBE_OK) return 5;
        if (write(out, &n, sizeof n) != sizeof n) return 6;
    }
    return 7;
}

static void told_read(int in, uint64_t *told) {
    uint64_t n;
    while (read(in, &n, sizeof n) == sizeof n) *told = n;
}

/* A reader gets all that was told before it began, or has to start over. */
static uint64_t reader_look(uint64_t told) {
    grb_directory *dir = folder_open();
    grb_durable *d = NULL;
    uint64_t seen[2];
    grebe_error err = {0};
    grebe_status status;
    do status = index_open(dir, false, &d, seen, &err);
    while (status == GREBE_CONFLICT);
    if (status != GREBE_OK)
        print_error("%s (%s at %lld)\n", err.message, err.file,
                    (long long)err.offset);
    assert_int_equal(status, GREBE_OK);
    assert_true(seen[1] >= told);
    assert_int_equal(seen[0], folds[seen[1]]);
    grb_durable_close(d);
    grb_directory_close(dir);
    return seen[1];
}

static void killed_writers_lose_nothing_and_readers_see_no_damage(void **u) {
    uint64_t told = 0, looks = 0, before = 0;
    unsigned seed = 1;
    grb_state state = {.unique = true, .schema = schema};
    grb_directory *dir = folder_open();
    grb_durable *d = NULL;
    assert_int_equal(grb_durable_create(dir, &state, &d, NULL), GREBE_OK);
    grb_durable_close(d);
    grb_directory_close(dir);
    for (int i = 0; i < KILLS; i++) {
        int ends[2];
        assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
        pid_t pid = fork();
        if (pid == 0) _exit(writer_run(ends[1]));
        close(ends[1]);
        fcntl(ends[0], F_SETFL, O_NONBLOCK);
        uint64_t until = grb_clock_ns() + 5000000 + rand_r(&seed) % 40000000;
        while (grb_clock_ns() < until) {
            told_read(ends[0], &told);
            uint64_t seen = reader_look(told);
            assert_true(seen >= before);
            before = seen;
            looks++;
        }
        int status;
        kill(pid, SIGKILL);
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(WIFSIGNALED(status));
        told_read(ends[0], &told);
        close(ends[0]);
        before = reader_look(told);
    }
    print_message("%d kills, %llu commits, %llu looks\n", KILLS,
                  (unsigned long long)told, (unsigned long long)looks);
    assert_true(told > KILLS / 2);
}

static int setup(void **u) {
    for (uint64_t n = 1; n <= COMMITS_MAX; n++)
        folds[n] = n % 37 == 0 ? folds[n - 1] : fold(folds[n - 1], n);
    return mkdtemp(path) == NULL ||
           grb_schema_new(&grb_allocator_malloc, &schema, NULL) != GREBE_OK;
}
static int teardown(void **u) {
    char command[64];
    grb_schema_release(schema);
    snprintf(command, sizeof command, "rm -rf %s", path);
    return system(command);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            killed_writers_lose_nothing_and_readers_see_no_damage),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
