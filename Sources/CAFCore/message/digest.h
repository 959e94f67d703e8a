/**
 * Digests that a server declares for a representation: Repr-Digest (RFC 9530), Content-MD5. Pure functions:
 * body/hasher computes them.
 */
#ifndef AFC_MESSAGE_DIGEST_H
#define AFC_MESSAGE_DIGEST_H

#include "base/buffer.h"

#include <afcore/message.h>

/** The algorithms of digests, in increasing order of strength. */
typedef enum afc__digest_kind {
    AFC__DIGEST_NONE,
    AFC__DIGEST_MD5,
    AFC__DIGEST_SHA_256,
    AFC__DIGEST_SHA_512
} afc__digest_kind;

enum { AFC__DIGEST_MAX = 64 };

/** A digest. Zeroed if there is none. */
typedef struct afc__digest {
    afc__digest_kind kind;
    unsigned char bytes[AFC__DIGEST_MAX];
} afc__digest;

/** Returns the name of an algorithm as in Repr-Digest, such as "sha-256"; also "md5" and "none". */
const char *afc__digest_name(afc__digest_kind kind);

/** Returns the size of a digest of this kind, in bytes. */
size_t afc__digest_size(afc__digest_kind kind);

/**
 * Returns the strongest digest that the head declares for the whole representation. Malformed fields and other
 * algorithms are ignored. Content-MD5 is used only if `is_whole`: in a partial response it is the digest of the
 * part.
 */
afc__digest afc__declared_digest(const afc_head *head, bool is_whole);

/** Appends "sha-256=BASE64", as a line of a resume token has it. Fails with AFC_ENOMEM or AFC_ETOOBIG. */
afc_status afc__digest_write(const afc__digest *digest, afc__buffer *out);

/** Reads the format of afc__digest_write(). Returns false if the text is malformed. */
bool afc__digest_read(afc_slice text, afc__digest *out);

#endif
