#include "base/random.h"

#include <errno.h>
#include <sys/random.h>
#include <sys/types.h>

bool afc__random(void *out, size_t size) {
    char *at = out;
    /* A signal may interrupt the wait for the first random bytes after a boot, and more than 256 at once. */
    while (size > 0) {
        ssize_t count = getrandom(at, size, 0);
        if (count < 0 && errno == EINTR) continue;
        if (count <= 0) return false;
        at += count;
        size -= (size_t)count;
    }
    return true;
}
