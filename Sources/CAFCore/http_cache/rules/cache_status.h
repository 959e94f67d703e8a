/** Makes the head of a cached response: Age (RFC 9111 5.1) and Cache-Status (RFC 9211). Pure functions. */
#ifndef AFC_HTTP_CACHE_RULES_CACHE_STATUS_H
#define AFC_HTTP_CACHE_RULES_CACHE_STATUS_H

#include "http_cache/rules/ranges.h"
#include "message/fields.h"

#include <afcore/message.h>

enum {
    /** The most that is added to a stored head: Age, Cache-Status, Content-Range, Content-Length. */
    AFC__CACHED_RESPONSE_MORE_FIELDS = 4,
    AFC__CACHED_RESPONSE_MORE_BYTES = 512,
    /** Sizes of texts that are written, without a NUL. */
    AFC__CACHED_RESPONSE_NUMBER_SIZE = 20,
    AFC__CACHED_RESPONSE_STATUS_SIZE = 64
};

/** How a response of the cache has come about. */
typedef enum afc__cached_response_kind {
    AFC__CACHED_RESPONSE_HIT,
    AFC__CACHED_RESPONSE_VALIDATED, /**< The server has confirmed it with a 304. */
    /** A 200, made of a stored part and of the rest, which the server sends. */
    AFC__CACHED_RESPONSE_COMPLETED,
    /** Nothing is stored, and the server must not be asked: a 504. */
    AFC__CACHED_RESPONSE_MISSING
} afc__cached_response_kind;

typedef struct afc__cached_response {
    afc__cached_response_kind kind;
    /** The stored head, which may have been updated; NULL with MISSING. */
    const afc_head *head;
    int64_t age, lifetime; /**< Seconds; the ttl in Cache-Status is their difference. */
    bool is_not_modified;  /**< Make a 304: the client has the response. */
    /** If not NULL, make a 206 with this part of a stored whole. */
    const afc__byte_range *range;
    int64_t total; /**< Size of the representation in bytes; with `range` or COMPLETED. */
} afc__cached_response;

/** The head of a cached response. It refers to the stored head and to its own texts, so it can't be copied. */
typedef struct afc__cached_response_head {
    afc_head head;
    afc__field_list fields;
    char age[AFC__CACHED_RESPONSE_NUMBER_SIZE], length[AFC__CACHED_RESPONSE_NUMBER_SIZE];
    char range[AFC__CONTENT_RANGE_SIZE], status[AFC__CACHED_RESPONSE_STATUS_SIZE];
} afc__cached_response_head;

/** Makes the head of a cached response. On AFC_ENOMEM there is nothing to clear. */
afc_status afc__cached_response_make_head(afc__cached_response_head *out,
                                          const afc__cached_response *response);

/** Frees what a made head has. */
void afc__cached_response_clear_head(afc__cached_response_head *head);

#endif
