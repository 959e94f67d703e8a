#include "body/symlink.h"

#include "base/alloc.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The kernel's limit for one path (path_resolution(7)). */
enum { MOST_LINKS = 40 };

/** Replaces a path by the target of its link, which is relative to the link's folder. */
static int follow(char path[PATH_MAX]) {
    char target[PATH_MAX];
    ssize_t size = readlink(path, target, sizeof target);
    if (size < 0) return errno;
    char *slash = strrchr(path, '/');
    size_t folder = slash != NULL && target[0] != '/' ? (size_t)(slash - path) + 1 : 0;
    if (size == 0) return ENOENT;
    if (folder + (size_t)size >= PATH_MAX) return ENAMETOOLONG;
    memcpy(path + folder, target, (size_t)size);
    path[folder + (size_t)size] = '\0';
    return 0;
}

char *afc__follow_links(const char *path, int *error) {
    char current[PATH_MAX];
    size_t size = strlen(path);
    *error = size < sizeof current ? 0 : ENAMETOOLONG;
    if (*error != 0) return NULL;
    memcpy(current, path, size + 1);
    /* Links in /proc to pipes and devices contain no path. */
    struct stat there;
    bool is_special = stat(path, &there) == 0 && !S_ISREG(there.st_mode) && !S_ISDIR(there.st_mode);
    if (is_special) return afc__copy_text(afc_slice_of(current));
    for (int i = 0; i <= MOST_LINKS; i++) {
        struct stat facts;
        if (lstat(current, &facts) != 0 || !S_ISLNK(facts.st_mode)) {
            return afc__copy_text(afc_slice_of(current));
        }
        *error = follow(current);
        if (*error != 0) return NULL;
    }
    *error = ELOOP;
    return NULL;
}
