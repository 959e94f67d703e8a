/** A folder, and a server of one file that is downloaded there and breaks off on demand. */
#ifndef AFC_TESTS_DOWNLOAD_FIXTURE_H
#define AFC_TESTS_DOWNLOAD_FIXTURE_H

#include "support/call.h"
#include "support/files.h"
#include "support/range_server.h"

#include <openssl/evp.h>

enum {
    LARGE = 1500000,
    BROKEN_AT = 1200000,
    KEEP_AND_RESUME = AFC_FILE_KEEP_PARTIAL | AFC_FILE_RESUME
};

#define TAG "\"one\""

typedef struct download_fixture {
    fixture *fixture;
    folder folder;
    range_server range_server;
    char *content;
    char path[128], part[128], token_path[128];
} download_fixture;

int download_fixture_setup(void **state);
int download_fixture_teardown(void **state);

#define DOWNLOAD_TEST(test)                                                                        \
    cmocka_unit_test_setup_teardown(test, download_fixture_setup, download_fixture_teardown)

/** Makes a GET to `download_fixture->path`, not started. */
call *prepare(download_fixture *download_fixture, const char *path, unsigned flags);

/** The file, to its end. */
call *download(download_fixture *download_fixture, unsigned flags);

/** A download that breaks off at BROKEN_AT and leaves a pair. */
void interrupt_download(download_fixture *download_fixture);

/** A field that promises the content's digest, in one of the fixture's texts; `form` has its %s. */
const char *digest_field(download_fixture *download_fixture, const EVP_MD *type, const char *form,
                         bool is_wrong);

/** It succeeded, and nothing but the whole file is there; then it is removed. Frees the call. */
void check_done(download_fixture *download_fixture, call *call, afc_resumption resumption);

#endif
