/** Computing the digests that message/digest reads. */
#ifndef AF_BODY_HASHER_H
#define AF_BODY_HASHER_H

#include "message/digest.h"

/** Zeroed it computes nothing. */
typedef struct af__hasher {
    void *context;
    int64_t position; /**< Bytes taken so far. */
} af__hasher;

/** False if this OpenSSL can't compute such a digest (no memory, or forbidden by its policy). */
bool af__hasher_begin(af__hasher *hasher, af__digest_kind kind);
void af__hasher_clear(af__hasher *hasher);

bool af__hasher_is_active(const af__hasher *hasher);

/** The next bytes. */
void af__hasher_take(af__hasher *hasher, const void *bytes, size_t size);

/** Is that the digest of all that was taken? Nothing can be taken afterwards. */
bool af__hasher_matches(af__hasher *hasher, const af__digest *digest);

#endif
