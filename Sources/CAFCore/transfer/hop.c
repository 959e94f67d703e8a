/* The state of one hop: beginning, changing and clearing it. */
#include "transfer/hop.h"

#include "base/alloc.h"
#include "transfer/cookies_hsts.h"
#include "transfer/transfer.h"

#include <assert.h>
#include <string.h>

static void forget_next(afc__hop *hop) {
    if (hop->next != NULL) afc__request_head_clear(hop->next);
    afc_free(hop->next);
    hop->next = NULL;
}

void afc__hop_clear(afc__hop *hop) {
    if (hop->cookies != NULL) afc__free_secret(hop->cookies, strlen(hop->cookies));
    afc__buffer_clear(&hop->kept);
    forget_next(hop);
    afc_free(hop->location);
    memset(hop, 0, sizeof *hop);
}

void afc__hop_enter(afc__hop *hop, afc__phase phase) {
    assert(afc__phase_may_follow(hop->phase, phase));
    hop->phase = phase;
}

afc__request_head *afc__hop_make_next(afc__hop *hop) {
    forget_next(hop);
    hop->next = afc__zalloc(sizeof *hop->next);
    return hop->next;
}

static bool start_reader(afc__transfer *transfer) {
    afc_result *result = transfer->result;
    if (afc__result_make_block(result) != AFC_OK) {
        return afc__transfer_fail_memory(transfer);
    }
    transfer->hop.reader = &result->block->reader;
    afc__head_limits limits = {transfer->limits.head_bytes, transfer->limits.head_count,
                               transfer->limits.informational};
    transfer->hop.reader->limits = limits;
    afc__head_reader_clear(transfer->hop.reader);
    transfer->hop.reader->awaits_upgrade = transfer->purpose == AFC__PURPOSE_UPGRADE;
    afc__result_lend_head(result);
    return true;
}

static bool renew_upgrade(afc__transfer *transfer) {
    const afc__upgrade *upgrade = afc__transfer_get_upgrade(transfer);
    if (upgrade == NULL) return true;
    afc__request_head *request = &transfer->request;
    afc_failure failure = {0};
    afc_status status = upgrade->renew(transfer->source.body.reader.context, request->headers,
                                       request->header_count, &failure);
    return status == AFC_OK || afc__transfer_fail(transfer, &failure);
}

bool afc__transfer_reset_hop(afc__transfer *transfer) {
    afc__hop_clear(&transfer->hop);
    return start_reader(transfer) && renew_upgrade(transfer) &&
           afc__transfer_apply_cookies_and_hsts(transfer);
}

int64_t afc__hop_bytes_missing(const afc__hop *hop, int64_t received) {
    switch (hop->framing.kind) {
    case AFC__FRAMING_NONE:
        return 0;
    case AFC__FRAMING_LENGTH:
        return hop->framing.length - (int64_t)hop->from_cache - received;
    case AFC__FRAMING_CHUNKED:
    case AFC__FRAMING_CLOSE:
        break;
    }
    return INT64_MAX;
}

bool afc__transfer_has_whole_body(const afc__transfer *transfer) {
    const afc__hop *hop = &transfer->hop;
    bool is_discarded = afc__hop_discards_body(hop);
    if (!is_discarded && hop->phase != AFC__PHASE_BODY) return false;
    if (hop->framing.kind != AFC__FRAMING_NONE && !afc__transfer_has_plain_body(transfer))
        return false;
    uint64_t taken = is_discarded ? hop->discarded : hop->decoded;
    return afc__hop_bytes_missing(hop, (int64_t)taken) == 0;
}
