#include "trust/evaluate.h"

#include "base/alloc.h"
#include "base/failure.h"
#include "base/fork_gate.h"
#include "trust/anchors.h"
#include "trust/names_text.h"
#include "trust/reason.h"

#include <errno.h>
#include <limits.h>
#include <openssl/err.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <string.h>

/* OpenSSL's security level. Lower levels accept less than 112 bits: RSA 1024, SHA-1. */
enum { DEFAULT_LEVEL = 2 };

/* ---- The path ------------------------------------------------------------------------------ */

/** A wildcard must be a whole label, and the common name of the subject isn't a host name (RFC 9525 6.3, 2). */
static const unsigned host_flags = X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS |
                                   X509_CHECK_FLAG_NEVER_CHECK_SUBJECT;

static bool names_host(X509 *leaf, const afc__trust_host *host) {
    if (host->is_address) return X509_check_ip_asc(leaf, host->text, 0) == 1;
    return X509_check_host(leaf, host->text, strlen(host->text), host_flags, NULL) == 1;
}

/** The state of one evaluation. */
typedef struct evaluation_state {
    const afc_trust_policy *policy;
    const afc__trust_rule *rule;
    const afc__trust_host *host; /**< NULL if no name is compared. */
    X509 *leaf;
    STACK_OF(X509) *untrusted;
    afc__verdict *verdict;
    STACK_OF(X509) *chain;       /**< The verified path; owned. */
    bool has_faulty_pinned_path; /**< There is a path to the pins, but it has an error. */
    /** With X509_V_ERR_OUT_OF_MEM: the errno, or 0 if that was ENOMEM. */
    int shortage;
} evaluation_state;

/** Where a path of certificates may end. */
typedef enum path_end {
    AT_ROOT,
    /** Also at an intermediate, or at the server's own certificate, if that is an anchor. */
    AT_ANY_ANCHOR
} path_end;

static bool prepare(const evaluation_state *evaluation, path_end end, X509_STORE_CTX *context) {
    const afc_trust_policy *policy = evaluation->policy;
    if (X509_STORE_CTX_set_default(context, "ssl_server") != 1) return false;
    X509_VERIFY_PARAM *parameters = X509_STORE_CTX_get0_param(context);
    /* Without the last two flags OpenSSL treats a delta CRL as a complete one. */
    unsigned long flags = X509_V_FLAG_TRUSTED_FIRST | X509_V_FLAG_EXTENDED_CRL_SUPPORT |
                          X509_V_FLAG_USE_DELTAS;
    if (end == AT_ANY_ANCHOR) flags |= X509_V_FLAG_PARTIAL_CHAIN;
    if (policy->has_crls) flags |= X509_V_FLAG_CRL_CHECK;
    if (policy->has_crls && policy->check_authorities) flags |= X509_V_FLAG_CRL_CHECK_ALL;
    X509_VERIFY_PARAM_set_flags(parameters, flags);
    int level = policy->security_level != 0 ? policy->security_level : DEFAULT_LEVEL;
    X509_VERIFY_PARAM_set_auth_level(parameters, level);
    if (policy->time_s != 0) X509_VERIFY_PARAM_set_time(parameters, (time_t)policy->time_s);
    const afc__trust_host *host = evaluation->host;
    if (host == NULL) return true;
    X509_VERIFY_PARAM_set_hostflags(parameters, host_flags);
    if (host->is_address) return X509_VERIFY_PARAM_set1_ip_asc(parameters, host->text) == 1;
    return X509_VERIFY_PARAM_set1_host(parameters, host->text, strlen(host->text)) == 1;
}

/** Returns whether OpenSSL lacked memory, or descriptors to read a root from the directory. Clears its errors. */
static bool take_shortage(evaluation_state *evaluation) {
    int error = afc__take_system_error();
    if (!afc__is_shortage(error)) return false;
    evaluation->shortage = error != ENOMEM ? error : 0;
    return true;
}

/**
 * Verifies the chain. If it returns X509_V_OK, evaluation->chain is the verified path; otherwise `*depth` is the
 * position of the error.
 */
static int verify(evaluation_state *evaluation, X509_STORE *store, path_end end, int *depth) {
    int error = X509_V_ERR_OUT_OF_MEM;
    X509_STORE_CTX *context = X509_STORE_CTX_new();
    *depth = 0;
    if (context != NULL && store != NULL &&
        X509_STORE_CTX_init(context, store, evaluation->leaf, evaluation->untrusted) == 1 &&
        prepare(evaluation, end, context)) {
        ERR_clear_error();
        bool is_good = X509_verify_cert(context) == 1;
        error = X509_STORE_CTX_get_error(context);
        *depth = X509_STORE_CTX_get_error_depth(context);
        if (is_good) {
            evaluation->chain = X509_STORE_CTX_get1_chain(context);
            error = evaluation->chain != NULL ? X509_V_OK : X509_V_ERR_OUT_OF_MEM;
        } else if (take_shortage(evaluation)) {
            /* OpenSSL continues without what it had no memory or descriptor for, and then reports another error. */
            error = X509_V_ERR_OUT_OF_MEM;
        } else if (error == X509_V_OK) {
            error = X509_V_ERR_UNSPECIFIED;
        }
    }
    X509_STORE_CTX_free(context);
    ERR_clear_error();
    return error;
}

/* ---- Pins ---------------------------------------------------------------------------------- */

static bool holds_key(const afc__trust_rule *rule, const X509 *certificate) {
    afc__key_hash digest;
    if (rule->key_count == 0 || !afc__key_hash_of(&digest, certificate)) return false;
    for (size_t i = 0; i < rule->key_count; i++) {
        if (memcmp(rule->keys[i].bytes, digest.bytes, sizeof digest.bytes) == 0) return true;
    }
    return false;
}

static bool holds_certificate(const afc__trust_rule *rule, const X509 *certificate) {
    if (rule->mode != AFC_PINNING_CERTIFICATE || rule->certificates == NULL) return false;
    for (int i = 0; i < sk_X509_num(rule->certificates); i++) {
        if (X509_cmp(sk_X509_value(rule->certificates, i), certificate) == 0) return true;
    }
    return false;
}

/** Returns whether a certificate is pinned, by its key or as a whole. */
static bool pins_hold(const afc__trust_rule *rule, const X509 *certificate) {
    return holds_key(rule, certificate) || holds_certificate(rule, certificate);
}

/**
 * Returns whether the pins match as the rule requires. `chain` is the verified path. It is NULL if no path was
 * verified: then only the key of `leaf` is compared, because whole certificates are compared by verification.
 */
static bool pins_match(const afc__trust_rule *rule, X509 *leaf, STACK_OF(X509) *chain) {
    if (chain == NULL) return holds_key(rule, leaf);
    int count = rule->match == AFC_PIN_MATCH_LEAF ? 1 : sk_X509_num(chain), held = 0;
    for (int i = 0; i < count; i++) held += pins_hold(rule, sk_X509_value(chain, i));
    return rule->match == AFC_PIN_MATCH_ALL ? held == count && count > 0 : held > 0;
}

/* ---- Verdicts ------------------------------------------------------------------------------ */

static void set_reason(afc__verdict *verdict, afc_trust_reason reason, int error,
                       const char *text) {
    verdict->reason = reason;
    verdict->error = error != X509_V_OK ? error : X509_V_ERR_APPLICATION_VERIFICATION;
    snprintf(verdict->text, sizeof verdict->text, "%s", text);
}

static void set_error(const evaluation_state *evaluation, int error, int depth) {
    afc__verdict *verdict = evaluation->verdict;
    afc_trust_reason reason = afc__trust_reason_of(error);
    verdict->depth = depth;
    set_reason(verdict, reason, error, X509_verify_cert_error_string(error));
    if (error == X509_V_ERR_OUT_OF_MEM) {
        verdict->fault = AFC_ENOMEM;
        if (evaluation->shortage != 0) {
            snprintf(verdict->text, sizeof verdict->text,
                     "cannot read the system's certificates: %s", strerror(evaluation->shortage));
        }
    }
    if (reason == AFC_TRUST_WRONG_HOST && evaluation->host != NULL) {
        afc__wrong_host_write(verdict->text, sizeof verdict->text, evaluation->host->text,
                              evaluation->leaf);
    }
}

static void miss_pins(afc__verdict *verdict) {
    verdict->depth = 0;
    verdict->pins = AFC_PINS_MISSED;
    set_reason(verdict, AFC_TRUST_PIN, X509_V_ERR_APPLICATION_VERIFICATION,
               "no pin for this host matches the certificate chain");
}

/** Returns whether missed pins are accepted, because they have expired or are only reported. */
static bool accepts_missed_pins(const evaluation_state *evaluation) {
    const afc__trust_rule *rule = evaluation->rule;
    bool is_over = afc__rule_has_expired(evaluation->policy, rule);
    if (!is_over && !rule->report_only) return false;
    miss_pins(evaluation->verdict);
    evaluation->verdict->pins = is_over ? AFC_PINS_EXPIRED : AFC_PINS_REPORTED;
    return true;
}

/**
 * Verifies with the pinned certificates as the only anchors. They may be roots, intermediates or the server's
 * certificate.
 */
static bool verify_by_pins(evaluation_state *evaluation) {
    STACK_OF(X509) *chain = evaluation->chain;
    afc__verdict *verdict = evaluation->verdict;
    int depth;
    evaluation->chain = NULL;
    int error = verify(evaluation, evaluation->rule->store, AT_ANY_ANCHOR, &depth);
    if (error != X509_V_OK) {
        evaluation->chain = chain;
        /* A path without an anchor doesn't lead to the pins. Any other error is that of a path which does. */
        evaluation->has_faulty_pinned_path = !verdict->is_verified &&
                                             !afc__trust_lacks_anchor(error);
        if (evaluation->has_faulty_pinned_path) set_error(evaluation, error, depth);
        return false;
    }
    sk_X509_pop_free(chain, X509_free);
    verdict->is_verified = verdict->is_by_pins = true;
    verdict->reason = AFC_TRUST_ACCEPTED;
    verdict->text[0] = '\0';
    verdict->depth = 0;
    return true;
}

static bool match_pins(evaluation_state *evaluation) {
    const afc__trust_rule *rule = evaluation->rule;
    bool was_verified = evaluation->verdict->is_verified;
    if (pins_match(rule, evaluation->leaf, was_verified ? evaluation->chain : NULL)) return true;
    if (rule->store == NULL) return false;
    /*
     * A path to the pins ends at a pinned certificate, which is enough for ANY. For LEAF and ALL, a verified path was
     * already compared above, and another one needs a pinned leaf.
     */
    if (was_verified && rule->match != AFC_PIN_MATCH_ANY) return false;
    if (rule->match != AFC_PIN_MATCH_ANY && !pins_hold(rule, evaluation->leaf)) return false;
    return verify_by_pins(evaluation);
}

static void evaluate_pins(evaluation_state *evaluation) {
    afc__verdict *verdict = evaluation->verdict;
    verdict->is_accepted = false;
    if (match_pins(evaluation)) {
        verdict->pins = AFC_PINS_MATCHED;
        verdict->is_accepted = true;
    } else if (verdict->is_verified && accepts_missed_pins(evaluation)) {
        verdict->is_accepted = true;
    } else if (!evaluation->has_faulty_pinned_path) {
        miss_pins(verdict);
    }
}

/** Sets the verdict if the anchors can't be read now. */
static void lack_anchors(afc__verdict *verdict, const afc_failure *failure) {
    verdict->fault = failure->status;
    set_reason(verdict, AFC_TRUST_OTHER, X509_V_ERR_OUT_OF_MEM, failure->text);
}

static void evaluate(evaluation_state *evaluation) {
    afc__verdict *verdict = evaluation->verdict;
    const afc__trust_rule *rule = evaluation->rule;
    const afc_trust_policy *policy = evaluation->policy;
    path_end end = policy->has_own_anchors ? AT_ANY_ANCHOR : AT_ROOT;
    X509_STORE *store;
    afc_failure failure;
    bool may_help = false;
    if (afc__policy_store(&store, policy, &failure) != AFC_OK) {
        lack_anchors(verdict, &failure);
        return;
    }
    int depth, error = verify(evaluation, store, end, &depth);
    if (afc__trust_lacks_anchor(error) &&
        afc__anchors_add_bundle(store, &may_help, &failure) != AFC_OK) {
        lack_anchors(verdict, &failure);
        return;
    }
    if (may_help) error = verify(evaluation, store, end, &depth);
    verdict->is_verified = error == X509_V_OK;
    verdict->error = error;
    if (error != X509_V_OK) {
        set_error(evaluation, error, depth);
        if (!rule->allow_invalid_certificates || error == X509_V_ERR_OUT_OF_MEM) return;
        /*
         * The rule accepts an invalid chain, but not a wrong name; verification may have stopped before the name was
         * compared.
         */
        if (evaluation->host != NULL && !names_host(evaluation->leaf, evaluation->host)) {
            set_error(evaluation, X509_V_ERR_HOSTNAME_MISMATCH, 0);
            return;
        }
    }
    verdict->is_accepted = true;
    if (rule->mode != AFC_PINNING_NONE) evaluate_pins(evaluation);
}

/* ---- Verification ------------------------------------------------------------------------------ */

/** Joins the peer's and the policy's certificates; NULL when out of memory. */
static STACK_OF(X509) *gather(const afc_trust_policy *policy, const afc__trust_case *trust_case) {
    STACK_OF(X509) *all = trust_case->sent != NULL ? sk_X509_dup(trust_case->sent)
                                                   : sk_X509_new_null();
    int count = policy->intermediates != NULL ? sk_X509_num(policy->intermediates) : 0;
    for (int i = 0; all != NULL && i < count; i++) {
        if (sk_X509_push(all, sk_X509_value(policy->intermediates, i)) > 0) continue;
        sk_X509_free(all);
        all = NULL;
    }
    return all;
}

/** Lists the certificates that were sent, the leaf first. */
static STACK_OF(X509) *list_sent(const afc__trust_case *trust_case) {
    STACK_OF(X509) *list = sk_X509_new_null();
    bool is_good = list != NULL && X509_add_cert(list, trust_case->leaf, X509_ADD_FLAG_UP_REF) == 1;
    for (int i = 0; is_good && trust_case->sent != NULL && i < sk_X509_num(trust_case->sent); i++) {
        X509 *one = sk_X509_value(trust_case->sent, i);
        if (one == trust_case->leaf) continue;
        is_good = X509_add_cert(list, one, X509_ADD_FLAG_UP_REF) == 1;
    }
    if (is_good) return list;
    sk_X509_pop_free(list, X509_free);
    return NULL;
}

afc__verification *afc__trust_evaluate(const afc_trust_policy *policy,
                                       const afc__trust_case *trust_case) {
    afc__verification *verification = afc__zalloc(sizeof *verification);
    if (verification == NULL) return NULL;
    atomic_init(&verification->references, 1);
    bool has_host = trust_case->host != NULL;
    bool is_host = has_host && afc__trust_host_read(&verification->host, trust_case->host);
    evaluation_state evaluation = {
        .policy = policy,
        .rule = afc__policy_rule_for(policy, is_host ? &verification->host : NULL),
        .leaf = trust_case->leaf,
        .verdict = &verification->verdict};
    if (has_host && !evaluation.rule->skip_host_check) evaluation.host = &verification->host;
    if (has_host && !is_host) {
        /* Without a valid host no rule can be found, so even a policy that compares no names must refuse. */
        verification->host.text[0] = '\0';
        set_reason(&verification->verdict, AFC_TRUST_WRONG_HOST, X509_V_ERR_HOSTNAME_MISMATCH,
                   "invalid host: a certificate can't name it");
    } else {
        evaluation.untrusted = gather(policy, trust_case);
        set_reason(&verification->verdict, AFC_TRUST_OTHER, X509_V_ERR_OUT_OF_MEM, "out of memory");
        verification->verdict.fault = AFC_ENOMEM;
        if (evaluation.untrusted != NULL) {
            verification->verdict = (afc__verdict){.fault = AFC_OK};
            evaluate(&evaluation);
            /* Compared even if the rule skips it: whether a response is stored for stricter sessions depends on it. */
            verification->verdict.names_host = is_host && verification->verdict.is_verified &&
                                               (evaluation.host != NULL ||
                                                names_host(trust_case->leaf, &verification->host));
        }
        sk_X509_free(evaluation.untrusted);
    }
    verification->chain = evaluation.chain != NULL ? evaluation.chain : list_sent(trust_case);
    if (verification->verdict.is_accepted) verification->verdict.error = X509_V_OK;
    if (verification->chain != NULL) return verification;
    afc__verification_release(verification);
    return NULL;
}

void afc__verification_refuse(afc__verification *verification, afc_trust_reason reason, int error,
                              const char *text) {
    verification->verdict.is_accepted = false;
    verification->verdict.fault = error == X509_V_ERR_OUT_OF_MEM ? AFC_ENOMEM : AFC_OK;
    verification->verdict.depth = 0;
    set_reason(&verification->verdict, reason, error, text);
}

bool afc__trust_run_callback(const afc_trust_policy *policy, afc__verification *verification) {
    afc__verdict *verdict = &verification->verdict;
    if (policy->handler.decide == NULL) return true;
    afc_trust_report *report = afc__verification_report(verification);
    if (report == NULL) {
        afc__verification_refuse(verification, AFC_TRUST_OTHER, X509_V_ERR_OUT_OF_MEM,
                                 "out of memory");
        return false;
    }
    afc_trust_decision decision = policy->handler.decide(policy->handler.context, report);
    afc_trust_report_free(report);
    if (decision == AFC_TRUST_DECISION_REFUSE && verdict->is_accepted) {
        afc__verification_refuse(verification, AFC_TRUST_HANDLER,
                                 X509_V_ERR_APPLICATION_VERIFICATION,
                                 "refused by the policy's handler");
    } else if (decision == AFC_TRUST_DECISION_ACCEPT) {
        verdict->is_accepted = true;
        verdict->error = X509_V_OK;
        verdict->fault = AFC_OK;
    } else if (decision != AFC_TRUST_DECISION_KEEP && verdict->is_accepted) {
        /* Refuse: that may be what the handler meant. */
        char text[sizeof verdict->text];
        snprintf(text, sizeof text,
                 "the policy's handler returned %d: expected AFC_TRUST_DECISION_…", (int)decision);
        afc__verification_refuse(verification, AFC_TRUST_HANDLER,
                                 X509_V_ERR_APPLICATION_VERIFICATION, text);
    }
    return true;
}

afc__verification *afc__verification_retain(afc__verification *verification) {
    if (verification != NULL) {
        atomic_fetch_add_explicit(&verification->references, 1, memory_order_relaxed);
    }
    return verification;
}

void afc__verification_release(afc__verification *verification) {
    if (verification == NULL || atomic_fetch_sub(&verification->references, 1) != 1) return;
    afc__fork_gate_enter(NULL);
    sk_X509_pop_free(verification->chain, X509_free);
    afc__fork_gate_leave(NULL);
    afc_free(verification);
}

/* ---- Without a network --------------------------------------------------------------------- */

/** Parses a certificate in DER. Fails with AFC_EINVAL if it is invalid or other bytes follow, or with AFC_ENOMEM. */
static afc_status parse_der(X509 **out, afc_slice der) {
    *out = NULL;
    if (der.bytes == NULL || der.size == 0 || der.size > LONG_MAX) return AFC_EINVAL;
    const unsigned char *at = (const unsigned char *)der.bytes;
    ERR_clear_error();
    X509 *certificate = d2i_X509(NULL, &at, (long)der.size);
    if (certificate == NULL) return afc__take_memory_error() ? AFC_ENOMEM : AFC_EINVAL;
    if (at != (const unsigned char *)der.bytes + der.size) {
        X509_free(certificate);
        return AFC_EINVAL;
    }
    *out = certificate;
    return AFC_OK;
}

static afc_status parse_chain(STACK_OF(X509) *list, const afc_slice *chain, size_t count,
                              afc_failure *failure) {
    for (size_t i = 0; i < count; i++) {
        X509 *certificate;
        afc_status status = parse_der(&certificate, chain[i]);
        if (status == AFC_EINVAL) {
            afc__fail(failure, AFC_EINVAL, "certificate number %zu of the chain is invalid", i + 1);
            return AFC_EINVAL;
        }
        if (status == AFC_OK && sk_X509_push(list, certificate) > 0) continue;
        X509_free(certificate);
        return afc__fail_memory(failure);
    }
    return AFC_OK;
}

static afc_status evaluate_chain(afc_trust_report **out, const afc_trust_policy *policy,
                                 STACK_OF(X509) *list, const char *host, afc_failure *failure) {
    afc__trust_case trust_case = {host, sk_X509_value(list, 0), list};
    afc__verification *verification = afc__trust_evaluate(policy, &trust_case);
    if (verification == NULL) return afc__fail_memory(failure);
    afc_status status = AFC_ENOMEM;
    const afc__verdict *verdict = &verification->verdict;
    if (!afc__trust_run_callback(policy, verification)) {
        afc__fail_memory(failure);
    } else if (verdict->fault != AFC_OK) {
        status = afc__fail(failure, verdict->fault, "%s", verdict->text);
    } else if (out != NULL && (*out = afc__verification_report(verification)) == NULL) {
        afc__fail_memory(failure);
    } else if (!verdict->is_accepted) {
        status = afc__fail(failure, AFC_EUNTRUSTED, "%s", verdict->text);
        if (failure != NULL) failure->trust = verdict->reason;
    } else {
        status = AFC_OK;
    }
    afc__verification_release(verification);
    return status;
}

afc_status afc_trust_evaluate(afc_trust_report **out, const afc_trust_policy *policy,
                              const afc_slice *chain, size_t count, const char *host,
                              afc_failure *failure) {
    if (out != NULL) *out = NULL;
    afc__clear_failure(failure);
    if (chain == NULL || count == 0) {
        return afc__fail(failure, AFC_EINVAL, "the chain is empty");
    }
    afc_status status = afc__fork_gate_check(failure);
    if (status != AFC_OK) return status;
    afc__fork_gate_enter(NULL);
    STACK_OF(X509) *list = sk_X509_new_null();
    status = list != NULL ? parse_chain(list, chain, count, failure) : afc__fail_memory(failure);
    if (status == AFC_OK) status = evaluate_chain(out, policy, list, host, failure);
    sk_X509_pop_free(list, X509_free);
    afc__fork_gate_leave(NULL);
    return status;
}
