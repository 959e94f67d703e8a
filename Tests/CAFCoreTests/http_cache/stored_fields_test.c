/* What is stored of a head, how a later one updates it, and how it is passed on: RFC 9111 3.1, 3.2, 5.1, RFC 9211. */
#include "http_cache/rules/cache_status.h"
#include "http_cache/rules/invalidation.h"
#include "http_cache/rules/stored_fields.h"
#include "support/head.h"
#include "support/torture.h"

#include <stdio.h>
#include <string.h>

/** The fields as lines; NULL: out of memory. The caller clears it. */
static const char *lines_of(afc__buffer *out, const afc__field_list *fields) {
    afc__buffer_init(out, UINT64_MAX);
    afc_status status = AFC_OK;
    for (size_t i = 0; i < fields->count && status == AFC_OK; i++) {
        status = afc__buffer_append_two(out, fields->headers[i].name, afc_slice_of(": "));
        if (status == AFC_OK) {
            status = afc__buffer_append_two(out, fields->headers[i].value, afc_slice_of("\n"));
        }
    }
    if (status == AFC_OK) status = afc__buffer_append(out, "", 1);
    return status == AFC_OK ? out->bytes : NULL;
}

static void check_stored(const char *given, const char *expected) {
    parsed_head head;
    afc__http_cache_control control;
    afc__field_list fields;
    afc__buffer lines;
    make_head(&head, 200, given);
    afc__response_control_read(&control, head.headers, head.head.header_count);
    check_status(afc__stored_fields_select(&fields, &head.head, &control), AFC_OK);
    assert_string_equal(lines_of(&lines, &fields), expected);
    afc__buffer_clear(&lines);
    afc__field_list_clear(&fields);
}

static void fields_of_the_connection_are_not_stored(void **state) {
    (void)state;
    check_stored("A: 1\nB: 2", "A: 1\nB: 2\n");
    check_stored("A: 1\nA: 2", "A: 1\nA: 2\n");
    static const char *const dropped[] = {"Connection",
                                          "connection",
                                          "Keep-Alive",
                                          "Proxy-Authenticate",
                                          "Proxy-Authentication-Info",
                                          "Proxy-Authorization",
                                          "Proxy-Connection",
                                          "TE",
                                          "Trailer",
                                          "Transfer-Encoding",
                                          "Upgrade"};
    for (size_t i = 0; i < COUNT_OF(dropped); i++) {
        char text[64];
        snprintf(text, sizeof text, "%s: x\nA: 1", dropped[i]);
        if (afc__same_name(afc_slice_of(dropped[i]), "Transfer-Encoding")) {
            snprintf(text, sizeof text, "%s: chunked\nA: 1", dropped[i]);
        }
        check_stored(text, "A: 1\n");
    }
    static const char *const kept[] = {
        "Set-Cookie", "Content-Encoding", "Content-MD5",    "ETag", "Age",
        "Date",       "X-Anything",       "Clear-Site-Data"};
    for (size_t i = 0; i < COUNT_OF(kept); i++) {
        char text[64];
        snprintf(text, sizeof text, "%s: x", kept[i]);
        char expected[64];
        snprintf(expected, sizeof expected, "%s: x\n", kept[i]);
        check_stored(text, expected);
    }
    check_stored("Connection: a, B\nA: 1\nb: 2\nC: 3", "C: 3\n");
    check_stored("Connection: a\nConnection: b\nA: 1\nb: 2\nC: 3", "C: 3\n");
    check_stored("Connection: ,\nA: 1", "A: 1\n");
    check_stored("Connection: Keep-Alive\nA: 1\nKeep-Alive: 5", "A: 1\n");
    check_stored("A: 1\nConnection: close\nClose: 1\nB: 2", "A: 1\nB: 2\n");
    check_stored("Connection: close, a\nA: 1\nB: 2", "B: 2\n");
    check_stored("Connection: close\nConnection: a\nA: 1\nB: 2", "B: 2\n");
}

static void fields_that_no_cache_names_are_not_stored(void **state) {
    (void)state;
    static const struct {
        const char *control;
        bool hides_a;
    } rows[] = {
        {"Cache-Control: no-cache=\"a\"", true},
        {"Cache-Control: no-cache=\"A\"", true},
        {"Cache-Control: no-cache=a", true},
        {"Cache-Control: no-cache=\"b, a\"", true},
        {"Cache-Control: no-cache=\"b,c\"", false},
        {"Cache-Control: no-cache=\"b\", no-cache=\"a\"", true},
        {"Cache-Control: no-cache=\"b\"\nCache-Control: no-cache=\"a\"", true},
        {"Cache-Control: no-cache", false},
        {"Cache-Control: private=\"a\"", false},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        char given[128], expected[128];
        snprintf(given, sizeof given, "%s\nA: 1\nD: 2", rows[i].control);
        snprintf(expected, sizeof expected, "%s%s\nD: 2\n", rows[i].control,
                 rows[i].hides_a ? "" : "\nA: 1");
        check_stored(given, expected);
    }
}

/** Writes "name,name,…" and returns it. */
static afc_slice list_of(char *out, const char *name, size_t count) {
    size_t size = strlen(name) + 1;
    for (size_t i = 0; i < count; i++) {
        memcpy(out + i * size, name, size - 1);
        out[i * size + size - 1] = ',';
    }
    return (afc_slice){out, count * size};
}

enum { NAMED = AFC__NAMED_FIELDS_MAX, LONG_LIST = 10000 };

/** Otherwise each field would be compared with each of the tens of thousands of names that fit into a head. */
static void head_that_names_too_many_fields_is_refused(void **state) {
    (void)state;
    static const struct {
        const char *in_connection, *in_no_cache;
        size_t connection_count, no_cache_count;
        bool is_refused;
    } rows[] = {
        {"a", "b", NAMED, 0, false},
        {"a", "b", NAMED + 1, 0, true},
        {"a", "b", 0, NAMED, false},
        {"a", "b", 0, NAMED + 1, true},
        {"a", "b", NAMED / 2, NAMED - NAMED / 2, false},
        {"a", "b", NAMED / 2 + 1, NAMED - NAMED / 2, true},
        {"a", "b", LONG_LIST, LONG_LIST, true},
        /* These say nothing that isn't known. */
        {"close", "b", LONG_LIST, NAMED, false},
        {"keep-alive", "te", LONG_LIST, LONG_LIST, false},
        {"", "a", LONG_LIST, NAMED, false},
    };
    static char connection[LONG_LIST * 16], no_cache[LONG_LIST * 16];
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const afc_header fields[] = {
            {S("Connection"), list_of(connection, rows[i].in_connection, rows[i].connection_count),
             0},
            {S("X"), S("1"), 0}};
        afc__http_cache_control control = {.no_cache_count = 1};
        control.no_cache_fields[0] = list_of(no_cache, rows[i].in_no_cache, rows[i].no_cache_count);
        const afc_head head = {.status = 200, .headers = fields, .header_count = COUNT_OF(fields)};
        const afc_head none = {.status = 200};
        const afc_status expected = rows[i].is_refused ? AFC_ETOOBIG : AFC_OK;
        afc__field_list list;
        if (afc__head_names_too_many_fields(&head, &control) != rows[i].is_refused) {
            fail_msg("row %zu", i);
        }
        afc_status statuses[3];
        statuses[0] = afc__stored_fields_select(&list, &head, &control);
        if (statuses[0] == AFC_OK) afc__field_list_clear(&list);
        statuses[1] = afc__stored_fields_update(&list, &none, &head, &control);
        if (statuses[1] == AFC_OK) afc__field_list_clear(&list);
        statuses[2] = afc__stored_fields_edit(&list, &head, &none, &control);
        if (statuses[2] == AFC_OK) afc__field_list_clear(&list);
        for (size_t k = 0; k < COUNT_OF(statuses); k++) check_status(statuses[k], expected);
    }
}

static void later_head_replaces_all_fields_of_a_name(void **state) {
    (void)state;
    static const struct {
        const char *stored, *update, *expected;
    } rows[] = {
        {"A: 1\nB: 1", "", "A: 1\nB: 1\n"},
        {"A: 1\nB: 1", "A: 2", "B: 1\nA: 2\n"},
        {"A: 1\nA: 2\nB: 1", "a: 3", "B: 1\na: 3\n"},
        {"A: 1", "A: 2\nA: 3", "A: 2\nA: 3\n"},
        {"A: 1", "C: 1", "A: 1\nC: 1\n"},
        {"Content-Length: 3", "Content-Length: 10", "Content-Length: 3\n"},
        {"A: 1", "Content-Length: 10", "A: 1\n"},
        {"Content-Encoding: gzip", "Content-Encoding: br", "Content-Encoding: gzip\n"},
        {"A: 1", "Content-Range: bytes 0-1/2", "A: 1\n"},
        {"Content-Type: a/b", "Content-Type: a/c", "Content-Type: a/c\n"},
        {"Content-Foo: 1", "Content-Foo: 2", "Content-Foo: 2\n"},
        {"Set-Cookie: a=1", "Set-Cookie: a=2", "Set-Cookie: a=2\n"},
        {"ETag: \"a\"", "ETag: \"b\"", "ETag: \"b\"\n"},
        {"A: 1", "Connection: a\nA: 2", "A: 1\n"},
        {"A: 1", "Connection: x\nX: 2", "A: 1\n"},
        {"A: 1", "Keep-Alive: 5\nUpgrade: x", "A: 1\n"},
        {"A: 1\nB: 1", "Cache-Control: no-cache=\"a\"\nA: 2",
         "B: 1\nCache-Control: no-cache=\"a\"\nA: 2\n"},
        {"A: 1\nB: 1", "Cache-Control: no-cache=\"a\"", "B: 1\nCache-Control: no-cache=\"a\"\n"},
        {"A: 1", "Connection: a\nCache-Control: no-cache=\"a\"\nA: 2",
         "Cache-Control: no-cache=\"a\"\n"},
        {"Cache-Control: max-age=1", "Cache-Control: max-age=3600",
         "Cache-Control: max-age=3600\n"},
        {"Expires: x", "Expires: y", "Expires: y\n"},
        {"Age: 9\nA: 1", "Age: 2", "A: 1\nAge: 2\n"},
        {"Age: 9\nA: 1", "", "A: 1\n"},
        {"Date: x\nA: 1", "date: y", "A: 1\ndate: y\n"},
        {"Date: x\nA: 1", "", "A: 1\n"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        parsed_head stored, update;
        afc__http_cache_control control;
        afc__field_list fields;
        afc__buffer lines;
        make_head(&stored, 200, rows[i].stored);
        make_head(&update, 304, rows[i].update);
        afc__response_control_read(&control, update.headers, update.head.header_count);
        check_status(afc__stored_fields_update(&fields, &stored.head, &update.head, &control),
                     AFC_OK);
        assert_string_equal(lines_of(&lines, &fields), rows[i].expected);
        afc__buffer_clear(&lines);
        afc__field_list_clear(&fields);
    }
}

/**
 * Fields 2 * i are updated by fields 3 * i: the result has the stored ones are those that the update doesn't have, and
 * then all of the update.
 */
static void later_head_may_have_many_fields(void **state) {
    (void)state;
    enum { MANY = 200, NAME = 16 };
    static char names[2][MANY][NAME];
    static afc_header stored_fields[MANY], update_fields[MANY];
    for (size_t i = 0; i < MANY; i++) {
        snprintf(names[0][i], NAME, "field-%zu", 2 * i);
        snprintf(names[1][i], NAME, "FIELD-%zu", 3 * i);
        stored_fields[i] = (afc_header){afc_slice_of(names[0][i]), S("old"), 0};
        update_fields[i] = (afc_header){afc_slice_of(names[1][i]), S("new"), 0};
    }
    const afc_head stored = {.status = 200, .headers = stored_fields, .header_count = MANY};
    const afc_head update = {.status = 304, .headers = update_fields, .header_count = MANY};
    const afc__http_cache_control control = {0};
    TORTURE(n) {
        afc__field_list fields;
        afc_status status = afc__stored_fields_update(&fields, &stored, &update, &control);
        if (status != AFC_OK) {
            check_status(status, AFC_ENOMEM);
            continue;
        }
        size_t at = 0;
        for (size_t i = 0; i < MANY; i++) {
            if (2 * i % 3 == 0) continue;
            check_slice(fields.headers[at].name, names[0][i]);
            check_slice(fields.headers[at++].value, "old");
        }
        for (size_t i = 0; i < MANY; i++) check_slice(fields.headers[at++].name, names[1][i]);
        assert_int_equal(fields.count, at);
        afc__field_list_clear(&fields);
    }
}

static void head_that_is_too_large_is_refused(void **state) {
    (void)state;
    static char value[AFC__STORED_FIELDS_SIZE_MAX];
    memset(value, 'x', sizeof value);
    afc_header header = {S("A"), {value, sizeof value}, 0};
    afc_head head = {.status = 200, .headers = &header, .header_count = 1};
    afc__http_cache_control control;
    afc__field_list fields;
    afc__response_control_read(&control, &header, 1);
    check_status(afc__stored_fields_select(&fields, &head, &control), AFC_ETOOBIG);
}

/* ---- Answers --------------------------------------------------------------------------------- */

/** As it would be received. */
static void write_lines(char *out, size_t room, const afc_head *head) {
    const char *version = head->version == AFC_HTTP_1_0   ? "1.0"
                          : head->version == AFC_HTTP_1_1 ? "1.1"
                          : head->version == AFC_HTTP_3   ? "3"
                                                          : "2";
    size_t size = (size_t)snprintf(out, room, "HTTP/%s %d %.*s\r\n", version, head->status,
                                   (int)head->reason.size, head->reason.bytes);
    for (size_t i = 0; i < head->header_count; i++) {
        const afc_header *field = &head->headers[i];
        assert_true(size < room);
        size += (size_t)snprintf(out + size, room - size, "%.*s: %.*s\r\n", (int)field->name.size,
                                 field->name.bytes, (int)field->value.size, field->value.bytes);
    }
    assert_true(size < room);
}

static void answers_are_made_as_heads(void **state) {
    (void)state;
    static const afc__byte_range part = {2, 4};
    static const struct {
        afc__cached_response response;
        int status;
        afc_http_version version;
        const char *fields, *expected;
    } rows[] = {
        {{.kind = AFC__CACHED_RESPONSE_HIT, .age = 5, .lifetime = 60},
         200,
         AFC_HTTP_1_1,
         "Content-Length: 3\nA: 1",
         "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nA: 1\r\nAge: 5\r\n"
         "Cache-Status: afcore; hit; ttl=55\r\n"},
        {{.kind = AFC__CACHED_RESPONSE_HIT, .age = 70, .lifetime = 60},
         404,
         AFC_HTTP_2,
         "Age: 1\nAge: 2",
         "HTTP/2 404 OK\r\nAge: 70\r\nCache-Status: afcore; hit; ttl=-10\r\n"},
        {{.kind = AFC__CACHED_RESPONSE_VALIDATED, .age = 0, .lifetime = 60},
         200,
         AFC_HTTP_1_0,
         "",
         "HTTP/1.0 200 OK\r\nAge: 0\r\n"
         "Cache-Status: afcore; fwd=stale; fwd-status=304; ttl=60\r\n"},
        {{.kind = AFC__CACHED_RESPONSE_HIT, .lifetime = 60, .is_not_modified = true},
         200,
         AFC_HTTP_3,
         "Content-Length: 3\nETag: \"a\"",
         "HTTP/3 304 Not Modified\r\nETag: \"a\"\r\nAge: 0\r\n"
         "Cache-Status: afcore; hit; ttl=60\r\n"},
        {{.kind = AFC__CACHED_RESPONSE_HIT, .lifetime = 60, .range = &part, .total = 10},
         200,
         AFC_HTTP_1_1,
         "Content-Length: 10\nA: 1",
         "HTTP/1.1 206 Partial Content\r\nA: 1\r\nContent-Range: bytes 2-4/10\r\n"
         "Content-Length: 3\r\nAge: 0\r\nCache-Status: afcore; hit; ttl=60\r\n"},
        {{.kind = AFC__CACHED_RESPONSE_COMPLETED, .total = INT64_MAX},
         206,
         (afc_http_version)77,
         "Content-Range: bytes 2-4/5\nContent-Length: 3\nAge: 1",
         "HTTP/2 200 OK\r\nAge: 1\r\nContent-Length: 9223372036854775807\r\n"
         "Cache-Status: afcore; fwd=partial; fwd-status=206\r\n"},
        {{.kind = AFC__CACHED_RESPONSE_VALIDATED, .age = INT64_MAX, .lifetime = 0},
         200,
         AFC_HTTP_1_1,
         "",
         "HTTP/1.1 200 OK\r\nAge: 9223372036854775807\r\n"
         "Cache-Status: afcore; fwd=stale; fwd-status=304; ttl=-9223372036854775807\r\n"},
        {{.kind = AFC__CACHED_RESPONSE_MISSING},
         200,
         AFC_HTTP_1_1,
         "",
         "HTTP/1.1 504 Gateway Timeout\r\nContent-Length: 0\r\n"
         "Cache-Status: afcore; detail=not-stored\r\n"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        parsed_head head;
        make_head(&head, rows[i].status, rows[i].fields);
        head.head.version = rows[i].version;
        head.head.reason = S("OK");
        afc__cached_response response = rows[i].response;
        response.head = &head.head;
        TORTURE(n) {
            afc__cached_response_head out;
            afc_status status = afc__cached_response_make_head(&out, &response);
            if (status == AFC_OK) {
                char lines[500];
                write_lines(lines, sizeof lines, &out.head);
                assert_string_equal(lines, rows[i].expected);
                afc__cached_response_clear_head(&out);
            } else {
                check_status(status, AFC_ENOMEM);
            }
        }
    }
}

static void an_answer_has_as_many_fields_as_are_stored(void **state) {
    (void)state;
    afc_header fields[2 * AFC__FIELD_LIST_SIZE];
    for (size_t i = 0; i < COUNT_OF(fields); i++) fields[i] = (afc_header){S("A"), S("1"), 0};
    for (size_t count = 0; count <= COUNT_OF(fields); count++) {
        const afc_head stored = {
            .status = 200, .version = AFC_HTTP_1_1, .headers = fields, .header_count = count};
        afc__cached_response response = {
            .kind = AFC__CACHED_RESPONSE_HIT, .head = &stored, .lifetime = 60};
        TORTURE(n) {
            afc__cached_response_head out;
            afc_status status = afc__cached_response_make_head(&out, &response);
            if (status == AFC_OK) {
                assert_int_equal(out.head.header_count, count + 2);
                check_slice(out.head.headers[count].name, "Age");
                afc__cached_response_clear_head(&out);
            } else {
                check_status(status, AFC_ENOMEM);
                assert_true(count + AFC__CACHED_RESPONSE_MORE_FIELDS > AFC__FIELD_LIST_SIZE);
            }
        }
    }
}

/* ---- Invalidation, RFC 9111 4.4 -------------------------------------------------------------- */

static void unsafe_methods_invalidate_their_origin_only(void **state) {
    (void)state;
    static const char *const safe[] = {"GET", "HEAD", "OPTIONS", "TRACE"};
    static const char *const unsafe[] = {"POST", "PUT", "DELETE", "PATCH", "M-SEARCH", "get", ""};
    for (size_t i = 0; i < COUNT_OF(safe); i++) assert_true(afc__method_is_safe(safe[i]));
    for (size_t i = 0; i < COUNT_OF(unsafe); i++) assert_false(afc__method_is_safe(unsafe[i]));
    for (int status = 100; status < 600; status++) {
        assert_int_equal(afc__status_invalidates(status), status >= 200 && status < 400);
    }
    static const struct {
        const char *fields;
        size_t which;
        const char *url;
    } rows[] = {
        {"Location: /b", 0, "http://h/b"},
        {"Location: b?c", 0, "http://h/a/b?c"},
        {"Location: http://h:80/b#x", 0, "http://h/b"},
        {"Location: https://h/b", 0, NULL},
        {"Location: http://h:81/b", 0, NULL},
        {"Location: http://other/b", 0, NULL},
        {"Location: //other/b", 0, NULL},
        {"Location: ftp://h/b", 0, NULL},
        {"Location: /b", 1, NULL},
        {"Content-Location: /b", 1, "http://h/b"},
        {"Content-Location: ", 1, "http://h/a/"},
        {"Content-Location: http://other/", 1, NULL},
        {"", 0, NULL},
        {"", 1, NULL},
        {"Location: /b", 2, NULL},
    };
    afc__url request;
    check_status(afc__url_parse(&request, S("http://h/a/"), NULL), AFC_OK);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        parsed_head head;
        afc__url url;
        make_head(&head, 201, rows[i].fields);
        bool is_named = afc__invalidated_url(&url, &request, &head.head, rows[i].which);
        if (is_named != (rows[i].url != NULL)) fail_msg("%s", rows[i].fields);
        if (!is_named) continue;
        assert_string_equal(url.text, rows[i].url);
        afc__url_clear(&url);
    }
    static const struct {
        const char *fields;
        bool is_own;
    } own[] = {{"Content-Location: /a/", true},
               {"Content-Location: http://h/a/", true},
               {"Content-Location:", true},
               {"Content-Location: /a", false},
               {"Content-Location: https://h/a/", false},
               {"Location: /a/", false}};
    for (size_t i = 0; i < COUNT_OF(own); i++) {
        parsed_head head;
        make_head(&head, 200, own[i].fields);
        if (afc__content_is_of_url(&request, &head.head) != own[i].is_own) {
            fail_msg("%s", own[i].fields);
        }
    }
    afc__url_clear(&request);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fields_of_the_connection_are_not_stored),
        cmocka_unit_test(fields_that_no_cache_names_are_not_stored),
        cmocka_unit_test(head_that_names_too_many_fields_is_refused),
        cmocka_unit_test(later_head_replaces_all_fields_of_a_name),
        cmocka_unit_test(later_head_may_have_many_fields),
        cmocka_unit_test(head_that_is_too_large_is_refused),
        cmocka_unit_test(answers_are_made_as_heads),
        cmocka_unit_test(an_answer_has_as_many_fields_as_are_stored),
        cmocka_unit_test(unsafe_methods_invalidate_their_origin_only),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
