/* Heads of frames, masks, close codes. */
#include "support/check.h"
#include "websocket/frame.h"

static void writes_heads_that_are_read_again(void **state) {
    (void)state;
    static const uint64_t lengths[] = {0,     1,     125,   126,        127,
                                       65535, 65536, 65537, 4294967296, INT64_MAX};
    static const unsigned char mask[4] = {1, 2, 3, 4};
    for (size_t i = 0; i < COUNT_OF(lengths); i++) {
        for (unsigned bits = 0; bits < 4; bits++) {
            unsigned char head[AFC__FRAME_HEAD_MAX];
            afc__frame frame = {.is_final = (bits & 1) != 0,
                                .is_compressed = (bits & 2) != 0,
                                .opcode = AFC__OP_BINARY,
                                .length = lengths[i]};
            afc__frame again;
            size_t size = afc__frame_write_head(head, &frame, mask);
            assert_int_equal(size, afc__frame_head_size(head));
            assert_memory_equal(head + size - 4, mask, 4);
            afc__frame_read_head(head, &again);
            assert_int_equal(again.length, lengths[i]);
            assert_int_equal(again.is_final, frame.is_final);
            assert_int_equal(again.is_compressed, frame.is_compressed);
            assert_int_equal(again.opcode, AFC__OP_BINARY);
            assert_true(again.is_masked && !again.is_padded && again.reserved == 0);
        }
    }
}

static void masks_like_the_definition_at_every_offset_and_size(void **state) {
    (void)state;
    static const unsigned char mask[4] = {0x37, 0xfa, 0x21, 0x3d};
    char bytes[80], out[80];
    for (size_t i = 0; i < sizeof bytes; i++) bytes[i] = (char)(i * 11);
    for (uint64_t offset = 0; offset < 9; offset++) {
        for (size_t size = 0; size <= 64; size++) {
            for (size_t start = 0; start < 9; start++) {
                memset(out, 0, sizeof out);
                afc__frame_mask(out, bytes + start, size, mask, offset);
                for (size_t i = 0; i < size; i++) {
                    unsigned char expected = (unsigned char)((unsigned char)bytes[start + i] ^
                                                             mask[(offset + i) % 4]);
                    assert_int_equal((unsigned char)out[i], expected);
                }
                for (size_t i = size; i < sizeof out; i++) assert_int_equal(out[i], 0);
            }
        }
    }
}

static void masks_example_of_the_standard(void **state) {
    (void)state;
    static const unsigned char mask[4] = {0x37, 0xfa, 0x21, 0x3d};
    char text[] = "Hello";
    afc__frame_mask(text, text, 5, mask, 0);
    assert_memory_equal(text, "\x7f\x9f\x4d\x51\x58", 5);
}

static void makes_masks_that_differ(void **state) {
    (void)state;
    enum { COUNT = 1000 };
    unsigned char masks[COUNT][4];
    afc__mask_source source = {0};
    int repeats = 0;
    for (int i = 0; i < COUNT; i++) {
        assert_true(afc__frame_make_mask(&source, masks[i]));
        for (int k = 0; k < i; k++) repeats += memcmp(masks[i], masks[k], 4) == 0;
    }
    /* One in 8,600 runs has a repeat among its 500,000 pairs; three are a defect. */
    assert_true(repeats < 3);
}

static void knows_close_codes_that_may_be_sent(void **state) {
    (void)state;
    for (unsigned code = 0; code < 65536; code++) {
        bool is_of_standard = code >= 1000 && code <= 1014 && code != 1004 && code != 1005 &&
                              code != 1006;
        bool expected = is_of_standard || (code >= 3000 && code <= 4999);
        if (afc__close_code_is_valid(code) != expected) fail_msg("code %u", code);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(writes_heads_that_are_read_again),
        cmocka_unit_test(masks_like_the_definition_at_every_offset_and_size),
        cmocka_unit_test(masks_example_of_the_standard),
        cmocka_unit_test(makes_masks_that_differ),
        cmocka_unit_test(knows_close_codes_that_may_be_sent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
