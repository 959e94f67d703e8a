/**
 * The head of a request as it goes out on one hop: a checked copy of method, URL and fields.
 */
#ifndef AF_TRANSFER_REQUEST_HEAD_H
#define AF_TRANSFER_REQUEST_HEAD_H

#include "base/buffer.h"
#include "message/url.h"

#include <afcore/message.h>

/** Zeroed it is empty. */
typedef struct af__outgoing {
    void *block;        /**< Holds everything below but the URL, if the room given did not. */
    const char *method; /**< Ends in NUL. */
    af__url url;
    af_header *headers;
    size_t header_count;
    bool sends_body; /**< The task's request body goes with it. */
} af__outgoing;

/**
 * Check and copy. Takes `url`, also when it fails. AF_EINVAL names what is wrong, AF_ENOMEM.
 * `room` is used if all fits, and must then outlive `outgoing`; it is aligned for af_header.
 */
af_status af__outgoing_init(af__outgoing *outgoing, af__room room, const char *method, af__url *url,
                            const af_header *headers, size_t count, af_failure *failure);
void af__outgoing_clear(af__outgoing *outgoing);

/** Has sending it twice the effect of sending it once (RFC 9110 9.2.2)? */
bool af__outgoing_is_idempotent(const af__outgoing *outgoing);

/** Is there a field of that name to send? */
bool af__outgoing_sends(const af__outgoing *outgoing, af_slice name);

/** Is there a field of that name, or the wish to send none? */
bool af__outgoing_mentions(const af__outgoing *outgoing, const char *name);

#endif
