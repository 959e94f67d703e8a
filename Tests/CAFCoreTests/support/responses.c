#include "support/responses.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Waiting ------------------------------------------------------------------------------- */

typedef struct waiter {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    unsigned wakes;
} waiter;

static void wake(void *context) {
    waiter *waiter = context;
    pthread_mutex_lock(&waiter->lock);
    waiter->wakes++;
    pthread_cond_signal(&waiter->changed);
    pthread_mutex_unlock(&waiter->lock);
}

static void wait_for_wake(waiter *waiter) {
    pthread_mutex_lock(&waiter->lock);
    while (waiter->wakes == 0) pthread_cond_wait(&waiter->changed, &waiter->lock);
    waiter->wakes--;
    pthread_mutex_unlock(&waiter->lock);
}

#define WAITER_INIT                                                                                \
    { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0 }

/* ---- Responses ----------------------------------------------------------------------------- */

afc_slice response_key(char out[64], unsigned url) {
    int size = snprintf(out, 64, "\nhttp://h%u.test/%u", url % 4, url);
    return (afc_slice){out, (size_t)size};
}

static uint64_t octet_seed(const response *response) {
    return (uint64_t)response->url << 32 ^ (uint64_t)response->variant << 24 ^ response->version;
}

void response_fill(const response *response, uint64_t offset, char *out, size_t size) {
    uint64_t seed = octet_seed(response) * UINT64_C(0x9e3779b97f4a7c15);
    for (size_t i = 0; i < size; i++) {
        uint64_t word = (seed + (offset + i) / 8) * UINT64_C(0xbf58476d1ce4e5b9);
        out[i] = (char)(word >> (8 * ((offset + i) % 8)));
    }
}

const afc__http_cache_meta *response_meta(const response *response) {
    static _Thread_local afc_header fields[2], selecting[1];
    static _Thread_local char version[16], variant[16];
    static _Thread_local afc__http_cache_meta meta;
    snprintf(version, sizeof version, "%u", response->version);
    snprintf(variant, sizeof variant, "%u", response->variant);
    fields[0] = (afc_header){.name = S("X-Version"), .value = afc_slice_of(version)};
    fields[1] = (afc_header){.name = S("Vary"), .value = S("X-Variant")};
    selecting[0] = (afc_header){.name = S("x-variant"), .value = afc_slice_of(variant)};
    meta = (afc__http_cache_meta){
        .head = {.status = 200,
                 .version = AFC_HTTP_1_1,
                 .reason = S("OK"),
                 .headers = fields,
                 .header_count = response->variant != 0 ? 2 : 1},
        .request_fields = selecting,
        .request_field_count = response->variant != 0 ? 1 : 0,
        .request_time = response->time - 1,
        .response_time = response->time,
        .flags = response->version,
        .total = (int64_t)response->size,
    };
    return &meta;
}

afc__http_cache_writing *response_begin(afc_http_cache *cache, const response *response,
                                        int64_t expected) {
    char key[64];
    afc__http_cache_writing *writing;
    check_status(afc__http_cache_begin(&writing, cache, response_key(key, response->url),
                                       response_meta(response), expected),
                 AFC_OK);
    return writing;
}

bool response_store(afc_http_cache *cache, const response *response, size_t piece) {
    char key[64];
    afc__http_cache_writing *writing;
    if (afc__http_cache_begin(&writing, cache, response_key(key, response->url),
                              response_meta(response), (int64_t)response->size) != AFC_OK) {
        return false;
    }
    char *bytes = malloc(piece);
    assert_non_null(bytes);
    bool goes_on = true;
    for (uint64_t at = 0; at < response->size && goes_on; at += piece) {
        size_t size = response->size - at < piece ? (size_t)(response->size - at) : piece;
        response_fill(response, at, bytes, size);
        goes_on = afc__http_cache_append(writing, (afc_slice){bytes, size}, AFC__HTTP_CACHE_DROP) ==
                  AFC_OK;
    }
    free(bytes);
    if (goes_on) {
        afc__http_cache_commit(writing, AFC__HTTP_CACHE_DROP);
    } else {
        afc__http_cache_abandon(writing);
    }
    return goes_on;
}

/* ---- What is stored ------------------------------------------------------------------------ */

void response_find(afc_http_cache *cache, unsigned url, afc__http_cache_found *out) {
    char key[64];
    waiter waiter = WAITER_INIT;
    afc__http_cache_find *op;
    afc__http_cache_step step = afc__http_cache_find_begin(
        cache, response_key(key, url), (afc__http_cache_wake){wake, &waiter}, &op, out);
    if (step == AFC__HTTP_CACHE_PENDING) {
        wait_for_wake(&waiter);
        afc__http_cache_find_take(op, out);
        afc__http_cache_find_free(op);
    } else {
        assert_int_equal(step, AFC__HTTP_CACHE_READY);
        assert_null(op);
    }
    for (size_t i = 0; i < out->count; i++) {
        afc_slice stored = afc__http_cache_stored_key(out->stored[i]);
        assert_int_equal(stored.size, strlen(key));
        assert_memory_equal(stored.bytes, key, stored.size);
    }
}

void found_clear(afc__http_cache_found *found) {
    for (size_t i = 0; i < found->count; i++) afc__http_cache_stored_release(found->stored[i]);
    found->count = 0;
}

static unsigned number_of(afc_slice text) {
    char copy[16] = "";
    assert_true(text.size < sizeof copy);
    memcpy(copy, text.bytes, text.size);
    return (unsigned)strtoul(copy, NULL, 10);
}

unsigned response_version(const afc__http_cache_stored *stored) {
    const afc_header *field = afc_head_find(&afc__http_cache_stored_meta(stored)->head,
                                            "X-Version");
    assert_non_null(field);
    return number_of(field->value);
}

afc__http_cache_stored *found_variant(const afc__http_cache_found *found, unsigned variant) {
    for (size_t i = 0; i < found->count; i++) {
        const afc__http_cache_meta *meta = afc__http_cache_stored_meta(found->stored[i]);
        unsigned selecting = 0;
        if (meta->request_field_count != 0) selecting = number_of(meta->request_fields[0].value);
        if (selecting == variant) return found->stored[i];
    }
    return NULL;
}

bool response_read(afc_http_cache *cache, afc__http_cache_stored *stored, const response *expected,
                   uint64_t offset) {
    waiter waiter = WAITER_INIT;
    afc__http_cache_reader *reader = afc__http_cache_reader_open(
        cache, stored, offset, (afc__http_cache_wake){wake, &waiter});
    assert_non_null(reader);
    afc_slice piece;
    for (;;) {
        afc__http_cache_step step = afc__http_cache_read(reader, &piece);
        if (step == AFC__HTTP_CACHE_PENDING) {
            wait_for_wake(&waiter);
            continue;
        }
        if (step != AFC__HTTP_CACHE_READY) {
            afc__http_cache_reader_close(reader);
            if (step == AFC__HTTP_CACHE_BROKEN) return false;
            assert_int_equal(step, AFC__HTTP_CACHE_END);
            assert_true(offset >= expected->size);
            return true;
        }
        assert_true(piece.size > 0 && offset + piece.size <= expected->size);
        char *bytes = malloc(piece.size);
        assert_non_null(bytes);
        response_fill(expected, offset, bytes, piece.size);
        assert_memory_equal(piece.bytes, bytes, piece.size);
        free(bytes);
        offset += piece.size;
    }
}

void check_response(afc_http_cache *cache, afc__http_cache_stored *stored, const response *expected,
                    uint64_t offset) {
    assert_non_null(stored);
    const afc__http_cache_meta *meta = afc__http_cache_stored_meta(stored),
                               *wanted = response_meta(expected);
    assert_int_equal(meta->head.status, 200);
    check_slice(meta->head.reason, "OK");
    assert_int_equal(meta->head.version, AFC_HTTP_1_1);
    assert_int_equal(meta->head.header_count, wanted->head.header_count);
    assert_int_equal(meta->request_field_count, wanted->request_field_count);
    assert_int_equal(response_version(stored), expected->version);
    assert_int_equal(meta->request_time, wanted->request_time);
    assert_int_equal(meta->response_time, wanted->response_time);
    assert_int_equal(meta->flags, wanted->flags);
    assert_int_equal(meta->total, wanted->total);
    assert_int_equal(afc__http_cache_stored_body_size(stored), expected->size);
    assert_true(response_read(cache, stored, expected, offset));
}
