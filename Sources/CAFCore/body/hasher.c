#include "body/hasher.h"

#include "base/fork_gate.h"

#include <openssl/evp.h>

static const EVP_MD *algorithm(afc__digest_kind kind) {
    switch (kind) {
    case AFC__DIGEST_MD5:
        return EVP_md5();
    case AFC__DIGEST_SHA_256:
        return EVP_sha256();
    case AFC__DIGEST_SHA_512:
        return EVP_sha512();
    case AFC__DIGEST_NONE:
        break;
    }
    return NULL;
}

bool afc__hasher_begin(afc__hasher *hasher, afc__digest_kind kind) {
    *hasher = (afc__hasher){0};
    const EVP_MD *type = algorithm(kind);
    if (type == NULL) return false;
    /* This may be the writer thread, which has no afc__fork_section. */
    afc__fork_gate_enter(NULL);
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    if (context != NULL && EVP_DigestInit_ex(context, type, NULL) != 1) {
        EVP_MD_CTX_free(context);
        context = NULL;
    }
    afc__fork_gate_leave(NULL);
    hasher->context = context;
    return context != NULL;
}

void afc__hasher_clear(afc__hasher *hasher) {
    afc__fork_gate_enter(NULL);
    EVP_MD_CTX_free(hasher->context);
    afc__fork_gate_leave(NULL);
    *hasher = (afc__hasher){0};
}

bool afc__hasher_is_active(const afc__hasher *hasher) {
    return hasher->context != NULL;
}

void afc__hasher_take(afc__hasher *hasher, const void *bytes, size_t size) {
    /*
     * EVP_DigestUpdate() fails only after the digest was finished. The result would be a mismatch, never a false match.
     */
    (void)EVP_DigestUpdate(hasher->context, bytes, size);
    hasher->position += (int64_t)size;
}

_Static_assert((int)AFC__DIGEST_MAX == EVP_MAX_MD_SIZE, "a digest has room for any of OpenSSL");

bool afc__hasher_matches(afc__hasher *hasher, const afc__digest *expected, afc__digest *found) {
    unsigned int size = 0;
    *found = (afc__digest){.kind = expected->kind};
    if (EVP_DigestFinal_ex(hasher->context, found->bytes, &size) != 1) return false;
    return size == afc__digest_size(expected->kind) &&
           memcmp(found->bytes, expected->bytes, size) == 0;
}
