/* store/folders.h - folders of folders: what a container needs. */
#ifndef GRB_STORE_FOLDERS_H
#define GRB_STORE_FOLDERS_H

#include "base/base.h"

/* Makes a folder if it is missing; its parent must exist. */
grebe_status grb_folder_make(const char *path, grebe_error *err);

/* Visits the names of the folders in a folder, in any order. */
grebe_status grb_folder_list(const char *path,
                             grebe_status (*visit)(void *context,
                                                   const char *name),
                             void *context, grebe_error *err);

/* Removes an index's files and then the folder. Files that are not of ours
 * stay, and with them the folder: STORAGE. */
grebe_status grb_folder_drop(const char *path, grebe_error *err);

#endif
