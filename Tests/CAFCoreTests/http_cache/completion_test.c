/* Completing a stored part with its rest: RFC 9111 3.3, 3.4. */
#include "http_cache/completion.h"
#include "support/head.h"

#include <string.h>

#define MODIFIED "Last-Modified: Sun, 06 Nov 1994 08:49:37 GMT"
#define LATER "\nDate: Sun, 06 Nov 1994 08:50:37 GMT"
#define SOON "\nDate: Sun, 06 Nov 1994 08:50:36 GMT"

static void part_at_the_beginning_of_a_known_size_is_one(void **state) {
    (void)state;
    static const struct {
        int status;
        int64_t start, total;
        uint64_t size;
        unsigned flags;
        bool is_beginning;
    } rows[] = {
        {206, 0, 10, 5, 0, true},  {206, 0, 10, 9, 0, true},   {206, 0, 10, 10, 0, false},
        {206, 1, 10, 5, 0, false}, {206, 0, -1, 5, 0, false},  {206, 0, 10, 0, 0, false},
        {200, 0, 10, 5, 0, false}, {206, 0, 10, 11, 0, false}, {206, 0, 10, 5, 1, false},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        afc__http_cache_meta meta = {.head = {.status = rows[i].status},
                                     .range_start = rows[i].start,
                                     .total = rows[i].total,
                                     .flags = rows[i].flags};
        if (afc__part_is_beginning(&meta, rows[i].size) != rows[i].is_beginning) {
            fail_msg("row %zu", i);
        }
    }
}

static void rest_is_asked_for_with_a_strong_validator_if_there_is_one(void **state) {
    (void)state;
    static const struct {
        const char *fields, *condition; /* NULL: none. */
    } rows[] = {
        {"ETag: \"a\"", "\"a\""},
        {"ETag: W/\"a\"", NULL},
        {"ETag: a", NULL},
        {"", NULL},
        {MODIFIED LATER, "Sun, 06 Nov 1994 08:49:37 GMT"},
        {MODIFIED SOON, NULL},
        {MODIFIED, NULL},
        {"ETag: \"a\"\n" MODIFIED LATER, "\"a\""},
        /* A date isn't used beside an ETag, even a weak one (RFC 9110 13.1.5). */
        {"ETag: W/\"a\"\n" MODIFIED LATER, NULL},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        parsed_head head;
        afc_header out[AFC__REST_FIELDS];
        char range[AFC__REST_RANGE_SIZE];
        make_head(&head, 206, rows[i].fields);
        size_t count = afc__rest_fields_write(out, range, &head.head, 5);
        check_slice(out[0].name, "Range");
        check_slice(out[0].value, "bytes=5-");
        assert_int_equal(count, rows[i].condition != NULL ? 2 : 1);
        if (rows[i].condition == NULL) continue;
        check_slice(out[1].name, "If-Range");
        check_slice(out[1].value, rows[i].condition);
    }
}

static void beginning_that_can_be_completed_is_useful(void **state) {
    (void)state;
    static const struct {
        int status;
        const char *fields;
        uint64_t size;
        bool is_useful;
    } rows[] = {
        {200, "Content-Length: 10\nETag: \"a\"", 1, true},
        {200, "Content-Length: 10\nETag: \"a\"", 9, true},
        {200, "Content-Length: 10\n" MODIFIED LATER, 5, true},
        {200, "Content-Length: 10\nETag: \"a\"\nAccept-Ranges: bytes", 5, true},
        {200, "Content-Length: 10\nETag: \"a\"\nContent-Encoding: identity", 5, true},
        {200, "Content-Length: 10\nETag: \"a\"", 0, false},
        {200, "Content-Length: 10\nETag: \"a\"", 10, false},
        {200, "Content-Length: 10\nETag: \"a\"", 11, false},
        {203, "Content-Length: 10\nETag: \"a\"", 5, false},
        {206, "Content-Length: 10\nETag: \"a\"", 5, false},
        {200, "ETag: \"a\"", 5, false},
        {200, "Transfer-Encoding: chunked\nETag: \"a\"", 5, false},
        {200, "Content-Length: 10", 5, false},
        {200, "Content-Length: 10\nETag: W/\"a\"", 5, false},
        {200, "Content-Length: 10\n" MODIFIED SOON, 5, false},
        {200, "Content-Length: 10\nETag: \"a\"\nAccept-Ranges: none", 5, false},
        {200, "Content-Length: 10\nETag: \"a\"\nContent-Encoding: gzip", 5, false},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        parsed_head head;
        afc__framing framing;
        make_head(&head, rows[i].status, rows[i].fields);
        head.head.version = AFC_HTTP_1_1;
        check_status(afc__head_framing(&head.head, false, &framing, NULL), AFC_OK);
        if (afc__beginning_is_useful(&head.head, &framing, rows[i].size) != rows[i].is_useful) {
            fail_msg("row %zu", i);
        }
    }
}

static void longest_range_has_room(void **state) {
    (void)state;
    parsed_head head;
    afc_header out[AFC__REST_FIELDS];
    char range[AFC__REST_RANGE_SIZE];
    make_head(&head, 206, "");
    afc__rest_fields_write(out, range, &head.head, UINT64_MAX);
    check_slice(out[0].value, "bytes=18446744073709551615-");
}

static void response_completes_the_part_as_its_row_says(void **state) {
    (void)state;
    static const struct {
        const char *stored;
        int status;
        const char *received;
        int64_t length;
        bool completes;
    } rows[] = {
        {"ETag: \"a\"", 206, "ETag: \"a\"\nContent-Range: bytes 5-9/10", 5, true},
        {"ETag: \"a\"", 206, "ETag: \"a\"\nContent-Range: bytes 5-9/10", 4, false},
        {"ETag: \"a\"", 206, "ETag: \"a\"\nContent-Range: bytes 5-9/10", -1, false},
        {"ETag: \"a\"", 206, "ETag: \"a\"\nContent-Range: bytes 5-8/10", 4, false},
        {"ETag: \"a\"", 206, "ETag: \"a\"\nContent-Range: bytes 4-9/10", 6, false},
        {"ETag: \"a\"", 206, "ETag: \"a\"\nContent-Range: bytes 6-9/10", 4, false},
        {"ETag: \"a\"", 206, "ETag: \"a\"\nContent-Range: bytes 5-10/11", 6, false},
        {"ETag: \"a\"", 206, "ETag: \"a\"\nContent-Range: bytes 5-9/*", 5, false},
        {"ETag: \"a\"", 206, "ETag: \"a\"", 5, false},
        {"ETag: \"a\"", 200, "ETag: \"a\"\nContent-Range: bytes 5-9/10", 5, false},
        {"ETag: \"a\"", 206, "ETag: \"b\"\nContent-Range: bytes 5-9/10", 5, false},
        {"ETag: \"a\"", 206, "ETag: W/\"a\"\nContent-Range: bytes 5-9/10", 5, false},
        {"ETag: W/\"a\"", 206, "ETag: W/\"a\"\nContent-Range: bytes 5-9/10", 5, false},
        {"ETag: \"a\"", 206, "Content-Range: bytes 5-9/10", 5, false},
        {"", 206, "ETag: \"a\"\nContent-Range: bytes 5-9/10", 5, false},
        {"", 206, "Content-Range: bytes 5-9/10", 5, false},
        {MODIFIED LATER, 206, MODIFIED LATER "\nContent-Range: bytes 5-9/10", 5, true},
        {MODIFIED LATER, 206, MODIFIED SOON "\nContent-Range: bytes 5-9/10", 5, false},
        {MODIFIED LATER, 206, "ETag: \"a\"\nContent-Range: bytes 5-9/10", 5, false},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        parsed_head stored, received;
        make_head(&stored, 206, rows[i].stored);
        make_head(&received, rows[i].status, rows[i].received);
        afc__http_cache_meta meta = {.head = stored.head, .total = 10};
        afc__framing framing = {.kind = rows[i].length >= 0 ? AFC__FRAMING_LENGTH
                                                            : AFC__FRAMING_CHUNKED,
                                .length = rows[i].length};
        if (afc__rest_completes(&meta, 5, &received.head, &framing) != rows[i].completes) {
            fail_msg("row %zu", i);
        }
        framing.is_encoded = true;
        assert_false(afc__rest_completes(&meta, 5, &received.head, &framing));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(part_at_the_beginning_of_a_known_size_is_one),
        cmocka_unit_test(rest_is_asked_for_with_a_strong_validator_if_there_is_one),
        cmocka_unit_test(beginning_that_can_be_completed_is_useful),
        cmocka_unit_test(longest_range_has_room),
        cmocka_unit_test(response_completes_the_part_as_its_row_says),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
