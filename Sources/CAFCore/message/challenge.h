/**
 * Challenges in WWW-Authenticate and Proxy-Authenticate (RFC 9110 11.6), and the choice of the one to answer. Pure
 * functions.
 */
#ifndef AF_MESSAGE_CHALLENGE_H
#define AF_MESSAGE_CHALLENGE_H

#include "base/buffer.h"

#include <afcore/auth.h>

enum {
    /** Maximum number of challenges of a head; further ones are ignored. */
    AF__CHALLENGES_MOST = 16,
    /** Limits of a challenge's parameters; a challenge beyond them is ignored. */
    AF__CHALLENGE_PARAMS_MOST = 32,
    AF__CHALLENGE_LONGEST = 16 * 1024
};

/** A challenge. Its slices point into the head. */
typedef struct af__challenge {
    af_slice scheme;
    af_slice token68; /**< Empty if there is none; otherwise there are no parameters. */
    af_slice params;  /**< As written; see af__challenge_find(). */
} af__challenge;

/** Iterates over the challenges of a head in order. */
typedef struct af__challenge_reader {
    const af_head *head;
    const char *name;
    size_t next_field;
    af_slice rest; /**< Rest of the current field. */
    size_t count;
} af__challenge_reader;

void af__challenge_reader_init(af__challenge_reader *reader, const af_head *head, bool is_proxy);

/**
 * Returns the next well-formed challenge; false at the end. What follows a malformed one in the same field is
 * skipped, because their border is unknown. A repeated parameter makes a challenge malformed.
 */
bool af__challenge_next(af__challenge_reader *reader, af__challenge *out);

/**
 * Finds a parameter by its name, ignoring case. The value has no quotes but still its backslash escapes. false:
 * there is none.
 */
bool af__challenge_find(const af__challenge *challenge, const char *name, af_slice *value);

/** Appends a value without its backslash escapes. AF_ENOMEM, AF_ETOOBIG. */
af_status af__challenge_unescape(af_slice value, af__buffer *out);

/** Appends a value as a quoted string. AF_ENOMEM, AF_ETOOBIG. */
af_status af__challenge_quote(af_slice value, af__buffer *out);

/** Returns the AF_AUTH_… of a scheme; 0 if it isn't supported. */
unsigned af__auth_scheme(af_slice name);

/** In increasing order of strength. */
typedef enum af__access_hash {
    AF__ACCESS_UNKNOWN,
    AF__ACCESS_MD5,
    AF__ACCESS_SHA_256,
    AF__ACCESS_SHA_512_256
} af__access_hash;

typedef enum af__access_qop { AF__QOP_NONE, AF__QOP_AUTH, AF__QOP_AUTH_INT } af__access_qop;

/** The parameters of a Digest challenge (RFC 7616); values as from af__challenge_find(). */
typedef struct af__access_terms {
    af__access_hash hash;
    bool is_session; /**< "-sess". */
    af__access_qop qop;
    bool is_stale, hashes_user;
    af_slice realm, nonce, opaque; /**< `opaque.bytes` is NULL if it is missing. */
    af_slice algorithm;            /**< As written; empty if missing. */
} af__access_terms;

/**
 * Reads a Digest challenge. false: it can't be answered, because of another scheme, a missing nonce, an unknown
 * algorithm, a quality of protection other than auth and (if the body's bytes are known in advance) auth-int, or a
 * control character in a value.
 */
bool af__access_terms_read(const af__challenge *challenge, bool knows_body, af__access_terms *out);

/** The input of the choice. */
typedef struct af__challenge_question {
    const af_head *head;
    bool is_proxy;
    bool
        knows_body; /**< The bytes of the request's body are known in advance, or there is no body. */
    unsigned possible; /**< AF_AUTH_… bits that libcurl supports for this HTTP version. */
    /** NULL: no credentials yet; the strongest challenge is chosen. */
    const af_credentials *credentials;
} af__challenge_question;

typedef struct af__challenge_choice {
    unsigned scheme;  /**< AF_AUTH_…; 0: no challenge can be answered. */
    unsigned offered; /**< AF_AUTH_… bits of all challenges that could be answered. */
    af__challenge challenge;
    af__access_terms terms; /**< For AF_AUTH_DIGEST. */
} af__challenge_choice;

/** Chooses the strongest challenge that fits the credentials; see af_credentials. */
void af__challenge_choose(const af__challenge_question *question, af__challenge_choice *out);

/** Returns the AF_AUTH_… bits that the credentials allow and have data for. */
unsigned af__credentials_fit(const af_credentials *credentials);

#endif
