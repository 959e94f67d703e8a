/* Going on with a download: tokens and their text, what is asked, what every answer means. */
#include "message/resume.h"

#include "base/alloc.h"
#include "support/head.h"
#include "support/torture.h"

#include <afcore/resume.h>
#include <afcore/task.h>
#include <stdlib.h>
#include <string.h>

/* Digests of the empty text. */
#define MD5_OF_NOTHING "1B2M2Y8AsgTpgAmY7PhCfg=="
#define SHA_256_OF_NOTHING "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="

/* ---- Making a token ------------------------------------------------------------------------ */

#define LONG_AGO "Last-Modified: Sun, 06 Nov 1994 08:49:37 GMT"

static void finds_whether_a_response_can_be_resumed(void **state) {
    (void)state;
    static const struct {
        int status;
        const char *fields;
        const char *reason; /* A part of it; NULL: it can be. */
    } rows[] = {
        {200, "ETag: \"a\"", NULL},
        {200, "ETag: \"\"", NULL},
        {200, "ETag: \"a,b;c\xE9\"\nAccept-Ranges: bytes", NULL},
        {200, "ETag: \"a\"\nETag: \"a\"", NULL},
        {200, "ETag: \"a\"\nLast-Modified: rubbish", NULL},
        {200, "ETag: \"a\"\nContent-Encoding: identity", NULL},
        {200, LONG_AGO "\nDate: Sun, 06 Nov 1994 08:50:37 GMT", NULL},
        {200, LONG_AGO "\nDate: Sunday, 06-Nov-94 09:50:37 GMT", NULL},
        {200, LONG_AGO "\nDate: Sun, 06 Nov 1994 08:50:36 GMT", "too close"},
        {200, LONG_AGO "\nDate: Sun, 06 Nov 1994 08:49:37 GMT", "too close"},
        {200, LONG_AGO "\nDate: Sat, 05 Nov 1994 08:49:37 GMT", "too close"},
        {200, LONG_AGO, "without a Date"},
        {200, LONG_AGO "\nDate: today", "without a Date"},
        {200, LONG_AGO "\nLast-Modified: Mon, 07 Nov 1994 08:49:37 GMT\nDate: x", "neither ETag"},
        {200, "Last-Modified: 0\nDate: Sun, 06 Nov 1994 08:50:37 GMT", "isn't a date"},
        {200, "", "neither ETag nor Last-Modified"},
        {200, "ETag: W/\"a\"", "weak"},
        {200, "ETag: W/\"a\"\n" LONG_AGO "\nDate: Sun, 06 Nov 1994 09:50:37 GMT", "weak"},
        {200, "ETag: a", "invalid"},
        {200, "ETag: \"a", "invalid"},
        {200, "ETag: \"", "invalid"},
        {200, "ETag: \"a\" \"b\"", "invalid"},
        {200, "ETag: \"a\tb\"", "invalid"},
        {200, "ETag: \"a\"\nETag: \"b\"", "conflicting ETags"},
        {200, "ETag: \"a\"\nAccept-Ranges: none", "no ranges"},
        {200, "ETag: \"a\"\nContent-Encoding: gzip", "encoded"},
        {203, "ETag: \"a\"", "isn't the whole file"},
        {206, "ETag: \"a\"", "isn't the whole file"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        parsed_head parsed_head;
        afc__resume_token token;
        const char *reason;
        make_head(&parsed_head, rows[i].status, rows[i].fields);
        check_status(afc__resume_make(&token, S("http://h/"), &parsed_head.head,
                                      &parsed_head.framing, 0, &reason),
                     AFC_OK);
        if ((reason == NULL) != (rows[i].reason == NULL)) fail_msg("%s", rows[i].fields);
        if (reason != NULL) check_contains(reason, rows[i].reason);
        assert_int_equal(afc__resume_exists(&token), reason == NULL);
        afc__resume_clear(&token);
    }
}

static void limits_the_length_of_validators(void **state) {
    (void)state;
    char tag[AFC__RESUME_VALIDATOR_MAX + 1];
    memset(tag, 'x', sizeof tag);
    tag[0] = '"';
    for (size_t size = sizeof tag - 1; size <= sizeof tag; size++) {
        tag[size - 2] = 'x';
        tag[size - 1] = '"';
        afc_header header = {S("ETag"), {tag, size}, 0};
        afc_head head = {.status = 200, .headers = &header, .header_count = 1};
        afc__framing framing = {.kind = AFC__FRAMING_CLOSE, .length = AFC_LENGTH_UNKNOWN};
        afc__resume_token token;
        const char *reason;
        check_status(afc__resume_make(&token, S("http://h/"), &head, &framing, 0, &reason), AFC_OK);
        assert_int_equal(reason == NULL, size < sizeof tag);
        afc__resume_clear(&token);
    }
}

/* ---- The text ------------------------------------------------------------------------------ */

#define HEAD_LINES "afcore-resume 1\nurl http://h/a\n"
#define TAG_LINE "etag \"x\"\n"
#define LENGTH_LINES "total 10\nreceived 4\n"
#define TAIL_LINES "file 1 2 3\nend\n"

static void check_round(afc_slice text) {
    afc__resume_token token;
    afc_failure failure = {0};
    afc_status status = afc__resume_read(&token, text, &failure);
    if (status != AFC_OK) fail_msg("%s: %s", text.bytes, failure.text);
    afc__buffer out;
    afc__buffer_init(&out, AFC__RESUME_MAX);
    check_status(afc__resume_write(&token, &out), AFC_OK);
    assert_int_equal(out.size, text.size);
    assert_memory_equal(out.bytes, text.bytes, text.size);
    afc__buffer_clear(&out);
    afc__resume_clear(&token);
}

static void tokens_round_trip_as_text(void **state) {
    (void)state;
    static const char *const texts[] = {
        HEAD_LINES TAG_LINE LENGTH_LINES TAIL_LINES,
        HEAD_LINES TAG_LINE "total 0\nreceived 0\n" TAIL_LINES,
        HEAD_LINES TAG_LINE "total unknown\nreceived 9223372036854775807\n" TAIL_LINES,
        HEAD_LINES TAG_LINE "total 9223372036854775807\nreceived 9223372036854775807\n" TAIL_LINES,
        HEAD_LINES "modified Sun, 06 Nov 1994 08:49:37 GMT\n" LENGTH_LINES TAIL_LINES,
        HEAD_LINES TAG_LINE LENGTH_LINES "digest sha-256=" SHA_256_OF_NOTHING "\n" TAIL_LINES,
        HEAD_LINES TAG_LINE LENGTH_LINES
        "file 18446744073709551615 18446744073709551615 18446744073709551615\n"
        "end\n",
        "afcore-resume 1\nurl https://[::1]:8443/a%20b?c=d\n" TAG_LINE LENGTH_LINES TAIL_LINES,
        HEAD_LINES "etag \"\xC3\xA9;,=\"\n" LENGTH_LINES TAIL_LINES,
    };
    for (size_t i = 0; i < COUNT_OF(texts); i++) check_round(afc_slice_of(texts[i]));
}

static void mark_tells_tokens_of_any_version(void **state) {
    (void)state;
    static const char mark[] = "afcore-resume ";
    assert_int_equal(strlen(mark), AFC_RESUME_MARK_SIZE);
    assert_true(afc_resume_is_token(S(HEAD_LINES)));
    assert_true(afc_resume_is_token(S("afcore-resume 9 damaged")));
    for (size_t size = 0; size <= AFC_RESUME_MARK_SIZE; size++) {
        assert_int_equal(afc_resume_is_token((afc_slice){mark, size}),
                         size == AFC_RESUME_MARK_SIZE);
    }
    assert_false(afc_resume_is_token(S("afcore-resumes 1")));
    assert_false(afc_resume_is_token((afc_slice){NULL, 0}));
}

static void token_tells_url_size_and_validator(void **state) {
    (void)state;
    afc_resume_info info;
    afc_failure failure;
    check_status(afc_resume_info_read(&info, S(HEAD_LINES TAG_LINE LENGTH_LINES TAIL_LINES), NULL),
                 AFC_OK);
    check_slice(info.url, "http://h/a");
    check_slice(info.validator, "\"x\"");
    assert_int_equal(info.total, 10);
    assert_int_equal(info.received, 4);
    check_status(
        afc_resume_info_read(&info, S(HEAD_LINES TAG_LINE "total unknown\nreceived 4\n" TAIL_LINES),
                             &failure),
        AFC_OK);
    assert_int_equal(info.total, -1);
    check_status(afc_resume_info_read(&info, S("no token"), &failure), AFC_EINVAL);
    check_contains(failure.text, "damaged");
    assert_int_equal(info.url.size, 0);
}

static void refuses_damaged_tokens(void **state) {
    (void)state;
    static const struct {
        afc_slice text;
        const char *damage;
    } rows[] = {
        {ROW_S(""), "unknown format"},
        {ROW_S("afcore-resume 1"), "unknown format"},
        {ROW_S("afcore-resume 2\n"), "unknown format"},
        {ROW_S("\xEF\xBB\xBF" HEAD_LINES TAG_LINE LENGTH_LINES TAIL_LINES), "unknown format"},
        {ROW_S("afcore-resume 1\r\nurl http://h/a\r\n"), "unknown format"},
        {ROW_S("afcore-resume 1\n" TAG_LINE LENGTH_LINES TAIL_LINES), "URL"},
        {ROW_S("afcore-resume 1\nurl ftp://h/a\n" TAG_LINE LENGTH_LINES TAIL_LINES), "URL"},
        {ROW_S("afcore-resume 1\nurl http://H/a\n" TAG_LINE LENGTH_LINES TAIL_LINES), "URL"},
        {ROW_S("afcore-resume 1\nurl http://u:p@h/a\n" TAG_LINE LENGTH_LINES TAIL_LINES), "URL"},
        {ROW_S("afcore-resume 1\nurl \n" TAG_LINE LENGTH_LINES TAIL_LINES), "URL"},
        {ROW_S(HEAD_LINES "etag W/\"x\"\n" LENGTH_LINES TAIL_LINES), "validator"},
        {ROW_S(HEAD_LINES "etag x\n" LENGTH_LINES TAIL_LINES), "validator"},
        {ROW_S(HEAD_LINES "etag \"x\r\"\n" LENGTH_LINES TAIL_LINES), "validator"},
        {ROW_S(HEAD_LINES "etag \"x\0\"\n" LENGTH_LINES TAIL_LINES), "validator"},
        {ROW_S(HEAD_LINES "etag \"x\"\r\n" LENGTH_LINES TAIL_LINES), "validator"},
        {ROW_S(HEAD_LINES "modified yesterday\n" LENGTH_LINES TAIL_LINES), "validator"},
        {ROW_S(HEAD_LINES LENGTH_LINES TAIL_LINES), "validator"},
        {ROW_S(HEAD_LINES TAG_LINE TAG_LINE LENGTH_LINES TAIL_LINES), "length"},
        {ROW_S(HEAD_LINES TAG_LINE "total -1\nreceived 0\n" TAIL_LINES), "length"},
        {ROW_S(HEAD_LINES TAG_LINE "total 9223372036854775808\nreceived 0\n" TAIL_LINES), "length"},
        {ROW_S(HEAD_LINES TAG_LINE "total 1e3\nreceived 0\n" TAIL_LINES), "length"},
        {ROW_S(HEAD_LINES TAG_LINE "total 3\nreceived 4\n" TAIL_LINES), "length"},
        {ROW_S(HEAD_LINES TAG_LINE "total 3\nreceived unknown\n" TAIL_LINES), "length"},
        {ROW_S(HEAD_LINES TAG_LINE "total 3\nreceived \n" TAIL_LINES), "length"},
        {ROW_S(HEAD_LINES TAG_LINE "received 4\ntotal 10\n" TAIL_LINES), "length"},
        {ROW_S(HEAD_LINES TAG_LINE LENGTH_LINES), "truncated"},
        {ROW_S(HEAD_LINES TAG_LINE LENGTH_LINES "digest sha-256=AA\n" TAIL_LINES), "digest"},
        {ROW_S(HEAD_LINES TAG_LINE LENGTH_LINES "digest md5=" MD5_OF_NOTHING "\n"), "truncated"},
        {ROW_S(HEAD_LINES TAG_LINE LENGTH_LINES "end\n"), "file"},
        {ROW_S(HEAD_LINES TAG_LINE LENGTH_LINES "file 1 2\nend\n"), "file"},
        {ROW_S(HEAD_LINES TAG_LINE LENGTH_LINES "file 1 2 18446744073709551616\nend\n"), "file"},
        {ROW_S(HEAD_LINES TAG_LINE LENGTH_LINES "file 1 2 3 \nend\n"), "file"},
        {ROW_S(HEAD_LINES TAG_LINE LENGTH_LINES "file 1  2 3\nend\n"), "file"},
        {ROW_S(HEAD_LINES TAG_LINE LENGTH_LINES "file 1 2 3 4\nend\n"), "file"},
        {ROW_S(HEAD_LINES TAG_LINE LENGTH_LINES "file 1 2 3\n"), "truncated"},
        {ROW_S(HEAD_LINES TAG_LINE LENGTH_LINES "file 1 2 3\nend"), "truncated"},
        {ROW_S(HEAD_LINES TAG_LINE LENGTH_LINES TAIL_LINES "\n"), "after the end"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        afc__resume_token token;
        afc_failure failure = {0};
        if (afc__resume_read(&token, rows[i].text, &failure) != AFC_EINVAL) {
            fail_msg("row %zu: %s", i, rows[i].text.bytes);
        }
        check_contains(failure.text, rows[i].damage);
        assert_false(afc__resume_exists(&token));
        assert_null(token.block);
    }
}

static void limits_the_length_of_tokens(void **state) {
    (void)state;
    size_t size = AFC__RESUME_MAX + 1;
    char *text = malloc(size);
    assert_non_null(text);
    memset(text, 'a', size);
    memcpy(text, HEAD_LINES, sizeof HEAD_LINES - 1);
    afc__resume_token token;
    afc_resume_info info;
    afc_failure failure = {0};
    check_status(afc__resume_read(&token, (afc_slice){text, size}, &failure), AFC_EINVAL);
    check_contains(failure.text, "too long");
    check_status(afc_resume_info_read(&info, (afc_slice){text, size}, &failure), AFC_EINVAL);
    free(text);
}

static void any_allocation_may_fail(void **state) {
    (void)state;
    TORTURE(n) {
        parsed_head parsed_head;
        afc__resume_token made = {0}, read = {0};
        const char *reason = NULL;
        afc__buffer out;
        afc__buffer_init(&out, AFC__RESUME_MAX);
        make_head(&parsed_head, 200, "ETag: \"a\"\nContent-MD5: " MD5_OF_NOTHING);
        afc_status status = afc__resume_make(&made, S("http://h/"), &parsed_head.head,
                                             &parsed_head.framing, 0, &reason);
        if (status == AFC_OK) status = afc__resume_write(&made, &out);
        if (status == AFC_OK) {
            status = afc__resume_read(&read, (afc_slice){out.bytes, out.size}, NULL);
        }
        assert_true(status == AFC_OK || status == AFC_ENOMEM);
        afc__buffer_clear(&out);
        afc__resume_clear(&made);
        afc__resume_clear(&read);
    }
}

/* ---- Asking and judging -------------------------------------------------------------------- */

static afc__resume_token read_token(const char *text) {
    afc__resume_token token;
    check_status(afc__resume_read(&token, afc_slice_of(text), NULL), AFC_OK);
    return token;
}

static void requests_the_rest_with_if_range(void **state) {
    (void)state;
    afc__resume_token token = read_token(HEAD_LINES TAG_LINE LENGTH_LINES TAIL_LINES);
    char range[AFC__RESUME_RANGE_SIZE];
    afc_header fields[2];
    afc__resume_ask(&token, INT64_MAX, range, fields);
    check_slice(fields[0].name, "Range");
    check_slice(fields[0].value, "bytes=9223372036854775807-");
    check_slice(fields[1].name, "If-Range");
    check_slice(fields[1].value, "\"x\"");
    afc__resume_clear(&token);
}

#define BY_TAG HEAD_LINES TAG_LINE LENGTH_LINES TAIL_LINES
#define BY_TAG_OF_UNKNOWN HEAD_LINES TAG_LINE "total unknown\nreceived 4\n" TAIL_LINES
#define BY_TAG_OF_MOST HEAD_LINES TAG_LINE "total 9223372036854775807\nreceived 4\n" TAIL_LINES
#define BY_DATE HEAD_LINES "modified Sun, 06 Nov 1994 08:49:37 GMT\n" LENGTH_LINES TAIL_LINES

typedef struct judged {
    const char *token;
    int64_t offset;
    int status;
    const char *fields;
    afc__resume_verdict verdict;
    const char *reason; /* A part of it. */
    int64_t end, total;
} judged;

static void check_judgement(const judged *row) {
    parsed_head parsed_head;
    afc__resume_token token = read_token(row->token);
    make_head(&parsed_head, row->status, row->fields);
    afc__resume_decision decision = afc__resume_decide(&token, row->offset, &parsed_head.head,
                                                       &parsed_head.framing);
    if (decision.verdict != row->verdict) {
        fail_msg("%d %s: %d, %s", row->status, row->fields, (int)decision.verdict,
                 decision.reason != NULL ? decision.reason : "");
    }
    if (row->reason == NULL) {
        assert_null(decision.reason);
        assert_true(decision.total == row->total && decision.end == row->end);
    } else {
        check_contains(decision.reason, row->reason);
    }
    afc__resume_clear(&token);
}

#define CHECK_JUDGEMENTS(rows)                                                                     \
    for (size_t i = 0; i < COUNT_OF(rows); i++) check_judgement(&(rows)[i])

static void appends_only_matching_partial_responses(void **state) {
    (void)state;
    static const judged rows[] = {
        {BY_TAG, 4, 206, "Content-Range: bytes 4-9/10\nETag: \"x\"", AFC__RESUME_APPEND, NULL, 10,
         10},
        {BY_TAG, 4, 206, "Content-Range: BYTES 4-9/10\nETag: \"x\"\nContent-Length: 6",
         AFC__RESUME_APPEND, NULL, 10, 10},
        {BY_TAG, 4, 206, "Content-Range: bytes 4-4/10\nETag: \"x\"", AFC__RESUME_APPEND, NULL, 5,
         10},
        {BY_TAG, 4, 206, "Content-Range: bytes 4-9/10\nContent-Range: bytes 4-9/10\nETag: \"x\"",
         AFC__RESUME_REFUSE, "several", 0, 0},
        {BY_TAG_OF_UNKNOWN, 4, 206, "Content-Range: bytes 4-9/10\nETag: \"x\"", AFC__RESUME_APPEND,
         NULL, 10, 10},
        {BY_TAG_OF_MOST, INT64_MAX - 1, 206,
         "Content-Range: bytes 9223372036854775806-9223372036854775806/9223372036854775807\n"
         "ETag: \"x\"",
         AFC__RESUME_APPEND, NULL, INT64_MAX, INT64_MAX},
        {BY_DATE, 4, 206, "Content-Range: bytes 4-9/10", AFC__RESUME_APPEND, NULL, 10, 10},
        {BY_DATE, 4, 206, "Content-Range: bytes 4-9/10\n" LONG_AGO, AFC__RESUME_APPEND, NULL, 10,
         10},
        {BY_DATE, 4, 206,
         "Content-Range: bytes 4-9/10\nLast-Modified: Mon, 07 Nov 1994 08:49:37 GMT",
         AFC__RESUME_REFUSE, "has changed", 0, 0},
        {BY_TAG, 4, 206, "ETag: \"x\"", AFC__RESUME_REFUSE, "no Content-Range", 0, 0},
        {BY_TAG, 4, 206, "Content-Range: \nETag: \"x\"", AFC__RESUME_REFUSE, "invalid", 0, 0},
        {BY_TAG, 4, 206, "Content-Range: bytes\nETag: \"x\"", AFC__RESUME_REFUSE, "invalid", 0, 0},
        {BY_TAG, 4, 206, "Content-Range: bytes 4-9\nETag: \"x\"", AFC__RESUME_REFUSE, "invalid", 0,
         0},
        {BY_TAG, 4, 206, "Content-Range: bytes=4-9/10\nETag: \"x\"", AFC__RESUME_REFUSE, "invalid",
         0, 0},
        {BY_TAG, 4, 206, "Content-Range: bytes 4/10\nETag: \"x\"", AFC__RESUME_REFUSE, "invalid", 0,
         0},
        {BY_TAG, 4, 206, "Content-Range: bytes 9-4/10\nETag: \"x\"", AFC__RESUME_REFUSE, "invalid",
         0, 0},
        {BY_TAG, 4, 206, "Content-Range: bytes 4-10/10\nETag: \"x\"", AFC__RESUME_REFUSE, "invalid",
         0, 0},
        {BY_TAG, 4, 206, "Content-Range: bytes 4--9/10\nETag: \"x\"", AFC__RESUME_REFUSE, "invalid",
         0, 0},
        {BY_TAG, 4, 206, "Content-Range: bytes  4-9/10\nETag: \"x\"", AFC__RESUME_REFUSE, "invalid",
         0, 0},
        {BY_TAG, 4, 206, "Content-Range: bytes 4-9/10, bytes 4-9/10\nETag: \"x\"",
         AFC__RESUME_REFUSE, "invalid", 0, 0},
        {BY_TAG, 4, 206, "Content-Range: bytes */10\nETag: \"x\"", AFC__RESUME_REFUSE, "invalid", 0,
         0},
        {BY_TAG, 4, 206, "Content-Range: bytes */*\nETag: \"x\"", AFC__RESUME_REFUSE, "invalid", 0,
         0},
        {BY_TAG, 4, 206, "Content-Range: bytes 4-9223372036854775808/*\nETag: \"x\"",
         AFC__RESUME_REFUSE, "invalid", 0, 0},
        {BY_TAG, 4, 206, "Content-Range: bytes 18446744073709551620-9/10\nETag: \"x\"",
         AFC__RESUME_REFUSE, "invalid", 0, 0},
        {BY_TAG, 4, 206, "Content-Range: bytes 4-9/10\nContent-Range: bytes 5-9/10\nETag: \"x\"",
         AFC__RESUME_REFUSE, "several", 0, 0},
        {BY_TAG, 4, 206, "Content-Range: lines 4-9/10\nETag: \"x\"", AFC__RESUME_REFUSE, "in bytes",
         0, 0},
        {BY_TAG, 4, 206, "Content-Range: bytes 0-9/10\nETag: \"x\"", AFC__RESUME_REFUSE,
         "another range", 0, 0},
        {BY_TAG, 4, 206, "Content-Range: bytes 5-9/10\nETag: \"x\"", AFC__RESUME_REFUSE,
         "another range", 0, 0},
        {BY_TAG, 4, 206, "Content-Range: bytes 4-9/*\nETag: \"x\"", AFC__RESUME_REFUSE,
         "file's length", 0, 0},
        {BY_TAG, 4, 206, "Content-Range: bytes 4-10/11\nETag: \"x\"", AFC__RESUME_REFUSE,
         "length has changed", 0, 0},
        {BY_TAG, 4, 206, "Content-Range: bytes 4-9/10\nETag: \"x\"\nContent-Length: 7",
         AFC__RESUME_REFUSE, "Content-Length", 0, 0},
        {BY_TAG, 4, 206, "Content-Range: bytes 4-9/10\nETag: \"y\"", AFC__RESUME_REFUSE,
         "has changed", 0, 0},
        {BY_TAG, 4, 206, "Content-Range: bytes 4-9/10\nETag: W/\"x\"", AFC__RESUME_REFUSE,
         "has changed", 0, 0},
        {BY_TAG, 4, 206, "Content-Range: bytes 4-9/10\nETag: \"x\"\nETag: \"y\"",
         AFC__RESUME_REFUSE, "has changed", 0, 0},
        {BY_TAG, 4, 206, "Content-Range: bytes 4-9/10", AFC__RESUME_REFUSE, "has changed", 0, 0},
        {BY_TAG, 4, 206, "Content-Range: bytes 4-9/10\nETag: \"x\"\nContent-Encoding: gzip",
         AFC__RESUME_REFUSE, "encoded", 0, 0},
        {BY_TAG, 4, 206, "Content-Type: multipart/byteranges; boundary=b\nETag: \"x\"",
         AFC__RESUME_REFUSE, "several ranges", 0, 0},
    };
    CHECK_JUDGEMENTS(rows);
}

static void status_416_is_complete_only_at_the_end(void **state) {
    (void)state;
    static const judged rows[] = {
        {BY_TAG, 10, 416, "Content-Range: bytes */10", AFC__RESUME_COMPLETE, NULL, 10, 10},
        {BY_TAG, 10, 416, "Content-Range: bytes */10\nETag: \"x\"", AFC__RESUME_COMPLETE, NULL, 10,
         10},
        {BY_TAG_OF_UNKNOWN, 4, 416, "Content-Range: bytes */4", AFC__RESUME_COMPLETE, NULL, 4, 4},
        {BY_TAG_OF_MOST, INT64_MAX, 416, "Content-Range: bytes */9223372036854775807",
         AFC__RESUME_COMPLETE, NULL, INT64_MAX, INT64_MAX},
        {BY_DATE, 10, 416, "Content-Range: bytes */10\n" LONG_AGO, AFC__RESUME_COMPLETE, NULL, 10,
         10},
        {BY_TAG, 4, 416, "Content-Range: bytes */3", AFC__RESUME_REFUSE, "shorter", 0, 0},
        {BY_TAG, 4, 416, "Content-Range: bytes */10", AFC__RESUME_REFUSE, "refused a range", 0, 0},
        {BY_TAG, 4, 416, "Content-Range: bytes 4-9/4", AFC__RESUME_REFUSE, "invalid", 0, 0},
        {BY_TAG, 4, 416, "Content-Range: bytes 0-3/4", AFC__RESUME_REFUSE,
         "416 with the Content-Range of a part", 0, 0},
        {BY_TAG, 4, 416, "Content-Range: bytes 0-3/10", AFC__RESUME_REFUSE,
         "416 with the Content-Range of a part", 0, 0},
        {BY_TAG, 4, 416, "Content-Range: bytes */4294967296", AFC__RESUME_REFUSE,
         "refused a range that its file has", 0, 0},
        {BY_TAG, 4, 416, "Content-Range: bytes */4", AFC__RESUME_REFUSE, "length has changed", 0,
         0},
        {BY_TAG, 10, 416, "Content-Range: lines */10", AFC__RESUME_REFUSE, "in bytes", 0, 0},
        {BY_TAG, 10, 416, "Content-Range: bytes */10\nETag: \"y\"", AFC__RESUME_REFUSE,
         "has changed", 0, 0},
        {BY_DATE, 10, 416,
         "Content-Range: bytes */10\nLast-Modified: Mon, 07 Nov 1994 08:49:37 GMT",
         AFC__RESUME_REFUSE, "has changed", 0, 0},
        {BY_TAG, 10, 416, "", AFC__RESUME_REFUSE, "no Content-Range", 0, 0},
    };
    CHECK_JUDGEMENTS(rows);
}

static void other_statuses_void_or_keep_the_part(void **state) {
    (void)state;
    static const judged rows[] = {
        {BY_TAG, 4, 200, "ETag: \"x\"", AFC__RESUME_RESTART, "whole", 0, 0},
        {BY_TAG, 4, 200, "ETag: \"y\"\nContent-Encoding: gzip", AFC__RESUME_RESTART, "whole", 0, 0},
        {BY_TAG, 4, 200, "Content-Range: bytes 4-9/10\nETag: \"x\"", AFC__RESUME_RESTART, "whole",
         0, 0},
        {BY_TAG, 4, 203, "", AFC__RESUME_RESTART, "whole", 0, 0},
        {BY_TAG, 4, 201, "", AFC__RESUME_FAIL, "doesn't contain", 0, 0},
        {BY_TAG, 4, 204, "ETag: \"x\"", AFC__RESUME_FAIL, "doesn't contain", 0, 0},
        {BY_TAG, 4, 205, "", AFC__RESUME_FAIL, "doesn't contain", 0, 0},
        {BY_TAG, 4, 207, "", AFC__RESUME_FAIL, "doesn't contain", 0, 0},
        {BY_TAG, 4, 226, "ETag: \"x\"", AFC__RESUME_FAIL, "doesn't contain", 0, 0},
        {BY_TAG, 4, 404, "", AFC__RESUME_GONE, "no longer exists", 0, 0},
        {BY_TAG, 4, 410, "ETag: \"x\"", AFC__RESUME_GONE, "no longer exists", 0, 0},
        {BY_TAG, 4, 304, "ETag: \"x\"", AFC__RESUME_KEEP, "doesn't contain", 0, 0},
        {BY_TAG, 4, 302, "", AFC__RESUME_KEEP, "doesn't contain", 0, 0},
        {BY_TAG, 4, 401, "", AFC__RESUME_KEEP, "doesn't contain", 0, 0},
        {BY_TAG, 4, 412, "", AFC__RESUME_KEEP, "doesn't contain", 0, 0},
        {BY_TAG, 4, 503, "", AFC__RESUME_KEEP, "doesn't contain", 0, 0},
        {BY_TAG, 4, 999, "", AFC__RESUME_KEEP, "doesn't contain", 0, 0},
    };
    CHECK_JUDGEMENTS(rows);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_whether_a_response_can_be_resumed),
        cmocka_unit_test(limits_the_length_of_validators),
        cmocka_unit_test(tokens_round_trip_as_text),
        cmocka_unit_test(mark_tells_tokens_of_any_version),
        cmocka_unit_test(token_tells_url_size_and_validator),
        cmocka_unit_test(refuses_damaged_tokens),
        cmocka_unit_test(limits_the_length_of_tokens),
        cmocka_unit_test(any_allocation_may_fail),
        cmocka_unit_test(requests_the_rest_with_if_range),
        cmocka_unit_test(appends_only_matching_partial_responses),
        cmocka_unit_test(status_416_is_complete_only_at_the_end),
        cmocka_unit_test(other_statuses_void_or_keep_the_part),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
