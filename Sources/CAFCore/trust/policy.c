#include "trust/policy.h"

#include "base/alloc.h"
#include "base/failure.h"
#include "base/fork_gate.h"
#include "base/sized.h"
#include "trust/anchors.h"

#include <openssl/crypto.h>
#include <openssl/err.h>
#include <string.h>
#include <time.h>

enum { STRONGEST_LEVEL = 5 };

/* ---- Rules --------------------------------------------------------------------------------- */

static bool is_pinning(const afc_trust_rule *rule) {
    return rule->certificates.size > 0 || rule->pin_count > 0;
}

static afc_status check_rule(const afc_trust_rule *rule, afc_failure *failure) {
    if ((unsigned)rule->mode > AFC_PINNING_CERTIFICATE ||
        (unsigned)rule->match > AFC_PIN_MATCH_ALL) {
        return afc__fail(failure, AFC_EINVAL, "invalid pinning mode or match");
    }
    if (rule->pins == NULL && rule->pin_count > 0) {
        return afc__fail(failure, AFC_EINVAL, "pin_count is set but pins is NULL");
    }
    if (rule->mode == AFC_PINNING_NONE && is_pinning(rule)) {
        return afc__fail(failure, AFC_EINVAL,
                         "pins need a pinning mode: expected public key or certificate");
    }
    return AFC_OK;
}

/** Reads the pins of a rule, and allocates memory for the keys of its certificates. */
static afc_status read_pins(afc__trust_rule *out, const afc_trust_rule *rule,
                            afc_failure *failure) {
    bool pins_keys = out->mode == AFC_PINNING_PUBLIC_KEY;
    int certificates = pins_keys && out->certificates != NULL ? sk_X509_num(out->certificates) : 0;
    size_t capacity = rule->pin_count + (size_t)certificates;
    if (capacity == 0) return AFC_OK;
    out->keys = capacity <= SIZE_MAX / sizeof *out->keys ? afc__alloc(capacity * sizeof *out->keys)
                                                         : NULL;
    if (out->keys == NULL) return afc__fail_memory(failure);
    for (size_t i = 0; i < rule->pin_count; i++) {
        afc_status status = afc__pin_parse(&out->keys[out->key_count], rule->pins[i], failure);
        if (status != AFC_OK) return status;
        out->key_count++;
    }
    for (int i = 0; i < certificates; i++) {
        if (!afc__key_hash_of(&out->keys[out->key_count], sk_X509_value(out->certificates, i))) {
            return afc__fail_memory(failure);
        }
        out->key_count++;
    }
    return AFC_OK;
}

/** Sets the time of a store. OCSP_basic_verify() verifies the signer's chain at the time of the store. */
static void set_time(X509_STORE *store, int64_t time_s) {
    if (store == NULL || time_s == 0) return;
    X509_VERIFY_PARAM_set_time(X509_STORE_get0_param(store), (time_t)time_s);
}

static afc_status read_rule(afc__trust_rule *out, const afc_trust_rule *rule, int64_t time_s,
                            STACK_OF(X509_CRL) *crls, afc_failure *failure) {
    afc_status status = AFC__CHECK_RESERVED(rule, "afc_trust_rule", failure);
    if (status == AFC_OK) status = check_rule(rule, failure);
    if (status != AFC_OK) return status;
    out->mode = rule->mode;
    out->match = rule->match;
    out->expires_s = rule->expires_s;
    out->report_only = rule->report_only;
    out->allow_invalid_certificates = rule->allow_invalid_certificates;
    out->skip_host_check = rule->skip_host_check;
    status = afc__certificates_parse(&out->certificates, rule->certificates,
                                     "the pinned certificates", failure);
    if (status == AFC_OK) status = read_pins(out, rule, failure);
    if (status == AFC_EINVAL) afc__give_reason(failure, AFC_REASON_PINNING, status);
    if (status == AFC_OK && out->mode == AFC_PINNING_CERTIFICATE && out->certificates != NULL) {
        status = afc__anchors_new(&out->store, out->certificates, crls, false, failure);
        set_time(out->store, time_s);
    }
    return status;
}

static afc_status read_host(afc__trust_rule *out, const afc_trust_policy *policy,
                            const afc_trust_rule *rule, afc_failure *failure) {
    if (rule->host == NULL ||
        !afc__host_pattern_read(&out->pattern, rule->host, rule->include_subdomains)) {
        return afc__fail(failure, AFC_EINVAL,
                         "invalid host in trust rule: expected an ASCII name or an address");
    }
    for (const afc__trust_rule *other = policy->rules + 1; other < out; other++) {
        bool is_same = other->pattern.kind == out->pattern.kind &&
                       strcmp(other->pattern.host.text, out->pattern.host.text) == 0;
        if (is_same) {
            return afc__fail(failure, AFC_EINVAL, "duplicate trust rule for %s", rule->host);
        }
    }
    return AFC_OK;
}

static void clear_rule(afc__trust_rule *rule) {
    sk_X509_pop_free(rule->certificates, X509_free);
    X509_STORE_free(rule->store);
    afc_free(rule->keys);
}

const afc__trust_rule *afc__policy_rule_for(const afc_trust_policy *policy,
                                            const afc__trust_host *host) {
    const afc__trust_rule *best = &policy->rules[0];
    unsigned best_specificity = 0;
    for (size_t i = 1; host != NULL && i < policy->rule_count; i++) {
        unsigned specificity = afc__host_pattern_specificity(&policy->rules[i].pattern, host);
        if (specificity <= best_specificity) continue;
        best = &policy->rules[i];
        best_specificity = specificity;
    }
    return best;
}

bool afc__rule_has_expired(const afc_trust_policy *policy, const afc__trust_rule *rule) {
    return rule->expires_s != 0 && afc__policy_time(policy) >= rule->expires_s;
}

static bool has_pins(const afc_trust_policy *policy) {
    for (size_t i = 0; i < policy->rule_count; i++) {
        if (policy->rules[i].mode != AFC_PINNING_NONE) return true;
    }
    return false;
}

bool afc__policy_demands_pin(const afc_trust_policy *policy, afc_slice host) {
    char text[AFC__TRUST_HOST_SIZE] = "";
    afc__trust_host read;
    if (!has_pins(policy)) return false;
    if (host.size < sizeof text) memcpy(text, host.bytes, host.size);
    bool is_host = afc__trust_host_read(&read, text);
    const afc__trust_rule *rule = afc__policy_rule_for(policy, is_host ? &read : NULL);
    return rule->mode != AFC_PINNING_NONE && !rule->report_only &&
           !afc__rule_has_expired(policy, rule);
}

/* ---- Policies ------------------------------------------------------------------------------ */

static afc_status read_rules(afc_trust_policy *policy, const afc_trust_options *options,
                             STACK_OF(X509_CRL) *crls, afc_failure *failure) {
    if (options->rules == NULL && options->rule_count > 0) {
        return afc__fail(failure, AFC_EINVAL, "rule_count is set but rules is NULL");
    }
    size_t count = options->rule_count + 1;
    policy->rules = options->rule_count < SIZE_MAX / sizeof *policy->rules - 1
                        ? afc__zalloc(count * sizeof *policy->rules)
                        : NULL;
    if (policy->rules == NULL) return afc__fail_memory(failure);
    if (options->everywhere.host != NULL) {
        return afc__fail(failure, AFC_EINVAL, "the default rule must not have a host");
    }
    policy->rule_count = 1;
    afc_status status = read_rule(&policy->rules[0], &options->everywhere, policy->time_s, crls,
                                  failure);
    for (size_t i = 0; i < options->rule_count && status == AFC_OK; i++) {
        afc__trust_rule *rule = &policy->rules[policy->rule_count];
        status = read_host(rule, policy, &options->rules[i], failure);
        policy->rule_count++;
        if (status == AFC_OK)
            status = read_rule(rule, &options->rules[i], policy->time_s, crls, failure);
    }
    return status;
}

/**
 * Returns whether a text was given but is empty, for example from an empty file. It doesn't have the meaning of NULL.
 */
static bool is_empty(afc_slice text) {
    return text.bytes != NULL && text.size == 0;
}

static afc_status read_anchors(afc_trust_policy *policy, const afc_trust_options *options,
                               STACK_OF(X509_CRL) *crls, afc_failure *failure) {
    STACK_OF(X509) *anchors;
    if (is_empty(options->anchors)) {
        afc__fail(failure, AFC_EINVAL,
                  "the anchors: there are none, and only NULL means the system's");
        return afc__give_reason(failure, AFC_REASON_ANCHORS, AFC_EINVAL);
    }
    afc_status status = afc__certificates_parse(&anchors, options->anchors, "the anchors", failure);
    if (status == AFC_EINVAL) afc__give_reason(failure, AFC_REASON_ANCHORS, status);
    if (status != AFC_OK) return status;
    policy->has_own_anchors = anchors != NULL;
    /* The system's store is shared, so a policy with a time needs another one. */
    bool has_own_time = policy->time_s != 0 && policy->ocsp != AFC_OCSP_IGNORE;
    if (anchors != NULL || crls != NULL || has_own_time) {
        bool has_system = anchors == NULL || options->keep_system_anchors;
        status = afc__anchors_new(&policy->store, anchors, crls, has_system, failure);
    }
    set_time(policy->store, policy->time_s);
    sk_X509_pop_free(anchors, X509_free);
    return status;
}

static afc_status read_options(afc_trust_policy *policy, const afc_trust_options *options,
                               afc_failure *failure) {
    STACK_OF(X509_CRL) *crls = NULL;
    if (options->security_level < 0 || options->security_level > STRONGEST_LEVEL) {
        return afc__fail(failure, AFC_EINVAL, "invalid security level: expected 1 to 5");
    }
    if ((unsigned)options->ocsp > AFC_OCSP_REQUIRE) {
        return afc__fail(failure, AFC_EINVAL, "invalid OCSP mode: %d", (int)options->ocsp);
    }
    policy->security_level = options->security_level;
    policy->time_s = options->time_s;
    policy->ocsp = options->ocsp;
    policy->check_authorities = options->check_authorities;
    if (is_empty(options->crls)) {
        return afc__fail(failure, AFC_EINVAL,
                         "the revocation lists: there are none, and only NULL means none");
    }
    afc_status status = afc__certificates_parse(&policy->intermediates, options->intermediates,
                                                "the intermediates", failure);
    if (status == AFC_OK) status = afc__crls_parse(&crls, options->crls, failure);
    policy->has_crls = crls != NULL;
    if (status == AFC_OK) status = read_anchors(policy, options, crls, failure);
    if (status == AFC_OK) status = read_rules(policy, options, crls, failure);
    sk_X509_CRL_pop_free(crls, X509_CRL_free);
    return status;
}

void afc__openssl_begin(void) {
    OPENSSL_init_crypto(OPENSSL_INIT_NO_ATEXIT, NULL);
}

afc_status afc_trust_policy_new(afc_trust_policy **out, const afc_trust_options *options,
                                afc_failure *failure) {
    static const afc_trust_options defaults = AFC_TRUST_OPTIONS_INIT;
    afc_trust_options storage;
    afc_failure ignored;
    if (failure == NULL) failure = &ignored;
    *out = NULL;
    options = afc__sized_read(&storage, &defaults, options, AFC__SIZED(afc_trust_options, handler),
                              "AFC_TRUST_OPTIONS_INIT", failure);
    if (options == NULL) return failure->status;
    /* Options with fields that this version doesn't have fail below, where the context of their handler is released. */
    afc_status status = failure->status;
    afc_trust_policy *policy = status == AFC_OK ? afc__zalloc(sizeof *policy) : NULL;
    if (policy != NULL) {
        atomic_init(&policy->references, 1);
        policy->handler = options->handler;
        status = afc__fork_gate_check(failure);
        afc__fork_gate_enter(NULL);
        afc__openssl_begin();
        if (status == AFC_OK) status = read_options(policy, options, failure);
        if (status == AFC_OK && !afc__trust_fingerprint(policy->fingerprint, options))
            status = afc__fail_memory(failure);
        afc__fork_gate_leave(NULL);
    } else {
        if (status == AFC_OK) status = afc__fail_memory(failure);
        if (options->handler.release != NULL) options->handler.release(options->handler.context);
    }
    if (status == AFC_OK)
        *out = policy;
    else
        afc_trust_policy_release(policy);
    return status;
}

afc_trust_policy *afc_trust_policy_retain(afc_trust_policy *policy) {
    atomic_fetch_add_explicit(&policy->references, 1, memory_order_relaxed);
    return policy;
}

void afc_trust_policy_release(afc_trust_policy *policy) {
    if (policy == NULL || atomic_fetch_sub(&policy->references, 1) != 1) return;
    for (size_t i = 0; i < policy->rule_count; i++) clear_rule(&policy->rules[i]);
    afc_free(policy->rules);
    afc__fork_gate_enter(NULL);
    sk_X509_pop_free(policy->intermediates, X509_free);
    X509_STORE_free(policy->store);
    afc__fork_gate_leave(NULL);
    if (policy->handler.release != NULL) policy->handler.release(policy->handler.context);
    afc_free(policy);
}

int64_t afc__policy_time(const afc_trust_policy *policy) {
    return policy->time_s != 0 ? policy->time_s : (int64_t)time(NULL);
}

afc_status afc__policy_store(X509_STORE **out, const afc_trust_policy *policy,
                             afc_failure *failure) {
    *out = policy->store;
    return policy->store != NULL ? AFC_OK : afc__anchors_system(out, failure);
}
