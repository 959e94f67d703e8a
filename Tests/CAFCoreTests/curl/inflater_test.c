/* Decoding gzip piece by piece: in any portions, and nothing but whole bodies. */
#include "base/alloc.h"
#include "curl/body/inflater.h"
#include "support/check.h"

#include <curl/curl.h>
#include <string.h>

static const char hello[] =
    "\x1F\x8B\x08\0\0\0\0\0\0\xFF\x01\x05\0\xFA\xFFhello\x86\xA6\x10\x36\x05\0\0\0";
enum { WHOLE = sizeof hello - 1 };

/** The beginning of a run of equal letters: a byte stands for 1,032 of them. */
static const char letters[96] = "\x1F\x8B\x08\0\0\0\0\0\0\xFF"
                                "\xEC\xC1\x81\x00\x00\x00\x00\x80\x20\xD6\xFD\x25\x16\xA9\x0A";

/** libcurl loads zlib. */
static afc__inflater *new_inflater(void) {
    assert_true(curl_version_info(CURLVERSION_NOW)->features & CURL_VERSION_LIBZ);
    assert_true(afc__inflater_is_available());
    afc__inflater *inflater = afc__inflater_new();
    assert_non_null(inflater);
    return inflater;
}

/** Decodes bytes in portions of this size. Returns the last result, and how many bytes were decoded into `out`. */
static afc__inflating decode(afc_slice bytes, size_t portion, char *out, size_t *out_size) {
    afc__inflater *inflater = new_inflater();
    afc__inflating result = AFC__INFLATED_ALL;
    *out_size = 0;
    for (size_t done = 0; done < bytes.size && result == AFC__INFLATED_ALL; done += portion) {
        size_t size = bytes.size - done < portion ? bytes.size - done : portion;
        afc_slice piece;
        while ((result = afc__inflater_next(inflater, (afc_slice){bytes.bytes + done, size},
                                            &piece)) == AFC__INFLATED_PIECE) {
            assert_true(piece.size > 0 && *out_size + piece.size <= 100);
            memcpy(out + *out_size, piece.bytes, piece.size);
            *out_size += piece.size;
            afc__inflater_took_piece(inflater);
        }
    }
    afc__inflater_free(inflater);
    return result;
}

static void portions_of_any_size_give_the_same(void **state) {
    (void)state;
    for (size_t portion = 1; portion <= WHOLE; portion++) {
        char out[100];
        size_t size;
        assert_int_equal(decode((afc_slice){hello, WHOLE}, portion, out, &size), AFC__INFLATED_ALL);
        check_slice(((afc_slice){out, size}), "hello");
    }
}

static void bytes_behind_the_end_are_refused(void **state) {
    (void)state;
    char both[2 * WHOLE], out[100];
    memcpy(both, hello, WHOLE);
    memcpy(both + WHOLE, hello, WHOLE);
    for (size_t behind = 1; behind <= WHOLE; behind++) {
        for (size_t portion = 1; portion <= WHOLE + behind; portion++) {
            size_t size;
            assert_int_equal(decode((afc_slice){both, WHOLE + behind}, portion, out, &size),
                             AFC__INFLATE_BEHIND_END);
            check_slice(((afc_slice){out, size}), "hello");
        }
    }
}

/** The time, the system and how it was compressed say nothing about the content, nor do bits before a stored block. */
static bool is_ignored(size_t index, int bit) {
    return (index >= 4 && index < 10) || (index == 10 && bit >= 3);
}

static void damage_never_looks_whole(void **state) {
    (void)state;
    for (size_t i = 0; i < WHOLE; i++) {
        for (int bit = 0; bit < 8; bit++) {
            char damaged[WHOLE], out[100];
            size_t size;
            memcpy(damaged, hello, WHOLE);
            damaged[i] = (char)(damaged[i] ^ 1 << bit);
            afc__inflating result = decode((afc_slice){damaged, WHOLE}, 5, out, &size);
            /* A flag can announce a further part of the head, so that the bytes aren't enough. */
            if (is_ignored(i, bit) || (i == 3 && size < 5)) continue;
            bool is_text_flag = i == 3 && bit == 0;
            if (result == AFC__INFLATED_ALL && !is_text_flag && size == 5) {
                fail_msg("bit %d of byte %zu is ignored", bit, i);
            }
        }
    }
}

/** As with libcurl, what comes before the damage isn't lost. */
static void bytes_before_damage_are_passed_on(void **state) {
    (void)state;
    char damaged[WHOLE], out[100];
    size_t size;
    memcpy(damaged, hello, WHOLE);
    damaged[WHOLE - 5] ^= 1;
    assert_int_equal(decode((afc_slice){damaged, WHOLE}, WHOLE, out, &size), AFC__INFLATE_INVALID);
    check_slice(((afc_slice){out, size}), "hello");
    afc__inflater *inflater = new_inflater();
    afc_slice piece;
    assert_int_equal(afc__inflater_next(inflater, (afc_slice){"wrong", 5}, &piece),
                     AFC__INFLATE_INVALID);
    check_contains(afc__inflater_problem(inflater), "header");
    afc__inflater_free(inflater);
}

static void piece_comes_again_until_taken(void **state) {
    (void)state;
    afc__inflater *inflater = new_inflater();
    afc_slice first, again, bytes = {letters, 64};
    assert_int_equal(afc__inflater_next(inflater, bytes, &first), AFC__INFLATED_PIECE);
    assert_int_equal(first.size, 16 * 1024);
    /* With more behind it, as libcurl has read more meanwhile. */
    bytes.size = sizeof letters;
    for (int i = 0; i < 3; i++) {
        assert_int_equal(afc__inflater_next(inflater, bytes, &again), AFC__INFLATED_PIECE);
        assert_ptr_equal(again.bytes, first.bytes);
        assert_int_equal(again.size, first.size);
    }
    size_t total = 0;
    afc__inflating result = AFC__INFLATED_PIECE;
    for (; result == AFC__INFLATED_PIECE; result = afc__inflater_next(inflater, bytes, &again)) {
        for (size_t i = 0; i < again.size; i++) assert_int_equal(again.bytes[i], 'a');
        total += again.size;
        afc__inflater_took_piece(inflater);
    }
    assert_int_equal(result, AFC__INFLATED_ALL);
    assert_true(total > 60 * 1024);
    afc__inflater_free(inflater);
}

static void each_failing_allocation_is_reported(void **state) {
    (void)state;
    unsigned failures = 0;
    for (unsigned n = 1;; n++) {
        afc__alloc_fail_at(n);
        afc__inflater *inflater = afc__inflater_new();
        afc_slice piece;
        afc__inflating result = inflater == NULL
                                    ? AFC__INFLATE_NO_MEMORY
                                    : afc__inflater_next(
                                          inflater, (afc_slice){letters, sizeof letters}, &piece);
        afc__alloc_fail_at(0);
        afc__inflater_free(inflater);
        if (result == AFC__INFLATED_PIECE) break;
        assert_int_equal(result, AFC__INFLATE_NO_MEMORY);
        failures++;
    }
    assert_true(failures >= 3);
}

int main(void) {
    curl_global_init(CURL_GLOBAL_DEFAULT);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(portions_of_any_size_give_the_same),
        cmocka_unit_test(bytes_behind_the_end_are_refused),
        cmocka_unit_test(damage_never_looks_whole),
        cmocka_unit_test(bytes_before_damage_are_passed_on),
        cmocka_unit_test(piece_comes_again_until_taken),
        cmocka_unit_test(each_failing_allocation_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
