/* Range and Content-Range: RFC 9110 14. */
#include "http_cache/ranges.h"
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
        written request;
        afc__byte_range range = {0, 0};
        write_head(&request, 200, rows[i].fields);
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

static void content_range_is_read(void **state) {
    (void)state;
    static const struct {
        const char *fields;
        bool is_valid;
        int64_t first, last, total;
    } rows[] = {
        {"Content-Range: bytes 5-9/10", true, 5, 9, 10},
        {"content-range: Bytes 0-0/1", true, 0, 0, 1},
        {"Content-Range: bytes 5-9/*", true, 5, 9, -1},
        {"Content-Range: bytes 5-10/10", false, 0, 0, 0},
        {"Content-Range: bytes 9-5/10", false, 0, 0, 0},
        {"Content-Range: bytes */10", false, 0, 0, 0},
        {"Content-Range: bytes 5-9", false, 0, 0, 0},
        {"Content-Range: bytes=5-9/10", false, 0, 0, 0},
        {"Content-Range: items 5-9/10", false, 0, 0, 0},
        {"Content-Range: bytes 5-9/x", false, 0, 0, 0},
        {"Content-Range: bytes -9/10", false, 0, 0, 0},
        {"Content-Range: bytes 5-9/10\nContent-Range: bytes 5-9/10", false, 0, 0, 0},
        {"", false, 0, 0, 0},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        written head;
        int64_t total;
        afc__byte_range range;
        write_head(&head, 206, rows[i].fields);
        bool is_valid = afc__content_range_read(&head.head, &range, &total);
        bool is_same = is_valid == rows[i].is_valid &&
                       (!is_valid || (range.first == rows[i].first && range.last == rows[i].last &&
                                      total == rows[i].total));
        if (!is_same) fail_msg("%s", rows[i].fields);
    }
}

static void content_range_is_written(void **state) {
    (void)state;
    char text[AFC__CONTENT_RANGE_ROOM];
    afc__content_range_write(text, (afc__byte_range){5, 9}, 10);
    assert_string_equal(text, "bytes 5-9/10");
    afc__content_range_write(text, (afc__byte_range){INT64_MAX - 1, INT64_MAX - 1}, INT64_MAX);
    assert_string_equal(text, "bytes 9223372036854775806-9223372036854775806/9223372036854775807");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(range_is_read_for_a_size),
        cmocka_unit_test(content_range_is_read),
        cmocka_unit_test(content_range_is_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
