#include "message/credentials.h"
#include "message/fields.h"

#include "base/alloc.h"
#include "support/check.h"
#include "support/torture.h"

#include <stdio.h>

static void tokens_are_told_from_other_text(void **state) {
    (void)state;
    assert_true(af__is_token(S("GET")));
    assert_true(af__is_token(S("!#$%&'*+-.^_`|~09azAZ")));
    assert_false(af__is_token(S("")));
    assert_false(af__is_token((af_slice){NULL, 0}));
    for (int c = 0; c < 256; c++) {
        char text[2] = {'a', (char)c};
        bool is_alphanumeric = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
                               (c >= 'A' && c <= 'Z');
        bool expected = is_alphanumeric || (c != 0 && strchr("!#$%&'*+-.^_`|~", c) != NULL);
        assert_int_equal(af__is_token((af_slice){text, 2}), expected);
        assert_int_equal(af__is_field_value((af_slice){text, 2}),
                         c != '\r' && c != '\n' && c != '\0');
        assert_int_equal(af__may_be_sent((af_slice){text, 2}),
                         c == '\t' || (c >= ' ' && c != 0x7f));
    }
}

static void names_are_compared_without_case(void **state) {
    (void)state;
    assert_true(af__same_name(S("Content-LENGTH"), "content-length"));
    assert_true(af__same_name(S(""), ""));
    assert_false(af__same_name(S("Content-Lengt"), "Content-Length"));
    assert_false(af__same_name(S("Content-Length "), "Content-Length"));
    assert_false(af__same_name(S("a["), "a{"));
    assert_false(af__same_name(S("\xC4"), "\xE4"));
}

static void lists_fall_into_members(void **state) {
    (void)state;
    af_slice list = S(" a ,\tb c,, d"), member;
    static const char *const expected[] = {"a", "b c", "", "d"};
    for (size_t i = 0; i < COUNT_OF(expected); i++) {
        assert_true(af__next_member(&list, &member));
        check_slice(member, expected[i]);
    }
    assert_false(af__next_member(&list, &member));
    list = S("");
    assert_true(af__next_member(&list, &member));
    assert_int_equal(member.size, 0);
    assert_false(af__next_member(&list, &member));
}

static void request_fields_are_checked(void **state) {
    (void)state;
    static const struct {
        af_header header;
        const char *reason; /**< NULL: fine. */
    } cases[] = {
        {{ROW_S("Accept"), ROW_S("*/*"), 0}, NULL},
        {{ROW_S("X"), ROW_S(""), 0}, NULL},
        {{ROW_S("X"), ROW_S("\xE4 \t"), AF_HEADER_SECRET}, NULL},
        {{ROW_S("Accept"), {NULL, 0}, AF_HEADER_REMOVE}, NULL},
        {{ROW_S("Accept"), ROW_S("ignored\r\n"), AF_HEADER_REMOVE}, NULL},
        {{ROW_S(""), ROW_S("secret"), 0}, "field 2 isn't a token"},
        {{ROW_S("A: secret"), ROW_S("x"), 0}, "field 2 isn't a token"},
        {{ROW_S("A\r\nB"), ROW_S("x"), 0}, "field 2 isn't a token"},
        {{ROW_S("A b"), {NULL, 0}, AF_HEADER_REMOVE}, "field 2 isn't a token"},
        {{ROW_S("X-A"), ROW_S("secret\r\nHost: evil"), 0}, "X-A"},
        {{ROW_S("X-A"), ROW_S("secret\n"), 0}, "X-A"},
        {{ROW_S("X-A"), ROW_S("sec\0ret"), 0}, "X-A"},
        {{ROW_S("X-A"), ROW_S("sec\x1bret"), 0}, "X-A"},
        {{ROW_S("X-A"), ROW_S("\x7fsecret"), 0}, "X-A"},
        {{ROW_S("content-length"), ROW_S("5"), 0}, "content-length"},
        {{ROW_S("Transfer-Encoding"), ROW_S("chunked"), 0}, "Transfer-Encoding"},
        {{ROW_S("Content-Length"), {NULL, 0}, AF_HEADER_REMOVE}, "Content-Length"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const af_header headers[] = {{ROW_S("Fine"), ROW_S("fine"), 0}, cases[i].header};
        af_failure failure;
        af_status status = af__check_request_headers(headers, 2, &failure);
        check_status(status, cases[i].reason != NULL ? AF_EINVAL : AF_OK);
        if (cases[i].reason == NULL) continue;
        check_contains(failure.text, cases[i].reason);
        assert_null(strstr(failure.text, "secret"));
    }
    check_status(af__check_request_headers(NULL, 0, NULL), AF_OK);
}

static void fields_survive_a_failed_allocation(void **state) {
    (void)state;
    TORTURE(n) {
        af__fields fields;
        af__fields_init(&fields, 1 << 16);
        size_t added = 0;
        for (int i = 0; i < 100; i++) {
            char name[8];
            int size = snprintf(name, sizeof name, "N%02d", i);
            af_status status = af__fields_add(&fields, (af_slice){name, (size_t)size}, S("value"));
            if (status == AF_OK) added++;
            if (status == AF_OK) status = af__fields_fold(&fields, S("folded"));
            assert_true(status == AF_OK || status == AF_ENOMEM);
        }
        af__fields_bind(&fields, 0);
        assert_int_equal(fields.count, added);
        for (size_t i = 0; i < fields.count; i++) {
            assert_int_equal(fields.headers[i].name.size, 3);
            assert_memory_equal(fields.headers[i].value.bytes, "value", 5);
        }
        af__fields_clear(&fields);
    }
}

static void fields_move_out_of_a_room_that_gets_too_small(void **state) {
    (void)state;
    char text[64];
    af_header headers[2];
    af__fields fields;
    af__fields_init(&fields, 1 << 16);
    af__fields_use_storage(&fields, (af__storage){text, sizeof text}, headers, COUNT_OF(headers));
    af__alloc_fail_at(SIZE_MAX);
    check_status(af__fields_add(&fields, S("A"), S("1")), AF_OK);
    check_status(af__fields_add(&fields, S("B"), S("2")), AF_OK);
    assert_int_equal(af__alloc_fail_at(0), 0);
    assert_ptr_equal(fields.headers, headers);
    for (int i = 0; i < 30; i++) {
        check_status(af__fields_add(&fields, S("Name"), S("value")), AF_OK);
    }
    assert_ptr_not_equal(fields.headers, headers);
    af__fields_bind(&fields, 0);
    assert_int_equal(fields.count, 32);
    check_slice(fields.headers[0].name, "A");
    check_slice(fields.headers[1].value, "2");
    for (size_t i = 2; i < fields.count; i++) check_slice(fields.headers[i].value, "value");
    af__fields_clear(&fields);
}

static void the_text_of_fields_has_a_limit(void **state) {
    (void)state;
    af__fields fields;
    af__fields_init(&fields, 10);
    check_status(af__fields_add(&fields, S("Name"), S("value")), AF_OK);
    check_status(af__fields_fold(&fields, S("x")), AF_ETOOBIG);
    check_status(af__fields_add(&fields, S("N"), S("v")), AF_ETOOBIG);
    check_status(af__fields_fold(&fields, S("")), AF_OK);
    af__fields_bind(&fields, 0);
    assert_int_equal(fields.count, 1);
    check_slice(fields.headers[0].value, "value");
    af__fields_restart(&fields);
    check_status(af__fields_add(&fields, S("Other"), S("")), AF_OK);
    check_status(af__fields_fold(&fields, S("more")), AF_OK);
    af__fields_bind(&fields, 0);
    check_slice(fields.headers[0].value, "more");
    af__fields_clear(&fields);
}

static void basic_credentials_come_from_userinfo(void **state) {
    (void)state;
    static const struct {
        const char *userinfo, *credentials;
    } cases[] = {
        {"Aladdin:open sesame", "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ=="},
        {"a", "Basic YTo="},
        {"a:", "Basic YTo="},
        {":b", "Basic OmI="},
        {"%61%3a:%40", "Basic YTo6QA=="},
        {"100%:%zz%4", "Basic MTAwJTolenolNA=="},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        TORTURE(n) {
            char *credentials = af__basic_credentials(cases[i].userinfo);
            if (credentials == NULL) continue;
            assert_string_equal(credentials, cases[i].credentials);
            af__free_secret(credentials, strlen(credentials));
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tokens_are_told_from_other_text),
        cmocka_unit_test(names_are_compared_without_case),
        cmocka_unit_test(lists_fall_into_members),
        cmocka_unit_test(request_fields_are_checked),
        cmocka_unit_test(fields_survive_a_failed_allocation),
        cmocka_unit_test(fields_move_out_of_a_room_that_gets_too_small),
        cmocka_unit_test(the_text_of_fields_has_a_limit),
        cmocka_unit_test(basic_credentials_come_from_userinfo),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
