/**
 * HTTP authentication (RFC 9110 section 11): credentials, the challenges of servers and proxies, and
 * the decisions that a program can make about them.
 */
#ifndef AFCORE_AUTH_H
#define AFCORE_AUTH_H

#include <afcore/base.h>
#include <afcore/error.h>
#include <afcore/message.h>

AFC_BEGIN_DECLS

/** Authentication schemes, combined as bits. */
enum {
    AFC_AUTH_BASIC = 1u << 0,  /**< RFC 7617. */
    AFC_AUTH_BEARER = 1u << 1, /**< RFC 6750. */
    AFC_AUTH_DIGEST = 1u << 2, /**< RFC 7616: MD5, SHA-256 and SHA-512-256, each also as "-sess". */
    /**
     * NTLM and Negotiate authenticate a connection instead of a request. That connection is used for this
     * task only and closed afterwards. HTTP/1.1 only; AFC_EUNSUPPORTED if libcurl was built without them.
     */
    AFC_AUTH_NTLM = 1u << 3,
    /** RFC 4559, with the Kerberos tickets of the process; `user` and `password` are ignored. */
    AFC_AUTH_NEGOTIATE = 1u << 4
};

/**
 * Credentials. Those of a request are valid for the origin of its URL only: after a redirect to another
 * scheme, host or port they are not used again, not even if a later redirect leads back.
 *
 * The strongest offered scheme that fits the credentials is used, in this order: Negotiate (without a
 * user, or if `schemes` names nothing else), NTLM, Digest, Bearer (with a token), Basic. Basic is never
 * used where the server offers Digest too, unless `schemes` excludes Digest.
 *
 * Each text is limited to 64 KiB and must not contain control characters. Texts are copied; the copies
 * are overwritten before they are freed.
 */
typedef struct afc_credentials {
    /**
     * User name in UTF-8; NULL if there is none. Basic doesn't allow a colon in it (RFC 7617 section 2): AFC_EINVAL if
     * `schemes` leaves only Basic for it, AFC_EAUTH if only Basic is offered. The other schemes allow it.
     */
    const char *user;
    const char *password; /**< Password in UTF-8. NULL means an empty one. */
    const char *token;    /**< Token for Bearer; NULL if there is none. */
    unsigned schemes;     /**< AFC_AUTH_… bits: the schemes that may be used. 0 means any. */
    /**
     * Sends the credentials without waiting for a challenge. Basic and Bearer are sent with the first request; NTLM and
     * Negotiate start at once if they are the only scheme in `schemes`. Digest always needs a challenge. Default:
     * false.
     */
    bool send_preemptively;
    uint64_t reserved[4]; /**< 0. */
} afc_credentials;

#define AFC_CREDENTIALS_INIT                                                                       \
    {                                                                                              \
        NULL, NULL, NULL, 0, false, {                                                              \
            0                                                                                      \
        }                                                                                          \
    }

/** A challenge: the 401 of a server or the 407 of a proxy. Valid until the callback returns. */
typedef struct afc_challenge {
    uint32_t number; /**< 1 for the first of the task. Pass it to afc_task_answer_challenge(). */
    /** AFC_AUTH_…: the strongest scheme that fits `proposed`, or any credentials. */
    unsigned scheme;
    unsigned offered; /**< AFC_AUTH_… bits: every offered scheme that this library supports. */
    /** Number of credentials that this protection space rejected in this task. */
    unsigned failures;
    bool is_proxy;     /**< True for a proxy's challenge, false for a server's. */
    bool is_https;     /**< True if the URL of the server, or of the proxy, is https. */
    uint16_t port;     /**< Port of the server or proxy. */
    const char *host;  /**< Host of the server or proxy. */
    const char *url;   /**< URL of the response, without userinfo and fragment. */
    const char *realm; /**< Realm of the challenge; "" if it has none. */
    /** Default credentials. NULL if there are none; the 401 or 407 is then the response by default. */
    const afc_credentials *proposed;
    const afc_head *head; /**< Head of the 401 or 407. */
} afc_challenge;

/** The decision of on_challenge. */
typedef enum afc_challenge_decision {
    AFC_CHALLENGE_DEFAULT = 0, /**< Use `proposed`; if it is NULL, return the 401 or 407. */
    AFC_CHALLENGE_USE = 1,     /**< Use the given credentials, if an offered scheme fits them. */
    AFC_CHALLENGE_CANCEL = 2,  /**< End the task with AFC_ECANCELED. */
    AFC_CHALLENGE_FAIL = 3,    /**< End the task with AFC_EAUTH. */
    AFC_CHALLENGE_LATER = 4    /**< Wait until afc_task_answer_challenge() is called. */
} afc_challenge_decision;

AFC_END_DECLS

#endif
