/* What a server promises about the bytes. */
#include "message/digest.h"
#include "message/fields.h"
#include "support/head.h"

#include <string.h>

/* Digests of the empty text. */
#define MD5_OF_NOTHING "1B2M2Y8AsgTpgAmY7PhCfg=="
#define SHA_256_OF_NOTHING "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="
#define SHA_512_OF_NOTHING                                                                         \
    "z4PhNX7vuL3xVChQ1m2AB9Yg5AULVxXcg/SpIdNs6c5H0NE8XYXysP+DGNKHfuwvY7kxvUdBeoGlODJ6+SfaPg=="

static void uses_the_strongest_digest(void **state) {
    (void)state;
    static const struct {
        const char *fields;
        afc__digest_kind kind;
    } rows[] = {
        {"", AFC__DIGEST_NONE},
        {"Content-MD5: " MD5_OF_NOTHING, AFC__DIGEST_MD5},
        {"Content-MD5: short==", AFC__DIGEST_NONE},
        {"Content-MD5: \nRepr-Digest: ", AFC__DIGEST_NONE},
        {"Repr-Digest: sha-256=:" SHA_256_OF_NOTHING ":", AFC__DIGEST_SHA_256},
        {"repr-digest: sha-512=:" SHA_512_OF_NOTHING ":", AFC__DIGEST_SHA_512},
        {"Repr-Digest: sha-512=:" SHA_512_OF_NOTHING ":,sha-256=:" SHA_256_OF_NOTHING ":",
         AFC__DIGEST_SHA_512},
        {"Repr-Digest: sha-256=:" SHA_256_OF_NOTHING ":\nRepr-Digest: sha-512=:" SHA_512_OF_NOTHING
         ":\nContent-MD5: " MD5_OF_NOTHING,
         AFC__DIGEST_SHA_512},
        /* Everything else that a dictionary may hold is stepped over. */
        {"Repr-Digest: a, b;c;d=\"x,\\\"y\", e=(1 :Zg==: \"s\" t;u=?1), *f=-1.5 ,\tsha-256=:"
         "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU:;q=1",
         AFC__DIGEST_SHA_256},
        {"Repr-Digest: crc32c=:AAAAAA==:, md5=:" MD5_OF_NOTHING ":", AFC__DIGEST_NONE},
        {"Repr-Digest: sha-256=?1", AFC__DIGEST_NONE},
        /* What is no dictionary promises nothing. */
        {"Repr-Digest: sha-256=" SHA_256_OF_NOTHING, AFC__DIGEST_NONE},
        {"Repr-Digest: SHA-256=:" SHA_256_OF_NOTHING ":", AFC__DIGEST_NONE},
        {"Repr-Digest: sha-256=:" SHA_256_OF_NOTHING ":,", AFC__DIGEST_NONE},
        {"Repr-Digest: sha-256=:" SHA_256_OF_NOTHING ": x", AFC__DIGEST_NONE},
        {"Repr-Digest: sha-256=:" SHA_256_OF_NOTHING, AFC__DIGEST_NONE},
        {"Repr-Digest: sha-256=:" MD5_OF_NOTHING ":", AFC__DIGEST_NONE},
        {"Repr-Digest: sha-256=:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFV=:", AFC__DIGEST_NONE},
        {"Repr-Digest: sha-256=:47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU=:", AFC__DIGEST_NONE},
        {"Repr-Digest: a=\"open, sha-256=:" SHA_256_OF_NOTHING ":", AFC__DIGEST_NONE},
        {"Repr-Digest: a=\"\\n\", sha-256=:" SHA_256_OF_NOTHING ":", AFC__DIGEST_NONE},
        {"Repr-Digest: a=(1, sha-256=:" SHA_256_OF_NOTHING ":", AFC__DIGEST_NONE},
        {"Repr-Digest: a=(\"x\"y), sha-256=:" SHA_256_OF_NOTHING ":", AFC__DIGEST_NONE},
        {"Repr-Digest: a;=1, sha-256=:" SHA_256_OF_NOTHING ":", AFC__DIGEST_NONE},
        {"Repr-Digest: a=, sha-256=:" SHA_256_OF_NOTHING ":", AFC__DIGEST_NONE},
        {"Content-Digest: sha-256=:" SHA_256_OF_NOTHING ":", AFC__DIGEST_NONE},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        parsed_head parsed_head;
        make_head(&parsed_head, 200, rows[i].fields);
        afc__digest digest = afc__declared_digest(&parsed_head.head, true);
        if (digest.kind != rows[i].kind) {
            fail_msg("%s: %s", rows[i].fields, afc__digest_name(digest.kind));
        }
    }
}

static void ignores_content_md5_of_partial_responses(void **state) {
    (void)state;
    parsed_head parsed_head;
    make_head(&parsed_head, 206, "Content-MD5: " MD5_OF_NOTHING);
    assert_int_equal(afc__declared_digest(&parsed_head.head, false).kind, AFC__DIGEST_NONE);
}

static void digests_round_trip_as_text(void **state) {
    (void)state;
    static const char *const texts[] = {"md5=" MD5_OF_NOTHING, "sha-256=" SHA_256_OF_NOTHING,
                                        "sha-512=" SHA_512_OF_NOTHING};
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        afc__digest digest;
        afc__buffer out;
        afc__buffer_init(&out, 1024);
        assert_true(afc__digest_read(afc_slice_of(texts[i]), &digest));
        check_status(afc__digest_write(&digest, &out), AFC_OK);
        check_slice(((afc_slice){out.bytes, out.size}), texts[i]);
        afc__buffer_clear(&out);
    }
    static const char *const bad[] = {"",
                                      "md5",
                                      "md5=",
                                      "none=",
                                      "sha-1=" MD5_OF_NOTHING,
                                      "sha-256=" MD5_OF_NOTHING,
                                      "md5=" MD5_OF_NOTHING "="};
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        afc__digest digest;
        if (afc__digest_read(afc_slice_of(bad[i]), &digest)) fail_msg("%s", bad[i]);
        assert_int_equal(digest.kind, AFC__DIGEST_NONE);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(uses_the_strongest_digest),
        cmocka_unit_test(ignores_content_md5_of_partial_responses),
        cmocka_unit_test(digests_round_trip_as_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
