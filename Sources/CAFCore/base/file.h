/**
 * Reads and writes whole files, and follows links. Contents may be secret: they are read to their final place and no
 * copy remains elsewhere, unless the file was longer than fstat() reported.
 */
#ifndef AFC_BASE_FILE_H
#define AFC_BASE_FILE_H

#include "base/buffer.h"

#include <limits.h>
#include <stdint.h>
#include <sys/types.h>

/**
 * Appends everything from `descriptor` to `out`. AFC_EFILE with errno set, AFC_ETOOBIG if it exceeds the buffer's
 * limit, AFC_ENOMEM.
 */
afc_status afc__read_all(afc__buffer *out, int descriptor);

/**
 * Returns a copy of a path that stays valid when the working directory changes: afc_free(). NULL: AFC_ENOMEM. A path
 * that can't be made absolute is copied as it is.
 */
char *afc__absolute_path(const char *path);

/** Writes all bytes to a file or a pipe, which raises no SIGPIPE. Returns 0 or an errno. */
int afc__write_all(int descriptor, const void *bytes, size_t size);

/** write() that raises no SIGPIPE, whatever the program has set for it, and is repeated after EINTR. */
ssize_t afc__write_quietly(int descriptor, const void *bytes, size_t size);

typedef enum afc__file_kind {
    AFC__FILE_REGULAR,
    AFC__FILE_ANY /**< Pipes too; reading blocks. */
} afc__file_kind;

/**
 * Appends a file to `out`. AFC_EFILE with the system's error, AFC_EINVAL (another kind of file), AFC_ETOOBIG,
 * AFC_ENOMEM. The failure names the path.
 */
afc_status afc__read_file(afc__buffer *out, const char *path, afc__file_kind kind,
                          afc_failure *failure);

/**
 * Opens a regular file for reading. `*length` is its size, or AFC_LENGTH_UNKNOWN if that is reported as 0 although it
 * has bytes, as files of procfs do, or as a page, as those of sysfs do. AFC_EFILE with the system's error; the failure
 * names the path.
 */
afc_status afc__open_regular(int *descriptor, const char *path, int64_t *length,
                             afc_failure *failure);

/**
 * Returns whether fewer than two files can be opened now. To be asked before the C library loads something on its own:
 * it remembers for good what it couldn't open.
 */
bool afc__lacks_descriptors(void);

/* The kernel's limit for one path (path_resolution(7)). */
enum { AFC__LINKS_MAX = 40 };

/** Replaces a path by the target of its link, which is relative to the link's folder. Returns 0 or an errno. */
int afc__follow_link(char path[PATH_MAX]);

/**
 * Returns the target of `path`, of a file that may not exist yet: itself, unless its last component is a symbolic link.
 * Free it with afc_free(). NULL with an errno in `*error` if the links are circular or can't be read; NULL without one
 * when out of memory.
 */
char *afc__follow_links(const char *path, int *error);

/**
 * Returns the bytes that are left on the file system of `descriptor`, without those reserved for root. UINT64_MAX: it
 * has no limit of its own, or it is unknown.
 */
uint64_t afc__free_space(int descriptor);

/** Copies the folder of `path`, with a trailing slash, to `folder` of `size` bytes. Returns 0 or ENAMETOOLONG. */
int afc__folder_of(const char *path, char *folder, unsigned long size);

#endif
