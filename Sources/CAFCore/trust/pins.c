#include "trust/pins.h"

#include <string.h>

static bool holds_key(const af__trust_rule *rule, const X509 *certificate) {
    af__digest digest;
    if (rule->key_count == 0 || !af__key_digest(&digest, certificate)) return false;
    for (size_t i = 0; i < rule->key_count; i++) {
        if (memcmp(rule->keys[i].bytes, digest.bytes, sizeof digest.bytes) == 0) return true;
    }
    return false;
}

static bool holds_certificate(const af__trust_rule *rule, const X509 *certificate) {
    if (rule->mode != AF_PINNING_CERTIFICATE || rule->certificates == NULL) return false;
    for (int i = 0; i < sk_X509_num(rule->certificates); i++) {
        if (X509_cmp(sk_X509_value(rule->certificates, i), certificate) == 0) return true;
    }
    return false;
}

bool af__pins_hold(const af__trust_rule *rule, const X509 *certificate) {
    return holds_key(rule, certificate) || holds_certificate(rule, certificate);
}

bool af__pins_match(const af__trust_rule *rule, X509 *leaf, STACK_OF(X509) * chain) {
    if (chain == NULL) return holds_key(rule, leaf);
    int count = rule->match == AF_PIN_MATCH_LEAF ? 1 : sk_X509_num(chain), held = 0;
    for (int i = 0; i < count; i++) held += af__pins_hold(rule, sk_X509_value(chain, i));
    return rule->match == AF_PIN_MATCH_ALL ? held == count && count > 0 : held > 0;
}
