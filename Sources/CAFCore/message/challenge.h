/**
 * What WWW-Authenticate and Proxy-Authenticate ask for (RFC 9110 11.6), and which of it is answered.
 * Pure.
 */
#ifndef AF_MESSAGE_CHALLENGE_H
#define AF_MESSAGE_CHALLENGE_H

#include "base/buffer.h"

#include <afcore/auth.h>

enum {
    /** Further ones of a head are not looked at. */
    AF__CHALLENGES_MOST = 16,
    /** A challenge with more, or with longer ones altogether, is none. */
    AF__CHALLENGE_PARAMS_MOST = 32,
    AF__CHALLENGE_LONGEST = 16 * 1024
};

/** One challenge; every slice points into the head. */
typedef struct af__challenge {
    af_slice scheme;
    af_slice token68; /**< Empty unless there is one; then there are no parameters. */
    af_slice params;  /**< As written; af__challenge_find(). */
} af__challenge;

/** Goes through the challenges of a head, in their order. */
typedef struct af__challenge_reader {
    const af_head *head;
    const char *name;
    size_t next_field;
    af_slice rest; /**< Of the field under way. */
    size_t count;
} af__challenge_reader;

void af__challenge_reader_init(af__challenge_reader *reader, const af_head *head, bool is_proxy);

/**
 * The next well-formed challenge; false at the end. What follows a malformed one in the same field can't be
 * told apart from it and is skipped; a parameter that is there twice makes it malformed.
 */
bool af__challenge_next(af__challenge_reader *reader, af__challenge *out);

/**
 * The value of a parameter, its name compared without regard to case; without the quotes, but with
 * the backslashes of a quoted one. False if there is none.
 */
bool af__challenge_find(const af__challenge *challenge, const char *name, af_slice *value);

/** Add a value to `out`, without the backslashes. AF_ENOMEM, AF_ETOOBIG. */
af_status af__challenge_unescape(af_slice value, af__buffer *out);

/** Add a value to `out` as a quoted string. AF_ENOMEM, AF_ETOOBIG. */
af_status af__challenge_quote(af_slice value, af__buffer *out);

/** AF_AUTH_…; 0 for a scheme that nobody here knows. */
unsigned af__auth_scheme(af_slice name);

/** In the order of strength. */
typedef enum af__access_hash {
    AF__ACCESS_UNKNOWN,
    AF__ACCESS_MD5,
    AF__ACCESS_SHA_256,
    AF__ACCESS_SHA_512_256
} af__access_hash;

typedef enum af__access_qop { AF__QOP_NONE, AF__QOP_AUTH, AF__QOP_AUTH_INT } af__access_qop;

/** What a Digest challenge asks for (RFC 7616); the slices are values as af__challenge_find() gives them. */
typedef struct af__access_terms {
    af__access_hash hash;
    bool is_session; /**< "-sess". */
    af__access_qop qop;
    bool is_stale, hashes_user;
    af_slice realm, nonce, opaque; /**< `opaque.bytes` is NULL if there is none. */
    af_slice algorithm;            /**< As written; empty if there is none. */
} af__access_terms;

/**
 * False if it can't be answered: another scheme, no nonce, an unknown algorithm, a quality of protection
 * other than auth and (where the body's bytes are known beforehand) auth-int, or a control character in a value.
 */
bool af__access_terms_read(const af__challenge *challenge, bool knows_body, af__access_terms *out);

/** Who has to answer. */
typedef struct af__challenge_question {
    const af_head *head;
    bool is_proxy;
    bool knows_body;   /**< The bytes of the request's body, if any, are known beforehand. */
    unsigned possible; /**< AF_AUTH_…: what libcurl offers, and fits the version of HTTP. */
    /** NULL: nobody yet; the strongest of all is chosen. */
    const af_credentials *credentials;
} af__challenge_question;

typedef struct af__challenge_choice {
    unsigned scheme;  /**< AF_AUTH_…; 0: there is nothing to answer. */
    unsigned offered; /**< AF_AUTH_…: of all that could be answered. */
    af__challenge challenge;
    af__access_terms terms; /**< With AF_AUTH_DIGEST. */
} af__challenge_choice;

/** The strongest challenge that the credentials fit; see af_credentials. */
void af__challenge_choose(const af__challenge_question *question, af__challenge_choice *out);

/** AF_AUTH_…: the schemes for which the credentials have what is needed, and which they allow. */
unsigned af__credentials_fit(const af_credentials *credentials);

#endif
