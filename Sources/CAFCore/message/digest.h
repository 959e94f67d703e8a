/**
 * What a server promises about the bytes of a representation: Repr-Digest (RFC 9530), Content-MD5.
 * Pure: body/hasher computes.
 */
#ifndef AF_MESSAGE_DIGEST_H
#define AF_MESSAGE_DIGEST_H

#include "base/buffer.h"

#include <afcore/message.h>

/** In the order of strength. */
typedef enum af__digest_kind {
    AF__DIGEST_NONE,
    AF__DIGEST_MD5,
    AF__DIGEST_SHA_256,
    AF__DIGEST_SHA_512
} af__digest_kind;

enum { AF__DIGEST_LONGEST = 64 };

/** Zeroed: nothing was promised. */
typedef struct af__digest {
    af__digest_kind kind;
    unsigned char bytes[AF__DIGEST_LONGEST];
} af__digest;

/** "sha-256", as Repr-Digest names it; "md5"; "none". */
const char *af__digest_name(af__digest_kind kind);

/** Bytes of a digest of that kind. */
size_t af__digest_size(af__digest_kind kind);

/**
 * The strongest digest that the head promises for the whole representation. A field that is not
 * valid promises nothing, nor do algorithms other than these. Content-MD5 counts only where `is_whole`:
 * in a partial answer it is that of the part.
 */
af__digest af__digest_promised(const af_head *head, bool is_whole);

/** "sha-256=BASE64", for a token. AF_ENOMEM, AF_ETOOBIG. */
af_status af__digest_write(const af__digest *digest, af__buffer *out);

/** The same read back; false if it is none. */
bool af__digest_read(af_slice text, af__digest *out);

#endif
