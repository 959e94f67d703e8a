/** Files of a test, in a folder of their own that goes with the test. */
#ifndef AFC_TESTS_FILES_H
#define AFC_TESTS_FILES_H

#include "support/check.h"

#include <stdbool.h>

/** A folder made by mkdtemp(); as setup and teardown of a test. */
typedef struct folder {
    char path[64];
    char text[8][128];
    unsigned next_text;
} folder;

void folder_make(folder *folder);

/** Removes the folder with the files in it. */
void folder_remove(folder *folder);

/** "FOLDER/name"; one of the last 8 asked for. */
const char *path_in(folder *folder, const char *name);

void write_file(const char *path, afc_slice bytes);

/** Replaces a text that is in the file, which has at most 4 KiB. */
void replace_in_file(const char *path, const char *text, const char *replacement);
bool file_exists(const char *path);
void check_file(const char *path, afc_slice expected);

/** The number of files in the folder. */
size_t count_files(const folder *folder);

/** Whether files without a name (O_TMPFILE) can be made in the folder. */
bool has_unnamed_files(const folder *folder);

#endif
