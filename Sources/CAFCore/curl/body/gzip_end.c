#include "curl/body/gzip_end.h"

#include "base/little_endian.h"
#include "curl/exchange_state.h"
#include "curl/handle.h"

#include <string.h>

/*
 * The size of the shortest gzip file: a header of 10 bytes, an empty block and a trailer of 8. The zeros in the header
 * of a shorter one must not be taken for a size.
 */
enum { SHORTEST = 20 };

void afc__gzip_end_add(afc__gzip_end *end, afc_slice bytes) {
    size_t count = bytes.size < sizeof end->last ? bytes.size : sizeof end->last;
    size_t kept = sizeof end->last - count;
    memmove(end->last, end->last + count, kept);
    memcpy(end->last + kept, bytes.bytes + bytes.size - count, count);
    end->size += bytes.size;
}

/*
 * If zlib has read the trailer, it has compared its checksum and size with the content. So a matching size shows that
 * the trailer was read.
 */
bool afc__gzip_end_is_missing(const afc__gzip_end *end, uint64_t decoded) {
    if (!end->is_watched || end->size == 0) return false;
    return end->size < SHORTEST || afc__load_32(end->last) != (uint32_t)decoded;
}

void afc__exchange_watch_gzip(afc__exchange *exchange) {
    if (!afc__transfer_ends_with_gzip(exchange->hop.transfer)) return;
    exchange->run.gzip_end.is_watched = true;
    afc__exchange_set_verbose(exchange, true);
}
