#include "base/sized.h"

#include "base/failure.h"

#include <string.h>

/** No struct will ever be larger: a larger `size` was never initialised. */
enum { MAX_SIZE = 4096 };

/**
 * Returns whether all bytes are 0: the first one is, and every other one equals the one before it. memcmp() compares
 * many at once.
 */
static bool is_zero(const unsigned char *bytes, size_t size) {
    return size == 0 || (bytes[0] == 0 && memcmp(bytes, bytes + 1, size - 1) == 0);
}

const void *afc__sized_read(void *storage, const void *defaults, const void *given,
                            afc__sized sized, const char *macro, afc_failure *failure) {
    memset(failure, 0, sizeof *failure);
    if (given == NULL) return defaults;
    size_t size;
    memcpy(&size, given, sizeof size);
    if (size == sized.size) return given;
    if (size < sized.first_size || size > MAX_SIZE || size % sizeof(size_t) != 0) {
        afc__fail(failure, AFC_EINVAL, "invalid size %zu: the struct must be initialised with %s",
                  size, macro);
        return NULL;
    }
    size_t known = size < sized.size ? size : sized.size;
    memcpy(storage, defaults, sized.size);
    memcpy(storage, given, known);
    memcpy(storage, &sized.size, sizeof sized.size);
    const unsigned char *excess = (const unsigned char *)given + known;
    if (!is_zero(excess, size - known)) {
        afc__fail(failure, AFC_EUNSUPPORTED,
                  "a field after the first %zu bytes of the struct is set, which this version of "
                  "the library doesn't have (%s)",
                  known, macro);
    }
    return storage;
}

afc_status afc__check_reserved(const void *reserved, size_t size, const char *name,
                               afc_failure *failure) {
    if (is_zero(reserved, size)) return AFC_OK;
    return afc__fail(failure, AFC_EUNSUPPORTED,
                     "%s.reserved isn't 0: a field is set that this version of the library "
                     "doesn't have, or the struct isn't initialised",
                     name);
}
