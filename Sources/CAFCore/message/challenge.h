/**
 * Challenges in WWW-Authenticate and Proxy-Authenticate (RFC 9110 11.6), and the choice of the challenge that is
 * answered. Pure functions.
 */
#ifndef AFC_MESSAGE_CHALLENGE_H
#define AFC_MESSAGE_CHALLENGE_H

#include "base/buffer.h"

#include <afcore/auth.h>

enum {
    /** Maximum number of challenges of a head; further ones are ignored. */
    AFC__CHALLENGES_MAX = 16,
    /** Limits of a challenge's parameters; a challenge beyond them is ignored. */
    AFC__CHALLENGE_PARAMS_MAX = 32,
    AFC__CHALLENGE_MAX = 16 * 1024
};

/** A challenge. Its slices point into the head. */
typedef struct afc__challenge {
    afc_slice scheme;
    afc_slice token68; /**< Empty if there is none; otherwise `params` is empty. */
    afc_slice params;  /**< As written; see afc__challenge_find(). */
} afc__challenge;

/** Iterates over the challenges of a head in order. */
typedef struct afc__challenge_reader {
    const afc_head *head;
    const char *name;
    size_t next_field;
    afc_slice rest; /**< Rest of the current field. */
    size_t count;
} afc__challenge_reader;

/** Reads the challenges of a head one by one. Declared for tests. */
void afc__challenge_reader_init(afc__challenge_reader *reader, const afc_head *head, bool is_proxy);

/**
 * Returns the next well-formed challenge; false at the end. What follows a malformed challenge in the same field is
 * skipped, because it is unknown where that challenge ends. A repeated parameter makes a challenge malformed.
 */
bool afc__challenge_next(afc__challenge_reader *reader, afc__challenge *out);

/**
 * Finds a parameter by its name, ignoring case. The value has no quotes, but still its backslash escapes. Returns false
 * if no parameter has that name.
 */
bool afc__challenge_find(const afc__challenge *challenge, const char *name, afc_slice *value);

/** Appends a value without its backslash escapes. Fails with AFC_ENOMEM or AFC_ETOOBIG. */
afc_status afc__challenge_unescape(afc_slice value, afc__buffer *out);

/** Appends a value as a quoted string. Fails with AFC_ENOMEM or AFC_ETOOBIG. */
afc_status afc__challenge_quote(afc_slice value, afc__buffer *out);

/** The hash algorithms of Digest, in increasing order of strength. */
typedef enum afc__access_hash {
    AFC__ACCESS_UNKNOWN,
    AFC__ACCESS_MD5,
    AFC__ACCESS_SHA_256,
    AFC__ACCESS_SHA_512_256
} afc__access_hash;

typedef enum afc__access_qop { AFC__QOP_NONE, AFC__QOP_AUTH, AFC__QOP_AUTH_INT } afc__access_qop;

/** The parameters of a Digest challenge (RFC 7616); values as from afc__challenge_find(). */
typedef struct afc__access_terms {
    afc__access_hash hash;
    bool is_session; /**< The algorithm's name ends in "-sess". */
    afc__access_qop qop;
    bool is_stale, hashes_user;
    afc_slice realm, nonce, opaque; /**< `opaque.bytes` is NULL if it is missing. */
    afc_slice algorithm;            /**< As written; empty if missing. */
} afc__access_terms;

/**
 * Reads a Digest challenge. Returns false if it can't be answered: it has another scheme, no nonce, an unknown
 * algorithm, a quality of protection other than auth and (if the body's bytes are known in advance) auth-int, or a
 * control character in a value. Declared for tests.
 */
bool afc__access_terms_read(const afc__challenge *challenge, bool knows_body,
                            afc__access_terms *out);

/** The input of the choice. */
typedef struct afc__challenge_question {
    const afc_head *head;
    bool is_proxy;
    /** The bytes of the request's body are known in advance, or there is no body. */
    bool knows_body;
    unsigned possible; /**< AFC_AUTH_… bits that libcurl supports for this HTTP version. */
    /** NULL if there are no credentials yet: the strongest challenge is chosen. */
    const afc_credentials *credentials;
} afc__challenge_question;

typedef struct afc__challenge_choice {
    unsigned scheme;  /**< AFC_AUTH_…; 0 if no challenge can be answered. */
    unsigned offered; /**< AFC_AUTH_… bits of all challenges that could be answered. */
    afc__challenge challenge;
    afc__access_terms terms; /**< For AFC_AUTH_DIGEST. */
} afc__challenge_choice;

/** Chooses the strongest challenge that fits the credentials; see afc_credentials. */
void afc__challenge_choose(const afc__challenge_question *question, afc__challenge_choice *out);

/** Returns the AFC_AUTH_… bits of the schemes that the credentials allow and have data for. */
unsigned afc__credentials_fit(const afc_credentials *credentials);

/** Returns whether Basic is allowed, but impossible because the user's name has a colon. */
bool afc__credentials_lack_basic(const afc_credentials *credentials);

#endif
