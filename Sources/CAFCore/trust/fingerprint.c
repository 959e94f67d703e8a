#include "trust/fingerprint.h"

#include "base/text.h"

#include <openssl/evp.h>
#include <string.h>

typedef struct hash_state {
    EVP_MD_CTX *context;
    bool has_failed;
} hash_state;

static void add_bytes(hash_state *hash, const void *bytes, size_t size) {
    if (size > 0 && EVP_DigestUpdate(hash->context, bytes, size) != 1) hash->has_failed = true;
}

static void add_number(hash_state *hash, int64_t number) {
    add_bytes(hash, &number, sizeof number);
}

/** With its size in front, so that no two lists of texts are hashed alike. */
static void add_slice(hash_state *hash, afc_slice slice) {
    add_number(hash, (int64_t)slice.size);
    add_bytes(hash, slice.bytes, slice.size);
}

static void add_rule(hash_state *hash, const afc_trust_rule *rule) {
    add_slice(hash, afc_slice_of(rule->host != NULL ? rule->host : ""));
    add_number(hash, rule->include_subdomains);
    add_number(hash, rule->mode);
    add_number(hash, rule->match);
    add_slice(hash, rule->certificates);
    add_number(hash, (int64_t)rule->pin_count);
    for (size_t i = 0; i < rule->pin_count; i++) add_slice(hash, afc_slice_of(rule->pins[i]));
    add_number(hash, rule->expires_s);
    add_number(hash, rule->report_only);
    add_number(hash, rule->allow_invalid_certificates);
    add_number(hash, rule->skip_host_check);
}

static void add_options(hash_state *hash, const afc_trust_options *options) {
    add_slice(hash, options->anchors);
    add_number(hash, options->keep_system_anchors);
    add_slice(hash, options->intermediates);
    add_slice(hash, options->crls);
    add_number(hash, options->check_authorities);
    add_number(hash, options->ocsp);
    add_number(hash, options->security_level);
    add_number(hash, options->time_s);
    add_rule(hash, &options->everywhere);
    add_number(hash, (int64_t)options->rule_count);
    for (size_t i = 0; i < options->rule_count; i++) add_rule(hash, &options->rules[i]);
    add_number(hash, options->handler.decide != NULL);
}

static bool hash_options(unsigned char out[EVP_MAX_MD_SIZE], unsigned *size,
                         const afc_trust_options *options) {
    hash_state hash = {EVP_MD_CTX_new(), false};
    bool is_made = hash.context != NULL && EVP_DigestInit_ex(hash.context, EVP_sha256(), NULL) == 1;
    if (is_made) {
        add_options(&hash, options);
        is_made = EVP_DigestFinal_ex(hash.context, out, size) == 1 && !hash.has_failed;
    }
    EVP_MD_CTX_free(hash.context);
    return is_made;
}

bool afc__trust_fingerprint(char out[AFC__TRUST_FINGERPRINT_SIZE],
                            const afc_trust_options *options) {
    static const afc_trust_options defaults = AFC_TRUST_OPTIONS_INIT;
    unsigned char digest[EVP_MAX_MD_SIZE], usual[EVP_MAX_MD_SIZE];
    unsigned size = 0, usual_size = 0;
    out[0] = '\0';
    if (!hash_options(digest, &size, options) || !hash_options(usual, &usual_size, &defaults) ||
        size * 2 + 1 != AFC__TRUST_FINGERPRINT_SIZE) {
        return false;
    }
    if (memcmp(digest, usual, size) != 0) afc__hex_write(out, digest, size);
    return true;
}
