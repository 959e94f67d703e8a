#include "transfer/digest_auth.h"

#include "base/alloc.h"
#include "base/failure.h"
#include "base/text.h"

#include <openssl/evp.h>
#include <openssl/rand.h>
#include <stdio.h>
#include <string.h>

enum { LONGEST_HEX = 2 * 32 + 1, CNONCE_BYTES = 16 };

/* ---- Keeping a challenge ------------------------------------------------------------------- */

static af_status copy_value(af__buffer *texts, af_slice *value) {
    size_t start = texts->size;
    af_status status = af__challenge_unescape(*value, texts);
    value->size = texts->size - start;
    return status;
}

static void point(af_slice *value, const char **texts) {
    if (value->bytes == NULL) return;
    value->bytes = *texts;
    *texts += value->size;
}

af_status af__access_init(af__access *access, const af__access_terms *terms) {
    af__buffer texts;
    *access = (af__access){.terms = *terms};
    af__access_terms *own = &access->terms;
    af_slice *values[] = {&own->realm, &own->nonce, &own->opaque, &own->algorithm};
    af__buffer_init(&texts, AF__CHALLENGE_LONGEST + 1);
    af_status status = AF_OK;
    for (size_t i = 0; i < sizeof values / sizeof *values && status == AF_OK; i++) {
        status = copy_value(&texts, values[i]);
    }
    if (status == AF_OK) status = af__buffer_append(&texts, "", 1);
    if (status != AF_OK) {
        af__buffer_clear(&texts);
        *access = (af__access){.count = 0};
        return status;
    }
    const char *at = access->texts = texts.bytes;
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) point(values[i], &at);
    return AF_OK;
}

void af__access_clear(af__access *access) {
    af_free(access->texts);
    *access = (af__access){.count = 0};
}

/* ---- Hashes -------------------------------------------------------------------------------- */

static const EVP_MD *type_of(af__access_hash hash) {
    switch (hash) {
    case AF__ACCESS_MD5:
        return EVP_md5();
    case AF__ACCESS_SHA_256:
        return EVP_sha256();
    case AF__ACCESS_SHA_512_256:
        return EVP_sha512_256();
    case AF__ACCESS_UNKNOWN:
        break;
    }
    return NULL;
}

/** The hash of the parts with colons between them, in hexadecimal digits; false if it can't be had. */
static bool hash_parts(const af__access *access, const af_slice *parts, size_t count,
                       char out[LONGEST_HEX]) {
    unsigned char bytes[EVP_MAX_MD_SIZE];
    unsigned int size = 0;
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    bool is_good = context != NULL &&
                   EVP_DigestInit_ex(context, type_of(access->terms.hash), NULL) == 1;
    for (size_t i = 0; i < count && is_good; i++) {
        is_good = (i == 0 || EVP_DigestUpdate(context, ":", 1) == 1) &&
                  EVP_DigestUpdate(context, parts[i].bytes, parts[i].size) == 1;
    }
    is_good = is_good && EVP_DigestFinal_ex(context, bytes, &size) == 1;
    EVP_MD_CTX_free(context);
    is_good = is_good && 2 * size < LONGEST_HEX;
    if (is_good) af__hex_write(out, bytes, size);
    return is_good;
}

#define HASH(access, out, ...)                                                                     \
    hash_parts(access, (const af_slice[]){__VA_ARGS__},                                            \
               sizeof((const af_slice[]){__VA_ARGS__}) / sizeof(af_slice), out)

typedef struct digest_answer {
    char cnonce[2 * CNONCE_BYTES + 1];
    char count[9];
    char response[LONGEST_HEX], user[LONGEST_HEX];
} digest_answer;

static bool make_response(const af__access *access, const af__access_request *request,
                          const char *cnonce, digest_answer *out) {
    static const char *const qops[] = {"", "auth", "auth-int"};
    const af__access_terms *terms = &access->terms;
    char secret[LONGEST_HEX], what[LONGEST_HEX], body[LONGEST_HEX];
    af_slice method = af_slice_of(request->method), target = af_slice_of(request->target);
    bool is_good = HASH(access, secret, af_slice_of(request->user), terms->realm,
                        af_slice_of(request->password));
    if (is_good && terms->is_session) {
        char first[LONGEST_HEX];
        memcpy(first, secret, sizeof first);
        is_good = HASH(access, secret, af_slice_of(first), terms->nonce, af_slice_of(cnonce));
        OPENSSL_cleanse(first, sizeof first);
    }
    if (terms->qop == AF__QOP_AUTH_INT) {
        is_good = is_good && HASH(access, body, request->body) &&
                  HASH(access, what, method, target, af_slice_of(body));
    } else {
        is_good = is_good && HASH(access, what, method, target);
    }
    if (terms->qop == AF__QOP_NONE) {
        is_good = is_good &&
                  HASH(access, out->response, af_slice_of(secret), terms->nonce, af_slice_of(what));
    } else {
        is_good = is_good && HASH(access, out->response, af_slice_of(secret), terms->nonce,
                                  af_slice_of(out->count), af_slice_of(cnonce),
                                  af_slice_of(qops[terms->qop]), af_slice_of(what));
    }
    if (terms->hashes_user) {
        is_good = is_good && HASH(access, out->user, af_slice_of(request->user), terms->realm);
    }
    OPENSSL_cleanse(secret, sizeof secret);
    return is_good;
}

/* ---- Writing ------------------------------------------------------------------------------- */

static af_status add_text(af__buffer *out, const char *text) {
    return af__buffer_append(out, text, strlen(text));
}

/** `, name=value`; what is not quoted here must not be quoted on the wire (RFC 7616 3.4). */
static af_status add(af__buffer *out, const char *name, af_slice value, bool is_quoted) {
    af_status status = add_text(out, name);
    if (status != AF_OK) return status;
    return is_quoted ? af__challenge_quote(value, out)
                     : af__buffer_append(out, value.bytes, value.size);
}

static af_status write_answer(const af__access *access, const af__access_request *request,
                              const char *cnonce, const digest_answer *answer, af__buffer *out) {
    const af__access_terms *terms = &access->terms;
    const char *user = terms->hashes_user ? answer->user : request->user;
    af_status status = add(out, "Digest username=", af_slice_of(user), true);
    if (status == AF_OK) status = add(out, ", realm=", terms->realm, true);
    if (status == AF_OK) status = add(out, ", nonce=", terms->nonce, true);
    if (status == AF_OK) status = add(out, ", uri=", af_slice_of(request->target), true);
    if (status == AF_OK && terms->algorithm.size > 0) {
        status = add(out, ", algorithm=", terms->algorithm, false);
    }
    if (terms->qop != AF__QOP_NONE) {
        const char *qop = terms->qop == AF__QOP_AUTH ? ", qop=auth" : ", qop=auth-int";
        if (status == AF_OK) status = add_text(out, qop);
        if (status == AF_OK) status = add(out, ", nc=", af_slice_of(answer->count), false);
    }
    if (status == AF_OK && (terms->qop != AF__QOP_NONE || terms->is_session)) {
        status = add(out, ", cnonce=", af_slice_of(cnonce), true);
    }
    if (status == AF_OK) status = add(out, ", response=", af_slice_of(answer->response), true);
    if (status == AF_OK && terms->opaque.bytes != NULL) {
        status = add(out, ", opaque=", terms->opaque, true);
    }
    if (status == AF_OK && terms->hashes_user) status = add_text(out, ", userhash=true");
    return status == AF_OK ? af__buffer_append(out, "", 1) : status;
}

static bool make_cnonce(char out[2 * CNONCE_BYTES + 1]) {
    unsigned char bytes[CNONCE_BYTES];
    if (RAND_bytes(bytes, sizeof bytes) != 1) return false;
    af__hex_write(out, bytes, sizeof bytes);
    return true;
}

af_status af__access_answer(af__access *access, const af__access_request *request, char **out,
                            af_failure *failure) {
    digest_answer answer;
    const char *cnonce = request->cnonce != NULL ? request->cnonce : answer.cnonce;
    *out = NULL;
    access->count++;
    snprintf(answer.count, sizeof answer.count, "%08x", (unsigned)access->count);
    if (!make_cnonce(answer.cnonce) || !make_response(access, request, cnonce, &answer)) {
        return af__fail(failure, AF_EAUTH,
                        "OpenSSL doesn't support the hash of the Digest challenge");
    }
    af__buffer text;
    /* A name, a target and values of the challenge, each with a backslash before every byte. */
    af__buffer_init(&text, UINT32_MAX);
    af_status status = write_answer(access, request, cnonce, &answer, &text);
    if (status != AF_OK) {
        af__buffer_clear(&text);
        return af__fail_memory(failure);
    }
    *out = text.bytes;
    return AF_OK;
}
