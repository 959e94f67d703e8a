#include "base/alloc.h"
#include "transfer/transfer_internal.h"

#include <string.h>

static void forget_next(af__hop *hop) {
    if (hop->next != NULL) af__request_head_clear(hop->next);
    af_free(hop->next);
    hop->next = NULL;
}

void af__hop_clear(af__hop *hop) {
    if (hop->cookies != NULL) af__free_secret(hop->cookies, strlen(hop->cookies));
    af__buffer_clear(&hop->kept);
    forget_next(hop);
    af_free(hop->location);
    memset(hop, 0, sizeof *hop);
}

af__request_head *af__hop_make_next(af__hop *hop) {
    forget_next(hop);
    hop->next = af__zalloc(sizeof *hop->next);
    return hop->next;
}

int64_t af__hop_bytes_missing(const af__transfer *transfer, int64_t received) {
    switch (transfer->hop.framing.kind) {
    case AF__FRAMING_NONE:
        return 0;
    case AF__FRAMING_LENGTH:
        return transfer->hop.framing.length - received;
    case AF__FRAMING_CHUNKED:
    case AF__FRAMING_CLOSE:
        break;
    }
    return INT64_MAX;
}

bool af__hop_is_whole(const af__transfer *transfer) {
    const af__hop *hop = &transfer->hop;
    bool is_discarded = hop->phase == AF__PHASE_DISCARDING || hop->phase == AF__PHASE_CHALLENGED;
    if (!is_discarded && hop->phase != AF__PHASE_BODY) return false;
    if (hop->framing.kind != AF__FRAMING_NONE && !af__hop_has_plain_body(transfer)) return false;
    uint64_t taken = is_discarded ? hop->discarded : hop->decoded;
    return af__hop_bytes_missing(transfer, (int64_t)taken) == 0;
}
