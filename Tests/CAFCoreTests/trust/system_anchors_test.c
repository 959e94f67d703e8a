/*
 * Which anchors of the system count: those of its directory, and those of its bundle. OpenSSL's functions that name the
 * two are defined here, and lead to a folder of the test.
 */
#include "support/chains.h"
#include "support/descriptors.h"
#include "support/files.h"
#include "trust/anchors.h"

#include <errno.h>
#include <openssl/bio.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <stdlib.h>
#include <string.h>

static char directory[256], bundle[300];

const char *X509_get_default_cert_dir(void) {
    return directory;
}

const char *X509_get_default_cert_file(void) {
    return bundle;
}

/** A directory with hashed names has the stranger, and a bundle the root. */
static void make_system(folder *folder) {
    folder_make(folder);
    snprintf(directory, sizeof directory, "%s", folder->path);
    snprintf(bundle, sizeof bundle, "%s", path_in(folder, "bundle.crt"));
    write_file(path_in(folder, "0123abcd.0"),
               afc_slice_of(afts_cert_pem(shared_chains->untrusted_root)));
    write_file(bundle, afc_slice_of(afts_cert_pem(shared_chains->root)));
}

static void check(afc_trust_policy *policy, const char *chain, afc_trust_reason expected) {
    afc_trust_report *report = report_on(policy, chain_named(shared_chains, chain), "localhost");
    assert_int_equal(report->reason, expected);
    afc_trust_report_free(report);
}

static afc_trust_options own_and_system_anchors(void) {
    afc_trust_options options = AFC_TRUST_OPTIONS_INIT;
    options.anchors = afc_slice_of(afts_cert_pem(shared_chains->self_signed));
    options.keep_system_anchors = true;
    return options;
}

/** An image has a directory with hashed names; who runs it puts a bundle of its own in place. */
static void bundle_counts_beside_the_directory(void **state) {
    (void)state;
    folder folder;
    make_system(&folder);
    afc_trust_policy *system = policy_new(NULL);
    check(system, "good", AFC_TRUST_ACCEPTED);
    check(system, "lonely", AFC_TRUST_SELF_SIGNED);
    /* A store of its own, which has the system's anchors as well. */
    afc_trust_options options = own_and_system_anchors();
    afc_trust_policy *both = policy_new(&options);
    check(both, "good", AFC_TRUST_ACCEPTED);
    check(both, "good", AFC_TRUST_ACCEPTED);
    options.keep_system_anchors = false;
    afc_trust_policy *own = policy_new(&options);
    check(own, "good", AFC_TRUST_UNKNOWN_ISSUER);
    afc_trust_policy_release(own);
    afc_trust_policy_release(both);
    afc_trust_policy_release(system);
    folder_remove(&folder);
}

static afc_status evaluate(const afc_trust_policy *policy, const char *name, afc_failure *failure) {
    afc_slice sent[CHAIN_LONGEST];
    const chain *chain = chain_named(shared_chains, name);
    chain_slices(chain, sent);
    return afc_trust_evaluate(NULL, policy, sent, chain->count, "localhost", failure);
}

static afc_status evaluate_without_descriptors(const afc_trust_policy *policy, const char *name,
                                               afc_failure *failure) {
    descriptors_deny();
    afc_status status = evaluate(policy, name, failure);
    descriptors_allow();
    return status;
}

/** The first test: it is the first to need the system's anchors, which are read once. */
static void anchors_are_read_again_after_a_shortage(void **state) {
    (void)state;
    folder folder;
    afc_failure failure;
    make_system(&folder);
    afc_trust_policy *system = policy_new(NULL);
    check_status(evaluate_without_descriptors(system, "good", &failure), AFC_ENOMEM);
    check_contains(failure.text, "cannot read the system's certificates");
    check_contains(failure.text, strerror(EMFILE));
    check_status(evaluate(system, "good", &failure), AFC_OK);
    afc_trust_policy_release(system);
    folder_remove(&folder);
}

static void policy_that_cannot_read_the_anchors_is_not_made(void **state) {
    (void)state;
    folder folder;
    afc_failure failure;
    make_system(&folder);
    afc_trust_options options = own_and_system_anchors();
    afc_trust_policy *policy;
    descriptors_deny();
    afc_status status = afc_trust_policy_new(&policy, &options, &failure);
    descriptors_allow();
    check_status(status, AFC_ENOMEM);
    check_contains(failure.text, "cannot read the system's certificates");
    assert_int_equal(failure.system_error, EMFILE);
    assert_null(policy);
    folder_remove(&folder);
}

static void bundle_is_read_again_after_a_shortage(void **state) {
    (void)state;
    folder folder;
    afc_failure failure;
    make_system(&folder);
    afc_trust_options options = own_and_system_anchors();
    afc_trust_policy *policy = policy_new(&options);
    check_status(evaluate_without_descriptors(policy, "good", &failure), AFC_ENOMEM);
    check_contains(failure.text, "bundle.crt");
    check_status(evaluate(policy, "good", &failure), AFC_OK);
    afc_trust_policy_release(policy);
    folder_remove(&folder);
}

/** Writes a certificate under the name by which OpenSSL looks for it in a directory. */
static void write_hashed(folder *folder, const afts_cert *cert) {
    char name[16];
    BIO *pem = BIO_new_mem_buf(afts_cert_pem(cert), -1);
    X509 *read = PEM_read_bio_X509(pem, NULL, NULL, NULL);
    assert_non_null(read);
    snprintf(name, sizeof name, "%08lx.0", X509_subject_name_hash(read));
    write_file(path_in(folder, name), afc_slice_of(afts_cert_pem(cert)));
    X509_free(read);
    BIO_free(pem);
}

/** OpenSSL opens it when a chain needs it. */
static void root_that_cannot_be_opened_is_no_verdict(void **state) {
    (void)state;
    folder folder;
    afc_failure failure;
    make_system(&folder);
    write_hashed(&folder, shared_chains->untrusted_root);
    afc_trust_options options = own_and_system_anchors();
    afc_trust_policy *policy = policy_new(&options);
    /* Reads the bundle. */
    check_status(evaluate(policy, "good", &failure), AFC_OK);
    check_status(evaluate_without_descriptors(policy, "stranger", &failure), AFC_ENOMEM);
    check_contains(failure.text, strerror(EMFILE));
    check_status(evaluate(policy, "stranger", &failure), AFC_OK);
    afc_trust_policy_release(policy);
    folder_remove(&folder);
}

/** It takes long to read, so only a chain without an anchor is worth that. */
static void bundle_is_read_once_and_when_needed(void **state) {
    (void)state;
    folder folder;
    make_system(&folder);
    X509_STORE *store;
    bool may_help;
    check_status(afc__anchors_new(&store, NULL, NULL, true, NULL), AFC_OK);
    assert_int_equal(sk_X509_OBJECT_num(X509_STORE_get0_objects(store)), 0);
    check_status(afc__anchors_add_bundle(store, &may_help, NULL), AFC_OK);
    assert_true(may_help);
    assert_int_equal(sk_X509_OBJECT_num(X509_STORE_get0_objects(store)), 1);
    write_file(bundle, afc_slice_of(afts_cert_pem(shared_chains->untrusted_root)));
    check_status(afc__anchors_add_bundle(store, &may_help, NULL), AFC_OK);
    assert_true(may_help);
    assert_int_equal(sk_X509_OBJECT_num(X509_STORE_get0_objects(store)), 1);
    X509_STORE_free(store);
    check_status(afc__anchors_new(&store, NULL, NULL, false, NULL), AFC_OK);
    check_status(afc__anchors_add_bundle(store, &may_help, NULL), AFC_OK);
    assert_false(may_help);
    X509_STORE_free(store);
    folder_remove(&folder);
}

int main(void) {
    unsetenv("SSL_CERT_FILE");
    unsetenv("SSL_CERT_DIR");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(anchors_are_read_again_after_a_shortage),
        cmocka_unit_test(policy_that_cannot_read_the_anchors_is_not_made),
        cmocka_unit_test(bundle_is_read_again_after_a_shortage),
        cmocka_unit_test(root_that_cannot_be_opened_is_no_verdict),
        cmocka_unit_test(bundle_counts_beside_the_directory),
        cmocka_unit_test(bundle_is_read_once_and_when_needed),
    };
    return cmocka_run_group_tests(tests, make_chains, free_chains);
}
