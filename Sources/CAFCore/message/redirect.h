/**
 * Follow this redirect? What survives the hop? (RFC 9110 15.4.) Pure.
 */
#ifndef AF_MESSAGE_REDIRECT_H
#define AF_MESSAGE_REDIRECT_H

#include "message/url.h"

#include <afcore/message.h>

typedef struct af__redirect_question {
    const af_head *head;
    const af__url *url;   /**< That answered. */
    const char *method;   /**< That was asked. */
    bool has_body;        /**< The request had a body. */
    int followed;         /**< Redirects followed so far. */
    int limit;            /**< At most so many; negative: none is followed. */
    bool allow_downgrade; /**< From https to http. */
    /** Must this http URL be an https one? Asked with `context`; NULL: none must. */
    bool (*wants_https)(const void *context, const af__url *url);
    const void *context;
    af__to_ascii
        *to_ascii; /**< With A-labels, two spellings of one host are one origin. May be NULL. */
} af__redirect_question;

typedef struct af__redirect_plan {
    bool follow;         /**< False: the answer stands, and nothing else is set. */
    af__url target;      /**< af__url_clear() it. */
    const char *method;  /**< "GET" or the question's. */
    bool keeps_body;     /**< The body is sent again. */
    bool crosses_origin; /**< Scheme, host or port differ. */
} af__redirect_plan;

/**
 * Followed are 301, 302, 303, 307 and 308 with a Location that is not empty, unless the limit is
 * negative; every other answer stands. 301, 302: POST becomes GET. 303: all but HEAD become GET,
 * without a body. 307, 308: nothing changes.
 *
 * AF_EREDIRECT: more than `limit`; different Locations; one that is not an http or https URL (see
 * af__url_resolve()); https to http unless allowed. The text never shows userinfo. AF_ENOMEM. After
 * a failure `*out` is empty.
 */
af_status af__redirect_decide(const af__redirect_question *question, af__redirect_plan *out,
                              af_failure *failure);

/**
 * May this field of the old request go with the new one? Not to another origin: Authorization,
 * Cookie, Proxy-*, Host and what is marked AF_HEADER_SECRET. Not without a body: Content-*, Digest,
 * Repr-Digest, Expect, Trailer. Wishes to remove a field always stay.
 */
bool af__redirect_keeps_header(const af__redirect_plan *plan, const af_header *header);

/**
 * The caller edited the plan's URL to `edited`. May this field of his request go there? A credential
 * of the old request that he only passed on may not, if the plan led to the old origin and his URL
 * doesn't; one that he set anew may.
 */
bool af__redirect_keeps_edited(const af__redirect_plan *plan, const af__url *from,
                               const af__url *edited, const af_header *header, const af_header *old,
                               size_t old_count);

#endif
