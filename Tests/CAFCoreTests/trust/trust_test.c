/* Verdicts that the table of docs/trust.md leaves open, and what reports say. */
#include "support/chains.h"

#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- Pins ---------------------------------------------------------------------------------- */

/** S28: no other spelling of a host is a way around its pins. */
static void each_spelling_of_a_host_is_pinned(void **state) {
    (void)state;
    static const struct {
        const char *rule, *host;
    } cases[] = {
        {"localhost", "LOCALHOST"},  {"localhost", "localhost."},
        {"LocalHost.", "localhost"}, {"127.0.0.1", "127.1"},
        {"127.0.0.1", "0x7f.1"},     {"127.0.0.1", "2130706433"},
        {"127.0.0.1", "0177.0.0.1"}, {"::1", "[::1]"},
        {"::1", "0:0:0:0:0:0:0:1"},  {"2001:db8::1", "2001:DB8:0::0:1"},
    };
    const char *pin = pin_of(shared_chains->untrusted_root);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        afc_trust_options options = trusting_root();
        afc_trust_rule rule = {.host = cases[i].rule,
                               .mode = AFC_PINNING_PUBLIC_KEY,
                               .pins = &pin,
                               .pin_count = 1,
                               .skip_host_check = true};
        options.everywhere.skip_host_check = true;
        options.rules = &rule;
        options.rule_count = 1;
        check_verdict(&options, "good", cases[i].host, AFC_TRUST_PIN);
        check_verdict(&options, "good", "elsewhere.test", AFC_TRUST_ACCEPTED);
    }
    /* What can't be compared has no rule, and is refused whatever the switches say. */
    static const char *const nameless[] = {"b\xC3\xBC.test",
                                           "a..b",
                                           ".localhost",
                                           "",
                                           "a b",
                                           "*.test",
                                           "127.0.0.1 evil.example",
                                           "10.1\tx",
                                           "0x7f.1 junk",
                                           "1.2.3.4\nfoo",
                                           "1.2.3.08"};
    afc_trust_options options = trusting_root();
    options.everywhere.skip_host_check = options.everywhere.allow_invalid_certificates = true;
    for (size_t i = 0; i < COUNT_OF(nameless); i++) {
        afc_trust_policy *policy = policy_new(&options);
        afc_trust_report *report = report_on(policy, chain_named(shared_chains, "good"),
                                             nameless[i]);
        assert_false(report->is_accepted);
        assert_int_equal(report->reason, AFC_TRUST_WRONG_HOST);
        afc_trust_report_free(report);
        afc_trust_policy_release(policy);
        afc_trust_rule rule = {.host = nameless[i]};
        afc_trust_options with_rule = options;
        with_rule.rules = &rule;
        with_rule.rule_count = 1;
        bool is_pattern = nameless[i][0] == '*';
        check_status(afc_trust_policy_new(&policy, &with_rule, NULL),
                     is_pattern ? AFC_OK : AFC_EINVAL);
        afc_trust_policy_release(policy);
    }
}

/** S28: what the peer appends to its own certificate is not part of a verified path. */
static void ignores_appended_pinned_certificate(void **state) {
    (void)state;
    static const char *const attacks[] = {"attack", "attackRoot"};
    const afts_cert *pinned[] = {shared_chains->leaf, shared_chains->intermediate,
                                 shared_chains->root};
    for (size_t i = 0; i < COUNT_OF(attacks); i++) {
        for (size_t p = 0; p < COUNT_OF(pinned); p++) {
            for (int mode = AFC_PINNING_PUBLIC_KEY; mode <= AFC_PINNING_CERTIFICATE; mode++) {
                afc_trust_options options = trusting_root();
                options.everywhere.mode = (afc_pinning_mode)mode;
                options.everywhere.certificates = afc_slice_of(afts_cert_pem(pinned[p]));
                check_verdict(&options, attacks[i], "localhost", AFC_TRUST_SELF_SIGNED);
                options.everywhere.allow_invalid_certificates = true;
                check_verdict(&options, attacks[i], "localhost", AFC_TRUST_PIN);
            }
        }
    }
}

static void accepts_backup_pins_and_certificates(void **state) {
    (void)state;
    const char *pins[] = {pin_of(shared_chains->untrusted_root),
                          pin_of(shared_chains->intermediate)};
    for (int mode = AFC_PINNING_PUBLIC_KEY; mode <= AFC_PINNING_CERTIFICATE; mode++) {
        afc_trust_options options = trusting_root();
        options.everywhere.mode = (afc_pinning_mode)mode;
        options.everywhere.pins = pins;
        options.everywhere.pin_count = 1;
        check_verdict(&options, "good", "localhost", AFC_TRUST_PIN);
        options.everywhere.pin_count = 2;
        check_verdict(&options, "good", "localhost", AFC_TRUST_ACCEPTED);
        options.everywhere.pin_count = 1;
        options.everywhere.certificates = afc_slice_of(afts_cert_pem(shared_chains->leaf));
        check_verdict(&options, "good", "localhost", AFC_TRUST_ACCEPTED);
    }
}

/** Pinned certificates are anchors, but of a chain whose leaf is pinned, too, unless any match will do. */
static void pinned_certificates_of_invalid_chains_match_as_the_rule_says(void **state) {
    (void)state;
    const struct {
        const char *chain;
        const afts_cert *pinned;
        afc_pin_match match;
        afc_trust_reason expected;
    } rows[] = {
        {"strangerRoot", shared_chains->untrusted_root, AFC_PIN_MATCH_ANY, AFC_TRUST_ACCEPTED},
        {"strangerRoot", shared_chains->untrusted_root, AFC_PIN_MATCH_LEAF, AFC_TRUST_PIN},
        {"strangerRoot", shared_chains->untrusted_root, AFC_PIN_MATCH_ALL, AFC_TRUST_PIN},
        {"strangerRoot", shared_chains->untrusted_leaf, AFC_PIN_MATCH_LEAF, AFC_TRUST_ACCEPTED},
        {"lonely", shared_chains->self_signed, AFC_PIN_MATCH_LEAF, AFC_TRUST_ACCEPTED},
        {"lonely", shared_chains->self_signed, AFC_PIN_MATCH_ALL, AFC_TRUST_ACCEPTED},
        {"lonely", shared_chains->untrusted_root, AFC_PIN_MATCH_LEAF, AFC_TRUST_PIN},
        {"good", shared_chains->leaf, AFC_PIN_MATCH_LEAF, AFC_TRUST_ACCEPTED},
        {"good", shared_chains->leaf, AFC_PIN_MATCH_ALL, AFC_TRUST_PIN},
        {"good", shared_chains->intermediate, AFC_PIN_MATCH_LEAF, AFC_TRUST_PIN},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        afc_trust_options options = trusting_root();
        options.everywhere.mode = AFC_PINNING_CERTIFICATE;
        options.everywhere.match = rows[i].match;
        options.everywhere.certificates = afc_slice_of(afts_cert_pem(rows[i].pinned));
        options.everywhere.allow_invalid_certificates = true;
        check_verdict(&options, rows[i].chain, "localhost", rows[i].expected);
    }
}

static void check_pin_outcome(const afc_trust_options *options, const char *chain, bool is_accepted,
                              afc_pin_outcome expected) {
    afc_trust_policy *policy = policy_new(options);
    afc_trust_report *report = report_on(policy, chain_named(shared_chains, chain), "localhost");
    assert_int_equal(report->is_accepted, is_accepted);
    assert_int_equal(report->pins, expected);
    if (expected > AFC_PINS_MATCHED) assert_int_equal(report->reason, AFC_TRUST_PIN);
    afc_trust_report_free(report);
    afc_trust_policy_release(policy);
}

static void expired_and_report_only_pins_never_accept_invalid_chain(void **state) {
    (void)state;
    const char *pin = pin_of(shared_chains->untrusted_root);
    afc_trust_options options = trusting_root();
    afc_trust_rule *rule = &options.everywhere;
    rule->mode = AFC_PINNING_PUBLIC_KEY;
    rule->pins = &pin;
    rule->pin_count = 1;
    check_pin_outcome(&options, "good", false, AFC_PINS_MISSED);
    rule->expires_s = (int64_t)time(NULL) + DAY_S;
    check_pin_outcome(&options, "good", false, AFC_PINS_MISSED);
    rule->expires_s = (int64_t)time(NULL) - 1;
    check_pin_outcome(&options, "good", true, AFC_PINS_EXPIRED);
    check_verdict(&options, "lonely", "localhost", AFC_TRUST_SELF_SIGNED);
    rule->allow_invalid_certificates = true;
    check_pin_outcome(&options, "lonely", false, AFC_PINS_MISSED);
    rule->expires_s = 0;
    rule->report_only = true;
    check_pin_outcome(&options, "lonely", false, AFC_PINS_MISSED);
    check_pin_outcome(&options, "good", true, AFC_PINS_REPORTED);
    pin = pin_of(shared_chains->root);
    check_pin_outcome(&options, "good", true, AFC_PINS_MATCHED);
}

/* ---- Names (S29) --------------------------------------------------------------------------- */

/** A leaf of the root with these names. */
static void check_names(const char *names, const char *host, afc_trust_reason expected) {
    afc_trust_options options = trusting_root();
    afc_trust_policy *policy = policy_new(&options);
    afts_cert *leaf = afts_cert_new(&(afts_cert_options){.hosts = names}, shared_chains->root);
    chain chain = {"", "", {leaf}, 1};
    afc_trust_report *report = report_on(policy, &chain, host);
    afc_trust_reason found = report->is_accepted ? AFC_TRUST_ACCEPTED : report->reason;
    if (found != expected) print_error("%s, %s: %s\n", names, host, report->text);
    assert_int_equal(found, expected);
    afc_trust_report_free(report);
    afc_trust_policy_release(policy);
    afts_cert_free(leaf);
}

static void compares_names_as_in_rfc_9525(void **state) {
    (void)state;
    static const struct {
        const char *names, *host;
        bool is_accepted;
    } cases[] = {
        {"example.test", "example.test", true},
        {"example.test", "EXAMPLE.TEST.", true},
        {"EXAMPLE.test", "example.test", true},
        {"*.example.test", "a.example.test", true},
        {"*.example.test", "xn--bcher-kva.example.test", true},
        {"*.example.test", "a.b.example.test", false},
        {"*.example.test", "example.test", false},
        {"*.example.test", ".example.test", false},
        {"a*.example.test", "ab.example.test", false},
        {"*a.example.test", "ba.example.test", false},
        {"xn--*.example.test", "xn--bcher-kva.example.test", false},
        {"a.*.test", "a.b.test", false},
        {"*.*.test", "a.b.test", false},
        {"*", "localhost", false},
        {"*.test", "example.test", false},
        {"xn--bcher-kva.test", "xn--bcher-kva.test", true},
        {"xn--bcher-kva.test", "XN--BCHER-KVA.test", true},
        {"xn--bcher-kva.test",
         "b\xC3\xBC"
         "cher.test",
         false},
        {"127.0.0.1", "127.0.0.1", true},
        {"127.0.0.1", "127.0.0.2", false},
        {"::1", "::1", true},
        {"::1", "[::1]", true},
        {"2001:db8::7", "2001:0db8:0:0::7", true},
        {"2001:db8::7", "2001:db8::8", false},
        {"*.0.0.1", "127.0.0.1", false},
        {"example.test\\0.evil.test", "example.test", false},
        {"evil.test\\0example.test", "example.test", false},
        {"", "example.test", false},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        check_names(cases[i].names, cases[i].host,
                    cases[i].is_accepted ? AFC_TRUST_ACCEPTED : AFC_TRUST_WRONG_HOST);
    }
}

static void compares_no_name_without_a_host(void **state) {
    (void)state;
    afc_trust_options options = trusting_root();
    check_verdict(&options, "good", NULL, AFC_TRUST_ACCEPTED);
    check_verdict(&options, "lonely", NULL, AFC_TRUST_SELF_SIGNED);
}

/* ---- Anchors, intermediates, strength, time ------------------------------------------------ */

static void anchors_are_of_the_system_own_or_both(void **state) {
    (void)state;
    afc_trust_options options = AFC_TRUST_OPTIONS_INIT;
    check_verdict(&options, "good", "localhost", AFC_TRUST_UNKNOWN_ISSUER);
    options.keep_system_anchors = true;
    check_verdict(&options, "good", "localhost", AFC_TRUST_UNKNOWN_ISSUER);
    options.anchors = afc_slice_of(afts_cert_pem(shared_chains->root));
    check_verdict(&options, "good", "localhost", AFC_TRUST_ACCEPTED);
    options.anchors = afc_slice_of(afts_cert_pem(shared_chains->intermediate));
    check_verdict(&options, "gap", "localhost", AFC_TRUST_ACCEPTED);
    options.anchors = afc_slice_of(afts_cert_pem(shared_chains->leaf));
    check_verdict(&options, "gap", "localhost", AFC_TRUST_ACCEPTED);
    check_verdict(&options, "sibling", "localhost", AFC_TRUST_UNKNOWN_ISSUER);
}

static void own_intermediates_fill_gaps_and_are_not_anchors(void **state) {
    (void)state;
    afc_trust_options options = trusting_root();
    check_verdict(&options, "gap", "localhost", AFC_TRUST_UNKNOWN_ISSUER);
    options.intermediates = afc_slice_of(afts_cert_pem(shared_chains->intermediate));
    check_verdict(&options, "gap", "localhost", AFC_TRUST_ACCEPTED);
    options.anchors = afc_slice_of(afts_cert_pem(shared_chains->untrusted_root));
    check_verdict(&options, "gap", "localhost", AFC_TRUST_UNKNOWN_ISSUER);
}

/** S30: each fault of a chain has a reason of its own. */
static void distinguishes_reasons(void **state) {
    (void)state;
    static const struct {
        const char *chain;
        afc_trust_reason reason;
    } cases[] = {
        {"expired", AFC_TRUST_EXPIRED},
        {"early", AFC_TRUST_NOT_YET_VALID},
        {"lonely", AFC_TRUST_SELF_SIGNED},
        {"strangerRoot", AFC_TRUST_UNTRUSTED_ROOT},
        {"gap", AFC_TRUST_UNKNOWN_ISSUER},
        {"weakKey", AFC_TRUST_WEAK},
        {"weakDigest", AFC_TRUST_WEAK},
        {"constrained", AFC_TRUST_NAME_CONSTRAINT},
        {"client", AFC_TRUST_PURPOSE},
        {"longPath", AFC_TRUST_PATH_LENGTH},
        {"noAuthority", AFC_TRUST_NOT_AN_AUTHORITY},
        {"forged", AFC_TRUST_BAD_SIGNATURE},
    };
    afc_trust_options options = trusting_root();
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        check_verdict(&options, cases[i].chain, "localhost", cases[i].reason);
    }
    check_verdict(&options, "good", "elsewhere.test", AFC_TRUST_WRONG_HOST);
}

static void uses_the_security_level_of_the_policy(void **state) {
    (void)state;
    afc_trust_options options = trusting_root();
    options.security_level = 1;
    check_verdict(&options, "weakKey", "localhost", AFC_TRUST_ACCEPTED);
    options.security_level = 4;
    check_verdict(&options, "good", "localhost", AFC_TRUST_WEAK);
}

static void policy_can_set_the_time(void **state) {
    (void)state;
    afc_trust_options options = trusting_root();
    int64_t now = (int64_t)time(NULL);
    options.time_s = now + (int64_t)400 * DAY_S;
    check_verdict(&options, "good", "localhost", AFC_TRUST_EXPIRED);
    options.time_s = now - 2 * (int64_t)DAY_S;
    check_verdict(&options, "good", "localhost", AFC_TRUST_NOT_YET_VALID);
}

/* ---- Revocation ---------------------------------------------------------------------------- */

static void enforces_revocation_lists(void **state) {
    (void)state;
    char *empty = afts_cert_crl(shared_chains->intermediate, NULL, false);
    char *revoked = afts_cert_crl(shared_chains->intermediate, shared_chains->leaf, false);
    char *old = afts_cert_crl(shared_chains->intermediate, NULL, true);
    char *of_root = afts_cert_crl(shared_chains->root, shared_chains->intermediate, false);
    char both[8192];
    afc_trust_options options = trusting_root();
    options.crls = afc_slice_of(empty);
    check_verdict(&options, "good", "localhost", AFC_TRUST_ACCEPTED);
    check_verdict(&options, "weakMiddle", "localhost", AFC_TRUST_WEAK);
    options.check_authorities = true;
    check_verdict(&options, "good", "localhost", AFC_TRUST_UNKNOWN_REVOCATION);
    snprintf(both, sizeof both, "%s%s", empty, of_root);
    options.crls = afc_slice_of(both);
    check_verdict(&options, "good", "localhost", AFC_TRUST_REVOKED);
    options.check_authorities = false;
    check_verdict(&options, "good", "localhost", AFC_TRUST_ACCEPTED);
    options.crls = afc_slice_of(revoked);
    check_verdict(&options, "good", "localhost", AFC_TRUST_REVOKED);
    check_verdict(&options, "sibling", "localhost", AFC_TRUST_ACCEPTED);
    options.crls = afc_slice_of(old);
    check_verdict(&options, "good", "localhost", AFC_TRUST_UNKNOWN_REVOCATION);
    options.crls = afc_slice_of(of_root);
    check_verdict(&options, "good", "localhost", AFC_TRUST_UNKNOWN_REVOCATION);
    /* Pinned certificates as anchors are no way around them. */
    options.crls = afc_slice_of(revoked);
    options.everywhere.mode = AFC_PINNING_CERTIFICATE;
    options.everywhere.certificates = afc_slice_of(afts_cert_pem(shared_chains->intermediate));
    options.everywhere.allow_invalid_certificates = true;
    check_verdict(&options, "good", "localhost", AFC_TRUST_REVOKED);
    afts_bytes_free(empty);
    afts_bytes_free(revoked);
    afts_bytes_free(old);
    afts_bytes_free(of_root);
}

/** A list of the authority in the middle, with its number, and with that of the list it changes if that isn't NULL. */
static char *numbered_list(const afts_cert *revoked, const char *number, const char *base) {
    char *plain = afts_cert_crl(shared_chains->intermediate, revoked, false);
    BIO *in = BIO_new_mem_buf(plain, -1), *out = BIO_new(BIO_s_mem());
    BIO *key_text = BIO_new_mem_buf(afts_cert_key_pem(shared_chains->intermediate), -1);
    X509_CRL *list = PEM_read_bio_X509_CRL(in, NULL, NULL, NULL);
    EVP_PKEY *key = PEM_read_bio_PrivateKey(key_text, NULL, NULL, NULL);
    ASN1_INTEGER *integer = s2i_ASN1_INTEGER(NULL, number);
    assert_int_equal(X509_CRL_add1_ext_i2d(list, NID_crl_number, integer, 0, 0), 1);
    ASN1_INTEGER_free(integer);
    if (base != NULL) {
        integer = s2i_ASN1_INTEGER(NULL, base);
        assert_int_equal(X509_CRL_add1_ext_i2d(list, NID_delta_crl, integer, 1, 0), 1);
        ASN1_INTEGER_free(integer);
    } else {
        /* There are changes to be had. */
        X509_EXTENSION *freshest = X509V3_EXT_conf_nid(NULL, NULL, NID_freshest_crl,
                                                       "URI:http://example.test/");
        assert_int_equal(X509_CRL_add_ext(list, freshest, -1), 1);
        X509_EXTENSION_free(freshest);
    }
    assert_true(X509_CRL_sign(list, key, EVP_sha256()) > 0);
    assert_int_equal(PEM_write_bio_X509_CRL(out, list), 1);
    char *bytes;
    long size = BIO_get_mem_data(out, &bytes);
    char *text = calloc(1, (size_t)size + 1);
    assert_non_null(text);
    memcpy(text, bytes, (size_t)size);
    EVP_PKEY_free(key);
    X509_CRL_free(list);
    BIO_free(key_text);
    BIO_free(out);
    BIO_free(in);
    afts_bytes_free(plain);
    return text;
}

static void applies_delta_lists_only_with_their_base(void **state) {
    (void)state;
    char *whole = numbered_list(NULL, "1", NULL), *nothing = numbered_list(NULL, "2", "1");
    char *change = numbered_list(shared_chains->leaf, "2", "1"),
         *later = numbered_list(NULL, "8", "7");
    const struct {
        const char *lists[2];
        afc_trust_reason reason;
    } rows[] = {
        {{whole, ""}, AFC_TRUST_ACCEPTED},
        {{whole, nothing}, AFC_TRUST_ACCEPTED},
        {{whole, change}, AFC_TRUST_REVOKED},
        {{nothing, ""}, AFC_TRUST_UNKNOWN_REVOCATION},
        {{change, ""}, AFC_TRUST_UNKNOWN_REVOCATION},
        /* The change belongs to another list than the one that is there. */
        {{whole, later}, AFC_TRUST_ACCEPTED},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        char lists[8192];
        snprintf(lists, sizeof lists, "%s%s", rows[i].lists[0], rows[i].lists[1]);
        afc_trust_options options = trusting_root();
        options.crls = afc_slice_of(lists);
        check_verdict(&options, "good", "localhost", rows[i].reason);
    }
    free(whole);
    free(nothing);
    free(change);
    free(later);
}

/* ---- Reports ------------------------------------------------------------------------------- */

static void report_holds_the_chain(void **state) {
    (void)state;
    afc_trust_options options = trusting_root();
    afc_trust_policy *policy = policy_new(&options);
    afc_trust_report *report = report_on(policy, chain_named(shared_chains, "disordered"),
                                         "LocalHost.");
    assert_true(report->is_accepted && report->is_verified);
    assert_string_equal(report->host, "localhost");
    assert_int_equal(report->pins, AFC_PINS_NONE);
    /* As it was verified, not as it was sent. */
    assert_int_equal(report->chain_count, 3);
    static const char *const subjects[] = {"CN=localhost", "CN=Middle", "CN=Root", "CN=Root"};
    int64_t now = (int64_t)time(NULL);
    for (size_t i = 0; i < 3; i++) {
        const afc_trust_certificate *one = &report->chain[i];
        assert_string_equal(one->subject, subjects[i]);
        assert_string_equal(one->issuer, subjects[i + 1]);
        assert_string_equal(one->key, "EC 256");
        assert_string_equal(one->signature, "ecdsa-with-SHA256");
        assert_int_equal(strlen(one->fingerprint), 64);
        assert_int_equal(strlen(one->serial), 32);
        assert_true(one->not_before_s < now && now < one->not_after_s);
        assert_int_equal(one->not_after_s - one->not_before_s, 366 * DAY_S);
    }
    assert_int_equal(report->chain[0].name_count, 1);
    assert_string_equal(report->chain[0].names[0], "localhost");
    size_t size;
    const uint8_t *der = afts_cert_der(shared_chains->leaf, &size);
    assert_int_equal(report->chain[0].der.size, size);
    assert_memory_equal(report->chain[0].der.bytes, der, size);
    afc_trust_report_free(report);
    afc_trust_policy_release(policy);
}

static void report_escapes_names(void **state) {
    (void)state;
    afc_trust_options options = trusting_root();
    afc_trust_policy *policy = policy_new(&options);
    afts_cert *leaf = afts_cert_new(
        &(afts_cert_options){.common_name = "a\nb", .hosts = "a\\0b.test,192.0.2.7,2001:db8::7"},
        shared_chains->root);
    chain chain = {"", "", {leaf}, 1};
    afc_trust_report *report = report_on(policy, &chain, NULL);
    const afc_trust_certificate *one = &report->chain[0];
    assert_string_equal(one->subject, "CN=a\\0Ab");
    assert_int_equal(one->name_count, 3);
    assert_string_equal(one->names[0], "a\\x00b.test");
    assert_string_equal(one->names[1], "192.0.2.7");
    assert_string_equal(one->names[2], "2001:db8:0:0:0:0:0:7");
    afc_trust_report_free(report);
    afc_trust_policy_release(policy);
    afts_cert_free(leaf);
}

static void names_the_host_and_those_of_the_certificate(void **state) {
    (void)state;
#define LONG "long-name-of-a-host.long-name-of-a-domain"
    static const struct {
        const char *host, *names, *text;
    } rows[] = {
        {"Other.test", "a.test", "the certificate isn't valid for other.test, only for a.test"},
        {"192.0.2.1", "a.test,*.b.test,192.0.2.7",
         "the certificate isn't valid for 192.0.2.1, only for a.test, *.b.test, 192.0.2.7"},
        {"192.0.2.7", "dns:192.0.2.7,dns:192.0.2.7.test",
         "the certificate isn't valid for 192.0.2.7, only for the DNS name 192.0.2.7, "
         "192.0.2.7.test"},
        {"other.test", "", "the certificate isn't valid for other.test: it names no host"},
        {"other.test", "a\\0b.test", "only for a\\x00b.test"},
        {"other.test", LONG "." LONG ".test", "only for " LONG ".lon..."},
        {"a." LONG "." LONG ".test", "b.test",
         "valid for a." LONG ".long-name-of-a-ho..., only for b.test"},
        {"other.test", LONG ".a," LONG ".b," LONG ".c," LONG ".d", LONG ".b and 2 more"},
    };
    for (int skips_chain = 0; skips_chain < 2; skips_chain++) {
        afc_trust_options options = trusting_root();
        options.everywhere.allow_invalid_certificates = skips_chain;
        afc_trust_policy *policy = policy_new(&options);
        for (size_t i = 0; i < COUNT_OF(rows); i++) {
            afts_cert *leaf = afts_cert_new(
                &(afts_cert_options){.common_name = "x", .hosts = rows[i].names},
                skips_chain ? shared_chains->untrusted_root : shared_chains->root);
            chain chain = {"", "", {leaf}, 1};
            afc_trust_report *report = report_on(policy, &chain, rows[i].host);
            assert_int_equal(report->reason, AFC_TRUST_WRONG_HOST);
            check_contains(report->text, rows[i].text);
            assert_true(strlen(report->text) < AFC_FAILURE_TEXT_SIZE - 1);
            afc_trust_report_free(report);
            afts_cert_free(leaf);
        }
        afc_trust_policy_release(policy);
    }
#undef LONG
}

static void refuses_invalid_chains(void **state) {
    (void)state;
    afc_slice sent[CHAIN_LONGEST], longer;
    char bytes[4096];
    afc_trust_report *report;
    afc_failure failure;
    afc_trust_policy *policy = policy_new(NULL);
    chain_slices(chain_named(shared_chains, "good"), sent);
    check_status(afc_trust_evaluate(&report, policy, sent, 0, NULL, &failure), AFC_EINVAL);
    assert_null(report);
    memcpy(bytes, sent[1].bytes, sent[1].size);
    bytes[sent[1].size] = 0;
    longer = (afc_slice){bytes, sent[1].size + 1};
    check_status(afc_trust_evaluate(&report, policy, NULL, 1, NULL, &failure), AFC_EINVAL);
    afc_slice bad[] = {
        longer, {bytes, sent[1].size - 1}, {"", 0}, {NULL, 1}, S_INIT("no certificate")};
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        sent[1] = bad[i];
        check_status(afc_trust_evaluate(&report, policy, sent, 2, NULL, &failure), AFC_EINVAL);
        assert_null(report);
        check_contains(failure.text, "number 2");
    }
    check_status(afc_trust_evaluate(NULL, policy, sent, 1, NULL, NULL), AFC_EUNTRUSTED);
    afc_trust_policy_release(policy);
}

static void refuses_invalid_options(void **state) {
    (void)state;
    static const struct {
        int level;
        afc_ocsp_mode ocsp;
        const char *text;
    } rows[] = {{-1, AFC_OCSP_CHECK, "security level"},
                {6, AFC_OCSP_CHECK, "security level"},
                {0, (afc_ocsp_mode)3, "OCSP mode: 3"},
                {0, (afc_ocsp_mode)-1, "OCSP mode: -1"}};
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        afc_trust_policy *policy;
        afc_failure failure;
        afc_trust_options options = AFC_TRUST_OPTIONS_INIT;
        options.security_level = rows[i].level;
        options.ocsp = rows[i].ocsp;
        check_status(afc_trust_policy_new(&policy, &options, &failure), AFC_EINVAL);
        assert_null(policy);
        check_contains(failure.text, rows[i].text);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_spelling_of_a_host_is_pinned),
        cmocka_unit_test(ignores_appended_pinned_certificate),
        cmocka_unit_test(accepts_backup_pins_and_certificates),
        cmocka_unit_test(pinned_certificates_of_invalid_chains_match_as_the_rule_says),
        cmocka_unit_test(expired_and_report_only_pins_never_accept_invalid_chain),
        cmocka_unit_test(compares_names_as_in_rfc_9525),
        cmocka_unit_test(compares_no_name_without_a_host),
        cmocka_unit_test(anchors_are_of_the_system_own_or_both),
        cmocka_unit_test(own_intermediates_fill_gaps_and_are_not_anchors),
        cmocka_unit_test(distinguishes_reasons),
        cmocka_unit_test(uses_the_security_level_of_the_policy),
        cmocka_unit_test(policy_can_set_the_time),
        cmocka_unit_test(enforces_revocation_lists),
        cmocka_unit_test(applies_delta_lists_only_with_their_base),
        cmocka_unit_test(report_holds_the_chain),
        cmocka_unit_test(report_escapes_names),
        cmocka_unit_test(names_the_host_and_those_of_the_certificate),
        cmocka_unit_test(refuses_invalid_chains),
        cmocka_unit_test(refuses_invalid_options),
    };
    return cmocka_run_group_tests(tests, make_chains, free_chains);
}
