/* segment/docset.c - an immutable set of documents of one segment.
 *
 * A list of places is smaller than 64 words up to 256 documents of a window,
 * which is also about where testing words becomes cheaper than setting bits.
 *
 * Invariant: `count` of a window is the number of its documents; data is
 * written before the set is handed to anyone.
 * Threads: any, once made. Owns: nothing.
 */
#include "segment/docset.h"

#define LIST_MOST 255u

grb_docset *grb_docset_acquire(grb_docset *s) {
    atomic_fetch_add_explicit(&s->refs, 1, memory_order_relaxed);
    return s;
}

void grb_docset_release(grb_docset *s) {
    if (!s ||
        atomic_fetch_sub_explicit(&s->refs, 1, memory_order_acq_rel) != 1)
        return;
    grb_free(s->allocator, s, s->size);
}

/* ---- reading ---- */

static void bits_fill(uint64_t *bits, uint32_t count) {
    uint32_t words = count / 64;
    for (uint32_t i = 0; i < words; i++) bits[i] = ~(uint64_t)0;
    if (count & 63) bits[words] |= ((uint64_t)1 << (count & 63)) - 1;
}

uint32_t grb_docset_take(const grb_docset *s, uint32_t base, uint64_t *bits) {
    const grb_docset_window *w = &s->windows[base / GRB_WINDOW];
    const uint64_t *data = s->data + w->at;
    const uint16_t *list = (const uint16_t *)data;
    switch ((grb_docset_kind)w->kind) {
    case GRB_DOCSET_NONE:
        break;
    case GRB_DOCSET_ALL:
        bits_fill(bits, w->count);
        break;
    case GRB_DOCSET_LIST:
        for (uint32_t i = 0; i < w->count; i++) grb_bit_set(bits, list[i]);
        break;
    case GRB_DOCSET_WORDS:
        for (uint32_t i = 0; i < GRB_WINDOW_WORDS; i++) bits[i] |= data[i];
        break;
    }
    return w->count;
}

static bool list_has(const uint16_t *list, uint32_t count, uint32_t place) {
    uint32_t from = 0;
    while (from < count) {
        uint32_t middle = (from + count) / 2;
        if (list[middle] == place) return true;
        if (list[middle] < place)
            from = middle + 1;
        else
            count = middle;
    }
    return false;
}

bool grb_docset_has(const grb_docset *s, uint32_t doc) {
    const grb_docset_window *w = &s->windows[doc / GRB_WINDOW];
    const uint64_t *data = s->data + w->at;
    uint32_t place = doc % GRB_WINDOW;
    switch ((grb_docset_kind)w->kind) {
    case GRB_DOCSET_NONE:
        break;
    case GRB_DOCSET_ALL:
        return true;
    case GRB_DOCSET_LIST:
        return list_has((const uint16_t *)data, w->count, place);
    case GRB_DOCSET_WORDS:
        return grb_bit(data, place);
    }
    return false;
}

uint32_t grb_docset_size(const grb_docset *s, uint32_t base) {
    return s->windows[base / GRB_WINDOW].count;
}

uint32_t grb_docset_next(const grb_docset *s, uint32_t min_doc) {
    uint32_t i = min_doc / GRB_WINDOW;
    if (i >= s->window_count) return GRB_NO_DOC;
    if (s->windows[i].count) return min_doc;
    while (++i < s->window_count)
        if (s->windows[i].count) return i * GRB_WINDOW;
    return GRB_NO_DOC;
}

/* ---- making ---- */

static size_t windows_size(uint32_t count) {
    return sizeof(grb_docset) +
           ((size_t)count * sizeof(grb_docset_window) + 7) / 8 * 8;
}

void grb_docset_begin(grb_docset_maker *m, const grebe_allocator *a,
                      uint32_t max_doc) {
    uint32_t count =
        (uint32_t)(((uint64_t)max_doc + GRB_WINDOW - 1) / GRB_WINDOW);
    size_t size = windows_size(count);
    m->allocator = a;
    grb_buf_init(&m->data, a, 0);
    m->set = grb_alloc_zero(a, size);
    if (!m->set) return;
    m->set->allocator = a;
    m->set->size = size;
    m->set->max_doc = max_doc;
    m->set->window_count = count;
}

void grb_docset_add(grb_docset_maker *m, uint32_t base, const uint64_t *bits,
                    uint32_t count) {
    if (!m->set || count == 0) return;
    grb_docset_window *w = &m->set->windows[base / GRB_WINDOW];
    uint32_t size = GRB_MIN(m->set->max_doc - base, GRB_WINDOW);
    w->at = (uint32_t)(m->data.size / 8);
    w->count = (uint16_t)count;
    m->set->count += count;
    if (count == size) {
        w->kind = GRB_DOCSET_ALL;
    } else if (count > LIST_MOST) {
        w->kind = GRB_DOCSET_WORDS;
        grb_buf_put(&m->data, bits, GRB_WINDOW_WORDS * sizeof *bits);
    } else {
        uint16_t list[LIST_MOST + 4] = {0};
        uint32_t n = 0;
        for (uint32_t i = 0; i < GRB_WINDOW_WORDS; i++)
            for (uint64_t word = bits[i]; word; word &= word - 1)
                list[n++] = (uint16_t)(i * 64 + (uint32_t)grb_ctz64(word));
        w->kind = GRB_DOCSET_LIST;
        grb_buf_put(&m->data, list, (n + 3) / 4 * 8);
    }
}

grb_docset *grb_docset_end(grb_docset_maker *m) {
    grb_docset *s = m->set;
    size_t head = s ? s->size : 0;
    bool whole = s && !m->data.failed;
    if (whole) {
        size_t size = head + m->data.size;
        s = grb_resize(m->allocator, s, head, size);
        whole = s != NULL;
        if (whole) {
            if (m->data.size)
                memcpy((char *)s + head, m->data.bytes, m->data.size);
            s->size = size;
            s->data = (const uint64_t *)((char *)s + head);
            atomic_init(&s->refs, 1);
        }
    }
    if (!whole) {
        grb_free(m->allocator, m->set, head);
        s = NULL;
    }
    grb_buf_deinit(&m->data);
    m->set = NULL;
    return s;
}
