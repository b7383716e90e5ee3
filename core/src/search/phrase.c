/* search/phrase.c - exact and sloppy phrases over lists of positions.
 *
 * Exact: the possible starts of the phrase are cut down slot by slot. Sloppy:
 * Lucene's walk over the slots, in which the slot that lags behind moves on
 * until it is not the last any more; a value is a position less the slot's
 * place, so that all slots of an exact match have the same value.
 *
 * Invariant: no list of positions is read beyond its count.
 * Threads: one search.
 * Owns: nothing.
 */
#include "search/phrase.h"

uint32_t grb_phrase_keep(uint32_t *starts, uint32_t count,
                         const grb_phrase_line *line) {
    uint32_t kept = 0, at = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t wanted = starts[i] + line->place;
        while (at < line->count && line->positions[at] < wanted) at++;
        if (at == line->count) break;
        if (line->positions[at] == wanted) starts[kept++] = starts[i];
    }
    return kept;
}

/* The state of a walk: `end` is the greatest value so far. What ends it early
 * is in `status`. */
typedef struct walk {
    grb_phrase_line *lines;
    uint32_t count;
    int64_t end;
    grb_budget *budget;
    size_t done; /* since the budget was polled */
    grebe_status status;
    grebe_error *err;
} walk;

/* False: the walk has to stop. Counts a look at every slot. */
static bool walk_goes_on(walk *w) {
    w->status = grb_budget_poll(w->budget, &w->done, w->count, w->err);
    return w->status == GREBE_OK;
}

static int64_t value(const grb_phrase_line *line) {
    return (int64_t)line->positions[line->at] - (int64_t)line->place;
}

static bool line_advance(walk *w, uint32_t i) {
    grb_phrase_line *line = &w->lines[i];
    int64_t v;
    if (++line->at >= line->count) return false;
    v = value(line);
    w->end = GRB_MAX(w->end, v);
    return true;
}

/* Another slot of the group on the same occurrence; count if there is none. */
static uint32_t line_collides(const walk *w, uint32_t i) {
    const grb_phrase_line *line = &w->lines[i];
    for (uint32_t k = line->group; k < w->count; k++) {
        const grb_phrase_line *other = &w->lines[k];
        if (k != i && other->group == line->group &&
            other->positions[other->at] == line->positions[line->at])
            return k;
    }
    return w->count;
}

static uint32_t line_lesser(const walk *w, uint32_t i, uint32_t k) {
    int64_t a = value(&w->lines[i]), b = value(&w->lines[k]);
    if (a != b) return a < b ? i : k;
    return GRB_MIN(i, k);
}

/* Moves slots on until slot i, or the one that moved for it, stands alone;
 * false: one has no occurrence left. */
static bool line_settle(walk *w, uint32_t i) {
    uint32_t k;
    if (!w->lines[i].repeated) return true;
    while ((k = line_collides(w, i)) < w->count) {
        i = line_lesser(w, i, k);
        if (!walk_goes_on(w) || !line_advance(w, i)) return false;
    }
    return true;
}

/* Every slot to its first occurrence, the second slot of a term to the second
 * one and so on; false: too few. */
static bool walk_begin(walk *w) {
    for (uint32_t i = 0; i < w->count; i++) {
        grb_phrase_line *line = &w->lines[i];
        line->at = 0;
        if (line->repeated && !line->mixed)
            for (uint32_t k = line->group; k < i; k++)
                line->at += w->lines[k].group == line->group;
        if (line->at >= line->count) return false;
    }
    for (uint32_t i = 0; i < w->count; i++)
        if (w->lines[i].mixed && !line_settle(w, i)) return false;
    w->end = INT64_MIN;
    for (uint32_t i = 0; i < w->count; i++) {
        int64_t v = value(&w->lines[i]);
        w->end = GRB_MAX(w->end, v);
    }
    return true;
}

/* The slot with the smallest value, and the smallest value of the others. */
static uint32_t walk_least(const walk *w, int64_t *second) {
    uint32_t least = 0;
    int64_t v = value(&w->lines[0]);
    *second = INT64_MAX;
    for (uint32_t i = 1; i < w->count; i++) {
        int64_t other = value(&w->lines[i]);
        if (other < v) {
            *second = v;
            v = other;
            least = i;
        } else {
            *second = GRB_MIN(*second, other);
        }
    }
    return least;
}

grebe_status grb_phrase_sloppy(grb_phrase_line *lines, uint32_t count,
                               uint32_t slop, bool first, grb_budget *budget,
                               float *freq, grebe_error *err) {
    walk w = {.lines = lines, .count = count, .budget = budget, .err = err};
    bool more = walk_begin(&w);
    *freq = 0.0f;
    while (more && !(first && *freq > 0.0f)) {
        int64_t second, spread;
        uint32_t i = walk_least(&w, &second);
        spread = w.end - value(&lines[i]);
        for (;;) {
            int64_t now;
            more = line_advance(&w, i) && line_settle(&w, i);
            w.done++;
            if (!more || value(&lines[i]) > second) break;
            now = w.end - value(&lines[i]);
            spread = GRB_MIN(spread, now);
        }
        if (w.status != GREBE_OK) break;
        if (spread <= (int64_t)slop) *freq += 1.0f / (1.0f + (float)spread);
        more = more && walk_goes_on(&w);
    }
    return w.status;
}
