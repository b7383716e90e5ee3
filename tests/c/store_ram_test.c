/* rooms: base store */
/* The directory in memory: same rules as a folder, bytes shared safely. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>
#include <pthread.h>
#include <unistd.h>

#include "store/store.h"

static grb_directory *ram_open(void) {
    grb_directory *d = NULL;
    assert_int_equal(grb_directory_open_ram(&grb_allocator_malloc, &d, NULL),
                     GREBE_OK);
    return d;
}

static grb_file *file_make(grb_directory *d, const char *name) {
    grb_file *f = NULL;
    assert_int_equal(d->ops->file_open(d, name, true, true, &f, NULL), 0);
    return f;
}

static void files_live_as_long_as_the_directory(void **u) {
    grb_directory *d = ram_open();
    grb_file *f = file_make(d, "x");
    size_t got;
    char out[8];
    assert_int_equal(d->ops->file_write(f, 3, "abc", 3, NULL), 0);
    d->ops->file_close(f);
    assert_int_equal(d->ops->file_open(d, "x", false, false, &f, NULL), 0);
    assert_int_equal(d->ops->file_read(f, 0, out, 8, &got, NULL), 0);
    assert_int_equal(got, 6);
    assert_memory_equal(out, "\0\0\0abc", 6);
    assert_int_equal(d->ops->remove(d, "x", NULL), 0);
    /* An open handle outlives the name. */
    assert_int_equal(d->ops->file_read(f, 3, out, 8, &got, NULL), 0);
    assert_int_equal(got, 3);
    d->ops->file_close(f);
    assert_int_equal(d->ops->file_open(d, "x", false, false, &f, NULL),
                     GREBE_NOT_FOUND);
    grb_directory_close(d);
}

static void a_cut_file_is_zero_when_it_grows_again(void **u) {
    grb_directory *d = ram_open();
    grb_file *f = file_make(d, "x");
    size_t got;
    char out[8];
    assert_int_equal(d->ops->file_write(f, 0, "abcdef", 6, NULL), 0);
    assert_int_equal(d->ops->file_truncate(f, 2, NULL), 0);
    assert_int_equal(d->ops->file_truncate(f, 5, NULL), 0);
    assert_int_equal(d->ops->file_read(f, 0, out, 8, &got, NULL), 0);
    assert_int_equal(got, 5);
    assert_memory_equal(out, "ab\0\0\0", 5);
    d->ops->file_close(f);
    grb_directory_close(d);
}

static void a_region_never_changes_and_outlives_the_directory(void **u) {
    grb_directory *d = ram_open();
    grb_file *f = file_make(d, "seg-1");
    grb_region *r = NULL;
    const uint8_t *out;
    assert_int_equal(d->ops->file_write(f, 0, "first", 5, NULL), 0);
    assert_int_equal(d->ops->region_open(d, "seg-1", &r, NULL), 0);
    assert_int_equal(d->ops->file_write(f, 0, "other and more", 14, NULL), 0);
    d->ops->file_close(f);
    grb_directory_close(d);
    assert_int_equal(r->size, 5);
    assert_int_equal(r->ops->read(r, 0, 5, NULL, &out, NULL), 0);
    assert_memory_equal(out, "first", 5);
    assert_int_equal(r->ops->read(r, 1, 5, NULL, &out, NULL), GREBE_CORRUPT);
    r->ops->close(r);
}

static void a_rename_replaces_its_target(void **u) {
    grb_directory *d = ram_open();
    grb_file *f = file_make(d, "a"), *g = file_make(d, "b");
    uint64_t size;
    assert_int_equal(d->ops->file_write(f, 0, "1", 1, NULL), 0);
    d->ops->file_close(f);
    assert_int_equal(d->ops->rename(d, "a", "b", NULL), 0);
    assert_int_equal(d->ops->rename(d, "b", "b", NULL), 0);
    assert_int_equal(d->ops->file_size(g, &size, NULL), 0);
    assert_int_equal(size, 0); /* the old file, by its handle */
    d->ops->file_close(g);
    assert_int_equal(d->ops->file_open(d, "b", false, true, &f, NULL), 0);
    assert_int_equal(d->ops->file_size(f, &size, NULL), 0);
    assert_int_equal(size, 1);
    d->ops->file_close(f);
    assert_int_equal(d->ops->rename(d, "a", "c", NULL), GREBE_NOT_FOUND);
    grb_directory_close(d);
}

static void the_lock_is_one_and_names_this_process(void **u) {
    grb_directory *d = ram_open();
    grebe_error err = {0};
    assert_int_equal(d->ops->lock_check(d, NULL), GREBE_STATE);
    assert_int_equal(d->ops->lock(d, NULL), GREBE_OK);
    assert_int_equal(d->ops->lock(d, &err), GREBE_LOCKED);
    assert_int_equal(err.pid, getpid());
    d->ops->unlock(d);
    assert_int_equal(d->ops->lock(d, NULL), GREBE_OK);
    grb_directory_close(d);
}

/* The visitor may remove what it is shown. */
static void remover(void *context, const char *name) {
    grb_directory *d = context;
    assert_int_equal(d->ops->remove(d, name, NULL), GREBE_OK);
}
static void a_listing_may_remove(void **u) {
    grb_directory *d = ram_open();
    for (int i = 0; i < 20; i++) {
        char name[16];
        snprintf(name, sizeof name, "f%d", i);
        grb_file *f = file_make(d, name);
        d->ops->file_close(f);
    }
    assert_int_equal(d->ops->list(d, remover, d, NULL), GREBE_OK);
    grb_file *f = file_make(d, "f0");
    d->ops->file_close(f);
    grb_directory_close(d);
}

typedef struct shared {
    grb_directory *d;
    int id;
} shared;
static void *thread_work(void *context) {
    shared *s = context;
    grb_directory *d = s->d;
    char name[16];
    snprintf(name, sizeof name, "t%d", s->id);
    for (int i = 0; i < 500; i++) {
        grb_file *f = NULL;
        grb_region *r = NULL;
        if (d->ops->file_open(d, name, true, true, &f, NULL)) return "open";
        if (d->ops->file_write(f, 0, &i, sizeof i, NULL)) return "write";
        if (d->ops->region_open(d, name, &r, NULL)) return "region";
        if (d->ops->file_write(f, 4000, &i, sizeof i, NULL)) return "write";
        if (memcmp(r->bytes, &i, sizeof i) != 0) return "bytes";
        r->ops->close(r);
        d->ops->file_close(f);
        if (d->ops->remove(d, name, NULL)) return "remove";
    }
    return NULL;
}
static void threads_do_not_meet(void **u) {
    grb_directory *d = ram_open();
    pthread_t threads[4];
    shared s[4];
    for (int i = 0; i < 4; i++) {
        s[i] = (shared){d, i};
        pthread_create(&threads[i], NULL, thread_work, &s[i]);
    }
    for (int i = 0; i < 4; i++) {
        void *problem = NULL;
        pthread_join(threads[i], &problem);
        assert_null(problem);
    }
    grb_directory_close(d);
}

static void *refusing_resize(void *context, void *block, size_t old_size,
                             size_t new_size) {
    int *left = context;
    if (new_size > old_size && (*left)-- == 0) return NULL;
    return grb_allocator_malloc.resize(NULL, block, old_size, new_size);
}
static void every_allocation_may_be_refused(void **u) {
    for (int n = 0; n < 8; n++) {
        int left = n;
        grebe_allocator hook = {refusing_resize, &left};
        grb_directory *d = NULL;
        grb_file *f = NULL;
        grb_region *r = NULL;
        if (grb_directory_open_ram(&hook, &d, NULL) != GREBE_OK) continue;
        if (d->ops->file_open(d, "x", true, true, &f, NULL) == GREBE_OK) {
            grebe_status status = d->ops->file_write(f, 0, "abc", 3, NULL);
            uint64_t size = 0;
            d->ops->file_size(f, &size, NULL);
            assert_int_equal(size, status == GREBE_OK ? 3 : 0);
            if (d->ops->region_open(d, "x", &r, NULL) == GREBE_OK) {
                (void)d->ops->file_write(f, 1, "d", 1, NULL);
                r->ops->close(r);
            }
            d->ops->file_close(f);
        }
        grb_directory_close(d);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_live_as_long_as_the_directory),
        cmocka_unit_test(a_cut_file_is_zero_when_it_grows_again),
        cmocka_unit_test(a_region_never_changes_and_outlives_the_directory),
        cmocka_unit_test(a_rename_replaces_its_target),
        cmocka_unit_test(the_lock_is_one_and_names_this_process),
        cmocka_unit_test(a_listing_may_remove),
        cmocka_unit_test(threads_do_not_meet),
        cmocka_unit_test(every_allocation_may_be_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
