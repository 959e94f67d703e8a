#include "transfer/result.h"

#include "base/alloc.h"
#include "base/freelist.h"

#include <string.h>

/** Freelists: a busy program needs one of each for each request. */
static afc__freelist results = AFC__FREELIST_INIT(sizeof(afc_result), AFC__RESULTS_KEPT);
static afc__freelist blocks = AFC__FREELIST_INIT(sizeof(afc__response_block), AFC__RESULTS_KEPT);
static afc__freelist storages = AFC__FREELIST_INIT(sizeof(afc__response_storage),
                                                   AFC__RESULTS_KEPT);

afc_result *afc__result_new(void) {
    afc_result *result = afc__freelist_take(&results);
    if (result == NULL) return NULL;
    memset(result, 0, sizeof *result);
    return result;
}

afc_status afc__result_make_block(afc_result *result) {
    if (result->block != NULL) return AFC_OK;
    afc__response_block *block = afc__freelist_take(&blocks);
    if (block == NULL) return AFC_ENOMEM;
    memset(block, 0, sizeof *block);
    result->block = block;
    result->hops = &block->first_hop;
    result->hop_capacity = 1;
    return AFC_OK;
}

afc_status afc__result_make_storage(afc_result *result) {
    /* Not zeroed: it is written before it is read. */
    afc__response_block *block = result->block;
    if (block->storage == NULL) block->storage = afc__freelist_take(&storages);
    return block->storage != NULL ? AFC_OK : AFC_ENOMEM;
}

void afc__result_lend_head(afc_result *result) {
    afc__response_storage *storage = result->block->storage;
    if (storage == NULL) return;
    afc__storage text = {storage->text, sizeof storage->text};
    afc__fields_use_storage(&result->block->reader.fields, text, storage->headers,
                            AFC__RESULT_HEADERS);
}

static bool has_own_hops(const afc_result *result) {
    return result->block != NULL && result->hops != &result->block->first_hop;
}

static void free_texts(const afc_hop *hop) {
    afc_free((char *)(uintptr_t)hop->url);
    afc_free((char *)(uintptr_t)hop->location);
    afc_free((char *)(uintptr_t)hop->proxy);
}

static afc_status grow_hops(afc_result *result) {
    size_t capacity = result->hop_capacity * 2 + 2;
    afc_hop *hops = afc__alloc(capacity * sizeof *hops);
    if (hops == NULL) return AFC_ENOMEM;
    if (result->hop_count > 0) memcpy(hops, result->hops, result->hop_count * sizeof *hops);
    if (has_own_hops(result)) afc_free(result->hops);
    result->hops = hops;
    result->hop_capacity = capacity;
    return AFC_OK;
}

afc_status afc__result_add_hop(afc_result *result, const afc_hop *hop) {
    if (result->hop_count == result->hop_capacity && grow_hops(result) != AFC_OK) {
        free_texts(hop);
        return AFC_ENOMEM;
    }
    result->hops[result->hop_count++] = *hop;
    return AFC_OK;
}

void afc__result_set_verification(afc_result *result, afc__verification *verification) {
    if (verification != result->verification) {
        afc_trust_report_free(result->report);
        result->report = NULL;
    }
    afc__verification_release(result->verification);
    result->verification = verification;
}

void afc_result_free(afc_result *result) {
    if (result == NULL) return;
    for (size_t i = 0; i < result->hop_count; i++) free_texts(&result->hops[i]);
    if (has_own_hops(result)) afc_free(result->hops);
    afc__buffer_clear(&result->body);
    if (result->block != NULL) {
        afc__head_reader_clear(&result->block->reader);
        afc__freelist_give(&storages, result->block->storage);
        afc__freelist_give(&blocks, result->block);
    }
    afc_trust_report_free(result->report);
    afc__verification_release(result->verification);
    if (result->download != NULL) afc_free((char *)(uintptr_t)result->download->path);
    afc_free(result->download);
    afc_free(result->resume_token);
    afc__freelist_give(&results, result);
}

void afc__result_free_kept(void) {
    afc__freelist_empty(&results);
    afc__freelist_empty(&blocks);
    afc__freelist_empty(&storages);
}

const afc_failure *afc_result_get_failure(const afc_result *result) {
    return &result->failure;
}

const afc_head *afc_result_get_head(const afc_result *result) {
    return result->has_head ? &result->block->reader.head : NULL;
}

const afc_header *afc_result_get_trailers(const afc_result *result, size_t *count) {
    const afc__fields *trailers = result->block != NULL ? &result->block->reader.trailers : NULL;
    *count = trailers != NULL ? trailers->count : 0;
    return trailers != NULL ? trailers->headers : NULL;
}

const char *afc_result_get_url(const afc_result *result) {
    if (result->hop_count == 0) return "";
    return result->hops[result->hop_count - 1].url;
}

const afc_hop *afc_result_get_hops(const afc_result *result, size_t *count) {
    *count = result->hop_count;
    return result->hops;
}

const char *afc_result_get_not_stored(const afc_result *result) {
    return result->not_stored != NULL ? result->not_stored : "";
}

uint64_t afc_result_get_body_size(const afc_result *result) {
    return result->body_size;
}

afc_slice afc_result_get_body(const afc_result *result) {
    /* Never NULL: programs pass it on to fwrite() and memcpy(). */
    if (result->body.size == 0) return afc_slice_of("");
    afc_slice body = {result->body.bytes, result->body.size};
    return body;
}

afc_bytes afc_result_take_body(afc_result *result) {
    return afc__buffer_take(&result->body);
}

const afc_trust_report *afc_result_get_trust(afc_result *result) {
    if (result->report == NULL && result->verification != NULL) {
        result->report = afc__verification_report(result->verification);
    }
    return result->report;
}

const afc_trust_report *afc_response_get_trust(const afc_response *response) {
    return afc_result_get_trust(response->result);
}

const afc_download *afc_result_get_download(const afc_result *result) {
    return result->download;
}

const char *afc_result_get_resume_token(const afc_result *result) {
    return result->resume_token != NULL ? result->resume_token : "";
}
