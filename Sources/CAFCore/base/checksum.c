#include "base/checksum.h"

#include "base/little_endian.h"

/* The primes of the algorithm's specification. */
static const uint64_t PRIME_1 = UINT64_C(0x9e3779b185ebca87);
static const uint64_t PRIME_2 = UINT64_C(0xc2b2ae3d27d4eb4f);
static const uint64_t PRIME_3 = UINT64_C(0x165667b19e3779f9);
static const uint64_t PRIME_4 = UINT64_C(0x85ebca77c2b2ae63);
static const uint64_t PRIME_5 = UINT64_C(0x27d4eb2f165667c5);

static inline uint64_t rotate(uint64_t word, unsigned bits) {
    return word << bits | word >> (64 - bits);
}

static inline uint64_t add_word(uint64_t lane, uint64_t word) {
    return rotate(lane + word * PRIME_2, 31) * PRIME_1;
}

static inline uint64_t merge(uint64_t sum, uint64_t lane) {
    return (sum ^ add_word(0, lane)) * PRIME_1 + PRIME_4;
}

/** Takes stripes of 32 bytes, in four lanes that don't wait for each other. */
static uint64_t take_stripes(uint64_t seed, const unsigned char **at, size_t *left) {
    uint64_t lanes[4] = {seed + PRIME_1 + PRIME_2, seed + PRIME_2, seed, seed - PRIME_1};
    for (; *left >= 32; *at += 32, *left -= 32) {
        for (unsigned i = 0; i < 4; i++) lanes[i] = add_word(lanes[i], afc__load_64(*at + 8 * i));
    }
    uint64_t sum = rotate(lanes[0], 1) + rotate(lanes[1], 7) + rotate(lanes[2], 12) +
                   rotate(lanes[3], 18);
    for (unsigned i = 0; i < 4; i++) sum = merge(sum, lanes[i]);
    return sum;
}

uint64_t afc__checksum(uint64_t seed, const void *bytes, size_t size) {
    const unsigned char *at = bytes;
    size_t left = size;
    uint64_t sum = size >= 32 ? take_stripes(seed, &at, &left) : seed + PRIME_5;
    sum += size;
    for (; left >= 8; at += 8, left -= 8) {
        sum = rotate(sum ^ add_word(0, afc__load_64(at)), 27) * PRIME_1 + PRIME_4;
    }
    if (left >= 4) {
        sum = rotate(sum ^ afc__load_32(at) * PRIME_1, 23) * PRIME_2 + PRIME_3;
        at += 4;
        left -= 4;
    }
    for (; left > 0; at++, left--) sum = rotate(sum ^ *at * PRIME_5, 11) * PRIME_1;
    sum = (sum ^ sum >> 33) * PRIME_2;
    sum = (sum ^ sum >> 29) * PRIME_3;
    return sum ^ sum >> 32;
}
