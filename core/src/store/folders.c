/* store/folders.c - folders of folders: what a container needs.
 *
 * Invariant: only files that the engine names are ever removed.
 * Threads: any. Owns: nothing.
 */
#include "store/folders.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

grebe_status grb_folder_make(const char *path, grebe_error *err) {
    if (mkdir(path, 0777) == 0 || errno == EEXIST) return GREBE_OK;
    return grb_error_storage(err, errno, path, "mkdir");
}

/* Calls `visit` for each entry; `folders`: for folders alone. */
static grebe_status entries_visit(const char *path, bool folders,
                                  grebe_status (*visit)(void *context,
                                                        const char *name),
                                  void *context, grebe_error *err) {
    grebe_status status = GREBE_OK;
    struct dirent *entry;
    DIR *dir = opendir(path);
    if (!dir) return grb_error_storage(err, errno, path, "opendir");
    while (status == GREBE_OK && (entry = readdir(dir))) {
        struct stat st;
        if (entry->d_name[0] == '.') continue;
        if (fstatat(dirfd(dir), entry->d_name, &st, 0) != 0) continue;
        if (folders == (S_ISDIR(st.st_mode) != 0))
            status = visit(context, entry->d_name);
    }
    closedir(dir);
    return status;
}

grebe_status grb_folder_list(const char *path,
                             grebe_status (*visit)(void *context,
                                                   const char *name),
                             void *context, grebe_error *err) {
    return entries_visit(path, true, visit, context, err);
}

static bool name_is_ours(const char *name) {
    static const char *const whole[] = {"manifest", "write.lock", "signal"};
    static const char *const begins[] = {"state-", "log-", "seg-"};
    for (size_t i = 0; i < GRB_COUNT(whole); i++)
        if (strcmp(name, whole[i]) == 0) return true;
    for (size_t i = 0; i < GRB_COUNT(begins); i++)
        if (strncmp(name, begins[i], strlen(begins[i])) == 0) return true;
    return false;
}

typedef struct removal {
    const char *path;
    grebe_error *err;
} removal;

static grebe_status file_remove(void *context, const char *name) {
    removal *r = context;
    char file[1280];
    if (!name_is_ours(name)) return GREBE_OK;
    snprintf(file, sizeof file, "%s/%s", r->path, name);
    if (unlink(file) == 0 || errno == ENOENT) return GREBE_OK;
    return grb_error_storage(r->err, errno, name, "unlink");
}

grebe_status grb_folder_drop(const char *path, grebe_error *err) {
    removal r = {.path = path, .err = err};
    grebe_status status = entries_visit(path, false, file_remove, &r, err);
    if (status != GREBE_OK) return status;
    if (rmdir(path) == 0) return GREBE_OK;
    return grb_error_storage(err, errno, path, "rmdir");
}
