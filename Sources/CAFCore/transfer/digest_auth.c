#include "transfer/digest_auth.h"

#include "base/failure.h"
#include "base/text.h"

#include <openssl/evp.h>
#include <openssl/rand.h>
#include <stdio.h>
#include <string.h>

enum { MAX_HEX = 2 * 32 + 1, CNONCE_BYTES = 16, CNONCE_SIZE = 2 * CNONCE_BYTES + 1 };

/* ---- Keeping a challenge ------------------------------------------------------------------- */

static afc_status copy_value(afc__buffer *texts, afc_slice *value) {
    size_t start = texts->size;
    afc_status status = afc__challenge_unescape(*value, texts);
    value->size = texts->size - start;
    return status;
}

static void point(afc_slice *value, const char **texts) {
    if (value->bytes == NULL) return;
    value->bytes = *texts;
    *texts += value->size;
}

afc_status afc__access_init(afc__access *access, const afc__access_terms *terms) {
    afc__buffer texts;
    *access = (afc__access){.terms = *terms};
    afc__access_terms *own = &access->terms;
    afc_slice *values[] = {&own->realm, &own->nonce, &own->opaque, &own->algorithm};
    static const char no_cnonce[CNONCE_SIZE] = {0};
    afc__buffer_init(&texts, AFC__CHALLENGE_MAX + CNONCE_SIZE);
    afc_status status = AFC_OK;
    for (size_t i = 0; i < sizeof values / sizeof *values && status == AFC_OK; i++) {
        status = copy_value(&texts, values[i]);
    }
    if (status == AFC_OK) status = afc__buffer_append(&texts, no_cnonce, CNONCE_SIZE);
    if (status != AFC_OK) {
        afc__buffer_clear(&texts);
        *access = (afc__access){.count = 0};
        return status;
    }
    const char *at = access->texts = texts.bytes;
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) point(values[i], &at);
    if (own->is_session) access->cnonce = texts.bytes + texts.size - CNONCE_SIZE;
    return AFC_OK;
}

void afc__access_clear(afc__access *access) {
    afc_free(access->texts);
    *access = (afc__access){.count = 0};
}

/* ---- Hashes -------------------------------------------------------------------------------- */

static const EVP_MD *type_of(afc__access_hash hash) {
    switch (hash) {
    case AFC__ACCESS_MD5:
        return EVP_md5();
    case AFC__ACCESS_SHA_256:
        return EVP_sha256();
    case AFC__ACCESS_SHA_512_256:
        return EVP_sha512_256();
    case AFC__ACCESS_UNKNOWN:
        break;
    }
    return NULL;
}

/** Writes the hash of the parts, joined with colons, in hexadecimal digits. Returns false if it can't be computed. */
static bool hash_parts(const afc__access *access, const afc_slice *parts, size_t count,
                       char out[MAX_HEX]) {
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
    is_good = is_good && 2 * size < MAX_HEX;
    if (is_good) afc__hex_write(out, bytes, size);
    return is_good;
}

#define HASH(access, out, ...)                                                                     \
    hash_parts(access, (const afc_slice[]){__VA_ARGS__},                                           \
               sizeof((const afc_slice[]){__VA_ARGS__}) / sizeof(afc_slice), out)

typedef struct digest_answer {
    char cnonce[CNONCE_SIZE];
    char count[9];
    char response[MAX_HEX], user[MAX_HEX];
} digest_answer;

static bool make_response(const afc__access *access, const afc__access_request *request,
                          const char *cnonce, digest_answer *out) {
    static const char *const qops[] = {"", "auth", "auth-int"};
    const afc__access_terms *terms = &access->terms;
    char secret[MAX_HEX], what[MAX_HEX], body[MAX_HEX];
    afc_slice method = afc_slice_of(request->method), target = afc_slice_of(request->target);
    bool is_good = HASH(access, secret, afc_slice_of(request->user), terms->realm,
                        afc_slice_of(request->password));
    if (is_good && terms->is_session) {
        char first[MAX_HEX];
        memcpy(first, secret, sizeof first);
        is_good = HASH(access, secret, afc_slice_of(first), terms->nonce, afc_slice_of(cnonce));
        OPENSSL_cleanse(first, sizeof first);
    }
    if (terms->qop == AFC__QOP_AUTH_INT) {
        is_good = is_good && HASH(access, body, request->body) &&
                  HASH(access, what, method, target, afc_slice_of(body));
    } else {
        is_good = is_good && HASH(access, what, method, target);
    }
    if (terms->qop == AFC__QOP_NONE) {
        is_good = is_good && HASH(access, out->response, afc_slice_of(secret), terms->nonce,
                                  afc_slice_of(what));
    } else {
        is_good = is_good && HASH(access, out->response, afc_slice_of(secret), terms->nonce,
                                  afc_slice_of(out->count), afc_slice_of(cnonce),
                                  afc_slice_of(qops[terms->qop]), afc_slice_of(what));
    }
    if (terms->hashes_user) {
        is_good = is_good && HASH(access, out->user, afc_slice_of(request->user), terms->realm);
    }
    OPENSSL_cleanse(secret, sizeof secret);
    return is_good;
}

/* ---- Writing ------------------------------------------------------------------------------- */

static afc_status add_text(afc__buffer *out, const char *text) {
    return afc__buffer_append(out, text, strlen(text));
}

/** Appends a quoted parameter. Those added by add_token() must not be quoted (RFC 7616 section 3.4). */
static afc_status add_quoted(afc__buffer *out, const char *name, afc_slice value) {
    afc_status status = add_text(out, name);
    return status == AFC_OK ? afc__challenge_quote(value, out) : status;
}

static afc_status add_token(afc__buffer *out, const char *name, afc_slice value) {
    afc_status status = add_text(out, name);
    return status == AFC_OK ? afc__buffer_append(out, value.bytes, value.size) : status;
}

static afc_status write_answer(const afc__access *access, const afc__access_request *request,
                               const char *cnonce, const digest_answer *answer, afc__buffer *out) {
    const afc__access_terms *terms = &access->terms;
    const char *user = terms->hashes_user ? answer->user : request->user;
    afc_status status = add_quoted(out, "Digest username=", afc_slice_of(user));
    if (status == AFC_OK) status = add_quoted(out, ", realm=", terms->realm);
    if (status == AFC_OK) status = add_quoted(out, ", nonce=", terms->nonce);
    if (status == AFC_OK) status = add_quoted(out, ", uri=", afc_slice_of(request->target));
    if (status == AFC_OK && terms->algorithm.size > 0) {
        status = add_token(out, ", algorithm=", terms->algorithm);
    }
    if (terms->qop != AFC__QOP_NONE) {
        const char *qop = terms->qop == AFC__QOP_AUTH ? ", qop=auth" : ", qop=auth-int";
        if (status == AFC_OK) status = add_text(out, qop);
        if (status == AFC_OK) status = add_token(out, ", nc=", afc_slice_of(answer->count));
    }
    if (status == AFC_OK && (terms->qop != AFC__QOP_NONE || terms->is_session)) {
        status = add_quoted(out, ", cnonce=", afc_slice_of(cnonce));
    }
    if (status == AFC_OK) status = add_quoted(out, ", response=", afc_slice_of(answer->response));
    if (status == AFC_OK && terms->opaque.bytes != NULL) {
        status = add_quoted(out, ", opaque=", terms->opaque);
    }
    if (status == AFC_OK && terms->hashes_user) status = add_text(out, ", userhash=true");
    return status == AFC_OK ? afc__buffer_append(out, "", 1) : status;
}

/**
 * Makes the cnonce of an answer. The key of a -sess algorithm is made with the cnonce of the first answer (RFC 7616
 * section 3.4.2). If all answers have the same, the key is also right for servers that compute it anew each time.
 */
static bool make_cnonce(const afc__access *access, char out[CNONCE_SIZE]) {
    unsigned char bytes[CNONCE_BYTES];
    bool is_first = access->cnonce == NULL || access->cnonce[0] == '\0';
    if (is_first && RAND_bytes(bytes, sizeof bytes) != 1) return false;
    if (is_first)
        afc__hex_write(out, bytes, sizeof bytes);
    else
        memcpy(out, access->cnonce, CNONCE_SIZE);
    if (access->cnonce != NULL) memcpy(access->cnonce, out, CNONCE_SIZE);
    return true;
}

afc_status afc__access_answer(afc__access *access, const afc__access_request *request, char **out,
                              afc_failure *failure) {
    digest_answer answer;
    const char *cnonce = request->cnonce != NULL ? request->cnonce : answer.cnonce;
    *out = NULL;
    access->count++;
    snprintf(answer.count, sizeof answer.count, "%08x", (unsigned)access->count);
    if (!make_cnonce(access, answer.cnonce) || !make_response(access, request, cnonce, &answer)) {
        return afc__fail(failure, AFC_EAUTH,
                         "OpenSSL doesn't support the hash of the Digest challenge");
    }
    afc__buffer text;
    /* No limit is needed: the parts are short, even with a backslash before each byte. */
    afc__buffer_init(&text, UINT32_MAX);
    afc_status status = write_answer(access, request, cnonce, &answer, &text);
    if (status != AFC_OK) {
        afc__buffer_clear(&text);
        return afc__fail_memory(failure);
    }
    *out = text.bytes;
    return AFC_OK;
}
