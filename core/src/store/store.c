/* store/store.c - what every store shares: closing and counted syncs.
 *
 * Durability "none" is one switch here, so that everything above keeps one
 * order of operations whether or not the device is asked.
 *
 * Invariant: `syncs` counts what the device was asked for, failed ones too;
 * with sync_off it never moves.
 * Threads: any; the counters are atomic.
 */
#include "store/store.h"

void grb_directory_close(grb_directory *d) {
    if (!d) return;
    d->ops->unlock(d);
    d->ops->destroy(d);
}

grebe_status grb_file_sync(grb_file *f, grebe_error *err) {
    grb_directory *d = f->directory;
    if (d->sync_off) return GREBE_OK;
    atomic_fetch_add_explicit(&d->syncs, 1, memory_order_relaxed);
    return d->ops->file_sync(f, err);
}

grebe_status grb_directory_sync(grb_directory *d, grebe_error *err) {
    if (d->sync_off) return GREBE_OK;
    atomic_fetch_add_explicit(&d->syncs, 1, memory_order_relaxed);
    return d->ops->sync(d, err);
}
