/** Loads and saves the numbers of files and hashes, which are little-endian on every machine. Pure functions. */
#ifndef AFC_BASE_LITTLE_ENDIAN_H
#define AFC_BASE_LITTLE_ENDIAN_H

#include <stdint.h>
#include <string.h>

static inline uint32_t afc__load_32(const void *bytes) {
    uint32_t value;
    memcpy(&value, bytes, sizeof value);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    value = __builtin_bswap32(value);
#endif
    return value;
}

static inline uint64_t afc__load_64(const void *bytes) {
    uint64_t value;
    memcpy(&value, bytes, sizeof value);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    value = __builtin_bswap64(value);
#endif
    return value;
}

static inline void afc__save_32(void *bytes, uint32_t value) {
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    value = __builtin_bswap32(value);
#endif
    memcpy(bytes, &value, sizeof value);
}

static inline void afc__save_64(void *bytes, uint64_t value) {
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    value = __builtin_bswap64(value);
#endif
    memcpy(bytes, &value, sizeof value);
}

#endif
