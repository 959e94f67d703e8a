/** Responses for tests of the HTTP cache's store: made of small numbers, and checked against them. */
#ifndef AFC_TESTS_RESPONSES_H
#define AFC_TESTS_RESPONSES_H

#include "http_cache/store_body.h"
#include "support/check.h"

/** A response: what it is stored under, and what it consists of. */
typedef struct response {
    unsigned url;     /**< The key is "\nhttp://hN.test/URL", with N = url % 4. */
    unsigned variant; /**< Value of the selecting field; 0: no selecting field. */
    unsigned version; /**< Contents of body and head. */
    size_t size;      /**< Size of the body. */
    int64_t time;     /**< When it was received. */
} response;

/** Writes the key. */
afc_slice response_key(char out[64], unsigned url);

/** Writes the octets of the body from `offset` on. */
void response_fill(const response *response, uint64_t offset, char *out, size_t size);

/** Begins to store; the size of the body is `expected`, or unknown if that is -1. */
afc__http_cache_writing *response_begin(afc_http_cache *cache, const response *response,
                                        int64_t expected);

/** Begins, appends in pieces of `piece` bytes, and commits. false: the store refused. */
bool response_store(afc_http_cache *cache, const response *response, size_t piece);

/** Fills in a meta that lives until the next call of this thread. */
const afc__http_cache_meta *response_meta(const response *response);

/** Checks that it is this one: its head and its body from `offset` on. */
void check_response(afc_http_cache *cache, afc__http_cache_stored *stored, const response *expected,
                    uint64_t offset);

/** Reads the body from `offset` on and compares. false: the store says that it is broken. */
bool response_read(afc_http_cache *cache, afc__http_cache_stored *stored, const response *expected,
                   uint64_t offset);

/** Finds, and waits if that takes a while. Release with found_clear(). */
void response_find(afc_http_cache *cache, unsigned url, afc__http_cache_found *out);
void found_clear(afc__http_cache_found *found);

/** The number in the head of a stored response that says its version. */
unsigned response_version(const afc__http_cache_stored *stored);

/** The stored variant; NULL: nothing is stored. */
afc__http_cache_stored *found_variant(const afc__http_cache_found *found, unsigned variant);

#endif
