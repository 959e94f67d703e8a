/**
 * Keyed hashes for keys that peers choose: without the seed they can't construct collisions.
 *
 * Keys up to AFC__HASH_SHORT bytes: NH (Black et al., UMAC), whose 128-bit results collide with probability 2^-64,
 * then a strongly universal multilinear hash to 64 bits. Both are proven for a random seed and need
 * multiplications only. Longer keys: SipHash-1-3 (Aumasson, Bernstein).
 *
 * In Benchmarks/cache a lookup with one thread costs 0.42 times that of GLib's table with NH, and 0.67 times with
 * SipHash-1-3 for every key.
 */
#ifndef AFC_BASE_KEYED_HASH_H
#define AFC_BASE_KEYED_HASH_H

#include <afcore/base.h>

enum { AFC__HASH_SHORT = 128, AFC__HASH_WORDS = AFC__HASH_SHORT / 8 };

typedef struct afc__hash_seed {
    uint64_t block[AFC__HASH_WORDS]; /**< For the words of a short key. */
    uint64_t linear[4][2];           /**< For its 128 bits and its size; high halves first. */
    uint64_t sip[2];
} afc__hash_seed;

/** Makes a random seed; false if the system has no random bytes. */
bool afc__hash_seed_make(afc__hash_seed *out);

/** Returns the hash of a key of any size: NH up to AFC__HASH_SHORT bytes, SipHash-1-3 above. */
uint64_t afc__keyed_hash(const afc__hash_seed *seed, afc_slice key);

/** Returns the hash of SipHash-1-3, for keys of any size. */
uint64_t afc__siphash13(const uint64_t key[2], afc_slice bytes);

#endif
