/* NIST's suite of path validation, PKITS, where Scripts/setup has put it. */
#include "support/fixture.h"

#include <openssl/crypto.h>
#include <openssl/pem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    CASES = 213,
    MOST_CERTIFICATES = 8,
    /* 2020-06-01, when all are valid that are not there to be too early or too late. */
    MOMENT = 1590969600
};

/** Cases with another verdict, each with its reason. */
static const struct {
    const char *reason, *numbers;
} deviations[] = {
    {"keys of DSA are too weak for the security level", "40104 40105"},
    {"the list's issuer is on another path to the anchor than the certificate", "41430"},
    {"lists are looked up by the name of the certificate's issuer, which is not theirs",
     "41424 41425 41428 41429 41433"},
    {"TLS has no use for certificate policies, which are not looked at",
     "40804 40805 40807 40808 40809 40812 40903 40905 40907 40908 41002 41004 41007 41008 41010 "
     "41101 41103 41105 41106 41108 41109 41110 41111 41201 41204 41205 41206 41208 41210"},
};

static bool deviates(const char *number) {
    for (size_t i = 0; i < COUNT_OF(deviations); i++) {
        if (strstr(deviations[i].numbers, number) != NULL) return true;
    }
    return false;
}

/** All of the suite; NULL: it is not installed. */
static char *read_suite(void) {
    const char *venv = getenv("AF_VENV"), *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    char path[512];
    if (venv != NULL) {
        snprintf(path, sizeof path, "%s/pkits.txt", venv);
    } else if (cache != NULL) {
        snprintf(path, sizeof path, "%s/swiftaf/venv/pkits.txt", cache);
    } else {
        snprintf(path, sizeof path, "%s/.cache/swiftaf/venv/pkits.txt", home != NULL ? home : "");
    }
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        print_message("%s is not there: Scripts/setup installs it\n", path);
        return NULL;
    }
    assert_int_equal(fseek(file, 0, SEEK_END), 0);
    long size = ftell(file);
    assert_true(size > 0);
    rewind(file);
    char *text = malloc((size_t)size + 1);
    assert_non_null(text);
    assert_int_equal(fread(text, 1, (size_t)size, file), size);
    text[size] = '\0';
    fclose(file);
    return text;
}

/** What comes after the line of a case, up to the next. `text` holds nothing else. */
static bool is_accepted(const char *text) {
    afc_slice chain[MOST_CERTIFICATES];
    size_t count = 0;
    const char *end_of_anchor = strstr(text, "-----BEGIN CERTIFICATE-----\n") + 1;
    end_of_anchor = strstr(end_of_anchor, "-----BEGIN CERTIFICATE-----\n");
    const char *lists = strstr(text, "-----BEGIN X509 CRL-----\n");
    assert_true(end_of_anchor != NULL && lists != NULL && end_of_anchor < lists);
    afc_trust_options options = AFC_TRUST_OPTIONS_INIT;
    options.anchors = (afc_slice){text, (size_t)(end_of_anchor - text)};
    options.crls = afc_slice_of(lists);
    options.check_authorities = true;
    options.time_s = MOMENT;
    options.everywhere.skip_host_check = true;
    BIO *bio = BIO_new_mem_buf(end_of_anchor, (int)(lists - end_of_anchor));
    char *name, *header;
    unsigned char *der;
    long size;
    while (PEM_read_bio(bio, &name, &header, &der, &size) == 1) {
        assert_true(count < MOST_CERTIFICATES);
        chain[count++] = (afc_slice){(const char *)der, (size_t)size};
        OPENSSL_free(name);
        OPENSSL_free(header);
    }
    BIO_free(bio);
    afc_trust_policy *policy;
    afc_failure failure = {0};
    check_status(afc_trust_policy_new(&policy, &options, &failure), AFC_OK);
    afc_status status = afc_trust_evaluate(NULL, policy, chain, count, NULL, &failure);
    afc_trust_policy_release(policy);
    for (size_t i = 0; i < count; i++) OPENSSL_free((void *)(uintptr_t)chain[i].bytes);
    return status == AFC_OK;
}

static void evaluates_chains_as_in_rfc_5280(void **state) {
    (void)state;
    char *suite = read_suite();
    if (suite == NULL) skip();
    size_t count = 0, wrong = 0;
    for (char *next, *line = suite; line != NULL; line = next) {
        char number[8], verdict[16], name[128];
        assert_int_equal(sscanf(line, "case %7s %15s %127s", number, verdict, name), 3);
        next = strstr(line, "\ncase ");
        if (next != NULL) *next++ = '\0';
        bool as_expected = is_accepted(line) == (strcmp(verdict, "accepted") == 0);
        if (as_expected == deviates(number)) {
            print_error("%s %s is not %s%s\n", number, name, as_expected ? "deviating" : verdict,
                        as_expected ? " any more" : "");
            wrong++;
        }
        count++;
    }
    free(suite);
    assert_int_equal(count, CASES);
    assert_int_equal(wrong, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(evaluates_chains_as_in_rfc_5280),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
