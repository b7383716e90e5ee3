/* commit/loader.c - bulk loading on several threads.
 *
 * The caller's thread cuts its documents into parts, workers make a private
 * segment of each, and the caller's thread takes the segments in, in the order
 * of the documents. Workers then write them to files, and merge files, while
 * the caller goes on: everything that needs the writer's mutex is done by the
 * caller's thread, so that a batch, a poisoned writer and going back mean what
 * they mean for one document.
 *
 * Memory: with t threads at most t segments are built or not yet frozen, and
 * parts of documents wait for t + 2 of them. A segment gets
 * 4 memory_max / (5 t + 2), a part a quarter of that or less, by how much
 * memory segments took a byte of documents before. A segment that is full
 * before its part ends leaves the rest as a part of its own.
 *
 * Invariant: parts are taken in, and their files put into the list, in order.
 * A load that fits one part starts no thread and goes to the log.
 * Threads: one caller; the workers are the loader's own, end with
 * grb_loader_finish, and take no signals.
 * Owns: workers and parts.
 */
#include <signal.h>

#include "commit/loader.h"

#define RATIO_FIRST 8u /* bytes of a segment for one of documents, a guess */
#define RATIO_MIN 4u
#define SEGMENT_MIN (64u << 10)
#define SINGLE_DOCUMENTS 64u /* of a part, where there is one thread */

enum { PART_WAITS, PART_RUNS, PART_DONE };

/* A part or a join on its way through the workers. */
typedef struct job {
    struct job *next;
    int state;
    grb_part *part;
    grb_join *join; /* freeze or merge; a part's after it was taken in */
    grebe_status status;
    grebe_error error;
} job;

typedef struct jobs {
    job *first, **end;
} jobs;

struct grb_loader {
    grb_writer *writer;
    uint32_t threads;
    grb_part_rules rules;
    uint64_t docs_max; /* of a part */
    uint64_t ratio;

    pthread_mutex_t mutex; /* states of jobs, `ending` */
    pthread_cond_t work, done;
    pthread_t workers[GRB_LOADER_THREADS_MAX];
    uint32_t worker_count;
    bool ending;
    bool finishing; /* a segment is between two lists */
    _Atomic bool stop;

    /* The lists change under the mutex, but by the caller's thread alone. */
    jobs building;    /* parts, in order */
    jobs freezing;    /* joins of parts taken in, in order */
    job *merging;     /* at most one */
    bool merges_over; /* one failed: no more in this load */

    /* The caller's. */
    grb_part *filling;
    jobs refused; /* parts with refused documents, in order */
    uint32_t refused_at;
    uint64_t position, added;
    grebe_status failed;
    grebe_error error;
};

/* ---- jobs ---- */

static void jobs_push(jobs *list, job *j) {
    j->next = NULL;
    *list->end = j;
    list->end = &j->next;
}

static job *jobs_pop(jobs *list) {
    job *j = list->first;
    list->first = j->next;
    if (!list->first) list->end = &list->first;
    return j;
}

static job *jobs_waiting(const jobs *list) {
    job *j = list->first;
    while (j && j->state != PART_WAITS) j = j->next;
    return j;
}

/* Segments that are built, or not frozen yet. */
static uint32_t segments_held(const grb_loader *l) {
    uint32_t held = l->finishing;
    for (const job *j = l->building.first; j; j = j->next)
        held += j->state != PART_WAITS;
    for (const job *j = l->freezing.first; j; j = j->next) held++;
    return held;
}

static grebe_status job_new(grb_loader *l, grb_part *part, grb_join *join,
                            job **out, grebe_error *err) {
    *out = grb_alloc_zero(l->writer->allocator, sizeof **out);
    if (!*out) return grb_error_memory(err, sizeof **out);
    (*out)->part = part;
    (*out)->join = join;
    return GREBE_OK;
}

static void job_free(grb_loader *l, job *j) {
    if (!j) return;
    grb_part_free(j->part);
    grb_free(l->writer->allocator, j, sizeof *j);
}

/* ---- workers ---- */

/* Freezing gives memory back, merging makes freezing worth it: in that order,
 * then new segments while there is memory for one more. */
static job *job_choose(const grb_loader *l) {
    job *j = jobs_waiting(&l->freezing);
    if (!j && l->merging && l->merging->state == PART_WAITS) j = l->merging;
    if (!j && segments_held(l) < l->threads) j = jobs_waiting(&l->building);
    return j;
}

static void *worker_run(void *argument) {
    grb_loader *l = argument;
    grb_builder builder = {0};
    pthread_mutex_lock(&l->mutex);
    for (;;) {
        job *j = job_choose(l);
        if (!j && l->ending) break;
        if (!j) {
            pthread_cond_wait(&l->work, &l->mutex);
            continue;
        }
        j->state = PART_RUNS;
        pthread_cond_signal(&l->done); /* one part less waits */
        pthread_mutex_unlock(&l->mutex);
        if (j->join)
            j->status = grb_join_write(j->join, &j->error);
        else
            j->status =
                grb_part_build(j->part, &l->rules, &builder, &j->error);
        pthread_mutex_lock(&l->mutex);
        j->state = PART_DONE;
        pthread_cond_signal(&l->done);
    }
    pthread_mutex_unlock(&l->mutex);
    grb_builder_end(&builder);
    return NULL;
}

/* False: the system starts none. Fewer than wished for are good. */
static bool workers_start(grb_loader *l) {
    sigset_t all, before;
    if (l->worker_count) return true;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    while (l->worker_count < l->threads &&
           pthread_create(&l->workers[l->worker_count], NULL, worker_run, l) ==
               0)
        l->worker_count++;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return l->worker_count > 0;
}

static void workers_end(grb_loader *l) {
    pthread_mutex_lock(&l->mutex);
    l->ending = true;
    pthread_cond_broadcast(&l->work);
    pthread_mutex_unlock(&l->mutex);
    while (l->worker_count) pthread_join(l->workers[--l->worker_count], NULL);
    l->ending = false;
}

/* Hands a job to the workers. */
static void job_give(grb_loader *l, jobs *list, job *j) {
    pthread_mutex_lock(&l->mutex);
    if (list)
        jobs_push(list, j);
    else
        l->merging = j;
    pthread_cond_signal(&l->work);
    pthread_mutex_unlock(&l->mutex);
}

/* ---- the caller's part of the work ---- */

/* The first failure counts. Workers hurry to their end; what was not taken in
 * is dropped. */
static void fail(grb_loader *l, grebe_status status,
                 const grebe_error *error) {
    if (status == GREBE_OK || l->failed != GREBE_OK) return;
    l->failed = status;
    l->error = *error;
    atomic_store_explicit(&l->stop, true, memory_order_relaxed);
}

/* What is left of a part whose segment is full becomes the next part. */
static grebe_status rest_split(grb_loader *l, const grb_part *part,
                               grebe_error *err) {
    grebe_status status = GREBE_OK;
    grb_part *rest;
    job *j;
    if (part->done == part->count) return GREBE_OK;
    GRB_TRY(grb_part_rest(part, &rest, err));
    status = job_new(l, rest, NULL, &j, err);
    if (status != GREBE_OK) {
        grb_part_free(rest);
        goto done;
    }
    pthread_mutex_lock(&l->mutex);
    j->next = l->building.first;
    l->building.first = j;
    if (!j->next) l->building.end = &j->next;
    pthread_cond_signal(&l->work);
    pthread_mutex_unlock(&l->mutex);
done:
    return status;
}

/* Bytes of a segment for one of documents, from what came of the last part. */
static void ratio_learn(grb_loader *l, const grb_part *part) {
    if (!part->segment || part->done == 0) return;
    uint64_t held = part->arena.size * part->done / part->count + 1;
    l->ratio = GRB_MAX(grb_memseg_bytes(part->segment) / held + 1, RATIO_MIN);
}

/* Takes the part in and begins its freeze, under the writer's mutex. */
static grebe_status part_enter(grb_loader *l, grb_part *part, grb_join **join,
                               grebe_error *err) {
    grb_writer *w = l->writer;
    grebe_status status = grb_writer_enter(w, err);
    if (status != GREBE_OK) return status;
    GRB_TRY(grb_part_take_in(part, l->rules.overwrite, err));
    l->added += part->docs;
    if (part->docs) status = grb_freeze_begin(w, join, err);
done:
    grb_writer_leave(w);
    return status;
}

/* A finished part is kept for what it refused. */
static void refused_keep(grb_loader *l, job *j, bool good) {
    if (good && j->part->refused_count)
        jobs_push(&l->refused, j);
    else
        job_free(l, j);
}

/* The first part is built: it goes into the index. */
static void part_finish(grb_loader *l, job *j) {
    grebe_error error;
    grb_join *join = NULL;
    grb_part *part = j->part;
    job *freeze = NULL;
    grebe_status status = GREBE_OK;
    bool good = l->failed == GREBE_OK;
    ratio_learn(l, part);
    if (j->status == GREBE_OK && good) status = rest_split(l, part, &error);
    if (good) {
        grebe_error entering;
        grebe_status entered = job_new(l, NULL, NULL, &freeze, &entering);
        if (entered == GREBE_OK)
            entered = part_enter(l, part, &join, &entering);
        fail(l, entered, &entering);
    }
    fail(l, j->status, &j->error);
    fail(l, status, &error);
    grb_part_empty(part);
    if (join) {
        freeze->join = join;
        job_give(l, &l->freezing, freeze);
    } else {
        job_free(l, freeze);
    }
    refused_keep(l, j, good);
}

/* Begins the next merge if one is due. */
static void merge_next(grb_loader *l) {
    grb_writer *w = l->writer;
    grb_join *join = NULL;
    grebe_error error;
    job *j = NULL;
    if (l->merging || l->merges_over || l->failed != GREBE_OK) return;
    grebe_status status = grb_writer_enter(w, &error);
    if (status == GREBE_OK) {
        status = job_new(l, NULL, NULL, &j, &error);
        if (status == GREBE_OK) status = grb_merge_begin(w, &join, &error);
        grb_writer_leave(w);
    }
    l->merges_over = status != GREBE_OK; /* nothing is lost but the merge */
    if (join) {
        j->join = join;
        job_give(l, NULL, j);
    } else {
        job_free(l, j);
    }
}

/* A file is written: it takes the place of its sources. The writer is entered
 * without its checks, since a join has to go whatever became of it. */
static void join_finish(grb_loader *l, job *j) {
    grb_writer *w = l->writer;
    grebe_error error = j->error;
    bool merge = grb_join_drops(j->join);
    pthread_mutex_lock(&w->mutex);
    uint64_t failures = w->stats.failures;
    grebe_status status = grb_maintain_end(w, j->join, j->status, &error);
    if (merge) l->merges_over |= w->stats.failures != failures;
    pthread_mutex_unlock(&w->mutex);
    fail(l, status, &error);
    job_free(l, j);
    merge_next(l);
}

/* Takes one finished job off the lists; NULL: none is finished. */
static job *job_finished(grb_loader *l) {
    job *j = NULL;
    if (l->freezing.first && l->freezing.first->state == PART_DONE) {
        j = jobs_pop(&l->freezing);
    } else if (l->building.first && l->building.first->state == PART_DONE) {
        j = jobs_pop(&l->building);
    } else if (l->merging && l->merging->state == PART_DONE) {
        j = l->merging;
        l->merging = NULL;
    }
    return j;
}

/* Parts that wait for a worker. */
static uint32_t parts_waiting(const grb_loader *l) {
    uint32_t waiting = 0;
    for (const job *j = l->building.first; j; j = j->next)
        waiting += j->state == PART_WAITS;
    return waiting;
}

static bool all_done(const grb_loader *l) {
    return !l->building.first && !l->freezing.first && !l->merging;
}

/* Finishes what is finished; waits until at most `most` parts wait, or, with
 * `all`, until there is nothing left. */
static void serve(grb_loader *l, uint32_t most, bool all) {
    pthread_mutex_lock(&l->mutex);
    for (;;) {
        job *j = job_finished(l);
        if (j) {
            l->finishing = true;
            pthread_mutex_unlock(&l->mutex);
            if (j->part)
                part_finish(l, j);
            else
                join_finish(l, j);
            pthread_mutex_lock(&l->mutex);
            l->finishing = false;
            pthread_cond_broadcast(&l->work); /* there is memory again */
        } else if (all ? all_done(l) : parts_waiting(l) <= most) {
            break;
        } else {
            pthread_cond_wait(&l->done, &l->mutex);
        }
    }
    pthread_mutex_unlock(&l->mutex);
}

/* ---- adding ---- */

static bool part_full(const grb_loader *l) {
    if (l->threads == 1 && l->filling->count == SINGLE_DOCUMENTS) return true;
    return l->filling->arena.size >= l->rules.bytes_max / l->ratio ||
           l->filling->count >= l->docs_max;
}

static grebe_status filling_begin(grb_loader *l, grebe_error *err) {
    grb_writer *w = l->writer;
    grebe_status status = grb_writer_enter(w, err);
    if (status != GREBE_OK) return status;
    status = grb_part_new(w, w->schema, l->position, &l->filling, err);
    grb_writer_leave(w);
    return status;
}

/* The part that was filled goes to the workers, or, where `singly`, straight
 * into the index. */
static grebe_status filling_end(grb_loader *l, bool singly, grebe_error *err) {
    grebe_status status = GREBE_OK;
    job *j;
    if (!l->filling) return GREBE_OK;
    GRB_TRY(job_new(l, l->filling, NULL, &j, err));
    if (singly || !workers_start(l)) {
        status = grb_part_add_singly(l->filling, l->rules.overwrite, &l->added,
                                     err);
        grb_part_empty(l->filling);
        l->filling = NULL;
        refused_keep(l, j, true);
        goto done;
    }
    l->filling = NULL;
    job_give(l, &l->building, j);
    serve(l, 1, false);
done:
    return status;
}

/* What happened before, or now. */
static grebe_status failed_report(grb_loader *l, grebe_error *err) {
    if (l->failed != GREBE_OK && err) *err = l->error;
    return l->failed;
}

grebe_status grb_loader_add(grb_loader *l, const grebe_document *document,
                            grebe_error *err) {
    grebe_status status;
    grebe_error error;
    if (l->failed != GREBE_OK) return failed_report(l, err);
    if (!l->filling) GRB_TRY(filling_begin(l, &error));
    GRB_TRY(grb_part_add(l->filling, document, &error));
    l->position++;
    if (part_full(l)) status = filling_end(l, l->threads == 1, &error);
done:
    fail(l, status, &error);
    return failed_report(l, err);
}

grebe_status grb_loader_finish(grb_loader *l, uint64_t *added,
                               grebe_error *err) {
    grebe_error error;
    if (l->failed == GREBE_OK)
        fail(l, filling_end(l, l->worker_count == 0, &error), &error);
    if (l->worker_count) {
        serve(l, 0, true);
        workers_end(l);
    }
    *added = l->added;
    return failed_report(l, err);
}

bool grb_loader_refused(grb_loader *l, uint64_t *position,
                        grebe_document **document, grebe_error *out) {
    if (!l->refused.first) return false;
    grb_part *part = l->refused.first->part;
    grb_refused *refused = &part->refused[l->refused_at++];
    *position = refused->position;
    *out = refused->error;
    *document = refused->document;
    refused->document = NULL;
    if (l->refused_at == part->refused_count) {
        job_free(l, jobs_pop(&l->refused));
        l->refused_at = 0;
    }
    return true;
}

/* ---- life ---- */

/* Each thread gets its share of what the index may hold. Deterministic
 * indexes, where the order of events must not matter, and limits too small to
 * be shared have one thread. */
static void limits_set(grb_loader *l, uint32_t threads) {
    const grebe_open_options *o = &l->writer->options;
    uint64_t most = o->memory_max / (5 * SEGMENT_MIN / 4);
    if (most == 0 || o->deterministic) most = 1;
    l->threads = (uint32_t)GRB_MIN(threads, most);
    l->rules.bytes_max =
        GRB_MAX(4 * o->memory_max / (5 * l->threads + 2), SEGMENT_MIN);
    l->docs_max = GRB_MAX(o->docs_max / l->threads, 1u);
}

grebe_status grb_loader_new(grb_writer *w, uint32_t threads, bool overwrite,
                            grb_loader **out, grebe_error *err) {
    grb_loader *l = grb_alloc_zero(w->allocator, sizeof *l);
    if (!l) return grb_error_memory(err, sizeof *l);
    l->writer = grb_writer_acquire(w);
    l->rules.overwrite = overwrite;
    l->rules.stop = &l->stop;
    l->ratio = RATIO_FIRST;
    limits_set(l, threads);
    l->building.end = &l->building.first;
    l->freezing.end = &l->freezing.first;
    l->refused.end = &l->refused.first;
    pthread_mutex_init(&l->mutex, NULL);
    pthread_cond_init(&l->work, NULL);
    pthread_cond_init(&l->done, NULL);
    *out = l;
    return GREBE_OK;
}

void grb_loader_free(grb_loader *l) {
    static const grebe_error dropped;
    if (!l) return;
    fail(l, GREBE_CANCELLED, &dropped);
    if (l->worker_count) {
        serve(l, 0, true);
        workers_end(l);
    }
    const grebe_allocator *a = l->writer->allocator;
    while (l->refused.first) job_free(l, jobs_pop(&l->refused));
    grb_part_free(l->filling);
    pthread_cond_destroy(&l->done);
    pthread_cond_destroy(&l->work);
    pthread_mutex_destroy(&l->mutex);
    grb_writer_release(l->writer);
    grb_free(a, l, sizeof *l);
}
