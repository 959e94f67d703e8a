/**
 * Digests that a server declares for a representation: Repr-Digest (RFC 9530), Content-MD5. Pure functions:
 * body/hasher computes them.
 */
#ifndef AF_MESSAGE_DIGEST_H
#define AF_MESSAGE_DIGEST_H

#include "base/buffer.h"

#include <afcore/message.h>

/** In increasing order of strength. */
typedef enum af__digest_kind {
    AF__DIGEST_NONE,
    AF__DIGEST_MD5,
    AF__DIGEST_SHA_256,
    AF__DIGEST_SHA_512
} af__digest_kind;

enum { AF__DIGEST_LONGEST = 64 };

/** Zeroed: none. */
typedef struct af__digest {
    af__digest_kind kind;
    unsigned char bytes[AF__DIGEST_LONGEST];
} af__digest;

/** Returns the name of Repr-Digest, such as "sha-256"; "md5"; "none". */
const char *af__digest_name(af__digest_kind kind);

/** Returns the size of a digest of this kind, in bytes. */
size_t af__digest_size(af__digest_kind kind);

/**
 * Returns the strongest digest that the head declares for the whole representation. Malformed fields and other
 * algorithms are ignored. Content-MD5 is used only if `is_whole`: in a partial response it is the digest of the
 * part.
 */
af__digest af__digest_promised(const af_head *head, bool is_whole);

/** Appends "sha-256=BASE64", for a token. AF_ENOMEM, AF_ETOOBIG. */
af_status af__digest_write(const af__digest *digest, af__buffer *out);

/** Reads that format; false if it is malformed. */
bool af__digest_read(af_slice text, af__digest *out);

#endif
