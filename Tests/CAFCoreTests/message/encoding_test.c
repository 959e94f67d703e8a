/* Octets as text and back: Base64, percent-encoding, hexadecimal digits. */
#include "message/encoding.h"
#include "support/head.h"

#include <string.h>

static void base64_matches_the_vectors_of_the_rfc(void **state) {
    (void)state;
    static const struct {
        const char *octets, *text;
    } rows[] = {
        {"", ""},
        {"f", "Zg=="},
        {"fo", "Zm8="},
        {"foo", "Zm9v"},
        {"foob", "Zm9vYg=="},
        {"fooba", "Zm9vYmE="},
        {"foobar", "Zm9vYmFy"},
        {"\xff\xef\xbe", "/+++"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        size_t size = strlen(rows[i].octets);
        char text[AFC__BASE64_SIZE(6) + 1];
        unsigned char octets[6];
        afc__base64_encode(text, (const unsigned char *)rows[i].octets, size);
        assert_string_equal(text, rows[i].text);
        assert_int_equal(strlen(text), AFC__BASE64_SIZE(size));
        assert_true(afc__base64_decode(octets, size, afc_slice_of(text)));
        assert_memory_equal(octets, rows[i].octets, size);
        afc_slice bare = {text, strcspn(text, "=")};
        assert_true(afc__base64_decode(octets, size, bare));
        assert_memory_equal(octets, rows[i].octets, size);
    }
}

static void refuses_base64_of_another_length(void **state) {
    (void)state;
    static const struct {
        size_t size;
        const char *text;
    } rows[] = {
        {0, "Zg=="}, {1, ""},      {1, "Z"},     {1, "Zg="},      {1, "Zg==="}, {1, "Zh=="},
        {1, "Zm8="}, {2, "Zg=="},  {2, "Zm9="},  {2, "Zm9v"},     {3, "Zm8="},  {3, "Zm9v===="},
        {3, "Zm-v"}, {3, "Zm_v"},  {3, "Zm 9"},  {3, "Zm9\xc3"},  {1, "Zg=v"},  {3, "Zm9vYg=="},
        {1, "=Zg="}, {2, "Zm\n="}, {4, "Zm9vY"}, {4, "Zm9vYg=x"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        unsigned char octets[8];
        bool is_read = afc__base64_decode(octets, rows[i].size, afc_slice_of(rows[i].text));
        if (is_read) print_error("\"%s\" is read as %zu octets\n", rows[i].text, rows[i].size);
        assert_false(is_read);
    }
}

static void keeps_what_is_not_an_escape(void **state) {
    (void)state;
    static const struct {
        const char *text, *octets;
        size_t size;
    } rows[] = {
        {"", "", 0},
        {"a b", "a b", 3},
        {"a%20b", "a b", 3},
        {"%c3%A9", "\xc3\xa9", 2},
        {"%", "%", 1},
        {"%2", "%2", 2},
        {"%%20", "% ", 2},
        {"%2%20", "%2 ", 3},
        {"%g0", "%g0", 3},
        {"%0g", "%0g", 3},
        {"a%00b", "a\0b", 3},
        {"%25%32%30", "%20", 3},
        {"%\xc3\xa9", "%\xc3\xa9", 3},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        char text[16];
        memcpy(text, rows[i].text, strlen(rows[i].text) + 1);
        unsigned char octets[16];
        assert_int_equal(afc__percent_decode(octets, text), rows[i].size);
        assert_memory_equal(octets, rows[i].octets, rows[i].size);
        /* In place. */
        assert_int_equal(afc__percent_decode((unsigned char *)text, text), rows[i].size);
        assert_memory_equal(text, rows[i].octets, rows[i].size);
    }
    assert_int_equal(afc__percent_octet((afc_slice){"%41", 2}), -1);
    assert_int_equal(afc__percent_octet((afc_slice){"%41", 3}), 'A');
}

static void escapes_each_byte_in_either_case(void **state) {
    (void)state;
    static const char digits[] = "0123456789abcdef0123456789ABCDEF";
    for (int octet = 0; octet < 256; octet++) {
        char c = (char)octet;
        const char *found = memchr(digits, c, sizeof digits - 1);
        assert_int_equal(afc__hex_value(c), found != NULL ? (int)((found - digits) % 16) : -1);
        bool is_upper = octet >= 'A' && octet <= 'Z';
        assert_int_equal((unsigned char)afc__lower(c), is_upper ? octet + 32 : octet);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(base64_matches_the_vectors_of_the_rfc),
        cmocka_unit_test(refuses_base64_of_another_length),
        cmocka_unit_test(keeps_what_is_not_an_escape),
        cmocka_unit_test(escapes_each_byte_in_either_case),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
