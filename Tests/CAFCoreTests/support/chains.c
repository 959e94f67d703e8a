#include "support/chains.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static afts_cert *make(chains *chains, const afts_cert *issuer, afts_cert_options options) {
    if (!options.authority && options.hosts == NULL) options.hosts = "localhost";
    afts_cert *cert = afts_cert_new(&options, issuer);
    assert_non_null(cert);
    assert_true(chains->certificate_count < COUNT_OF(chains->shared_chains));
    chains->shared_chains[chains->certificate_count++] = cert;
    return cert;
}

/** The certificates end at the first NULL. */
static void add(chains *chains, const char *name, const char *meaning, const afts_cert *first,
                const afts_cert *second, const afts_cert *third) {
    assert_true(chains->count < COUNT_OF(chains->all));
    chain *chain = &chains->all[chains->count++];
    *chain = (struct chain){name, meaning, {first, second, third}, 1};
    while (chain->count < 3 && chain->sent[chain->count] != NULL) chain->count++;
}

static void add_faults_of_leaves(chains *c) {
    const afts_cert *root = c->root;
    add(c, "expired", "the server's certificate is over",
        make(c, root, (afts_cert_options){.not_before_s = -2 * DAY_S, .not_after_s = -DAY_S}), NULL,
        NULL);
    add(c, "early", "it is not valid yet",
        make(c, root, (afts_cert_options){.not_before_s = DAY_S, .not_after_s = 2 * DAY_S}), NULL,
        NULL);
    add(c, "client", "it is made for TLS clients",
        make(c, root, (afts_cert_options){.client = true}), NULL, NULL);
    add(c, "commonName", "its host stands in the common name alone",
        make(c, root, (afts_cert_options){.common_name = "localhost", .hosts = ""}), NULL, NULL);
    add(c, "nulName", "its name is localhost, a NUL, and another name",
        make(c, root, (afts_cert_options){.common_name = "x", .hosts = "localhost\\0.evil.test"}),
        NULL, NULL);
    add(c, "weakKey", "its key has 1024 bits",
        make(c, root, (afts_cert_options){.rsa = true, .rsa_bits = 1024}), NULL, NULL);
    add(c, "weakDigest", "it is signed with SHA-1",
        make(c, root, (afts_cert_options){.digest = "SHA1"}), NULL, NULL);
    add(c, "forged", "its signature is wrong", make(c, root, (afts_cert_options){.forged = true}),
        NULL, NULL);
}

static void add_faults_of_authorities(chains *c) {
    const afts_cert *root = c->root;
    const afts_cert_options authority = {.authority = true, .common_name = "Middle"};
    afts_cert_options old = authority, narrow = authority, last = authority, small = authority;
    old.not_before_s = -2 * DAY_S, old.not_after_s = -DAY_S;
    const afts_cert *old_middle = make(c, root, old);
    add(c, "expiredMiddle", "its issuer is over", make(c, old_middle, (afts_cert_options){0}),
        old_middle, NULL);
    narrow.name_constraints = "critical,permitted;DNS:example.test";
    const afts_cert *narrow_middle = make(c, root, narrow);
    add(c, "constrained", "its issuer may sign for example.test alone",
        make(c, narrow_middle, (afts_cert_options){0}), narrow_middle, NULL);
    last.last_authority = true;
    const afts_cert *last_middle = make(c, root, last);
    /* With the same name as its issuer it would not count as a step of the path. */
    const afts_cert *below = make(c, last_middle,
                                  (afts_cert_options){.authority = true, .common_name = "Below"});
    add(c, "longPath", "an authority stands below one that allows none",
        make(c, below, (afts_cert_options){0}), below, last_middle);
    add(c, "noAuthority", "it is signed by a server's certificate",
        make(c, c->leaf, (afts_cert_options){.common_name = "Below"}), c->leaf, c->intermediate);
    small.rsa = true, small.rsa_bits = 1024;
    const afts_cert *small_middle = make(c, root, small);
    add(c, "weakMiddle", "its issuer's key has 1024 bits",
        make(c, small_middle, (afts_cert_options){0}), small_middle, NULL);
}

chains *chains_new(void) {
    chains *c = calloc(1, sizeof *c);
    assert_non_null(c);
    const afts_cert_options root = {.authority = true, .common_name = "Root"};
    const afts_cert_options intermediate = {.authority = true, .common_name = "Middle"};
    const afts_cert_options untrusted_root = {.authority = true, .common_name = "Stranger"};
    c->root = make(c, NULL, root);
    c->intermediate = make(c, c->root, intermediate);
    c->leaf = make(c, c->intermediate, (afts_cert_options){0});
    c->untrusted_root = make(c, NULL, untrusted_root);
    c->untrusted_leaf = make(c, c->untrusted_root, (afts_cert_options){0});
    c->self_signed = make(c, NULL, (afts_cert_options){0});
    add(c, "good", "leaf, middle; the root is the anchor", c->leaf, c->intermediate, NULL);
    add(c, "rooted", "the same with the root", c->leaf, c->intermediate, c->root);
    add(c, "disordered", "the same, the root before the middle", c->leaf, c->root, c->intermediate);
    add(c, "gap", "the leaf alone", c->leaf, NULL, NULL);
    add(c, "renewed", "another certificate with the leaf's key",
        make(c, c->intermediate, (afts_cert_options){.key_of = c->leaf, .common_name = "New"}),
        c->intermediate, NULL);
    add(c, "sibling", "another leaf of the middle",
        make(c, c->intermediate, (afts_cert_options){.common_name = "Sibling"}), c->intermediate,
        NULL);
    add(c, "stranger", "of an authority that is not trusted", c->untrusted_leaf, NULL, NULL);
    add(c, "strangerRoot", "the same with its root", c->untrusted_leaf, c->untrusted_root, NULL);
    add(c, "lonely", "signed by itself", c->self_signed, NULL, NULL);
    add(c, "attack", "signed by itself, with the good chain behind it", c->self_signed, c->leaf,
        c->intermediate);
    add(c, "attackRoot", "the same with the middle and the root", c->self_signed, c->intermediate,
        c->root);
    add_faults_of_leaves(c);
    add_faults_of_authorities(c);
    return c;
}

void chains_free(chains *chains) {
    for (size_t i = 0; i < chains->certificate_count; i++) afts_cert_free(chains->shared_chains[i]);
    free(chains);
}

const chain *chain_named(const chains *chains, const char *name) {
    for (size_t i = 0; i < chains->count; i++) {
        if (strcmp(chains->all[i].name, name) == 0) return &chains->all[i];
    }
    fail_msg("there is no chain %s", name);
    return NULL;
}

void chain_slices(const chain *chain, afc_slice out[CHAIN_LONGEST]) {
    for (size_t i = 0; i < chain->count; i++) {
        size_t size;
        out[i].bytes = (const char *)afts_cert_der(chain->sent[i], &size);
        out[i].size = size;
    }
}

char *chain_pem(const chain *chain) {
    size_t size = 1;
    for (size_t i = 0; i < chain->count; i++) size += strlen(afts_cert_pem(chain->sent[i]));
    char *text = calloc(1, size);
    assert_non_null(text);
    for (size_t i = 0, at = 0; i < chain->count; i++) {
        const char *pem = afts_cert_pem(chain->sent[i]);
        memcpy(text + at, pem, strlen(pem));
        at += strlen(pem);
    }
    return text;
}

/* ---- Judging them -------------------------------------------------------------------------- */

chains *shared_chains;

int make_chains(void **state) {
    (void)state;
    shared_chains = chains_new();
    return 0;
}

int free_chains(void **state) {
    (void)state;
    chains_free(shared_chains);
    return 0;
}

afc_trust_options trusting_root(void) {
    afc_trust_options options = AFC_TRUST_OPTIONS_INIT;
    options.anchors = afc_slice_of(afts_cert_pem(shared_chains->root));
    return options;
}

afc_trust_policy *policy_new(const afc_trust_options *options) {
    afc_trust_policy *policy;
    afc_failure failure;
    if (afc_trust_policy_new(&policy, options, &failure) != AFC_OK) fail_msg("%s", failure.text);
    return policy;
}

afc_trust_report *report_on(const afc_trust_policy *policy, const chain *chain, const char *host) {
    afc_slice sent[CHAIN_LONGEST];
    afc_trust_report *report;
    chain_slices(chain, sent);
    afc_trust_evaluate(&report, policy, sent, chain->count, host, NULL);
    assert_non_null(report);
    return report;
}

/** The verdict of `options` on a chain: AFC_TRUST_ACCEPTED, or why not. */
void check_verdict(const afc_trust_options *options, const char *chain, const char *host,
                   afc_trust_reason expected) {
    afc_trust_policy *policy = policy_new(options);
    afc_trust_report *report = report_on(policy, chain_named(shared_chains, chain), host);
    afc_trust_reason found = report->is_accepted ? AFC_TRUST_ACCEPTED : report->reason;
    if (found != expected) print_error("%s, %s: %s\n", chain, host, report->text);
    assert_string_equal(afc_trust_reason_name(found), afc_trust_reason_name(expected));
    afc_trust_report_free(report);
    afc_trust_policy_release(policy);
}

void check_refused(const afc_trust_options *options, const char *part) {
    afc_trust_policy *policy;
    afc_failure failure;
    check_status(afc_trust_policy_new(&policy, options, &failure), AFC_EINVAL);
    assert_null(policy);
    check_contains(failure.text, part);
}

const char *pin_of(const afts_cert *cert) {
    static char pins[4][53];
    static unsigned next;
    afc_trust_options options = AFC_TRUST_OPTIONS_INIT;
    afc_trust_policy *policy = policy_new(&options);
    chain chain = {"", "", {cert}, 1};
    afc_trust_report *report = report_on(policy, &chain, NULL);
    char *pin = pins[next++ % 4];
    memcpy(pin, report->chain[0].pin, sizeof pins[0]);
    afc_trust_report_free(report);
    afc_trust_policy_release(policy);
    return pin;
}
