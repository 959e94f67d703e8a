/**
 * The head of a request as it goes out on one hop: a checked copy of method, URL and fields.
 */
#ifndef AFC_TRANSFER_REQUEST_HEAD_H
#define AFC_TRANSFER_REQUEST_HEAD_H

#include "base/buffer.h"
#include "message/url.h"

#include <afcore/message.h>
#include <string.h>

/** Zeroed it is empty. */
typedef struct afc__request_head {
    void *block;        /**< Holds everything below but the URL, if the given storage did not. */
    const char *method; /**< Ends in NUL. */
    afc__url url;
    afc_header *headers;
    size_t header_count;
    bool sends_body; /**< The task's request body goes with it. */
} afc__request_head;

/**
 * Checks and copies. Takes `url`, also when it fails. AFC_EINVAL names what is wrong, AFC_ENOMEM.
 * `storage` is used if all fits, and must then outlive `request`; it is aligned for afc_header.
 */
afc_status afc__request_head_init(afc__request_head *request, afc__storage storage,
                                  const char *method, afc__url *url, const afc_header *headers,
                                  size_t count, afc_failure *failure);
void afc__request_head_clear(afc__request_head *request);

/** Returns whether this is its method. Inline, as most other methods differ in their first letter. */
static inline bool afc__request_head_is(const afc__request_head *request, const char *method) {
    return request->method[0] == method[0] && strcmp(request->method, method) == 0;
}

/** Returns whether sending it twice has the effect of sending it once (RFC 9110 9.2.2). */
bool afc__request_head_is_idempotent(const afc__request_head *request);

/** Returns whether there is a field of that name to send. */
bool afc__request_head_sends(const afc__request_head *request, afc_slice name);

/** Returns whether there is a field of that name, or one that suppresses it. */
bool afc__request_head_mentions(const afc__request_head *request, const char *name);

#endif
