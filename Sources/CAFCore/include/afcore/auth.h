/**
 * Authentication (RFC 9110 11): credentials, the challenges of servers and proxies, and the answers
 * to them.
 */
#ifndef AFCORE_AUTH_H
#define AFCORE_AUTH_H

#include <afcore/base.h>
#include <afcore/error.h>
#include <afcore/message.h>

AF_BEGIN_DECLS

/** Schemes of authentication, as bits. */
enum {
    AF_AUTH_BASIC = 1u << 0,
    AF_AUTH_BEARER = 1u << 1,
    AF_AUTH_DIGEST = 1u << 2, /**< MD5, SHA-256 and SHA-512-256, each also as "-sess". */
    /** Both authenticate a connection, which then serves this one task and is closed. HTTP/1.1 only;
        AF_EUNSUPPORTED where libcurl has none of it. */
    AF_AUTH_NTLM = 1u << 3,
    /** Of the process's own Kerberos tickets, whatever user and password say. */
    AF_AUTH_NEGOTIATE = 1u << 4
};

/**
 * Who somebody is. A request's are for the origin of its URL alone: a redirect to another scheme, host
 * or port leaves them behind, for good.
 *
 * Answered is the strongest challenge that they fit: Negotiate (if there is no user, or `schemes` names
 * only that), NTLM, Digest, Bearer (if there is a token), Basic; but never Basic where Digest is
 * offered too, unless `schemes` leaves Digest out. Texts hold no control characters and at most
 * 64 KiB; they are copied, and the copies are overwritten before they are freed.
 */
typedef struct af_credentials {
    const char *user;     /**< UTF-8. NULL: none. */
    const char *password; /**< UTF-8. NULL: an empty one. */
    const char *token;    /**< Of the Bearer scheme. NULL: none. */
    unsigned schemes;     /**< AF_AUTH_…: those that may be used. 0: any. */
    /**
     * Don't wait for a challenge: Basic or Bearer go out with the first request, NTLM and Negotiate begin at
     * once if they are the only one of `schemes`. Digest needs a challenge.
     */
    bool is_preemptive;
} af_credentials;

#define AF_CREDENTIALS_INIT                                                                        \
    { NULL, NULL, NULL, 0, false }

/** A 401 of a server, or a 407 of a proxy, that asks who we are. Lives until the callback returns. */
typedef struct af_challenge {
    uint32_t number; /**< 1 for the first of the task; names it to af_task_answer_challenge(). */
    unsigned
        scheme; /**< AF_AUTH_…: the strongest that `proposed`, or else anything could answer. */
    unsigned offered;  /**< AF_AUTH_…: all that are offered and could be answered. */
    unsigned failures; /**< How many credentials this protection space has refused to the task. */
    bool is_proxy;     /**< The proxy asks; else the server. */
    bool is_https;     /**< The scheme of the server's URL, or of the proxy's. */
    uint16_t port;
    const char *host;
    const char *url;   /**< That answered: without userinfo and fragment. */
    const char *realm; /**< "" if there is none. */
    /** What would be used if nobody said anything. NULL: nothing, and the answer would be the 401. */
    const af_credentials *proposed;
    const af_head *head;
} af_challenge;

/** What on_challenge decides. */
typedef enum af_challenge_answer {
    AF_CHALLENGE_DEFAULT = 0, /**< What is proposed; without that the 401 or 407 is the answer. */
    AF_CHALLENGE_USE = 1,     /**< The credentials given, if any challenge fits them. */
    AF_CHALLENGE_CANCEL = 2,  /**< End the task with AF_ECANCELED. */
    AF_CHALLENGE_FAIL = 3,    /**< End the task with AF_EAUTH. */
    AF_CHALLENGE_LATER = 4    /**< af_task_answer_challenge() will tell; the task waits for it. */
} af_challenge_answer;

AF_END_DECLS

#endif
