/* fault_store.h - a simulated disk behind the store's table of functions.
 *
 * Include fault_store.c from the test. One disk outlives the directories
 * opened on it, as a disk outlives processes. What was written and not synced
 * is pending: fault_disk_crash decides for each 512-byte sector whether it
 * was kept, dropped or garbled, and for each name made, renamed or removed
 * without a sync of the directory whether that was kept. A failed sync leaves
 * its sectors readable and never to be written by a later sync.
 */
#ifndef FAULT_STORE_H
#define FAULT_STORE_H

#include "store/store.h"

#define FAULT_SECTOR 512u

typedef enum fault_kind {
    FAULT_NONE,
    FAULT_EIO,
    FAULT_ENOSPC, /* fails writes and creations; others pass */
    FAULT_SHORT   /* a write that stops half way, then ENOSPC */
} fault_kind;

typedef struct fault_file {
    uint32_t refs; /* names, handles */
    uint64_t size, durable_size;
    size_t capacity;
    uint8_t *bytes, *durable; /* what reads give; what the device has */
    uint8_t *state;           /* per sector: clean, pending, lost */
} fault_file;

typedef struct fault_name {
    char name[64];
    fault_file *file;
} fault_name;

#define FAULT_NAMES_MAX 128
typedef struct fault_names {
    fault_name at[FAULT_NAMES_MAX];
    size_t count;
} fault_names;

typedef struct fault_step {
    enum { STEP_CREATE, STEP_REMOVE, STEP_RENAME } kind;
    char name[64], to[64];
    fault_file *file;
} fault_step;

#define FAULT_STEPS_MAX 512
typedef struct fault_disk {
    fault_names names, durable;
    fault_step steps[FAULT_STEPS_MAX];
    size_t step_count;
    uint64_t calls;   /* writes, syncs, creations and so on so far */
    uint64_t fail_at; /* the call that fails; 0: none */
    bool sticky;      /* and all after it */
    fault_kind kind;
    bool count_reads;  /* reads, opens and lists are calls too */
    bool stop_at;      /* instead of failing: nothing is done from there on */
    bool sync_lies;    /* syncs say OK and do nothing */
    uint64_t capacity; /* of the disk in bytes; 0: endless */
    uint64_t seed;
    bool locked;
    _Atomic uint64_t signal;
} fault_disk;

fault_disk *fault_disk_new(uint64_t seed);
void fault_disk_free(fault_disk *disk);
/* The power fails: what is pending is settled by chance. */
void fault_disk_crash(fault_disk *disk);
/* An independent copy of what reads give now, all of it durable. */
fault_disk *fault_disk_copy(const fault_disk *disk);
fault_file *fault_disk_find(fault_disk *disk, const char *name);
void fault_file_resize(fault_file *f, uint64_t size); /* durable, too */
uint64_t fault_random(fault_disk *disk, uint64_t below);
/* A process: takes the lock of before away. */
grb_directory *fault_directory_open(fault_disk *disk);

#endif
