/* What an error about a client certificate or its key says, and that it names the file. */
#include "tls/client_certificate.h"

#include "support/files.h"

#include <afcore/session.h>
#include <afts/certificate.h>
#include <openssl/pem.h>
#include <openssl/pkcs12.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct fixture {
    folder folder;
    afts_cert *cert, *other;
} fixture;

static int set_up(void **state) {
    static fixture made;
    const afts_cert_options options = {.client = true, .hosts = ""};
    folder_make(&made.folder);
    made.cert = afts_cert_new(&options, NULL);
    made.other = afts_cert_new(&options, NULL);
    *state = &made;
    return made.cert != NULL && made.other != NULL ? 0 : -1;
}

static int tear_down(void **state) {
    fixture *made = *state;
    afts_cert_free(made->other);
    afts_cert_free(made->cert);
    folder_remove(&made->folder);
    return 0;
}

/** Writes a file of the folder; returns its path. */
static const char *with(fixture *fixture, const char *name, afc_slice bytes) {
    const char *path = path_in(&fixture->folder, name);
    write_file(path, bytes);
    return path;
}

/** Checks the status and the whole text, in which "%s" stands for `path`. */
static void check_error(const afc_client_certificate *source, afc_status status, afc_reason reason,
                        const char *format, const char *path) {
    afc__tls_identity identity;
    afc_failure failure;
    char expected[AFC_FAILURE_TEXT_SIZE];
    check_status(afc__tls_identity_read(&identity, source, &failure), status);
    assert_int_equal(failure.status, status);
    /* One text for all rows: the name of the file may be first or last. */
    const char *mark = strstr(format, "%s");
    assert_non_null(mark);
    snprintf(expected, sizeof expected, "%.*s%s%s", (int)(mark - format), format, path, mark + 2);
    assert_string_equal(failure.text, expected);
    assert_int_equal(failure.reason, reason);
}

static void names_the_file_of_an_invalid_certificate(void **state) {
    fixture *fixture = *state;
    afc_slice pem = afc_slice_of(afts_cert_chain_pem(fixture->cert));
    char damaged[8192], second[8192], cut[8192];
    snprintf(damaged, sizeof damaged, "%s", pem.bytes);
    memcpy(strchr(damaged, '\n') + 1, "####", 4);
    snprintf(second, sizeof second, "%s%s", afts_cert_pem(fixture->cert), damaged);
    const char *end = strstr(pem.bytes, "-----END");
    assert_non_null(end);
    snprintf(cut, sizeof cut, "%.*s%s", (int)(end - pem.bytes), pem.bytes,
             afts_cert_pem(fixture->other));
    const struct {
        const char *name;
        afc_slice bytes;
        const char *text;
    } rows[] = {
        {"key.pem", afc_slice_of(afts_cert_key_pem(fixture->cert)),
         "invalid client certificate: no certificate in %s"},
        {"notes.txt", S("a text"), "invalid client certificate: no certificate in %s"},
        {"damaged.pem", afc_slice_of(damaged),
         "invalid client certificate: damaged certificate in %s"},
        {"second.pem", afc_slice_of(second),
         "invalid client certificate: damaged certificate in %s"},
        {"cut.pem", afc_slice_of(cut), "invalid client certificate: damaged certificate in %s"},
        {"damaged.p12", S("0damaged"),
         "invalid client certificate: neither PKCS #12 nor a certificate in %s"},
        {"empty.pem", S(""), "%s is empty: expected a certificate or a key"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const char *path = with(fixture, rows[i].name, rows[i].bytes);
        const afc_client_certificate source = {.certificate_path = path};
        check_error(&source, AFC_EINVAL, AFC_REASON_CLIENT_CERTIFICATE, rows[i].text, path);
    }
}

static void names_the_file_that_has_no_private_key(void **state) {
    fixture *fixture = *state;
    static const char text[] = "invalid client certificate: no private key in %s";
    size_t size;
    const char *pem = with(fixture, "cert.pem", afc_slice_of(afts_cert_chain_pem(fixture->cert)));
    const uint8_t *bytes = afts_cert_der(fixture->cert, &size);
    const char *der = with(fixture, "cert.der", (afc_slice){(const char *)bytes, size});
    const char *notes = with(fixture, "notes.txt", S("a text"));
    const afc_client_certificate in_pem = {.certificate_path = pem};
    const afc_client_certificate in_der = {.certificate_path = der};
    const afc_client_certificate in_key = {.certificate_path = pem, .key_path = notes};
    const afc_client_certificate is_certificate = {.certificate_path = der, .key_path = pem};
    const afc_client_certificate in_memory = {
        .certificate = afc_slice_of(afts_cert_chain_pem(fixture->cert))};
    check_error(&in_pem, AFC_EINVAL, AFC_REASON_KEY_PASSWORD, text, pem);
    check_error(&in_der, AFC_EINVAL, AFC_REASON_KEY_PASSWORD, text, der);
    check_error(&in_key, AFC_EINVAL, AFC_REASON_KEY_PASSWORD, text, notes);
    check_error(&is_certificate, AFC_EINVAL, AFC_REASON_KEY_PASSWORD, text, pem);
    check_error(&in_memory, AFC_EINVAL, AFC_REASON_KEY_PASSWORD, text, "the certificate's bytes");
}

/** The key of PEM as DER, encrypted if there is a password. */
static afc_slice key_der(const char *pem, const char *password, char *out, size_t size) {
    BIO *in = BIO_new_mem_buf(pem, -1), *made = BIO_new(BIO_s_mem());
    EVP_PKEY *key = PEM_read_bio_PrivateKey(in, NULL, NULL, NULL);
    assert_non_null(key);
    int count = password != NULL ? (int)strlen(password) : 0;
    assert_int_equal(i2d_PKCS8PrivateKey_bio(made, key, password != NULL ? EVP_aes_128_cbc() : NULL,
                                             (char *)(uintptr_t)password, count, NULL, NULL),
                     1);
    int got = BIO_read(made, out, (int)size);
    assert_in_range(got, 1, size - 1);
    EVP_PKEY_free(key);
    BIO_free(in);
    BIO_free(made);
    return (afc_slice){out, (size_t)got};
}

static void says_whether_a_password_is_missing_or_wrong(void **state) {
    fixture *fixture = *state;
    const char *cert = with(fixture, "cert.pem", afc_slice_of(afts_cert_pem(fixture->cert)));
    char *encrypted = afts_cert_encrypted_key_pem(fixture->cert, "open sesame");
    const char *pem = with(fixture, "key.pem", afc_slice_of(encrypted));
    char bytes[4096];
    const char *der = with(
        fixture, "key.der",
        key_der(afts_cert_key_pem(fixture->cert), "open sesame", bytes, sizeof bytes));
    size_t size;
    uint8_t *made = afts_cert_pkcs12(fixture->cert, "secret", &size);
    const char *bundle = with(fixture, "both.p12", (afc_slice){(const char *)made, size});
    const char *const keys[] = {pem, der};
    for (size_t i = 0; i < COUNT_OF(keys); i++) {
        afc_client_certificate source = {.certificate_path = cert, .key_path = keys[i]};
        check_error(&source, AFC_EINVAL, AFC_REASON_KEY_PASSWORD,
                    "invalid client certificate: a password is needed for the private key in %s",
                    keys[i]);
        source.password = "wrong";
        check_error(&source, AFC_EINVAL, AFC_REASON_KEY_PASSWORD,
                    "invalid client certificate: wrong password for the private key in %s",
                    keys[i]);
    }
    afc_client_certificate source = {.certificate_path = bundle};
    check_error(&source, AFC_EINVAL, AFC_REASON_KEY_PASSWORD,
                "invalid client certificate: a password is needed for %s", bundle);
    source.password = "wrong";
    check_error(&source, AFC_EINVAL, AFC_REASON_KEY_PASSWORD,
                "invalid client certificate: wrong password for %s", bundle);
    afts_bytes_free(made);
    afts_bytes_free(encrypted);
}

/** Also one of DER that isn't encrypted, beside a password. */
static void accepts_keys_of_der(void **state) {
    fixture *fixture = *state;
    const char *cert = with(fixture, "cert.pem", afc_slice_of(afts_cert_pem(fixture->cert)));
    static const char *const of_key[] = {NULL, NULL, "open sesame"};
    static const char *const given[] = {NULL, "open sesame", "open sesame"};
    for (size_t i = 0; i < COUNT_OF(of_key); i++) {
        char bytes[4096];
        afc_slice key = key_der(afts_cert_key_pem(fixture->cert), of_key[i], bytes, sizeof bytes);
        const afc_client_certificate source = {.certificate_path = cert,
                                               .key_path = with(fixture, "key.der", key),
                                               .password = given[i]};
        afc__tls_identity identity;
        check_status(afc__tls_identity_read(&identity, &source, NULL), AFC_OK);
        afc__tls_identity_clear(&identity);
    }
}

static void names_the_file_of_a_damaged_or_foreign_key(void **state) {
    fixture *fixture = *state;
    const char *cert = with(fixture, "cert.pem", afc_slice_of(afts_cert_pem(fixture->cert)));
    char damaged[4096], text[AFC_FAILURE_TEXT_SIZE];
    snprintf(damaged, sizeof damaged, "%s", afts_cert_key_pem(fixture->cert));
    memcpy(strchr(damaged, '\n') + 1, "####", 4);
    const char *key = with(fixture, "damaged.pem", afc_slice_of(damaged));
    afc_client_certificate source = {.certificate_path = cert, .key_path = key};
    check_error(&source, AFC_EINVAL, AFC_REASON_CLIENT_KEY,
                "invalid client certificate: damaged private key in %s", key);
    key = with(fixture, "other.pem", afc_slice_of(afts_cert_key_pem(fixture->other)));
    source.key_path = key;
    snprintf(text, sizeof text, "the private key in %%s doesn't match the client certificate in %s",
             cert);
    check_error(&source, AFC_EINVAL, AFC_REASON_CLIENT_KEY, text, key);
}

static void names_the_file_that_cannot_be_read(void **state) {
    fixture *fixture = *state;
    const char *cert = with(fixture, "cert.pem", afc_slice_of(afts_cert_pem(fixture->cert)));
    const char *missing = path_in(&fixture->folder, "missing.pem");
    const char *large = with(fixture, "large.pem", S("large"));
    assert_int_equal(truncate(large, 1024 * 1024 + 1), 0);
    afc_client_certificate source = {.certificate_path = missing};
    check_error(&source, AFC_EFILE, AFC_REASON_NONE, "cannot read %s: No such file or directory",
                missing);
    source.certificate_path = fixture->folder.path;
    check_error(&source, AFC_EINVAL, AFC_REASON_NONE, "%s is not a regular file",
                fixture->folder.path);
    source = (afc_client_certificate){.certificate_path = cert, .key_path = large};
    check_error(&source, AFC_EINVAL, AFC_REASON_CLIENT_KEY,
                "%s is larger than the limit of 1048576 bytes", large);
    source.key_path = missing;
    check_error(&source, AFC_EFILE, AFC_REASON_NONE, "cannot read %s: No such file or directory",
                missing);
    /* Root may read every file. */
    if (geteuid() == 0) return;
    assert_int_equal(chmod(cert, 0), 0);
    check_error(&source, AFC_EFILE, AFC_REASON_NONE, "cannot read %s: Permission denied", cert);
}

#define FIXTURE_TEST(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

static void refuses_options_without_a_certificate(void **state) {
    (void)state;
    afc_client_certificate nothing = {0};
    afc_session_options options = AFC_SESSION_OPTIONS_INIT;
    options.tls.client_certificates = &nothing;
    options.tls.client_certificate_count = 1;
    afc_session *session;
    afc_failure failure;
    check_status(afc_session_new(&session, &options, &failure), AFC_EINVAL);
    assert_null(session);
}

static void most_specific_certificate_is_shown_in_any_order(void **state) {
    (void)state;
    static const char *const patterns[] = {"a.b.test", "*.b.test", NULL};
    static const struct {
        const char *host;
        size_t expected;
    } rows[] = {{"a.b.test", 0}, {"c.b.test", 1}, {"b.test", 2}, {"a.a.b.test", 2}};
    for (size_t first = 0; first < 2 * COUNT_OF(patterns); first++) {
        afc__tls_identity all[COUNT_OF(patterns)] = {{.is_for_all = false}};
        size_t places[COUNT_OF(patterns)];
        for (size_t i = 0; i < COUNT_OF(patterns); i++) {
            size_t step = first < COUNT_OF(patterns) ? i : COUNT_OF(patterns) - 1 - i;
            size_t place = places[i] = (first + step) % COUNT_OF(patterns);
            all[place].is_for_all = patterns[i] == NULL;
            if (patterns[i] == NULL) continue;
            assert_true(afc__host_pattern_read(&all[place].pattern, patterns[i], false));
        }
        for (size_t i = 0; i < COUNT_OF(rows); i++) {
            afc__trust_host host;
            assert_true(afc__trust_host_read(&host, rows[i].host));
            assert_ptr_equal(afc__tls_identity_for(all, COUNT_OF(all), &host),
                             &all[places[rows[i].expected]]);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        FIXTURE_TEST(names_the_file_of_an_invalid_certificate),
        FIXTURE_TEST(names_the_file_that_has_no_private_key),
        FIXTURE_TEST(says_whether_a_password_is_missing_or_wrong),
        FIXTURE_TEST(accepts_keys_of_der),
        FIXTURE_TEST(names_the_file_of_a_damaged_or_foreign_key),
        FIXTURE_TEST(names_the_file_that_cannot_be_read),
        cmocka_unit_test(refuses_options_without_a_certificate),
        cmocka_unit_test(most_specific_certificate_is_shown_in_any_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
