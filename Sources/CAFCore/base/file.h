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
 * Appends everything from `descriptor` to `out`. Fails with AFC_EFILE and errno, AFC_ETOOBIG if it exceeds the buffer's
 * limit, or AFC_ENOMEM.
 */
afc_status afc__read_all(afc__buffer *out, int descriptor);

/**
 * Returns a copy of a path that stays valid when the working directory changes. Free it with afc_free(). A path that
 * can't be made absolute is copied unchanged. Returns NULL if out of memory.
 */
char *afc__absolute_path(const char *path);

/** Writes all bytes to a file or a pipe, without raising SIGPIPE. Returns 0 or an errno. */
int afc__write_all(int descriptor, const void *bytes, size_t size);

/** Calls write(), again after EINTR, without raising SIGPIPE, whatever handler the program has for it. */
ssize_t afc__write_quietly(int descriptor, const void *bytes, size_t size);

typedef enum afc__file_kind {
    AFC__FILE_REGULAR,
    AFC__FILE_ANY /**< Pipes too; reading blocks. */
} afc__file_kind;

/**
 * Appends a file to `out`. Fails with AFC_EFILE and the system's error, AFC_EINVAL (another kind of file), AFC_ETOOBIG
 * or AFC_ENOMEM. The failure's text names the path.
 */
afc_status afc__read_file(afc__buffer *out, const char *path, afc__file_kind kind,
                          afc_failure *failure);

/**
 * Opens a regular file for reading. `*length` becomes its size. It is AFC_LENGTH_UNKNOWN for a file with bytes whose
 * size is reported as 0, as in procfs, or as that of a page, as in sysfs. Fails with AFC_EFILE and the system's error;
 * the failure's text names the path.
 */
afc_status afc__open_regular(int *descriptor, const char *path, int64_t *length,
                             afc_failure *failure);

/**
 * Returns whether fewer than two files can be opened now. Check this before the C library loads something by itself: if
 * it can't open a file, it never tries again.
 */
bool afc__lacks_descriptors(void);

/* The kernel's limit for one path (path_resolution(7)). */
enum { AFC__LINKS_MAX = 40 };

/**
 * Replaces the path of a symbolic link by its target; a relative target is below the link's folder. Returns 0 or an
 * errno.
 */
int afc__follow_link(char path[PATH_MAX]);

/**
 * Returns the path behind `path`, a file that needn't exist yet: itself, unless its last component is a symbolic link.
 * Free it with afc_free(). Returns NULL with an errno in `*error` if the links are circular or can't be read, and NULL
 * without one if out of memory.
 */
char *afc__follow_links(const char *path, int *error);

/**
 * Returns the number of bytes that are free on the file system of `descriptor`, without those reserved for root.
 * Returns UINT64_MAX if it has no limit of its own, or if the number is unknown.
 */
uint64_t afc__free_space(int descriptor);

/** Copies the folder of `path`, with a trailing slash, to `folder` of `size` bytes. Returns 0 or ENAMETOOLONG. */
int afc__folder_of(const char *path, char *folder, unsigned long size);

#endif
