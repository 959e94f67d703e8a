#include "base/alloc.h"
#include "base/text.h"
#include "message/head.h"
#include "support/check.h"
#include "support/torture.h"

#include <afcore/task.h>
#include <stdio.h>

static const afc__head_limits roomy = {64 * 1024, 100, 16};

/** Feed a whole text, line by line as its line feeds cut it; the first failure, or AFC_OK. */
static afc_status feed(afc__head_reader *reader, afc_slice text, afc__head_step *step,
                       afc_failure *failure) {
    while (text.size != 0) {
        const char *end = memchr(text.bytes, '\n', text.size);
        size_t size = end != NULL ? (size_t)(end - text.bytes) + 1 : text.size;
        afc_status status = afc__head_reader_feed(reader, (afc_slice){text.bytes, size}, step,
                                                  failure);
        if (status != AFC_OK) return status;
        text.bytes += size;
        text.size -= size;
    }
    return AFC_OK;
}

/** Read a text that ends in a final head. */
static void read_head(afc__head_reader *reader, const char *text) {
    afc__head_reader_init(reader, roomy);
    afc__head_step step = AFC__HEAD_MORE;
    afc_failure failure;
    if (feed(reader, afc_slice_of(text), &step, &failure) != AFC_OK) {
        fail_msg("%s: %s", text, failure.text);
    }
    assert_int_equal(step, AFC__HEAD_FINAL);
}

static void check_field(const afc_header *field, const char *name, const char *value) {
    check_slice(field->name, name);
    check_slice(field->value, value);
}

/* ---- Heads --------------------------------------------------------------------------------- */

static void keeps_the_head_as_received(void **state) {
    (void)state;
    afc__head_reader reader;
    read_head(&reader, "HTTP/1.1 404 Not quite  here \r\n"
                       "Server: x\r\n"
                       "set-cookie: a=1\r\n"
                       "SET-Cookie:b=2;  c\r\n"
                       "X-Latin: \xE4\xF6 \r\n"
                       "X-Empty:\r\n"
                       "X-Blank: \t \r\n"
                       "X-Colon: a:b: c\r\n"
                       "\r\n");
    const afc_head *head = &reader.head;
    assert_int_equal(head->status, 404);
    assert_int_equal(head->version, AFC_HTTP_1_1);
    check_slice(head->reason, "Not quite  here");
    assert_int_equal(head->header_count, 7);
    check_field(&head->headers[0], "Server", "x");
    check_field(&head->headers[1], "set-cookie", "a=1");
    check_field(&head->headers[2], "SET-Cookie", "b=2;  c");
    check_field(&head->headers[3], "X-Latin", "\xE4\xF6");
    check_field(&head->headers[4], "X-Empty", "");
    check_field(&head->headers[5], "X-Blank", "");
    check_field(&head->headers[6], "X-Colon", "a:b: c");
    assert_ptr_equal(afc_head_find(head, "SET-COOKIE"), &head->headers[1]);
    assert_null(afc_head_find(head, "Set-Cooki"));
    assert_null(afc_head_find(head, ""));
    size_t count = 0;
    const afc_header *cookie = NULL;
    while ((cookie = afc_head_find_next(head, "set-cookie", cookie)) != NULL) {
        assert_true(afc__same_name(cookie->name, "Set-Cookie"));
        count++;
    }
    assert_int_equal(count, 2);
    afc__head_reader_clear(&reader);
}

static void accepts_head_without_fields(void **state) {
    (void)state;
    afc__head_reader reader;
    read_head(&reader, "HTTP/2 204 \n\n");
    assert_int_equal(reader.head.version, AFC_HTTP_2);
    assert_int_equal(reader.head.reason.size, 0);
    assert_int_equal(reader.head.header_count, 0);
    assert_null(afc_head_find(&reader.head, "A"));
    afc__head_reader_clear(&reader);
}

static void reads_status_lines_strictly(void **state) {
    (void)state;
    static const struct {
        afc_slice line;
        int status; /**< 0: refused. */
        afc_http_version version;
    } cases[] = {
        {ROW_S("HTTP/1.0 200 OK\r\n"), 200, AFC_HTTP_1_0},
        {ROW_S("HTTP/1.1 200\r\n"), 200, AFC_HTTP_1_1},
        {ROW_S("HTTP/1.1 200 \n"), 200, AFC_HTTP_1_1},
        {ROW_S("HTTP/2 299 \r\n"), 299, AFC_HTTP_2},
        {ROW_S("HTTP/2.0 999 x\r\n"), 999, AFC_HTTP_2},
        {ROW_S("HTTP/3 200 \r\n"), 200, AFC_HTTP_3},
        {ROW_S("HTTP/9.9 200 \r\n"), 200, AFC_HTTP_UNKNOWN},
        {ROW_S("HTTP/1.1 200 \xFC\r\n"), 200, AFC_HTTP_1_1},
        {ROW_S("\r\n"), 0, 0},
        {ROW_S(""), 0, 0},
        {ROW_S("A: b\r\n"), 0, 0},
        {ROW_S("HTTP/\r\n"), 0, 0},
        {ROW_S("HTTP/1.1\r\n"), 0, 0},
        {ROW_S("HTTP/1.1 \r\n"), 0, 0},
        {ROW_S("HTTP/1.1 20\r\n"), 0, 0},
        {ROW_S("HTTP/1.1x200 OK\r\n"), 0, 0},
        {ROW_S("HTTP/1.1 20x OK\r\n"), 0, 0},
        {ROW_S("HTTP/1.1 2000 OK\r\n"), 0, 0},
        {ROW_S("HTTP/1.1 099 OK\r\n"), 0, 0},
        {ROW_S("HTTP/1.1  200 OK\r\n"), 0, 0},
        {ROW_S("HTTP/1.1 -20 OK\r\n"), 0, 0},
        {ROW_S("HTTP/1. 200 OK\r\n"), 0, 0},
        {ROW_S("HTTP/x 200 OK\r\n"), 0, 0},
        {ROW_S("http/1.1 200 OK\r\n"), 0, 0},
        {ROW_S(" HTTP/1.1 200 OK\r\n"), 0, 0},
        {ROW_S("ICY 200 OK\r\n"), 0, 0},
        {ROW_S("HTTP/1.1 200 O\0K\r\n"), 0, 0},
        {ROW_S("HTTP/1.1 200 O\rK\r\n"), 0, 0},
        {ROW_S("HTTP/1.1 101 Switching\r\n"), 0, 0},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        afc__head_reader reader;
        afc__head_reader_init(&reader, roomy);
        afc__head_step step;
        afc_status status = afc__head_reader_feed(&reader, cases[i].line, &step, NULL);
        if (status != (cases[i].status != 0 ? AFC_OK : AFC_EPROTOCOL)) {
            fail_msg("%.*s", (int)cases[i].line.size, cases[i].line.bytes);
        }
        assert_int_equal(step, AFC__HEAD_MORE);
        if (status == AFC_OK) {
            assert_int_equal(reader.head.status, cases[i].status);
            assert_int_equal(reader.head.version, cases[i].version);
        }
        afc__head_reader_clear(&reader);
    }
}

static void refuses_invalid_lines(void **state) {
    (void)state;
    static const struct {
        afc_slice line;
        const char *reason;
    } cases[] = {
        {ROW_S("no colon\r\n"), "no colon"},
        {ROW_S("HTTP/1.1 200 OK\r\n"), "no colon"},
        {ROW_S(": value\r\n"), "token"},
        {ROW_S("Name : value\r\n"), "token"},
        {ROW_S("Na me: value\r\n"), "token"},
        {ROW_S("N\xE4me: value\r\n"), "token"},
        {ROW_S("Na(me: value\r\n"), "token"},
        {ROW_S("N\0me: value\r\n"), "NUL"},
        {ROW_S("Name: val\0ue\r\n"), "NUL"},
        {ROW_S("Name: val\rue\r\n"), "bare CR"},
        {ROW_S("Name: value\r\r\n"), "bare CR"},
        {ROW_S("Name: value\r"), "bare CR"},
        {ROW_S("\r\r\n"), "bare CR"},
        {ROW_S(" folded\r\n"), "folded"},
        {ROW_S("\tfolded\r\n"), "folded"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        afc__head_reader reader;
        afc__head_reader_init(&reader, roomy);
        afc__head_step step;
        afc_failure failure;
        check_status(feed(&reader, S("HTTP/1.1 200 OK\r\n"), &step, &failure), AFC_OK);
        check_status(afc__head_reader_feed(&reader, cases[i].line, &step, &failure), AFC_EPROTOCOL);
        check_contains(failure.text, cases[i].reason);
        afc__head_reader_clear(&reader);
    }
}

static void joins_folded_lines_with_one_space(void **state) {
    (void)state;
    static const char *const values[] = {"\r\n \t one\r\n  two \r\n\tthree",
                                         " one\r\n \r\n\t\t\r\n two\r\n three",
                                         "one \r\n two three \r\n "};
    for (size_t i = 0; i < COUNT_OF(values); i++) {
        char text[200];
        snprintf(text, sizeof text, "HTTP/1.1 200 OK\r\nA: x\r\nB:%s\r\nC: y\r\n\r\n", values[i]);
        afc__head_reader reader;
        read_head(&reader, text);
        assert_int_equal(reader.head.header_count, 3);
        check_field(&reader.head.headers[1], "B", "one two three");
        check_field(&reader.head.headers[2], "C", "y");
        afc__head_reader_clear(&reader);
    }
}

/** However the blanks of a value are turned into folds, the value is the same. */
static void accepts_folds_anywhere(void **state) {
    (void)state;
    static const char value[] = "the quick brown fox jumps over the lazy dog";
    uint64_t random = 7;
    for (int round = 0; round < 200; round++) {
        char text[400] = "HTTP/1.1 200 OK\r\nA: ";
        size_t size = strlen(text);
        for (const char *at = value; *at != '\0'; at++) {
            bool folds = *at == ' ' && next_random(&random) % 2 == 0;
            if (folds) size += (size_t)snprintf(text + size, 8, " \t\r\n\t");
            text[size++] = *at;
        }
        memcpy(text + size, "\r\n\r\n", 5);
        afc__head_reader reader;
        read_head(&reader, text);
        check_field(&reader.head.headers[0], "A", value);
        afc__head_reader_clear(&reader);
    }
}

static void many_fields_need_few_allocations(void **state) {
    (void)state;
    afc__head_reader reader;
    afc__head_reader_init(&reader, (afc__head_limits){1 << 20, 1000, 0});
    afc__head_step step;
    afc__alloc_fail_at(SIZE_MAX);
    check_status(feed(&reader, S("HTTP/1.1 200 OK\r\n"), &step, NULL), AFC_OK);
    for (int i = 0; i < 1000; i++) {
        char line[40];
        int size = snprintf(line, sizeof line, "Name-%d: value %d\r\n", i, i);
        check_status(feed(&reader, (afc_slice){line, (size_t)size}, &step, NULL), AFC_OK);
    }
    check_status(feed(&reader, S("\r\n"), &step, NULL), AFC_OK);
    assert_int_equal(step, AFC__HEAD_FINAL);
    assert_in_range(afc__alloc_fail_at(0), 2, 20);
    check_field(&reader.head.headers[0], "Name-0", "value 0");
    check_field(&reader.head.headers[999], "Name-999", "value 999");
    check_field(afc_head_find(&reader.head, "name-500"), "Name-500", "value 500");
    afc__head_reader_clear(&reader);
}

/* ---- 1xx, trailers, what must not follow ----------------------------------------------------- */

static void informational_head_is_not_final(void **state) {
    (void)state;
    afc__head_reader reader;
    afc__head_reader_init(&reader, roomy);
    afc__head_step step;
    check_status(feed(&reader, S("HTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\n"), &step, NULL),
                 AFC_OK);
    assert_int_equal(step, AFC__HEAD_INFORMATIONAL);
    assert_int_equal(reader.head.status, 103);
    check_field(&reader.head.headers[0], "Link", "a");
    check_status(feed(&reader, S("HTTP/1.1 100 Continue\r\n\r\n"), &step, NULL), AFC_OK);
    assert_int_equal(step, AFC__HEAD_INFORMATIONAL);
    assert_int_equal(reader.head.header_count, 0);
    check_status(feed(&reader, S("HTTP/1.1 200 OK\r\nA: b\r\n\r\n"), &step, NULL), AFC_OK);
    assert_int_equal(step, AFC__HEAD_FINAL);
    assert_int_equal(reader.head.status, 200);
    assert_int_equal(reader.head.header_count, 1);
    assert_int_equal(reader.informational, 2);
    afc__head_reader_clear(&reader);
}

static void trailers_do_not_change_the_head(void **state) {
    (void)state;
    afc__head_reader reader;
    read_head(&reader, "HTTP/1.1 200 OK\r\nA: b\r\n\r\n");
    afc__head_step step;
    check_status(feed(&reader, S("T-1: one\r\n"), &step, NULL), AFC_OK);
    assert_int_equal(step, AFC__HEAD_TRAILER);
    check_status(feed(&reader, S(" more\r\nT-2: two\r\n"), &step, NULL), AFC_OK);
    assert_int_equal(step, AFC__HEAD_TRAILER);
    check_status(feed(&reader, S("\r\n"), &step, NULL), AFC_OK);
    assert_int_equal(step, AFC__HEAD_MORE);
    afc__head_reader_finish(&reader);
    assert_int_equal(reader.trailers.count, 2);
    check_field(&reader.trailers.headers[0], "T-1", "one more");
    check_field(&reader.trailers.headers[1], "T-2", "two");
    assert_int_equal(reader.head.header_count, 1);
    check_field(&reader.head.headers[0], "A", "b");
    afc__head_reader_clear(&reader);
}

static void refuses_invalid_trailers(void **state) {
    (void)state;
    static const char *const lines[] = {"HTTP/1.1 200 OK\r\n", "HTTP/1.1 nonsense\r\n",
                                        "no colon\r\n", " folded\r\n", "A : b\r\n"};
    for (size_t i = 0; i < COUNT_OF(lines); i++) {
        afc__head_reader reader;
        read_head(&reader, "HTTP/1.1 200 OK\r\nA: b\r\n\r\n");
        afc__head_step step;
        afc_failure failure;
        check_status(feed(&reader, afc_slice_of(lines[i]), &step, &failure), AFC_EPROTOCOL);
        check_status(failure.status, AFC_EPROTOCOL);
        afc__head_reader_clear(&reader);
    }
}

static void refuses_folds_in_fields_about_the_body(void **state) {
    (void)state;
    static const struct {
        const char *field;
        bool is_refused;
    } rows[] = {
        {"Content-Length: 5\r\n", true},          {"content-length:\r\n", true},
        {"Transfer-Encoding: chunked\r\n", true}, {"Content-Encoding: gzip\r\n", true},
        {"A: Content-Length\r\n", false},         {"X-Content-Length: 5\r\n", false},
        {"Content-Length: 5\r\nA: b\r\n", false},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        afc__head_reader reader;
        afc__head_step step;
        afc_failure failure;
        afc__head_reader_init(&reader, roomy);
        check_status(feed(&reader, S("HTTP/1.1 200 OK\r\n"), &step, &failure), AFC_OK);
        check_status(feed(&reader, afc_slice_of(rows[i].field), &step, &failure), AFC_OK);
        check_status(feed(&reader, S(" c\r\n"), &step, &failure),
                     rows[i].is_refused ? AFC_EPROTOCOL : AFC_OK);
        afc__head_reader_clear(&reader);
    }
}

/* ---- Limits -------------------------------------------------------------------------------- */

static void limits_are_exact(void **state) {
    (void)state;
    static const char text[] =
        "HTTP/1.1 100 A\r\nX: y\r\n\r\nHTTP/1.1 200 OK\r\nA: b\r\n\r\nT: u\r\n";
    enum { BYTES = sizeof text - 1, FIELDS = 3 };
    static const struct {
        afc__head_limits limits;
        const char *reason; /**< NULL: within the limits. */
    } cases[] = {
        {{BYTES, FIELDS, 1}, NULL},
        {{BYTES - 1, FIELDS, 1}, "54 bytes"},
        {{BYTES, FIELDS - 1, 1}, "2 fields"},
        {{BYTES, 0, 1}, "0 fields"},
        {{BYTES, FIELDS, 0}, "0 informational"},
        {{0, FIELDS, 1}, "0 bytes"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        afc__head_reader reader;
        afc__head_reader_init(&reader, cases[i].limits);
        afc__head_step step;
        afc_failure failure;
        afc_status status = feed(&reader, afc_slice_of(text), &step, &failure);
        check_status(status, cases[i].reason != NULL ? AFC_ETOOBIG : AFC_OK);
        if (cases[i].reason != NULL) check_contains(failure.text, cases[i].reason);
        afc__head_reader_clear(&reader);
    }
}

/**
 * libcurl joins the lines by copying what it has of the field: the number of copies is limited, not only their size.
 */
static void folds_count_as_fields(void **state) {
    (void)state;
    enum { COUNT = 10 };
    afc__head_reader reader;
    afc__head_step step;
    afc_failure failure;
    afc__head_reader_init(&reader, (afc__head_limits){100000, COUNT, 1});
    check_status(feed(&reader, S("HTTP/1.1 200 OK\r\nA: b\r\n"), &step, &failure), AFC_OK);
    for (int n = 1; n < COUNT; n++) {
        check_status(feed(&reader, S(" c\r\n"), &step, &failure), AFC_OK);
    }
    check_status(feed(&reader, S(" c\r\n"), &step, &failure), AFC_ETOOBIG);
    check_contains(failure.text, "the limit of 10 fields");
    afc__head_reader_clear(&reader);
}

static void limits_endless_heads(void **state) {
    (void)state;
    static const char *const repeats[] = {"HTTP/1.1 103 A\r\n\r\n", "A: b\r\n", " fold\r\n"};
    for (size_t i = 0; i < COUNT_OF(repeats); i++) {
        afc__head_reader reader;
        afc__head_reader_init(&reader, (afc__head_limits){4096, 1000, 1000});
        afc__head_step step;
        afc_status status = AFC_OK;
        if (i > 0) status = feed(&reader, S("HTTP/1.1 200 OK\r\nA: b\r\n"), &step, NULL);
        for (int n = 0; n < 4096 && status == AFC_OK; n++) {
            status = feed(&reader, afc_slice_of(repeats[i]), &step, NULL);
        }
        check_status(status, AFC_ETOOBIG);
        assert_in_range(reader.fields.text.capacity, 0, 4096);
        afc__head_reader_clear(&reader);
    }
}

static void out_of_memory_is_reported(void **state) {
    (void)state;
    TORTURE(n) {
        afc__head_reader reader;
        afc__head_reader_init(&reader, (afc__head_limits){1 << 16, 100, 4});
        afc__head_step step;
        afc_failure failure = {.status = AFC_OK};
        afc_status status = feed(&reader, S("HTTP/1.1 103 A\r\nLink: a\r\n\r\nHTTP/1.1 200 OK\r\n"),
                                 &step, &failure);
        for (int i = 0; i < 40 && status == AFC_OK; i++) {
            status = feed(&reader, S("A-name: and a value\r\n and more\r\n"), &step, &failure);
        }
        if (status == AFC_OK) status = feed(&reader, S("\r\nT: u\r\n v\r\n"), &step, &failure);
        afc__head_reader_finish(&reader);
        check_status(failure.status, status);
        assert_true(status == AFC_OK || status == AFC_ENOMEM);
        if (status == AFC_OK) {
            check_field(&reader.head.headers[39], "A-name", "and a value and more");
            check_field(&reader.trailers.headers[0], "T", "u v");
        }
        afc__head_reader_clear(&reader);
    }
}

/* ---- Framing ------------------------------------------------------------------------------- */

typedef struct framing_case {
    const char *start, *fields;
    bool is_head_request;
    afc__framing_kind kind;
    int64_t length;
    const char *reason; /**< Not NULL: refused. */
} framing_case;

static void check_framing(const framing_case *cases, size_t count) {
    for (size_t i = 0; i < count; i++) {
        char text[400];
        snprintf(text, sizeof text, "%s\r\n%s\r\n", cases[i].start, cases[i].fields);
        afc__head_reader reader;
        read_head(&reader, text);
        afc__framing framing;
        afc_failure failure;
        afc_status status = afc__head_framing(&reader.head, cases[i].is_head_request, &framing,
                                              &failure);
        if (cases[i].reason != NULL) {
            check_status(status, AFC_EPROTOCOL);
            check_contains(failure.text, cases[i].reason);
        } else {
            if (status != AFC_OK) fail_msg("%s: %s", text, failure.text);
            assert_int_equal(framing.kind, cases[i].kind);
            assert_int_equal(framing.length, cases[i].length);
        }
        afc__head_reader_clear(&reader);
    }
}

#define V1 "HTTP/1.1 200 OK"
#define V2 "HTTP/2 200 "
#define CHUNKED "Transfer-Encoding: chunked\r\n"
#define FIVE "Content-Length: 5\r\n"

static void finds_the_framing_of_the_body(void **state) {
    (void)state;
    static const framing_case cases[] = {
        {V1, "", false, AFC__FRAMING_CLOSE, -1, NULL},
        {V2, "", false, AFC__FRAMING_CLOSE, -1, NULL},
        {V1, FIVE, false, AFC__FRAMING_LENGTH, 5, NULL},
        {V2, FIVE, false, AFC__FRAMING_LENGTH, 5, NULL},
        {V1, "content-length:0\r\n", false, AFC__FRAMING_LENGTH, 0, NULL},
        {V1, FIVE FIVE, false, AFC__FRAMING_LENGTH, 5, NULL},
        {V1, "Content-Length: 5, 5\r\n", false, AFC__FRAMING_LENGTH, 5, NULL},
        {V1, "Content-Length: 05\r\n" FIVE, false, AFC__FRAMING_LENGTH, 5, NULL},
        {V1, "Content-Length: 9223372036854775807\r\n", false, AFC__FRAMING_LENGTH, INT64_MAX,
         NULL},
        {V1, CHUNKED, false, AFC__FRAMING_CHUNKED, -1, NULL},
        {V1, "TRANSFER-encoding: identity, Chunked\r\n", false, AFC__FRAMING_CHUNKED, -1, NULL},
        {V1, "Transfer-Encoding: identity\r\n" CHUNKED, false, AFC__FRAMING_CHUNKED, -1, NULL},
        {V1, "Transfer-Encoding: chunked, gzip\r\n", false, 0, 0, "after \"chunked\""},
        {V1, "Transfer-Encoding: chunked, identity\r\n", false, 0, 0, "after \"chunked\""},
        {V1, CHUNKED CHUNKED, false, 0, 0, "after \"chunked\""},
        {V1, "Transfer-Encoding: identity, ,chunked, ,\r\n", false, AFC__FRAMING_CHUNKED, -1, NULL},
        {V1, "Transfer-Encoding: identity\r\n", false, AFC__FRAMING_CLOSE, -1, NULL},
        {V1, "Transfer-Encoding: xchunked\r\n", false, 0, 0, "didn't accept"},
        {V1, FIVE, true, AFC__FRAMING_NONE, 5, NULL},
        {V1, "", true, AFC__FRAMING_NONE, -1, NULL},
        {V1, CHUNKED, true, AFC__FRAMING_NONE, -1, NULL},
        {"HTTP/1.1 204 x", FIVE, false, AFC__FRAMING_NONE, 5, NULL},
        {"HTTP/1.1 304 x", FIVE, false, AFC__FRAMING_NONE, 5, NULL},
        {"HTTP/1.1 205 x", FIVE, false, AFC__FRAMING_LENGTH, 5, NULL},
    };
    check_framing(cases, COUNT_OF(cases));
}

static void transfer_coding_of_http_1_0_must_close(void **state) {
    (void)state;
    static const struct {
        const char *text;
        bool must_close;
    } cases[] = {{"HTTP/1.0 200 OK\r\n" CHUNKED "\r\n", true},
                 {"HTTP/1.0 200 OK\r\nTransfer-Encoding: identity\r\n\r\n", true},
                 {"HTTP/1.0 304 OK\r\n" CHUNKED "\r\n", true},
                 {"HTTP/1.0 200 OK\r\n" FIVE "\r\n", false},
                 {V1 "\r\n" CHUNKED "\r\n", false}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        afc__head_reader reader;
        read_head(&reader, cases[i].text);
        afc__framing framing;
        check_status(afc__head_framing(&reader.head, false, &framing, NULL), AFC_OK);
        assert_int_equal(framing.must_close, cases[i].must_close);
        afc__head_reader_clear(&reader);
    }
}

static void refuses_conflicting_framing(void **state) {
    (void)state;
    static const framing_case cases[] = {
        {V1, FIVE CHUNKED, false, 0, 0, "both"},
        {V2, CHUNKED FIVE, false, 0, 0, "both"},
        {"HTTP/1.0 200 OK", CHUNKED FIVE, false, 0, 0, "both"},
        {V1, FIVE "Content-Length: 6\r\n", false, 0, 0, "conflicting"},
        {V1, "Content-Length: 5, 6\r\n", false, 0, 0, "conflicting"},
        {V1, "Content-Length: \r\n", false, 0, 0, "Content-Length is invalid"},
        {V1, "Content-Length: 5,\r\n", false, 0, 0, "Content-Length is invalid"},
        {V1, "Content-Length: -5\r\n", false, 0, 0, "Content-Length is invalid"},
        {V1, "Content-Length: +5\r\n", false, 0, 0, "Content-Length is invalid"},
        {V1, "Content-Length: 5 5\r\n", false, 0, 0, "Content-Length is invalid"},
        {V1, "Content-Length: 0x5\r\n", false, 0, 0, "Content-Length is invalid"},
        {V1, "Content-Length: 5.0\r\n", false, 0, 0, "Content-Length is invalid"},
        {V1, "Content-Length: 9223372036854775808\r\n", false, 0, 0, "Content-Length is invalid"},
        {V1, "Content-Length: 99999999999999999999\r\n", false, 0, 0, "Content-Length is invalid"},
        {V1, "Content-Length: x\r\n", true, 0, 0, "Content-Length is invalid"},
        {V2, FIVE "Content-Length: 6\r\n", false, 0, 0, "conflicting"},
    };
    check_framing(cases, COUNT_OF(cases));
}

static void finds_the_encoding(void **state) {
    (void)state;
    static const struct {
        const char *field;
        bool is_encoded;
    } cases[] = {{"", false},
                 {"Content-Encoding:\r\n", false},
                 {"Content-Encoding: Identity, identity\r\n", false},
                 {"Content-Encoding: none\r\n", false},
                 {"Content-Encoding: None, identity,\r\n", false},
                 {"Content-Encoding: none, gzip\r\n", true},
                 {"content-encoding: gzip\r\n", true},
                 {"A: b\r\nContent-Encoding: X-Other \r\nC: d\r\n", true},
                 {"Content-Encoding: identity, br\r\n", true},
                 {"Content-Encoding: gzip\r\nContent-Encoding: identity\r\n", true},
                 {"Content-Encoding: identity\r\nContent-Encoding: gzip\r\n", true}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char text[200];
        snprintf(text, sizeof text, V1 "\r\n%s\r\n", cases[i].field);
        afc__head_reader reader;
        read_head(&reader, text);
        afc__framing framing;
        check_status(afc__head_framing(&reader.head, false, &framing, NULL), AFC_OK);
        assert_int_equal(framing.is_encoded, cases[i].is_encoded);
        afc__head_reader_clear(&reader);
    }
}

/** Also where there is no body, a coding behind "chunked" is refused. */
static void refuses_transfer_codings_beside_chunked(void **state) {
    (void)state;
    static const struct {
        const char *fields;
        bool is_head_request;
        afc_status expected;
    } rows[] = {
        {"Content-Length: 1\r\n", false, AFC_OK},
        {"Transfer-Encoding: chunked\r\n", false, AFC_OK},
        {"Transfer-Encoding: Identity, , CHUNKED\r\n", false, AFC_OK},
        {"Transfer-Encoding: gzip, chunked\r\n", false, AFC_EPROTOCOL},
        {"Transfer-Encoding: gzip, chunked\r\n", true, AFC_OK},
        {"Transfer-Encoding: gzip\r\n", false, AFC_EPROTOCOL},
        {"Transfer-Encoding: chunked, gzip\r\n", true, AFC_EPROTOCOL},
        {"Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n", false, AFC_EPROTOCOL}};
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        char text[128];
        afc__head_reader reader;
        afc__framing framing;
        snprintf(text, sizeof text, V1 "\r\n%s\r\n", rows[i].fields);
        read_head(&reader, text);
        afc_failure failure = {0};
        afc_status status = afc__head_framing(&reader.head, rows[i].is_head_request, &framing,
                                              &failure);
        if (status != rows[i].expected) fail_msg("%s: %d", rows[i].fields, (int)status);
        if (status != AFC_OK) check_contains(failure.text, "transfer coding");
        afc__head_reader_clear(&reader);
    }
}

/* ---- Heads without lines ------------------------------------------------------------------- */

#define MORE_FIELDS "a: b\r\nc: d\r\n"
#define TEN_FIELDS MORE_FIELDS MORE_FIELDS MORE_FIELDS MORE_FIELDS MORE_FIELDS

static const char *const whole_heads[] = {
    "HTTP/1.1 200 OK\r\n\r\n",
    "HTTP/1.0 404 \r\nServer: x\r\nX-Empty: \r\n\r\n",
    "HTTP/2 299 \r\nset-cookie: a=1\r\nSET-Cookie: b=2;  c\r\n\r\n",
    "HTTP/3 503 \r\nX-Latin: \xE4\xF6\r\n\r\n",
    "HTTP/1.1 200 Many\r\n" TEN_FIELDS TEN_FIELDS TEN_FIELDS TEN_FIELDS "\r\n",
};

static void check_same_head(const afc__head_reader *reader, const afc_head *expected) {
    const afc_head *head = &reader->head;
    assert_int_equal(reader->state, AFC__HEAD_DONE);
    assert_int_equal(head->status, expected->status);
    assert_int_equal(head->version, expected->version);
    assert_true(afc__is_same(head->reason, expected->reason));
    assert_int_equal(head->header_count, expected->header_count);
    for (size_t i = 0; i < head->header_count; i++) {
        assert_true(afc__is_same(head->headers[i].name, expected->headers[i].name));
        assert_true(afc__is_same(head->headers[i].value, expected->headers[i].value));
    }
}

static void a_set_head_is_that_of_its_lines(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT_OF(whole_heads); i++) {
        afc__head_reader lines, set;
        afc__head_step step;
        read_head(&lines, whole_heads[i]);
        afc__head_reader_init(&set, roomy);
        /* The last head counts, also after another one. */
        for (unsigned round = 1; round <= 2; round++) {
            if (round == 2) afc__head_reader_reopen(&set);
            assert_true(afc__head_reader_fits(&set, &lines.head));
            check_status(afc__head_reader_set(&set, &lines.head, NULL), AFC_OK);
            check_same_head(&set, &lines.head);
            assert_int_equal(set.bytes, round * lines.bytes);
            assert_int_equal(set.field_count, round * lines.field_count);
        }
        check_status(afc__head_reader_feed(&set, S("T: 1\r\n"), &step, NULL), AFC_OK);
        assert_int_equal(step, AFC__HEAD_TRAILER);
        afc__head_reader_clear(&set);
        afc__head_reader_clear(&lines);
    }
}

static void a_set_head_counts_against_the_limits(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT_OF(whole_heads); i++) {
        afc__head_reader lines;
        read_head(&lines, whole_heads[i]);
        for (unsigned missing = 0; missing < 3; missing++) {
            afc__head_reader set;
            afc__head_step step;
            afc_failure failure = {0};
            afc_slice early = S("HTTP/1.1 103 A\r\n\r\n");
            afc__head_limits limits = {(uint32_t)(lines.bytes + early.size) -
                                           (missing == 1 ? 1 : 0),
                                       lines.field_count, 1};
            if (missing == 2 && limits.count-- == 0) continue;
            afc__head_reader_init(&set, limits);
            check_status(feed(&set, early, &step, NULL), AFC_OK);
            assert_int_equal(afc__head_reader_fits(&set, &lines.head), missing == 0);
            check_status(afc__head_reader_set(&set, &lines.head, &failure),
                         missing == 0 ? AFC_OK : AFC_ETOOBIG);
            if (missing != 0) check_contains(failure.text, missing == 1 ? " bytes" : " fields");
            afc__head_reader_clear(&set);
        }
        afc__head_reader_clear(&lines);
    }
}

static void a_set_head_needs_memory(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT_OF(whole_heads); i++) {
        afc__head_reader lines;
        read_head(&lines, whole_heads[i]);
        TORTURE(n) {
            afc__head_reader set;
            afc_failure failure;
            afc__head_reader_init(&set, roomy);
            if (afc__head_reader_set(&set, &lines.head, &failure) == AFC_OK) {
                check_same_head(&set, &lines.head);
            } else {
                check_status(failure.status, AFC_ENOMEM);
            }
            afc__head_reader_clear(&set);
        }
        afc__head_reader_clear(&lines);
    }
}

static void knows_status_lines_in_any_case(void **state) {
    (void)state;
    static const struct {
        const char *line;
        bool is_status_line;
    } rows[] = {
        {"HTTP/1.1 200 OK\r\n", true},
        {"HTTP/", true},
        {"http/2 200\r\n", true},
        {"hTtP/x", true},
        {"HTTP", false},
        {"", false},
        {" HTTP/1.1 200 OK", false},
        {"HTTPS/1.1 200 OK", false},
        {"\r\n", false},
        {"Server: HTTP/1.1", false},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        bool is_status_line = afc__is_status_line(afc_slice_of(rows[i].line));
        if (is_status_line != rows[i].is_status_line) fail_msg("%s", rows[i].line);
    }
    assert_false(afc__is_status_line((afc_slice){NULL, 0}));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(knows_status_lines_in_any_case),
        cmocka_unit_test(keeps_the_head_as_received),
        cmocka_unit_test(accepts_head_without_fields),
        cmocka_unit_test(reads_status_lines_strictly),
        cmocka_unit_test(refuses_invalid_lines),
        cmocka_unit_test(joins_folded_lines_with_one_space),
        cmocka_unit_test(accepts_folds_anywhere),
        cmocka_unit_test(many_fields_need_few_allocations),
        cmocka_unit_test(informational_head_is_not_final),
        cmocka_unit_test(trailers_do_not_change_the_head),
        cmocka_unit_test(refuses_invalid_trailers),
        cmocka_unit_test(limits_are_exact),
        cmocka_unit_test(refuses_folds_in_fields_about_the_body),
        cmocka_unit_test(folds_count_as_fields),
        cmocka_unit_test(limits_endless_heads),
        cmocka_unit_test(out_of_memory_is_reported),
        cmocka_unit_test(finds_the_framing_of_the_body),
        cmocka_unit_test(transfer_coding_of_http_1_0_must_close),
        cmocka_unit_test(refuses_conflicting_framing),
        cmocka_unit_test(finds_the_encoding),
        cmocka_unit_test(refuses_transfer_codings_beside_chunked),
        cmocka_unit_test(a_set_head_is_that_of_its_lines),
        cmocka_unit_test(a_set_head_counts_against_the_limits),
        cmocka_unit_test(a_set_head_needs_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
