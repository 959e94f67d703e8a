/** Computes the digests that message/digest parses. */
#ifndef AFC_BODY_HASHER_H
#define AFC_BODY_HASHER_H

#include "message/digest.h"

/** The state of a digest. A zeroed one computes nothing. */
typedef struct afc__hasher {
    void *context;
    int64_t position; /**< Bytes hashed so far. */
} afc__hasher;

/** Starts a digest. Returns false if OpenSSL can't compute it (out of memory, or disabled by its policy). */
bool afc__hasher_begin(afc__hasher *hasher, afc__digest_kind kind);
void afc__hasher_clear(afc__hasher *hasher);

/** Returns whether a digest was started. */
bool afc__hasher_is_active(const afc__hasher *hasher);

/** Hashes the next bytes. */
void afc__hasher_take(afc__hasher *hasher, const void *bytes, size_t size);

/**
 * Returns whether the digest of all bytes equals `expected`; `*found` becomes the digest. No more bytes can be hashed
 * afterwards.
 */
bool afc__hasher_matches(afc__hasher *hasher, const afc__digest *expected, afc__digest *found);

#endif
