/**
 * XXH64 (Collet): detects damage in files, at about the speed of memory. Doesn't protect against attackers. Pure
 * functions.
 */
#ifndef AFC_BASE_CHECKSUM_H
#define AFC_BASE_CHECKSUM_H

#include <afcore/base.h>

/** Returns the checksum of some bytes, which depends on the seed. */
uint64_t afc__checksum(uint64_t seed, const void *bytes, size_t size);

#endif
