/* Making policies: what goes in, which rule goes for a host, the handler, files, lack of memory. */
#include "support/chains.h"
#include "support/files.h"
#include "support/torture.h"
#include "trust/anchors.h"
#include "trust/fingerprint.h"
#include "trust/policy.h"
#include "trust/x509_parse.h"

#include <openssl/pem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- Making policies ----------------------------------------------------------------------- */

static void refuses_options_it_cannot_read_or_would_ignore(void **state) {
    (void)state;
    static const char *const bad_pins[] = {"",
                                           "sha256//",
                                           "sha256/AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=",
                                           "sha1//AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=",
                                           "sha256//AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
                                           "sha256//AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
                                           "sha256//AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAB=",
                                           "sha256// AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=",
                                           "sha256//AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA==",
                                           "sha256//AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=x"};
    for (size_t i = 0; i < COUNT_OF(bad_pins); i++) {
        afc_trust_options options = AFC_TRUST_OPTIONS_INIT;
        options.everywhere.mode = AFC_PINNING_PUBLIC_KEY;
        options.everywhere.pins = &bad_pins[i];
        options.everywhere.pin_count = 1;
        check_refused(&options, "sha256//");
    }
    static const char *const bad_hosts[] = {
        "",    ".",           "a..b",           ".a",         "*",       "a*.b",   "*.*.b",
        "a b", "*.192.0.2.1", "b\xC3\xBC.test", "a\x7F.test", "[a.test", "a.test]"};
    for (size_t i = 0; i < COUNT_OF(bad_hosts); i++) {
        afc_trust_options options = AFC_TRUST_OPTIONS_INIT;
        afc_trust_rule rule = {.host = bad_hosts[i]};
        options.rules = &rule;
        options.rule_count = 1;
        check_refused(&options, "host");
    }
    afc_trust_rule twice[] = {{.host = "example.test"}, {.host = "EXAMPLE.test."}};
    afc_trust_options options = AFC_TRUST_OPTIONS_INIT;
    options.rules = twice;
    options.rule_count = 2;
    check_refused(&options, "duplicate");
    options = (afc_trust_options)AFC_TRUST_OPTIONS_INIT;
    options.anchors = S("no certificate");
    check_refused(&options, "anchors");
    options.anchors = S("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n");
    check_refused(&options, "anchors");
    options = trusting_root();
    options.everywhere.certificates = options.anchors;
    check_refused(&options, "mode");
    options = (afc_trust_options)AFC_TRUST_OPTIONS_INIT;
    options.crls = S("no list");
    check_refused(&options, "revocation lists");
    options = (afc_trust_options)AFC_TRUST_OPTIONS_INIT;
    options.security_level = 6;
    check_refused(&options, "security level");
    options.size--;
    check_refused(&options, "AFC_TRUST_OPTIONS_INIT");
}

static void refuses_counts_without_arrays(void **state) {
    (void)state;
    afc_trust_options options = AFC_TRUST_OPTIONS_INIT;
    options.rule_count = 1;
    check_refused(&options, "rules is NULL");
    options = (afc_trust_options)AFC_TRUST_OPTIONS_INIT;
    options.everywhere.mode = AFC_PINNING_PUBLIC_KEY;
    options.everywhere.pin_count = 1;
    check_refused(&options, "pins is NULL");
    options = (afc_trust_options)AFC_TRUST_OPTIONS_INIT;
    options.anchors = S("");
    check_refused(&options, "the anchors: there are none");
    options.anchors = (afc_slice){NULL, 1};
    check_refused(&options, "the anchors: a size but no bytes");
    options = (afc_trust_options)AFC_TRUST_OPTIONS_INIT;
    options.crls = S("");
    check_refused(&options, "the revocation lists: there are none");
}

/** One whole certificate and a broken one: the second must not be dropped in silence. */
static void refuses_broken_certificate_among_good_ones(void **state) {
    (void)state;
    char text[8192];
    afc_trust_options options = AFC_TRUST_OPTIONS_INIT;
    snprintf(text, sizeof text, "%s-----BEGIN CERTIFICATE-----\nMIIB\n",
             afts_cert_pem(shared_chains->root));
    options.anchors = afc_slice_of(text);
    check_refused(&options, "number 2");
}

/** Tools write texts in front of PEM, "0: Certificate" among them; a digit 0 is also how DER begins. */
static void accepts_text_in_front_of_pem(void **state) {
    (void)state;
    static const char *const texts[] = {"0: Certificate\n", "00\n", "0\n", "subject=x\n"};
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        char text[8192];
        afc_trust_options options = AFC_TRUST_OPTIONS_INIT;
        snprintf(text, sizeof text, "%s%s", texts[i], afts_cert_pem(shared_chains->root));
        options.anchors = afc_slice_of(text);
        check_verdict(&options, "good", "localhost", AFC_TRUST_ACCEPTED);
    }
}

static void accepts_der_and_several_certificates(void **state) {
    (void)state;
    char both[8192];
    size_t first_size, second_size;
    const uint8_t *first = afts_cert_der(shared_chains->untrusted_root, &first_size);
    const uint8_t *second = afts_cert_der(shared_chains->root, &second_size);
    memcpy(both, first, first_size);
    memcpy(both + first_size, second, second_size);
    afc_trust_options options = AFC_TRUST_OPTIONS_INIT;
    options.anchors = (afc_slice){both, first_size + second_size};
    check_verdict(&options, "good", "localhost", AFC_TRUST_ACCEPTED);
    options.anchors.size--;
    check_refused(&options, "number 2");
}

static void tells_der_from_pem(void **state) {
    (void)state;
    static const struct {
        afc_slice bytes;
        bool is_der;
    } rows[] = {
        {ROW_S("0\x82\x01\x02"), true},         /* A certificate. */
        {ROW_S("0\x80\x02\x01\x03"), true},     /* PKCS #12 whose length is open. */
        {ROW_S("0\x2e\x02\x01\x00\x30"), true}, /* A key of Ed25519. */
        {ROW_S(""), false},
        {ROW_S("0"), false},
        {ROW_S("a text"), false},
        {ROW_S("-----BEGIN CERTIFICATE-----\n"), false},
        {ROW_S("0: first\n-----BEGIN CERTIFICATE-----\n"), false},
        {ROW_S("0\xc3\xbc\n-----BEGIN CERTIFICATE-----\n"), false},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        assert_int_equal(afc__is_der(rows[i].bytes), rows[i].is_der);
    }
}

/** A block of PEM with this DER. */
static char *block_of(const char *label, afc_slice bytes) {
    BIO *out = BIO_new(BIO_s_mem());
    char *text;
    PEM_write_bio(out, label, "", (const unsigned char *)bytes.bytes, (long)bytes.size);
    size_t size = (size_t)BIO_get_mem_data(out, &text);
    char *copy = malloc(size + 1);
    assert_non_null(copy);
    memcpy(copy, text, size);
    copy[size] = 0;
    BIO_free(out);
    return copy;
}

/** All that is behind the first one in a block would be lost, among it what is revoked. */
static void refuses_several_items_in_one_block(void **state) {
    (void)state;
    char both[8192];
    size_t size;
    const uint8_t *der = afts_cert_der(shared_chains->root, &size);
    memcpy(both, der, size);
    memcpy(both + size, der, size);
    afc_trust_options options = AFC_TRUST_OPTIONS_INIT;
    char *text = block_of("CERTIFICATE", (afc_slice){both, 2 * size});
    options.anchors = afc_slice_of(text);
    check_refused(&options, "the anchors: no valid certificate found");
    free(text);
    char *list = afts_cert_crl(shared_chains->intermediate, NULL, false);
    BIO *in = BIO_new_mem_buf(list, -1);
    unsigned char *bytes;
    long list_size;
    assert_int_equal(PEM_bytes_read_bio(&bytes, &list_size, NULL, "X509 CRL", in, NULL, NULL), 1);
    memcpy(both, bytes, (size_t)list_size);
    memcpy(both + list_size, bytes, (size_t)list_size);
    text = block_of("X509 CRL", (afc_slice){both, 2 * (size_t)list_size});
    options = trusting_root();
    options.crls = afc_slice_of(text);
    check_refused(&options, "the revocation lists: no valid revocation list found");
    free(text);
    OPENSSL_free(bytes);
    BIO_free(in);
    afts_bytes_free(list);
}

static void refuses_block_without_its_last_line(void **state) {
    (void)state;
    char text[8192];
    afc_trust_options options = trusting_root();
    int size = snprintf(text, sizeof text, "%s", afts_cert_pem(shared_chains->root));
    const char *end = strstr(text, "-----END");
    assert_non_null(end);
    size = (int)(end - text);
    snprintf(text + size, sizeof text - (size_t)size, "%s",
             afts_cert_pem(shared_chains->untrusted_root));
    options.anchors = afc_slice_of(text);
    check_refused(&options, "the anchors: certificate number 2 is invalid");
    char *list = afts_cert_crl(shared_chains->intermediate, NULL, false);
    char *other = afts_cert_crl(shared_chains->root, shared_chains->intermediate, false);
    size = (int)(strstr(list, "-----END") - list);
    snprintf(text, sizeof text, "%.*s%s", size, list, other);
    options = trusting_root();
    options.crls = afc_slice_of(text);
    check_refused(&options, "the revocation lists: revocation list number 2 is invalid");
    afts_bytes_free(other);
    afts_bytes_free(list);
}

/* ---- Rules --------------------------------------------------------------------------------- */

static void uses_the_most_specific_rule(void **state) {
    (void)state;
    /* Each rule but the right one pins a stranger. */
    static const char *const patterns[] = {"a.b.example.test", "*.b.example.test",
                                           "b.example.test",   "example.test",
                                           "*.example.test",   "a.b.example.test"};
    static const struct {
        const char *host;
        int rule; /**< -1: that for everywhere. */
    } cases[] = {
        {"a.b.example.test", 0},
        {"A.B.Example.TEST.", 0},
        {"c.b.example.test", 1},
        {"x.c.b.example.test", 2},
        {"b.example.test", 2},
        {"example.test", 3},
        {"c.example.test", 4},
        {"d.c.example.test", 3},
        {"x.a.b.example.test", 5},
        {"notexample.test", -1},
        {"test", -1},
        {"192.0.2.1", -1},
    };
    const char *wrong = pin_of(shared_chains->untrusted_root), *right = pin_of(shared_chains->leaf);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        for (int match = 0; match < 2; match++) {
            afc_trust_rule rules[COUNT_OF(patterns)];
            afc_trust_options options = trusting_root();
            for (int r = -1; r < (int)COUNT_OF(patterns); r++) {
                afc_trust_rule rule = {.mode = AFC_PINNING_PUBLIC_KEY, .skip_host_check = true};
                bool is_right = (r == cases[i].rule) == (match == 1);
                rule.pins = is_right ? &right : &wrong;
                rule.pin_count = 1;
                if (r < 0) {
                    options.everywhere = rule;
                    continue;
                }
                rules[r] = rule;
                rules[r].host = patterns[r];
                rules[r].include_subdomains = patterns[r][0] != '*' && r > 1;
            }
            options.rules = rules;
            options.rule_count = COUNT_OF(patterns);
            check_verdict(&options, "good", cases[i].host,
                          match == 1 ? AFC_TRUST_ACCEPTED : AFC_TRUST_PIN);
        }
    }
}

/* ---- The handler ------------------------------------------------------------------------------ */

typedef struct witness {
    afc_trust_decision answer;
    int asked, released;
    afc_trust_reason reason;
    size_t chain_count;
} witness;

static afc_trust_decision testify(void *context, const afc_trust_report *report) {
    witness *witness = context;
    witness->asked++;
    witness->reason = report->reason;
    witness->chain_count = report->chain_count;
    return witness->answer;
}

static void leave(void *context) {
    ((witness *)context)->released++;
}

static void callback_decides_last(void **state) {
    (void)state;
    static const struct {
        afc_trust_decision answer;
        const char *chain;
        afc_trust_reason seen, expected;
    } cases[] = {
        {AFC_TRUST_DECISION_KEEP, "good", AFC_TRUST_ACCEPTED, AFC_TRUST_ACCEPTED},
        {AFC_TRUST_DECISION_KEEP, "expired", AFC_TRUST_EXPIRED, AFC_TRUST_EXPIRED},
        {AFC_TRUST_DECISION_ACCEPT, "expired", AFC_TRUST_EXPIRED, AFC_TRUST_ACCEPTED},
        {AFC_TRUST_DECISION_REFUSE, "good", AFC_TRUST_ACCEPTED, AFC_TRUST_HANDLER},
        {(afc_trust_decision)3, "good", AFC_TRUST_ACCEPTED, AFC_TRUST_HANDLER},
        {(afc_trust_decision)3, "expired", AFC_TRUST_EXPIRED, AFC_TRUST_EXPIRED},
        {AFC_TRUST_DECISION_REFUSE, "lonely", AFC_TRUST_SELF_SIGNED, AFC_TRUST_SELF_SIGNED},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        witness witness = {.answer = cases[i].answer};
        afc_trust_options options = trusting_root();
        options.handler = (afc_trust_handler){&witness, testify, leave};
        check_verdict(&options, cases[i].chain, "localhost", cases[i].expected);
        assert_int_equal(witness.asked, 1);
        assert_int_equal(witness.released, 1);
        assert_int_equal(witness.reason, cases[i].seen);
        assert_true(witness.chain_count > 0);
    }
    witness witness = {.answer = AFC_TRUST_DECISION_KEEP};
    afc_trust_options options = AFC_TRUST_OPTIONS_INIT;
    options.anchors = S("nothing");
    options.handler = (afc_trust_handler){&witness, testify, leave};
    check_refused(&options, "anchors");
    assert_int_equal(witness.released, 1);
}

static void check_reason(const afc_trust_options *options, afc_reason expected) {
    afc_trust_policy *policy;
    afc_failure failure;
    check_status(afc_trust_policy_new(&policy, options, &failure), AFC_EINVAL);
    assert_int_equal(failure.reason, expected);
}

static void names_what_is_invalid(void **state) {
    (void)state;
    afc_trust_options options = AFC_TRUST_OPTIONS_INIT;
    options.anchors = S("nothing");
    check_reason(&options, AFC_REASON_ANCHORS);
    options = (afc_trust_options)AFC_TRUST_OPTIONS_INIT;
    options.everywhere.mode = AFC_PINNING_CERTIFICATE;
    options.everywhere.certificates = S("nothing");
    check_reason(&options, AFC_REASON_PINNING);
    static const char *const pins[] = {"sha256//"};
    options = (afc_trust_options)AFC_TRUST_OPTIONS_INIT;
    options.everywhere.mode = AFC_PINNING_PUBLIC_KEY;
    options.everywhere.pins = pins;
    options.everywhere.pin_count = 1;
    check_reason(&options, AFC_REASON_PINNING);
}

/* ---- Fingerprints -------------------------------------------------------------------------- */

typedef struct fingerprint {
    char text[AFC__TRUST_FINGERPRINT_SIZE];
} fingerprint;

static fingerprint fingerprint_of(const afc_trust_options *options) {
    fingerprint out;
    assert_true(afc__trust_fingerprint(out.text, options));
    return out;
}

static void check_all_differ(const fingerprint *fingerprints, size_t count) {
    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; k < i; k++) {
            if (strcmp(fingerprints[i].text, fingerprints[k].text) == 0) fail_msg("%zu, %zu", k, i);
        }
    }
}

/** Stored responses aren't shared across policies: what accepted one may be refused by another. */
static void each_option_changes_the_fingerprint(void **state) {
    (void)state;
    afc_trust_options rows[11];
    fingerprint fingerprints[COUNT_OF(rows)];
    const afc_trust_rule rules[] = {{.host = "a.test"}};
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        rows[i] = (afc_trust_options)AFC_TRUST_OPTIONS_INIT;
    }
    rows[1].anchors = S("x");
    rows[2].keep_system_anchors = true;
    rows[3].intermediates = S("x");
    rows[4].crls = S("x");
    rows[5].check_authorities = true;
    rows[6].ocsp = AFC_OCSP_CHECK;
    rows[7].security_level = 1;
    rows[8].time_s = 1;
    rows[9].rules = rules;
    rows[9].rule_count = COUNT_OF(rules);
    rows[10].handler.decide = testify;
    for (size_t i = 0; i < COUNT_OF(rows); i++) fingerprints[i] = fingerprint_of(&rows[i]);
    assert_string_equal(fingerprints[0].text, "");
    check_all_differ(fingerprints, COUNT_OF(fingerprints));
}

static void each_part_of_a_rule_changes_the_fingerprint(void **state) {
    (void)state;
    static const char *const pins[][2] = {{"a", "bc"}, {"ab", "c"}};
    const afc_trust_rule rules[] = {
        {.host = NULL},
        {.host = "a"},
        {.include_subdomains = true},
        {.mode = AFC_PINNING_PUBLIC_KEY},
        {.match = AFC_PIN_MATCH_ALL},
        {.certificates = S("x")},
        {.pins = pins[0], .pin_count = 1},
        {.pins = pins[0], .pin_count = 2},
        {.pins = pins[1], .pin_count = 2},
        {.expires_s = 1},
        {.report_only = true},
        {.allow_invalid_certificates = true},
        {.skip_host_check = true},
    };
    fingerprint fingerprints[2 * COUNT_OF(rules)];
    for (size_t i = 0; i < COUNT_OF(rules); i++) {
        afc_trust_options options = AFC_TRUST_OPTIONS_INIT;
        options.everywhere = rules[i];
        fingerprints[2 * i] = fingerprint_of(&options);
        options = (afc_trust_options)AFC_TRUST_OPTIONS_INIT;
        options.rules = &rules[i];
        options.rule_count = 1;
        fingerprints[2 * i + 1] = fingerprint_of(&options);
    }
    check_all_differ(fingerprints, COUNT_OF(fingerprints));
}

/* ---- Files --------------------------------------------------------------------------------- */

static void check_read(const char *path, const char *expected) {
    afc_bytes pem;
    afc_failure failure;
    check_status(afc_certificates_read(&pem, path, &failure), AFC_OK);
    check_slice(((afc_slice){pem.bytes, pem.size}), expected);
    afc_free(pem.bytes);
}

static void check_not_read(const char *path, afc_status expected, const char *part) {
    afc_bytes pem;
    afc_failure failure;
    check_status(afc_certificates_read(&pem, path, &failure), expected);
    assert_null(pem.bytes);
    check_contains(failure.text, part);
}

static void reads_certificates_from_files_and_folders(void **state) {
    (void)state;
    folder folder;
    char both[8192];
    size_t size;
    folder_make(&folder);
    const char *der = (const char *)afts_cert_der(shared_chains->root, &size);
    const char *root = afts_cert_pem(shared_chains->root),
               *intermediate = afts_cert_pem(shared_chains->intermediate);
    check_read(folder.path, "");
    write_file(path_in(&folder, "b.cer"), (afc_slice){der, size});
    write_file(path_in(&folder, "a.cer"), afc_slice_of(intermediate));
    write_file(path_in(&folder, "c.txt"), S("no certificate"));
    snprintf(both, sizeof both, "%s%s", intermediate, root);
    check_read(folder.path, both);
    check_read(path_in(&folder, "b.cer"), root);
    TORTURE(n) {
        afc_bytes pem;
        if (afc_certificates_read(&pem, folder.path, NULL) == AFC_OK) afc_free(pem.bytes);
    }
    check_not_read(path_in(&folder, "none"), AFC_EFILE, "none");
    check_not_read(path_in(&folder, "c.txt"), AFC_EINVAL, "c.txt");
    write_file(path_in(&folder, "d.cer"), S("no certificate"));
    check_not_read(folder.path, AFC_EINVAL, "d.cer");
    write_file(path_in(&folder, "d.cer"), S(""));
    check_not_read(folder.path, AFC_EINVAL, "d.cer");
    /* Nobody writes to it, so that reading it would never end. */
    unlink(path_in(&folder, "d.cer"));
    assert_int_equal(mkfifo(path_in(&folder, "d.cer"), 0600), 0);
    check_not_read(folder.path, AFC_EINVAL, "d.cer");
    folder_remove(&folder);
}

/* ---- Without memory ------------------------------------------------------------------------ */

static void any_allocation_may_fail(void **state) {
    (void)state;
    const char *pin = pin_of(shared_chains->intermediate);
    afc_trust_rule rules[] = {
        {.host = "localhost", .mode = AFC_PINNING_CERTIFICATE, .pins = &pin, .pin_count = 1},
        {.host = "*.test", .mode = AFC_PINNING_PUBLIC_KEY},
    };
    rules[0].certificates = rules[1].certificates = afc_slice_of(
        afts_cert_pem(shared_chains->untrusted_root));
    afc_slice sent[CHAIN_LONGEST];
    chain_slices(chain_named(shared_chains, "good"), sent);
    TORTURE(n) {
        witness witness = {.answer = AFC_TRUST_DECISION_KEEP};
        afc_trust_options options = trusting_root();
        afc_trust_policy *policy;
        options.rules = rules;
        options.rule_count = COUNT_OF(rules);
        options.handler = (afc_trust_handler){&witness, testify, leave};
        afc_status status = afc_trust_policy_new(&policy, &options, NULL);
        assert_true(status == AFC_OK || status == AFC_ENOMEM);
        if (status == AFC_OK) {
            afc_trust_report *report;
            status = afc_trust_evaluate(&report, policy, sent, 2, "localhost", NULL);
            assert_true(status == AFC_OK || status == AFC_ENOMEM);
            assert_int_equal(report != NULL, status == AFC_OK);
            afc_trust_report_free(report);
            afc_trust_policy_release(policy);
        }
        assert_int_equal(witness.released, 1);
    }
}

/** OpenSSL takes the time for the signer of an OCSP response from the store, and the system's is shared. */
static void store_with_a_time_is_not_shared(void **state) {
    (void)state;
    static const struct {
        int64_t time_s;
        afc_ocsp_mode ocsp;
        bool is_shared;
    } rows[] = {
        {0, AFC_OCSP_IGNORE, true},         {0, AFC_OCSP_CHECK, true},
        {1000000, AFC_OCSP_IGNORE, true},   {1000000, AFC_OCSP_CHECK, false},
        {1000000, AFC_OCSP_REQUIRE, false},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        afc_trust_options options = AFC_TRUST_OPTIONS_INIT;
        afc_trust_policy *policy;
        options.time_s = rows[i].time_s;
        options.ocsp = rows[i].ocsp;
        check_status(afc_trust_policy_new(&policy, &options, NULL), AFC_OK);
        X509_STORE *store, *system;
        check_status(afc__policy_store(&store, policy, NULL), AFC_OK);
        check_status(afc__anchors_system(&system, NULL), AFC_OK);
        assert_int_equal(store == system, rows[i].is_shared);
        time_t set = X509_VERIFY_PARAM_get_time(X509_STORE_get0_param(store));
        if (!rows[i].is_shared) assert_int_equal(set, rows[i].time_s);
        afc_trust_policy_release(policy);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refuses_options_it_cannot_read_or_would_ignore),
        cmocka_unit_test(names_what_is_invalid),
        cmocka_unit_test(refuses_counts_without_arrays),
        cmocka_unit_test(refuses_broken_certificate_among_good_ones),
        cmocka_unit_test(accepts_der_and_several_certificates),
        cmocka_unit_test(accepts_text_in_front_of_pem),
        cmocka_unit_test(tells_der_from_pem),
        cmocka_unit_test(refuses_several_items_in_one_block),
        cmocka_unit_test(refuses_block_without_its_last_line),
        cmocka_unit_test(each_option_changes_the_fingerprint),
        cmocka_unit_test(each_part_of_a_rule_changes_the_fingerprint),
        cmocka_unit_test(uses_the_most_specific_rule),
        cmocka_unit_test(store_with_a_time_is_not_shared),
        cmocka_unit_test(callback_decides_last),
        cmocka_unit_test(reads_certificates_from_files_and_folders),
        cmocka_unit_test(any_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, make_chains, free_chains);
}
