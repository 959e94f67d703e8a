/* Want of memory in OpenSSL is reported as that, not as an invalid certificate. */
#include "support/check.h"
#include "support/files.h"

#include <afcore/trust.h>
#include <caftestserver.h>
#include <openssl/crypto.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/** The allocation of OpenSSL that fails, counted from 1; 0: none. */
static size_t failing, count;

static bool fails(void) {
    return failing != 0 && ++count == failing;
}

static void *allocate(size_t size, const char *file, int line) {
    (void)file, (void)line;
    return fails() ? NULL : malloc(size);
}

/** OpenSSL 3.5 leaves no cause in its queue of errors if this fails, so that it looks like an invalid certificate. */
static bool reports_reallocation(void) {
    return OpenSSL_version_num() < 0x30200000L;
}

static void *reallocate(void *bytes, size_t size, const char *file, int line) {
    (void)file, (void)line;
    return reports_reallocation() && fails() ? NULL : realloc(bytes, size);
}

static void release(void *bytes, const char *file, int line) {
    (void)file, (void)line;
    free(bytes);
}

/** OpenSSL accepts them only before its first allocation. */
static __attribute__((constructor)) void take_allocations(void) {
    if (CRYPTO_set_mem_functions(allocate, reallocate, release) != 1) abort();
}

static void reading_certificates_reports_want_of_memory(void **state) {
    (void)state;
    folder folder;
    folder_make(&folder);
    afts_cert *root = afts_cert_new(&(afts_cert_options){.authority = true}, NULL);
    const char *path = path_in(&folder, "root.pem");
    write_file(path, afc_slice_of(afts_cert_pem(root)));
    afc_bytes pem;
    /* What OpenSSL makes only once is there after this. */
    check_status(afc_certificates_read(&pem, path, NULL), AFC_OK);
    afc_free(pem.bytes);
    size_t refused = 0;
    for (size_t n = 1; count + 1 >= n; n++) {
        count = 0;
        failing = n;
        afc_status status = afc_certificates_read(&pem, path, NULL);
        failing = 0;
        if (status == AFC_OK) {
            afc_free(pem.bytes);
        } else {
            check_status(status, AFC_ENOMEM);
            refused++;
        }
    }
    assert_true(refused > 10);
    afts_cert_free(root);
    folder_remove(&folder);
}

/** Where OpenSSL says that memory was the cause, a chain isn't reported as refused, which a program may act upon. */
static void evaluation_reports_want_of_memory(void **state) {
    (void)state;
    afts_cert *root = afts_cert_new(&(afts_cert_options){.authority = true}, NULL);
    afts_cert *leaf = afts_cert_new(&(afts_cert_options){.hosts = "h.test"}, root);
    size_t size;
    const uint8_t *der = afts_cert_der(leaf, &size);
    afc_slice chain = {(const char *)der, size};
    afc_trust_options options = AFC_TRUST_OPTIONS_INIT;
    options.anchors = afc_slice_of(afts_cert_pem(root));
    afc_trust_policy *policy;
    check_status(afc_trust_policy_new(&policy, &options, NULL), AFC_OK);
    check_status(afc_trust_evaluate(NULL, policy, &chain, 1, "h.test", NULL), AFC_OK);
    size_t reported = 0;
    for (size_t n = 1; count + 1 >= n; n++) {
        count = 0;
        failing = n;
        afc_failure failure = {0};
        afc_status status = afc_trust_evaluate(NULL, policy, &chain, 1, "h.test", &failure);
        failing = 0;
        if (status == AFC_ENOMEM) reported++;
        /* OpenSSL clears the cause in some places, as when it takes a key that it couldn't decode for a weak one. */
        if (status != AFC_OK && status != AFC_ENOMEM) check_status(status, AFC_EUNTRUSTED);
        assert_null(strstr(failure.text, "format error"));
        assert_null(strstr(failure.text, "unspecified"));
    }
    assert_true(reported > 100);
    afc_trust_policy_release(policy);
    afts_cert_free(leaf);
    afts_cert_free(root);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reading_certificates_reports_want_of_memory),
        cmocka_unit_test(evaluation_reports_want_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
