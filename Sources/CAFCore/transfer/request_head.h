/**
 * The head of a request as it goes out on one hop: a checked copy of method, URL and fields.
 */
#ifndef AF_TRANSFER_REQUEST_HEAD_H
#define AF_TRANSFER_REQUEST_HEAD_H

#include "base/buffer.h"
#include "message/url.h"

#include <afcore/message.h>

/** Zeroed it is empty. */
typedef struct af__request_head {
    void *block;        /**< Holds everything below but the URL, if the room given did not. */
    const char *method; /**< Ends in NUL. */
    af__url url;
    af_header *headers;
    size_t header_count;
    bool sends_body; /**< The task's request body goes with it. */
} af__request_head;

/**
 * Check and copy. Takes `url`, also when it fails. AF_EINVAL names what is wrong, AF_ENOMEM.
 * `room` is used if all fits, and must then outlive `request`; it is aligned for af_header.
 */
af_status af__request_head_init(af__request_head *request, af__storage room, const char *method,
                                af__url *url, const af_header *headers, size_t count,
                                af_failure *failure);
void af__request_head_clear(af__request_head *request);

/** Has sending it twice the effect of sending it once (RFC 9110 9.2.2)? */
bool af__request_head_is_idempotent(const af__request_head *request);

/** Is there a field of that name to send? */
bool af__request_head_sends(const af__request_head *request, af_slice name);

/** Is there a field of that name, or one that suppresses it? */
bool af__request_head_mentions(const af__request_head *request, const char *name);

#endif
