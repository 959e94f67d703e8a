/** The head of a request as it is sent with one hop: a checked copy of method, URL and fields. */
#ifndef AFC_TRANSFER_REQUEST_HEAD_H
#define AFC_TRANSFER_REQUEST_HEAD_H

#include "base/buffer.h"
#include "message/url.h"

#include <afcore/message.h>
#include <string.h>

/** A request head; empty if zeroed. */
typedef struct afc__request_head {
    /** The memory of the members below except the URL; NULL if they are in the given storage. */
    void *block;
    const char *method; /**< Ends in NUL. */
    afc__url url;
    afc_header *headers;
    size_t header_count;
    bool sends_body; /**< The task's request body is sent with this hop. */
} afc__request_head;

/**
 * Checks and copies method and fields. Takes `url`, even on failure. `storage`, which is aligned for afc_header, is
 * used if all fits, and must then outlive `request`. Fails with AFC_EINVAL, with a text that names what is invalid, or
 * AFC_ENOMEM.
 */
afc_status afc__request_head_init(afc__request_head *request, afc__storage storage,
                                  const char *method, afc__url *url, const afc_header *headers,
                                  size_t count, afc_failure *failure);
void afc__request_head_clear(afc__request_head *request);

/** Returns whether the method is this one. Inline, as most other methods differ in their first letter. */
static inline bool afc__request_head_is(const afc__request_head *request, const char *method) {
    return request->method[0] == method[0] && strcmp(request->method, method) == 0;
}

/** Returns whether the method is idempotent (RFC 9110 section 9.2.2). */
bool afc__request_head_is_idempotent(const afc__request_head *request);

/** Returns whether a field of that name is sent. */
bool afc__request_head_sends(const afc__request_head *request, afc_slice name);

/** Returns whether there is a field of that name, or one that suppresses it. */
bool afc__request_head_mentions(const afc__request_head *request, const char *name);

#endif
