/* Content-Range: RFC 9110 14.4. */
#include "message/content_range.h"
#include "support/head.h"

static void reads_one_valid_content_range(void **state) {
    (void)state;
    enum {
        PART = AFC__CONTENT_RANGE_PART,
        UNSATISFIED = AFC__CONTENT_RANGE_UNSATISFIED,
        MISSING = AFC__CONTENT_RANGE_MISSING,
        REPEATED = AFC__CONTENT_RANGE_REPEATED,
        OTHER_UNIT = AFC__CONTENT_RANGE_OTHER_UNIT,
        INVALID = AFC__CONTENT_RANGE_INVALID
    };
    static const struct {
        const char *fields;
        int kind;
        int64_t first, last, total;
    } rows[] = {
        {"Content-Range: bytes 5-9/10", PART, 5, 9, 10},
        {"content-range: Bytes 0-0/1", PART, 0, 0, 1},
        {"Content-Range: bytes 5-9/*", PART, 5, 9, -1},
        {"Content-Range: bytes 9223372036854775806-9223372036854775806/9223372036854775807", PART,
         INT64_MAX - 1, INT64_MAX - 1, INT64_MAX},
        {"Content-Range: bytes */10", UNSATISFIED, 0, 0, 10},
        {"Content-Range: bytes */0", UNSATISFIED, 0, 0, 0},
        {"", MISSING, 0, 0, 0},
        {"Content-Ranges: bytes 5-9/10", MISSING, 0, 0, 0},
        {"Content-Range: bytes 5-9/10\nContent-Range: bytes 5-9/10", REPEATED, 0, 0, 0},
        {"Content-Range: bytes 5-9/10\nContent-Range: bytes 4-9/10", REPEATED, 0, 0, 0},
        {"Content-Range: items 5-9/10", OTHER_UNIT, 0, 0, 0},
        {"Content-Range: lines */10", OTHER_UNIT, 0, 0, 0},
        {"Content-Range:", INVALID, 0, 0, 0},
        {"Content-Range: bytes", INVALID, 0, 0, 0},
        {"Content-Range: bytes=5-9/10", INVALID, 0, 0, 0},
        {"Content-Range: bytes 5-10/10", INVALID, 0, 0, 0},
        {"Content-Range: bytes 0-0/0", INVALID, 0, 0, 0},
        {"Content-Range: bytes 9-5/10", INVALID, 0, 0, 0},
        {"Content-Range: bytes 5-9", INVALID, 0, 0, 0},
        {"Content-Range: bytes 5/10", INVALID, 0, 0, 0},
        {"Content-Range: bytes 5-9/x", INVALID, 0, 0, 0},
        {"Content-Range: bytes -9/10", INVALID, 0, 0, 0},
        {"Content-Range: bytes 5-/10", INVALID, 0, 0, 0},
        {"Content-Range: bytes 5--9/10", INVALID, 0, 0, 0},
        {"Content-Range: bytes  5-9/10", INVALID, 0, 0, 0},
        {"Content-Range: bytes 5-9/10, bytes 5-9/10", INVALID, 0, 0, 0},
        {"Content-Range: bytes */*", INVALID, 0, 0, 0},
        {"Content-Range: bytes 5-9223372036854775808/*", INVALID, 0, 0, 0},
        {"Content-Range: bytes 18446744073709551621-9/10", INVALID, 0, 0, 0},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        parsed_head head;
        int64_t total = 0;
        afc__byte_range range = {0, 0};
        make_head(&head, 206, rows[i].fields);
        int kind = (int)afc__content_range_read(&head.head, &range, &total);
        bool is_same = kind == rows[i].kind;
        if (kind == PART || kind == UNSATISFIED) is_same = is_same && total == rows[i].total;
        if (kind == PART) {
            is_same = is_same && range.first == rows[i].first && range.last == rows[i].last;
        }
        if (!is_same) fail_msg("%s: %d", rows[i].fields, kind);
    }
}

static void writes_content_ranges(void **state) {
    (void)state;
    char text[AFC__CONTENT_RANGE_SIZE];
    afc__content_range_write(text, (afc__byte_range){5, 9}, 10);
    assert_string_equal(text, "bytes 5-9/10");
    afc__content_range_write(text, (afc__byte_range){INT64_MAX - 1, INT64_MAX - 1}, INT64_MAX);
    assert_string_equal(text, "bytes 9223372036854775806-9223372036854775806/9223372036854775807");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_one_valid_content_range),
        cmocka_unit_test(writes_content_ranges),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
