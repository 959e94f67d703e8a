#include "transfer/result.h"

#include "base/alloc.h"
#include "base/freelist.h"

#include <string.h>

/** A busy program makes one of each for each request. */
static af__freelist results = AF__FREELIST_INIT(sizeof(af_result), AF__RESULT_SPARES);
static af__freelist blocks = AF__FREELIST_INIT(sizeof(af__response_block), AF__RESULT_SPARES);
static af__freelist rooms = AF__FREELIST_INIT(sizeof(af__response_room), AF__RESULT_SPARES);

af_result *af__result_new(void) {
    af_result *result = af__freelist_take(&results);
    if (result == NULL) return NULL;
    memset(result, 0, sizeof *result);
    return result;
}

af_status af__result_make_block(af_result *result) {
    if (result->block != NULL) return AF_OK;
    af__response_block *block = af__freelist_take(&blocks);
    if (block == NULL) return AF_ENOMEM;
    memset(block, 0, sizeof *block);
    result->block = block;
    result->hops = &block->first_hop;
    result->hop_capacity = 1;
    return AF_OK;
}

af_status af__result_make_room(af_result *result) {
    /* It is written before it is read. */
    af__response_block *block = result->block;
    if (block->room == NULL) block->room = af__freelist_take(&rooms);
    return block->room != NULL ? AF_OK : AF_ENOMEM;
}

void af__result_lend_head(af_result *result) {
    af__response_room *room = result->block->room;
    if (room == NULL) return;
    af__storage text = {room->text, sizeof room->text};
    af__fields_use_storage(&result->block->reader.fields, text, room->headers, AF__RESULT_HEADERS);
}

static bool has_own_hops(const af_result *result) {
    return result->block != NULL && result->hops != &result->block->first_hop;
}

static void free_texts(const af_hop *hop) {
    af_free((char *)(uintptr_t)hop->url);
    af_free((char *)(uintptr_t)hop->location);
}

static af_status grow_hops(af_result *result) {
    size_t capacity = result->hop_capacity * 2 + 2;
    af_hop *hops = af__alloc(capacity * sizeof *hops);
    if (hops == NULL) return AF_ENOMEM;
    if (result->hop_count > 0) memcpy(hops, result->hops, result->hop_count * sizeof *hops);
    if (has_own_hops(result)) af_free(result->hops);
    result->hops = hops;
    result->hop_capacity = capacity;
    return AF_OK;
}

af_status af__result_add_hop(af_result *result, const af_hop *hop) {
    if (result->hop_count == result->hop_capacity && grow_hops(result) != AF_OK) {
        free_texts(hop);
        return AF_ENOMEM;
    }
    result->hops[result->hop_count++] = *hop;
    return AF_OK;
}

void af__result_set_verification(af_result *result, af__verification *verification) {
    if (verification != result->verification) {
        af_trust_report_free(result->report);
        result->report = NULL;
    }
    af__verification_release(result->verification);
    result->verification = verification;
}

void af_result_free(af_result *result) {
    if (result == NULL) return;
    for (size_t i = 0; i < result->hop_count; i++) free_texts(&result->hops[i]);
    if (has_own_hops(result)) af_free(result->hops);
    af__buffer_clear(&result->body);
    if (result->block != NULL) {
        af__head_reader_clear(&result->block->reader);
        af__freelist_give(&rooms, result->block->room);
        af__freelist_give(&blocks, result->block);
    }
    af_trust_report_free(result->report);
    af__verification_release(result->verification);
    if (result->download != NULL) af_free((char *)(uintptr_t)result->download->path);
    af_free(result->download);
    af_free(result->resume_token);
    af__freelist_give(&results, result);
}

void af__result_free_kept(void) {
    af__freelist_empty(&results);
    af__freelist_empty(&blocks);
    af__freelist_empty(&rooms);
}

const af_failure *af_result_get_failure(const af_result *result) {
    return &result->failure;
}

const af_head *af_result_get_head(const af_result *result) {
    return result->has_head ? &result->block->reader.head : NULL;
}

const af_header *af_result_get_trailers(const af_result *result, size_t *count) {
    const af__fields *trailers = result->block != NULL ? &result->block->reader.trailers : NULL;
    *count = trailers != NULL ? trailers->count : 0;
    return trailers != NULL ? trailers->headers : NULL;
}

const char *af_result_get_url(const af_result *result) {
    if (result->hop_count == 0) return "";
    return result->hops[result->hop_count - 1].url;
}

const af_hop *af_result_get_hops(const af_result *result, size_t *count) {
    *count = result->hop_count;
    return result->hops;
}

uint64_t af_result_get_body_size(const af_result *result) {
    return result->body_size;
}

af_slice af_result_get_body(const af_result *result) {
    af_slice body = {result->body.bytes, result->body.size};
    return body;
}

af_bytes af_result_take_body(af_result *result) {
    return af__buffer_take(&result->body);
}

const af_trust_report *af_result_get_trust(af_result *result) {
    if (result->report == NULL && result->verification != NULL) {
        result->report = af__verification_report(result->verification);
    }
    return result->report;
}

const af_trust_report *af_response_get_trust(const af_response *response) {
    return af_result_get_trust(response->result);
}

const af_download *af_result_get_download(const af_result *result) {
    return result->download;
}

const char *af_result_get_resume_token(const af_result *result) {
    return result->resume_token != NULL ? result->resume_token : "";
}
