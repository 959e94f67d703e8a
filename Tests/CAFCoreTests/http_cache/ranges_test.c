/* Range and Content-Range: RFC 9110 14. */
#include "http_cache/rules/ranges.h"
#include "support/head.h"

static void range_is_read_for_a_size(void **state) {
    (void)state;
    enum {
        WHOLE = AFC__PART_ABSENT,
        PART = AFC__PART_SATISFIABLE,
        BEHIND = AFC__PART_UNSATISFIABLE,
        OTHER = AFC__PART_OTHER
    };
    static const struct {
        const char *fields;
        int64_t total;
        int kind;
        int64_t first, last;
    } rows[] = {
        {"", 10, WHOLE, 0, 0},
        {"Range: bytes=0-0", 10, PART, 0, 0},
        {"Range: bytes=0-4", 10, PART, 0, 4},
        {"range: BYTES=2-4", 10, PART, 2, 4},
        {"Range: bytes=2-", 10, PART, 2, 9},
        {"Range: bytes=9-", 10, PART, 9, 9},
        {"Range: bytes=2-100", 10, PART, 2, 9},
        {"Range: bytes=-1", 10, PART, 9, 9},
        {"Range: bytes=-10", 10, PART, 0, 9},
        {"Range: bytes=-100", 10, PART, 0, 9},
        {"Range: bytes= 2-4 ", 10, PART, 2, 4},
        {"Range: bytes=2-9223372036854775807", 10, PART, 2, 9},
        {"Range: bytes=10-", 10, BEHIND, 0, 0},
        {"Range: bytes=10-20", 10, BEHIND, 0, 0},
        {"Range: bytes=-0", 10, BEHIND, 0, 0},
        {"Range: bytes=0-", 0, BEHIND, 0, 0},
        {"Range: bytes=-1", 0, BEHIND, 0, 0},
        {"Range: bytes=4-2", 10, OTHER, 0, 0},
        {"Range: bytes=0-1,3-4", 10, OTHER, 0, 0},
        {"Range: bytes=0-1, 3-4", 10, OTHER, 0, 0},
        {"Range: bytes=", 10, OTHER, 0, 0},
        {"Range: bytes=-", 10, OTHER, 0, 0},
        {"Range: bytes=a-b", 10, OTHER, 0, 0},
        {"Range: bytes=1", 10, OTHER, 0, 0},
        {"Range: bytes 0-1", 10, OTHER, 0, 0},
        {"Range: items=0-1", 10, OTHER, 0, 0},
        {"Range: 0-1", 10, OTHER, 0, 0},
        {"Range:", 10, OTHER, 0, 0},
        {"Range: bytes=--1", 10, OTHER, 0, 0},
        {"Range: bytes=+1-2", 10, OTHER, 0, 0},
        {"Range: bytes=1-9223372036854775808", 10, OTHER, 0, 0},
        {"Range: bytes=0-1\nRange: bytes=0-1", 10, OTHER, 0, 0},
        {"Range: bytes=0-1", -1, OTHER, 0, 0},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        parsed_head request;
        afc__byte_range range = {0, 0};
        make_head(&request, 200, rows[i].fields);
        afc__part_kind kind = afc__part_read(request.headers, request.head.header_count,
                                             rows[i].total, &range);
        bool is_same = (int)kind == rows[i].kind;
        if (kind == AFC__PART_SATISFIABLE) {
            is_same = is_same && range.first == rows[i].first && range.last == rows[i].last;
        }
        if (!is_same) {
            fail_msg("%s: %d, %lld-%lld", rows[i].fields, (int)kind, (long long)range.first,
                     (long long)range.last);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(range_is_read_for_a_size),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
