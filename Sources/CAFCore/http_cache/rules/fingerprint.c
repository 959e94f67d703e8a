#include "http_cache/rules/fingerprint.h"

#include "base/fork_gate.h"
#include "base/text.h"

#include <afcore/http_cache.h>
#include <openssl/evp.h>

bool afc__fingerprint(char out[AFC__FINGERPRINT_SIZE], afc_slice secret) {
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned size = 0;
    out[0] = '\0';
    afc__fork_gate_enter(NULL);
    bool is_made = EVP_Digest(secret.bytes, secret.size, digest, &size, EVP_sha256(), NULL) == 1;
    afc__fork_gate_leave(NULL);
    if (!is_made || size * 2 + 1 != AFC__FINGERPRINT_SIZE) return false;
    afc__hex_write(out, digest, size);
    return true;
}

_Static_assert(AFC_HTTP_CACHE_FINGERPRINT_SIZE == AFC__FINGERPRINT_SIZE,
               "the public size is the same");

afc_status afc_http_cache_fingerprint(char out[AFC_HTTP_CACHE_FINGERPRINT_SIZE], afc_slice text) {
    return afc__fingerprint(out, text) ? AFC_OK : AFC_ENOMEM;
}
