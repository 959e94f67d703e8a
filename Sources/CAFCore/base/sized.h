/**
 * Reads the structs of callers that were built with other versions of the headers. base.h says how structs grow.
 */
#ifndef AFC_BASE_SIZED_H
#define AFC_BASE_SIZED_H

#include <afcore/error.h>
#include <stddef.h>

/** A sized struct: its size in this version, and that of the first version, which ended with `field`. */
#define AFC__SIZED(type, field)                                                                    \
    (afc__sized) {                                                                                 \
        sizeof(type), offsetof(type, field) + sizeof(((type *)0)->field)                           \
    }

typedef struct afc__sized {
    size_t size, first_size;
} afc__sized;

/**
 * Reads a sized struct. Returns `given` itself if it has the size of this version, which costs nothing; `defaults` if
 * `given` is NULL; otherwise `storage`, of `sized.size` bytes, with the fields of `given` over the defaults.
 *
 * Sets AFC_EINVAL and returns NULL if `size` can't be a size of this struct, as nothing in it can be trusted then. Sets
 * AFC_EUNSUPPORTED if a field is set that this version doesn't have; the known fields are returned nevertheless, so
 * that the caller can release what it takes ownership of. `failure` is required; `macro` is the name of the struct's
 * …_INIT.
 */
const void *afc__sized_read(void *storage, const void *defaults, const void *given,
                            afc__sized sized, const char *macro, afc_failure *failure);

/**
 * Reads `given`, the options of a public function: a sized struct of this type, whose first version ended with the
 * field `last`. Afterwards `given` is safe to read until the function returns, and `failure` isn't NULL. If it can't be
 * read, the function returns the status: put what it must do in that case, such as `*out = NULL`, before this macro.
 */
#define AFC__READ_SIZED(type, init, last, given, failure)                                          \
    static const type sized_defaults = init;                                                       \
    type sized_storage;                                                                            \
    afc_failure sized_ignored;                                                                     \
    if ((failure) == NULL) (failure) = &sized_ignored;                                             \
    (given) = afc__sized_read(&sized_storage, &sized_defaults, given, AFC__SIZED(type, last),      \
                              #init, failure);                                                     \
    if ((failure)->status != AFC_OK) return (failure)->status

/**
 * Checks that `reserved` of a struct of fixed size is 0. Fails with AFC_EUNSUPPORTED; the text has the struct's name.
 */
#define AFC__CHECK_RESERVED(value, name, failure)                                                  \
    afc__check_reserved((value)->reserved, sizeof(value)->reserved, name, failure)
afc_status afc__check_reserved(const void *reserved, size_t size, const char *name,
                               afc_failure *failure);

#endif
