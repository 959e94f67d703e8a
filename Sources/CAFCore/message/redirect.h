/**
 * Decides whether a redirect is followed and which parts of the request are kept (RFC 9110 15.4). Pure functions.
 */
#ifndef AFC_MESSAGE_REDIRECT_H
#define AFC_MESSAGE_REDIRECT_H

#include "message/url.h"

#include <afcore/message.h>

typedef struct afc__redirect_question {
    const afc_head *head;
    const afc__url *url; /**< URL of the response. */
    const char *method;  /**< Method of the request. */
    bool has_body;       /**< The request had a body. */
    int followed;        /**< Redirects followed so far. */
    int limit; /**< Maximum number of redirects; if it is negative, no redirect is followed. */
    bool allow_downgrade; /**< Allow redirects from https to http. */
    /** The request is a WebSocket handshake: ws and wss in Location mean http and https. */
    bool is_upgrade;
    /** Called with `context`: returns whether this http URL must be upgraded to https (HSTS). NULL if none must. */
    bool (*wants_https)(const void *context, const afc__url *url);
    const void *context;
    /** Converts hosts to A-labels, so that all spellings of a host are one origin. May be NULL. */
    afc__to_ascii *to_ascii;
} afc__redirect_question;

typedef struct afc__redirect_plan {
    bool follow;         /**< False if the redirect isn't followed; nothing else is set then. */
    afc__url target;     /**< Owned by the plan's owner, who calls afc__url_clear(). */
    const char *method;  /**< "GET" or the previous method. */
    bool keeps_body;     /**< The body is sent again. */
    bool crosses_origin; /**< Scheme, host or port differ. */
} afc__redirect_plan;

/**
 * Follows 301, 302, 303, 307 and 308 with a Location that isn't empty, unless the limit is negative. Doesn't follow any
 * other response. With 301 and 302, POST becomes GET. With 303, all methods except HEAD become GET, without a body.
 * With 307 and 308, method and body are kept.
 *
 * Fails with AFC_EREDIRECT for more than `limit` redirects; conflicting Locations; a target that isn't an http or https
 * URL (see afc__url_resolve()); a host that `to_ascii` can't convert; https to http unless allowed. The text never
 * shows userinfo. Fails with AFC_ENOMEM. After a failure `*out` is empty.
 */
afc_status afc__redirect_decide(const afc__redirect_question *question, afc__redirect_plan *out,
                                afc_failure *failure);

/**
 * Returns whether a field of the old request is sent with the new one. Not sent to another origin: credentials
 * (afc_header_is_credential()), Proxy-*, Host and fields with AFC_HEADER_SECRET. Not sent without a body: Content-*,
 * Digest, Repr-Digest, Expect, Trailer. Entries that remove a field are always kept.
 */
bool afc__redirect_keeps_header(const afc__redirect_plan *plan, const afc_header *header);

/**
 * Marks a field of the request that the callback has edited with AFC_HEADER_SECRET if a field of the old request with
 * its name had that mark: a program may lose the mark when it copies the fields.
 */
void afc__redirect_restore_mark(afc_header *header, const afc_header *old, size_t old_count);

/**
 * Returns whether a field of the request that the callback has edited is sent to the edited URL. A credential of the
 * old request that the callback only kept, whatever the case of its name, isn't sent if the plan stayed within the
 * origin but the edited URL leaves it. A credential that the callback set itself is sent.
 */
bool afc__redirect_keeps_edited(const afc__redirect_plan *plan, const afc__url *from,
                                const afc__url *edited, const afc_header *header,
                                const afc_header *old, size_t old_count);

#endif
