#include "curl/body/gzip_end.h"

#include "base/little_endian.h"
#include "curl/exchange_state.h"
#include "curl/handle.h"

#include <string.h>

/* A header of 10 bytes, an empty block and a trailer of 8: the zeros within the header aren't the size of anything. */
enum { SHORTEST = 20 };

void afc__gzip_end_add(afc__gzip_end *end, afc_slice bytes) {
    size_t count = bytes.size < sizeof end->last ? bytes.size : sizeof end->last;
    size_t kept = sizeof end->last - count;
    memmove(end->last, end->last + count, kept);
    memcpy(end->last + kept, bytes.bytes + bytes.size - count, count);
    end->size += bytes.size;
}

/* zlib has compared the trailer with the content if it has read it, so its size shows that it has. */
bool afc__gzip_end_is_missing(const afc__gzip_end *end, uint64_t decoded) {
    if (!end->is_watched || end->size == 0) return false;
    return end->size < SHORTEST || afc__load_32(end->last) != (uint32_t)decoded;
}

void afc__exchange_watch_gzip(afc__exchange *exchange) {
    if (!afc__transfer_ends_with_gzip(exchange->hop.transfer)) return;
    exchange->run.gzip_end.is_watched = true;
    afc__exchange_set_verbose(exchange, true);
}
