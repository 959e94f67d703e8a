/* UTF-8 in pieces: every sequence of up to three bytes, and samples of four, against a decoder of whole texts. */
#include "support/check.h"
#include "websocket/utf8.h"

/** By the definition: decode, then check range, surrogates and length (RFC 3629 section 3). */
static bool is_utf8_by_definition(const unsigned char *at, size_t size) {
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    for (size_t i = 0; i < size;) {
        unsigned char c = at[i];
        size_t n = c < 0x80 ? 1 : (c & 0xe0) == 0xc0 ? 2 : (c & 0xf0) == 0xe0 ? 3 : 4;
        if ((c & 0xc0) == 0x80 || c > 0xf7 || n > size - i) return false;
        uint32_t scalar = n == 1 ? c : c & (0xffu >> (n + 1));
        for (size_t k = 1; k < n; k++) {
            if ((at[i + k] & 0xc0) != 0x80) return false;
            scalar = scalar << 6 | (at[i + k] & 0x3f);
        }
        if (scalar < least[n] || scalar > 0x10ffff || (scalar >= 0xd800 && scalar <= 0xdfff))
            return false;
        i += n;
    }
    return true;
}

static bool take_bytewise(const unsigned char *bytes, size_t size) {
    afc__utf8 text = {0};
    for (size_t i = 0; i < size; i++) {
        if (!afc__utf8_take(&text, (afc_slice){(const char *)bytes + i, 1})) return false;
    }
    return afc__utf8_is_complete(&text);
}

static void check_text(const unsigned char *bytes, size_t size) {
    bool expected = is_utf8_by_definition(bytes, size);
    bool whole = afc__is_utf8((afc_slice){(const char *)bytes, size});
    if (whole != expected || take_bytewise(bytes, size) != expected) {
        fail_msg("%02x %02x %02x %02x, size %zu: expected %d", bytes[0], bytes[1], bytes[2],
                 bytes[3], size, expected);
    }
}

static void agrees_with_definition_on_all_short_sequences(void **state) {
    (void)state;
    unsigned char bytes[4] = {0};
    check_text(bytes, 0);
    for (unsigned n = 0; n < 1u << 24; n++) {
        bytes[0] = (unsigned char)n;
        bytes[1] = (unsigned char)(n >> 8);
        bytes[2] = (unsigned char)(n >> 16);
        if (n < 1u << 8) check_text(bytes, 1);
        if (n < 1u << 16) check_text(bytes, 2);
        check_text(bytes, 3);
    }
}

static void agrees_with_definition_on_four_bytes_at_the_limits(void **state) {
    (void)state;
    static const unsigned char edges[] = {0x00, 0x7f, 0x80, 0x8f, 0x90, 0x9f, 0xa0, 0xbf,
                                          0xc0, 0xc2, 0xdf, 0xe0, 0xed, 0xef, 0xff};
    for (unsigned first = 0; first < 256; first++) {
        for (unsigned second = 0; second < 256; second++) {
            for (size_t i = 0; i < COUNT_OF(edges) * COUNT_OF(edges); i++) {
                unsigned char bytes[4] = {(unsigned char)first, (unsigned char)second,
                                          edges[i / COUNT_OF(edges)], edges[i % COUNT_OF(edges)]};
                check_text(bytes, 4);
            }
        }
    }
}

static void finds_wrong_byte_at_every_place_of_long_text(void **state) {
    (void)state;
    char text[64];
    for (size_t at = 0; at < sizeof text; at++) {
        memset(text, 'a', sizeof text);
        assert_true(afc__is_utf8((afc_slice){text, sizeof text}));
        text[at] = (char)0xff;
        assert_false(afc__is_utf8((afc_slice){text, sizeof text}));
        for (size_t size = 0; size <= at; size++) {
            assert_true(afc__is_utf8((afc_slice){text, size}));
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(agrees_with_definition_on_all_short_sequences),
        cmocka_unit_test(agrees_with_definition_on_four_bytes_at_the_limits),
        cmocka_unit_test(finds_wrong_byte_at_every_place_of_long_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
