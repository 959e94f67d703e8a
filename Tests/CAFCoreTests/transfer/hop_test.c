/* What begins anew with each hop, and the questions that the driver asks about it. */
#include "base/alloc.h"
#include "support/check.h"
#include "transfer/transfer.h"

#include <string.h>

static void cleared_hop_equals_new_hop(void **state) {
    (void)state;
    static const afc__hop new;
    static const afc__proxy proxy;
    static afc__head_reader reader;
    afc__hop hop = {
        .phase = AFC__PHASE_DISCARDING,
        .shares_connection = true,
        .is_held = true,
        .cookies = afc__copy_text(S("a=b")),
        .proxy = &proxy,
        .reader = &reader,
        .framing = {AFC__FRAMING_LENGTH, 5, true, false},
        .decoded = 1,
        .discarded = 2,
        .kept_offset = 1,
        .kept_received = 4,
        .location = afc__copy_text(S("http://b/")),
    };
    afc__buffer_init(&hop.kept, 100);
    check_status(afc__buffer_append(&hop.kept, "kept", 4), AFC_OK);
    assert_non_null(afc__hop_make_next(&hop));
    assert_non_null(afc__hop_make_next(&hop));
    afc__hop_clear(&hop);
    assert_memory_equal(&hop, &new, sizeof hop);
}

typedef struct row {
    afc__phase phase;
    afc__framing framing;
    uint64_t decoded, discarded;
    int64_t missing; /* Bytes missing of a body of which 2 bytes were received. */
    bool is_whole;
} row;

static void knows_when_the_body_is_complete(void **state) {
    (void)state;
    static const row rows[] = {
        {AFC__PHASE_BODY, {AFC__FRAMING_NONE, 9, false, false}, 0, 0, 0, true},
        {AFC__PHASE_BODY, {AFC__FRAMING_LENGTH, 5, false, false}, 5, 0, 3, true},
        {AFC__PHASE_BODY, {AFC__FRAMING_LENGTH, 5, false, false}, 4, 5, 3, false},
        {AFC__PHASE_BODY, {AFC__FRAMING_LENGTH, 5, true, false}, 5, 0, 3, false},
        {AFC__PHASE_BODY, {AFC__FRAMING_CHUNKED, -1, false, false}, 5, 0, INT64_MAX, false},
        {AFC__PHASE_BODY, {AFC__FRAMING_CLOSE, -1, false, false}, 5, 0, INT64_MAX, false},
        {AFC__PHASE_DISCARDING, {AFC__FRAMING_LENGTH, 5, false, false}, 0, 5, 3, true},
        {AFC__PHASE_CHALLENGED, {AFC__FRAMING_LENGTH, 5, false, false}, 5, 4, 3, false},
        {AFC__PHASE_AWAITING_ANSWER, {AFC__FRAMING_LENGTH, 5, false, false}, 5, 5, 3, false},
        {AFC__PHASE_HEAD, {AFC__FRAMING_NONE, 0, false, false}, 0, 0, 0, false},
        {AFC__PHASE_HEAD_PENDING, {AFC__FRAMING_NONE, 0, false, false}, 0, 0, 0, false},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        afc__transfer transfer = {.hop = {.phase = rows[i].phase,
                                          .framing = rows[i].framing,
                                          .decoded = rows[i].decoded,
                                          .discarded = rows[i].discarded}};
        bool fits = afc__hop_bytes_missing(&transfer.hop, 2) == rows[i].missing &&
                    afc__transfer_has_whole_body(&transfer) == rows[i].is_whole;
        if (!fits) fail_msg("row %zu", i);
    }
}

static void decodes_body_unless_its_encoding_is_kept(void **state) {
    (void)state;
    static const afc__coding codings[] = {AFC__CODING_DECODED, AFC__CODING_AVOIDED,
                                          AFC__CODING_KEPT};
    for (size_t i = 0; i < COUNT_OF(codings); i++) {
        afc__transfer transfer = {
            .coding = codings[i],
            .hop = {.phase = AFC__PHASE_BODY, .framing = {AFC__FRAMING_LENGTH, 5, true, false}}};
        bool is_decoded = codings[i] != AFC__CODING_KEPT;
        assert_int_equal(afc__transfer_decodes_body(&transfer), is_decoded);
        assert_int_equal(afc__transfer_has_plain_body(&transfer), !is_decoded);
        /* Such as the 101 of an upgrade: what follows isn't a body of HTTP. */
        transfer.hop.framing.kind = AFC__FRAMING_NONE;
        assert_false(afc__transfer_decodes_body(&transfer));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cleared_hop_equals_new_hop),
        cmocka_unit_test(knows_when_the_body_is_complete),
        cmocka_unit_test(decodes_body_unless_its_encoding_is_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
