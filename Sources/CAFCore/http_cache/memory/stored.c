#include "http_cache/memory/stored.h"

#include "base/alloc.h"
#include "base/little_endian.h"
#include "http_cache/memory/key.h"
#include "message/head.h"

#include <string.h>
#include <unistd.h>

/*
 * The format of an encoded meta, with little-endian numbers: these numbers of 32 bits, then those of 64 bits, then the
 * key, the reason, the selecting fields, and the fields of the response. Each field is encoded as the sizes of its name
 * and value (32 bits each), followed by both texts.
 */
enum {
    KEY_SIZE,
    REASON_SIZE,
    SELECTING_COUNT,
    SELECTING_SIZE, /* Size of all selecting fields in bytes. */
    FIELD_COUNT,
    STATUS,
    VERSION,
    FLAGS,
    SHORT_NUMBERS
};
enum { REQUEST_TIME, RESPONSE_TIME, RANGE_START, TOTAL, LONG_NUMBERS };
enum { NUMBERS_SIZE = SHORT_NUMBERS * 4 + LONG_NUMBERS * 8 };

enum { PARTIAL_CONTENT = 206 };

/* ---- Bodies -------------------------------------------------------------------------------- */

afc__http_cache_body *afc__http_cache_body_new(afc_bytes bytes) {
    afc__http_cache_body *body = afc__alloc(sizeof *body);
    if (body == NULL) {
        afc_free(bytes.bytes);
        return NULL;
    }
    atomic_init(&body->references, 1);
    body->bytes = bytes;
    return body;
}

static void release_body(afc__http_cache_body *body) {
    if (body == NULL || atomic_fetch_sub(&body->references, 1) != 1) return;
    afc_free(body->bytes.bytes);
    afc_free(body);
}

/* ---- Encoding ------------------------------------------------------------------------------ */

static uint64_t fields_size(const afc_header *fields, size_t count) {
    uint64_t size = 0;
    for (size_t i = 0; i < count; i++) size += 8 + fields[i].name.size + fields[i].value.size;
    return size;
}

static char *put(char *at, afc_slice text) {
    if (text.size != 0) memcpy(at, text.bytes, text.size);
    return at + text.size;
}

static char *put_fields(char *at, const afc_header *fields, size_t count) {
    for (size_t i = 0; i < count; i++) {
        afc__save_32(at, (uint32_t)fields[i].name.size);
        afc__save_32(at + 4, (uint32_t)fields[i].value.size);
        at = put(put(at + 8, fields[i].name), fields[i].value);
    }
    return at;
}

size_t afc__http_cache_encoded_size(afc_slice key, const afc__http_cache_meta *meta) {
    const afc_head *head = &meta->head;
    uint64_t size = NUMBERS_SIZE + (uint64_t)key.size + head->reason.size +
                    fields_size(meta->request_fields, meta->request_field_count) +
                    fields_size(head->headers, head->header_count);
    bool is_too_large = key.size == 0 || key.size > AFC__HTTP_CACHE_KEY_MAX ||
                        size > AFC__HTTP_CACHE_META_MAX ||
                        head->header_count > AFC__HTTP_CACHE_FIELDS_MAX ||
                        meta->request_field_count > AFC__HTTP_CACHE_FIELDS_MAX;
    return is_too_large ? 0 : (size_t)size;
}

void afc__http_cache_encode(char *at, afc_slice key, const afc__http_cache_meta *meta) {
    const afc_head *head = &meta->head;
    const uint32_t shorts[SHORT_NUMBERS] = {
        [KEY_SIZE] = (uint32_t)key.size,
        [REASON_SIZE] = (uint32_t)head->reason.size,
        [SELECTING_COUNT] = (uint32_t)meta->request_field_count,
        [SELECTING_SIZE] = (uint32_t)fields_size(meta->request_fields, meta->request_field_count),
        [FIELD_COUNT] = (uint32_t)head->header_count,
        [STATUS] = (uint32_t)head->status,
        [VERSION] = (uint32_t)head->version,
        [FLAGS] = meta->flags,
    };
    const int64_t longs[LONG_NUMBERS] = {
        [REQUEST_TIME] = meta->request_time,
        [RESPONSE_TIME] = meta->response_time,
        [RANGE_START] = meta->range_start,
        [TOTAL] = meta->total,
    };
    for (size_t i = 0; i < SHORT_NUMBERS; i++, at += 4) afc__save_32(at, shorts[i]);
    for (size_t i = 0; i < LONG_NUMBERS; i++, at += 8) afc__save_64(at, (uint64_t)longs[i]);
    at = put(put(at, key), head->reason);
    at = put_fields(at, meta->request_fields, meta->request_field_count);
    put_fields(at, head->headers, head->header_count);
}

static uint32_t short_number(afc_slice block, size_t index) {
    return afc__load_32(block.bytes + index * 4);
}

static int64_t long_number(afc_slice block, size_t index) {
    return (int64_t)afc__load_64(block.bytes + SHORT_NUMBERS * 4 + index * 8);
}

afc_slice afc__http_cache_selecting_part(afc_slice block) {
    size_t start = NUMBERS_SIZE + (size_t)short_number(block, KEY_SIZE) +
                   short_number(block, REASON_SIZE);
    return (afc_slice){block.bytes + start, short_number(block, SELECTING_SIZE)};
}

/* ---- Decoding ------------------------------------------------------------------------------ */

/** Takes `size` bytes from the front; false if there are fewer. */
static bool take(afc_slice *rest, uint64_t size, afc_slice *out) {
    if (size > rest->size) return false;
    *out = (afc_slice){rest->bytes, (size_t)size};
    *rest = (afc_slice){rest->bytes + size, rest->size - (size_t)size};
    return true;
}

static bool take_fields(afc_slice *rest, afc_header *out, size_t count) {
    for (size_t i = 0; i < count; i++) {
        afc_slice sizes;
        if (!take(rest, 8, &sizes)) return false;
        uint32_t name_size = afc__load_32(sizes.bytes), value_size = afc__load_32(sizes.bytes + 4);
        out[i].flags = 0;
        if (!take(rest, name_size, &out[i].name) || !take(rest, value_size, &out[i].value)) {
            return false;
        }
    }
    return true;
}

/**
 * Decodes stored->block. The caller has checked that its size is at least NUMBERS_SIZE, and its counts of fields.
 * Returns false if the block is invalid.
 */
static bool decode(afc__http_cache_stored *stored) {
    afc_slice block = stored->block, rest = block, numbers, selecting;
    afc__http_cache_meta *meta = &stored->meta;
    uint32_t selecting_count = short_number(block, SELECTING_COUNT);
    uint32_t field_count = short_number(block, FIELD_COUNT);
    uint32_t status = short_number(block, STATUS);
    if (!take(&rest, NUMBERS_SIZE, &numbers)) return false;
    if (!take(&rest, short_number(block, KEY_SIZE), &stored->key)) return false;
    if (!take(&rest, short_number(block, REASON_SIZE), &meta->head.reason)) return false;
    if (!take(&rest, short_number(block, SELECTING_SIZE), &selecting)) return false;
    if (stored->key.size == 0 || stored->key.size > AFC__HTTP_CACHE_KEY_MAX) return false;
    if (status < 200 || status > 999) return false;
    meta->head.status = (int)status;
    meta->head.version = (afc_http_version)short_number(block, VERSION);
    meta->head.headers = stored->headers + selecting_count;
    meta->head.header_count = field_count;
    meta->request_fields = stored->headers;
    meta->request_field_count = selecting_count;
    meta->flags = short_number(block, FLAGS);
    meta->request_time = long_number(block, REQUEST_TIME);
    meta->response_time = long_number(block, RESPONSE_TIME);
    meta->range_start = long_number(block, RANGE_START);
    meta->total = long_number(block, TOTAL);
    if (meta->request_time < 0 || meta->response_time < 0) return false;
    if (meta->range_start < 0 || meta->total < -1) return false;
    if (meta->total >= 0 && meta->range_start > meta->total) return false;
    if (!take_fields(&selecting, stored->headers, selecting_count) || selecting.size != 0) {
        return false;
    }
    if (!take_fields(&rest, stored->headers + selecting_count, field_count) || rest.size != 0) {
        return false;
    }
    if (!afc__http_cache_date_read(&meta->head, "Date", meta->response_time, &stored->date)) {
        stored->date = meta->response_time;
    }
    return true;
}

/**
 * Allocates a response with room for `field_count` fields altogether and for a block, which the caller writes at
 * `*block`.
 */
static afc__http_cache_stored *new_stored(size_t field_count, size_t size, char **block) {
    afc__http_cache_stored *stored;
    size_t head_size = sizeof *stored + field_count * sizeof(afc_header);
    stored = afc__alloc(head_size + size);
    if (stored == NULL) return NULL;
    memset(stored, 0, sizeof *stored);
    atomic_init(&stored->references, 1);
    atomic_init(&stored->terms_state, AFC__TERMS_UNREAD);
    stored->descriptor = -1;
    *block = (char *)stored + head_size;
    stored->block = (afc_slice){*block, size};
    return stored;
}

afc__http_cache_stored *afc__http_cache_stored_decode(afc_slice block, bool *has_memory) {
    if (block.size < NUMBERS_SIZE || block.size > AFC__HTTP_CACHE_META_MAX) return NULL;
    size_t selecting_count = short_number(block, SELECTING_COUNT);
    size_t field_count = short_number(block, FIELD_COUNT);
    if (selecting_count > AFC__HTTP_CACHE_FIELDS_MAX || field_count > AFC__HTTP_CACHE_FIELDS_MAX) {
        return NULL;
    }
    char *copy;
    afc__http_cache_stored *stored = new_stored(selecting_count + field_count, block.size, &copy);
    if (stored == NULL) {
        *has_memory = false;
        return NULL;
    }
    memcpy(copy, block.bytes, block.size);
    if (decode(stored)) return stored;
    afc_free(stored);
    return NULL;
}

afc__http_cache_stored *afc__http_cache_stored_new(afc_slice key,
                                                   const afc__http_cache_meta *meta) {
    size_t size = afc__http_cache_encoded_size(key, meta);
    if (size == 0) return NULL;
    char *block;
    size_t field_count = meta->request_field_count + meta->head.header_count;
    afc__http_cache_stored *stored = new_stored(field_count, size, &block);
    if (stored == NULL) return NULL;
    afc__http_cache_encode(block, key, meta);
    if (decode(stored)) return stored;
    afc_free(stored);
    return NULL;
}

void afc__http_cache_stored_cut(afc__http_cache_stored *stored, int64_t total) {
    char *block = (char *)(stored->headers + stored->meta.request_field_count +
                           stored->meta.head.header_count);
    stored->meta.head.status = PARTIAL_CONTENT;
    stored->meta.total = total;
    afc__save_32(block + STATUS * 4, PARTIAL_CONTENT);
    afc__save_64(block + SHORT_NUMBERS * 4 + TOTAL * 8, (uint64_t)total);
}

/* ---- Use ----------------------------------------------------------------------------------- */

const afc__http_cache_meta *afc__http_cache_stored_meta(const afc__http_cache_stored *stored) {
    return &stored->meta;
}

afc__http_cache_id afc__http_cache_stored_id(const afc__http_cache_stored *stored) {
    return stored->id;
}

uint64_t afc__http_cache_stored_extent(const afc__http_cache_stored *stored) {
    return stored->meta.head.status == PARTIAL_CONTENT ? stored->body_size : UINT64_MAX;
}

afc__http_cache_seen afc__http_cache_see(const afc__http_cache_stored *stored) {
    return (afc__http_cache_seen){stored->id, afc__http_cache_stored_extent(stored)};
}

afc_slice afc__http_cache_stored_key(const afc__http_cache_stored *stored) {
    return stored->key;
}

uint64_t afc__http_cache_stored_body_size(const afc__http_cache_stored *stored) {
    return stored->body_size;
}

static void read_terms(const afc__http_cache_stored *stored, afc__http_cache_terms *out) {
    const afc__http_cache_meta *meta = &stored->meta;
    afc_slice url = afc__http_cache_key_url(stored->key);
    bool has_query = url.size > 0 && memchr(url.bytes, '?', url.size) != NULL;
    afc__response_control_read(&out->control, meta->head.headers, meta->head.header_count);
    afc__freshness_question question = {&meta->head, &out->control, meta->request_time,
                                        meta->response_time, has_query};
    out->freshness = afc__freshness_of(&question);
    out->is_encoded = afc__head_is_encoded(&meta->head);
}

const afc__http_cache_terms *afc__http_cache_stored_terms(afc__http_cache_stored *stored,
                                                          afc__http_cache_terms *storage) {
    int state = atomic_load_explicit(&stored->terms_state, memory_order_acquire);
    if (state == AFC__TERMS_READ) return &stored->terms;
    read_terms(stored, storage);
    if (state != AFC__TERMS_UNREAD ||
        !atomic_compare_exchange_strong(&stored->terms_state, &state, AFC__TERMS_WRITING)) {
        return storage;
    }
    stored->terms = *storage;
    atomic_store_explicit(&stored->terms_state, AFC__TERMS_READ, memory_order_release);
    return &stored->terms;
}

uint64_t afc__http_cache_stored_cost(const afc__http_cache_stored *stored) {
    size_t count = stored->meta.request_field_count + stored->meta.head.header_count;
    uint64_t size = sizeof *stored + count * sizeof(afc_header) + stored->block.size;
    if (stored->body != NULL) size += sizeof *stored->body + stored->body->bytes.size;
    return size;
}

afc__http_cache_stored *afc__http_cache_stored_retain(afc__http_cache_stored *stored) {
    atomic_fetch_add_explicit(&stored->references, 1, memory_order_relaxed);
    return stored;
}

void afc__http_cache_stored_release(afc__http_cache_stored *stored) {
    if (stored == NULL || atomic_fetch_sub(&stored->references, 1) != 1) return;
    release_body(stored->body);
    if (stored->descriptor >= 0) close(stored->descriptor);
    afc_free(stored);
}
