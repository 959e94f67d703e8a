#include "base/keyed_hash.h"

#include "base/little_endian.h"
#include "base/random.h"

static inline uint64_t rotate(uint64_t word, unsigned bits) {
    return word << bits | word >> (64 - bits);
}

/** Loads the last bytes, fewer than 8, with the size in the highest byte. */
static inline uint64_t load_tail(const char *bytes, size_t size) {
    size_t left = size & 7;
    uint64_t word = 0;
    if (size >= 8) {
        /* Loads the 8 bytes up to the end, and shifts out those that are already part of the hash. */
        if (left != 0) word = afc__load_64(bytes + left - 8) >> (8 * (8 - left));
    } else {
        for (size_t i = 0; i < left; i++) word |= (uint64_t)(unsigned char)bytes[i] << (8 * i);
    }
    return word | (uint64_t)size << 56;
}

typedef struct words {
    uint64_t a, b, c, d;
} words;

static inline words mix(words v) {
    v.a += v.b;
    v.c += v.d;
    v.b = rotate(v.b, 13) ^ v.a;
    v.d = rotate(v.d, 16) ^ v.c;
    v.a = rotate(v.a, 32);
    v.c += v.b;
    v.a += v.d;
    v.b = rotate(v.b, 17) ^ v.c;
    v.d = rotate(v.d, 21) ^ v.a;
    v.c = rotate(v.c, 32);
    return v;
}

uint64_t afc__siphash13(const uint64_t key[2], afc_slice bytes) {
    words v = {key[0] ^ UINT64_C(0x736f6d6570736575), key[1] ^ UINT64_C(0x646f72616e646f6d),
               key[0] ^ UINT64_C(0x6c7967656e657261), key[1] ^ UINT64_C(0x7465646279746573)};
    const char *at = bytes.bytes;
    for (size_t left = bytes.size / 8; left != 0; left--, at += 8) {
        uint64_t word = afc__load_64(at);
        v.d ^= word;
        v = mix(v);
        v.a ^= word;
    }
    uint64_t tail = load_tail(at, bytes.size);
    v.d ^= tail;
    v = mix(v);
    v.a ^= tail;
    v.c ^= 0xff;
    v = mix(mix(mix(v)));
    return v.a ^ v.b ^ v.c ^ v.d;
}

/* ---- Short keys ---------------------------------------------------------------------------- */

__extension__ typedef unsigned __int128 wide;

/** Adds a word of the seed to each half of 16 bytes and multiplies the halves. */
static inline wide multiply(const uint64_t *seed, const char *bytes) {
    return (wide)(afc__load_64(bytes) + seed[0]) * (afc__load_64(bytes + 8) + seed[1]);
}

/**
 * Compresses a key of at least 16 bytes. The last pair of words may overlap the previous one; the size, which is hashed
 * as well, makes the encoding unique.
 */
static inline wide compress(const uint64_t *seed, afc_slice key) {
    wide sum = 0;
    size_t at = 0;
    for (; at + 16 < key.size; at += 16) sum += multiply(seed + at / 8, key.bytes + at);
    return sum + multiply(seed + at / 8, key.bytes + key.size - 16);
}

/** Returns a key of fewer than 16 bytes as one number. */
static inline wide collect(afc_slice key) {
    if (key.size >= 8)
        return (wide)afc__load_64(key.bytes + key.size - 8) << 64 | afc__load_64(key.bytes);
    uint64_t word = 0;
    for (size_t i = 0; i < key.size; i++) {
        word |= (uint64_t)(unsigned char)key.bytes[i] << (8 * i);
    }
    return word;
}

static inline wide factor(const uint64_t seed[2]) {
    return (wide)seed[0] << 64 | seed[1];
}

uint64_t afc__keyed_hash(const afc__hash_seed *seed, afc_slice key) {
    if (key.size > AFC__HASH_SHORT) return afc__siphash13(seed->sip, key);
    wide bits = key.size >= 16 ? compress(seed->block, key) : collect(key);
    wide sum = factor(seed->linear[0]) * (uint64_t)bits +
               factor(seed->linear[1]) * (uint64_t)(bits >> 64) +
               factor(seed->linear[2]) * key.size + factor(seed->linear[3]);
    return (uint64_t)(sum >> 64);
}

bool afc__hash_seed_make(afc__hash_seed *out) {
    return afc__random(out, sizeof *out);
}
