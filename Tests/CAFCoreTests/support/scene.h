/** A folder, and a server of one file that is downloaded there and breaks off on demand. */
#ifndef AFC_TESTS_SCENE_H
#define AFC_TESTS_SCENE_H

#include "support/call.h"
#include "support/files.h"
#include "support/origin.h"

#include <openssl/evp.h>

enum { LARGE = 1500000, BROKEN_AT = 1200000, BOTH = AFC_FILE_KEEP_PARTIAL | AFC_FILE_RESUME };

#define TAG "\"one\""

typedef struct scene {
    world *world;
    folder folder;
    origin origin;
    char *content;
    char path[128], part[128], note[128];
} scene;

int scene_setup(void **state);
int scene_teardown(void **state);

#define SCENE_TEST(test) cmocka_unit_test_setup_teardown(test, scene_setup, scene_teardown)

/** Makes a GET to `scene->path`, not started. */
call *prepare(scene *scene, const char *path, unsigned flags);

/** The file, to its end. */
call *download(scene *scene, unsigned flags);

/** A download that breaks off at BROKEN_AT and leaves a pair. */
void break_off(scene *scene);

/** A field that promises the content's digest, in one of the world's texts; `form` has its %s. */
const char *digest_field(scene *scene, const EVP_MD *type, const char *form, bool is_wrong);

/** It succeeded, and nothing but the whole file is there; then it is removed. Frees the call. */
void check_done(scene *scene, call *call, afc_resumption resumption);

#endif
