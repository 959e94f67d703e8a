/** Computes the digests that message/digest parses. */
#ifndef AF_BODY_HASHER_H
#define AF_BODY_HASHER_H

#include "message/digest.h"

/** A zeroed one computes nothing. */
typedef struct af__hasher {
    void *context;
    int64_t position; /**< Bytes hashed so far. */
} af__hasher;

/** Starts a digest. false: OpenSSL can't compute it (out of memory, or disabled by its policy). */
bool af__hasher_begin(af__hasher *hasher, af__digest_kind kind);
void af__hasher_clear(af__hasher *hasher);

bool af__hasher_is_active(const af__hasher *hasher);

/** Hashes the next bytes. */
void af__hasher_take(af__hasher *hasher, const void *bytes, size_t size);

/**
 * Returns whether the digest of all bytes equals `digest`. No more bytes can be hashed afterwards.
 */
bool af__hasher_matches(af__hasher *hasher, const af__digest *digest);

#endif
