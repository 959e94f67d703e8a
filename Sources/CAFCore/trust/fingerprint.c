#include "trust/fingerprint.h"

#include "base/buffer.h"
#include "base/text.h"
#include "trust/x509_parse.h"

#include <openssl/err.h>
#include <openssl/evp.h>

static bool add_number(afc__buffer *text, int64_t number) {
    return afc__buffer_append(text, &number, sizeof number) == AFC_OK;
}

/** Appends a text with its size in front, so that different lists of texts never give the same bytes. */
static bool add_slice(afc__buffer *text, afc_slice slice) {
    return add_number(text, (int64_t)slice.size) &&
           afc__buffer_append(text, slice.bytes, slice.size) == AFC_OK;
}

static bool add_rule(afc__buffer *text, const afc_trust_rule *rule) {
    bool is_added = add_slice(text, afc_slice_of(rule->host != NULL ? rule->host : "")) &&
                    add_number(text, rule->include_subdomains) && add_number(text, rule->mode) &&
                    add_number(text, rule->match) && add_slice(text, rule->certificates) &&
                    add_number(text, (int64_t)rule->pin_count);
    for (size_t i = 0; i < rule->pin_count && is_added; i++) {
        is_added = add_slice(text, afc_slice_of(rule->pins[i]));
    }
    return is_added && add_number(text, rule->expires_s) && add_number(text, rule->report_only) &&
           add_number(text, rule->allow_invalid_certificates) &&
           add_number(text, rule->skip_host_check);
}

/** Returns false if out of memory. */
static bool add_options(afc__buffer *text, const afc_trust_options *options) {
    bool is_added = add_slice(text, options->anchors) &&
                    add_number(text, options->keep_system_anchors) &&
                    add_slice(text, options->intermediates) && add_slice(text, options->crls) &&
                    add_number(text, options->check_authorities) &&
                    add_number(text, options->ocsp) && add_number(text, options->security_level) &&
                    add_number(text, options->time_s) && add_rule(text, &options->everywhere) &&
                    add_number(text, (int64_t)options->rule_count);
    for (size_t i = 0; i < options->rule_count && is_added; i++) {
        is_added = add_rule(text, &options->rules[i]);
    }
    return is_added && add_number(text, options->handler.decide != NULL);
}

bool afc__trust_fingerprint(char out[AFC__TRUST_FINGERPRINT_SIZE],
                            const afc_trust_options *options) {
    static const afc_trust_options defaults = AFC_TRUST_OPTIONS_INIT;
    afc__buffer text, usual;
    unsigned char digest[AFC__DIGEST_SIZE];
    out[0] = '\0';
    afc__buffer_init(&text, UINT64_MAX);
    afc__buffer_init(&usual, UINT64_MAX);
    bool is_written = add_options(&text, options) && add_options(&usual, &defaults);
    /* Compared before they are hashed: the first hash of a process takes OpenSSL half a millisecond. */
    if (is_written && !afc__is_same(afc__buffer_slice(&text), afc__buffer_slice(&usual))) {
        is_written = EVP_Digest(text.bytes, text.size, digest, NULL, EVP_sha256(), NULL) == 1;
        if (is_written) afc__hex_write(out, digest, sizeof digest);
        ERR_clear_error();
    }
    afc__buffer_clear(&text);
    afc__buffer_clear(&usual);
    return is_written;
}
