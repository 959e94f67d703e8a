/*
 * Which anchors of the system count: those of its directory, and those of its bundle. OpenSSL's functions that name the two
 * are defined here, and lead to a folder of the test.
 */
#include "support/chains.h"
#include "support/files.h"
#include "trust/anchors.h"

#include <openssl/x509.h>
#include <stdlib.h>

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

/** An image has a directory with hashed names; who runs it puts a bundle of its own in place. */
static void bundle_counts_beside_the_directory(void **state) {
    (void)state;
    folder folder;
    make_system(&folder);
    afc_trust_options options = AFC_TRUST_OPTIONS_INIT;
    afc_trust_policy *system = policy_new(&options);
    check(system, "good", AFC_TRUST_ACCEPTED);
    check(system, "lonely", AFC_TRUST_SELF_SIGNED);
    /* A store of its own, which has the system's anchors as well. */
    options.anchors = afc_slice_of(afts_cert_pem(shared_chains->self_signed));
    options.keep_system_anchors = true;
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

/** It takes long to read, so only a chain without an anchor is worth that. */
static void bundle_is_read_once_and_when_needed(void **state) {
    (void)state;
    folder folder;
    make_system(&folder);
    X509_STORE *store = afc__anchors_new(NULL, NULL, true);
    assert_non_null(store);
    assert_int_equal(sk_X509_OBJECT_num(X509_STORE_get0_objects(store)), 0);
    assert_true(afc__anchors_add_bundle(store));
    assert_int_equal(sk_X509_OBJECT_num(X509_STORE_get0_objects(store)), 1);
    write_file(bundle, afc_slice_of(afts_cert_pem(shared_chains->untrusted_root)));
    assert_true(afc__anchors_add_bundle(store));
    assert_int_equal(sk_X509_OBJECT_num(X509_STORE_get0_objects(store)), 1);
    X509_STORE_free(store);
    store = afc__anchors_new(NULL, NULL, false);
    assert_non_null(store);
    assert_false(afc__anchors_add_bundle(store));
    X509_STORE_free(store);
    assert_false(afc__anchors_add_bundle(NULL));
    folder_remove(&folder);
}

int main(void) {
    unsetenv("SSL_CERT_FILE");
    unsetenv("SSL_CERT_DIR");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bundle_counts_beside_the_directory),
        cmocka_unit_test(bundle_is_read_once_and_when_needed),
    };
    return cmocka_run_group_tests(tests, make_chains, free_chains);
}
