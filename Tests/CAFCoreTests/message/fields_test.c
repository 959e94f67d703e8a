#include "message/credentials.h"
#include "message/fields.h"

#include "base/alloc.h"
#include "support/check.h"
#include "support/torture.h"

#include <stdio.h>

static void recognises_tokens(void **state) {
    (void)state;
    assert_true(afc__is_token(S("GET")));
    assert_true(afc__is_token(S("!#$%&'*+-.^_`|~09azAZ")));
    assert_false(afc__is_token(S("")));
    assert_false(afc__is_token((afc_slice){NULL, 0}));
    for (int c = 0; c < 256; c++) {
        char text[2] = {'a', (char)c};
        bool is_alphanumeric = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
                               (c >= 'A' && c <= 'Z');
        bool expected = is_alphanumeric || (c != 0 && strchr("!#$%&'*+-.^_`|~", c) != NULL);
        assert_int_equal(afc__is_token((afc_slice){text, 2}), expected);
        assert_int_equal(afc__is_field_value((afc_slice){text, 2}),
                         c != '\r' && c != '\n' && c != '\0');
        assert_int_equal(afc__may_be_sent((afc_slice){text, 2}),
                         c == '\t' || (c >= ' ' && c != 0x7f));
    }
}

static void parses_numbers_and_clamps_them_on_request(void **state) {
    (void)state;
    static const struct {
        const char *text;
        bool is_number, fits;
        int64_t clamped;
    } rows[] = {
        {"0", true, true, 0},
        {"007", true, true, 7},
        {"99", true, true, 99},
        {"100", true, false, 99},
        {"990", true, false, 99},
        {"", false, false, 0},
        {"-1", false, false, 0},
        {"+1", false, false, 0},
        {"1 ", false, false, 0},
        {"100x", false, false, 0},
        {"99999999999999999999999", true, false, 99},
        {"1\xB2", false, false, 0},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        uint64_t number;
        int64_t clamped;
        afc_slice text = afc_slice_of(rows[i].text);
        bool fits = afc__parse_number(text, 99, &number);
        bool is_number = afc__parse_clamped(text, 99, &clamped);
        bool is_right = fits == rows[i].fits && is_number == rows[i].is_number &&
                        (!fits || number == (uint64_t)rows[i].clamped) &&
                        (!is_number || clamped == rows[i].clamped);
        if (!is_right) fail_msg("%s", rows[i].text);
    }
}

static void tells_names_of_credentials_from_others(void **state) {
    (void)state;
    static const struct {
        const char *name;
        bool is_credential;
    } cases[] = {
        {"Authorization", true},
        {"authorization", true},
        {"PROXY-AUTHORIZATION", true},
        {"Cookie", true},
        {"Set-Cookie", true},
        {"Cookie2", true},
        {"set-cookie2", true},
        {"X-Api-Key", true},
        {"api-key", true},
        {"X-AUTH-TOKEN", true},
        {"X-CSRF-Token", true},
        {"PRIVATE-TOKEN", true},
        {"X-Vault-Token", true},
        {"x-goog-api-key", true},
        {"Ocp-Apim-Subscription-Key", true},
        {"X-Amz-Security-Token", true},
        {"X-CSRFToken", true},
        {"X-RapidAPI-Key", true},
        {"xi-api-key", true},
        {"X-MBX-APIKEY", true},
        {"X-Nomad-Token", true},
        {"Token", true},
        {"CF-Access-Client-Secret", true},
        {"DD-APPLICATION-KEY", true},
        {"X-Functions-Key", true},
        {"X-Auth-Key", true},
        {"X-Parse-Master-Key", true},
        {"X-Proxy-Password", true},
        {"X-Access-Key", true},
        {"X-Secret-Key", true},
        {"fastly-key", true},
        {"x-authorization", true},
        {"Sec-WebSocket-Key", false},
        {"Idempotency-Key", false},
        {"Surrogate-Key", false},
        {"Tokens", false},
        {"oken", false},
        {"X-Amz-Date", false},
        {"X-Api-Keys", false},
        {"X-Key", false},
        {"", false},
        {"Authorizations", false},
        {"Authorizatiom", false},
        {"Cookie3", false},
        {"Cook", false},
        {"X-Cookie", false},
        {"Proxy-Auth", false},
        {"WWW-Authenticate", false},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        assert_int_equal(afc_header_is_credential(afc_slice_of(cases[i].name)),
                         cases[i].is_credential);
    }
    assert_false(afc_header_is_credential((afc_slice){NULL, 0}));
}

/** Whatever is around it: eight octets are looked at together. */
static void finds_controls_anywhere_in_a_text(void **state) {
    (void)state;
    enum { LONGEST = 20 };
    static const char around[] = {'a', '\x20', '\x7e', '\x80', '\xff'};
    assert_false(afc__has_control((afc_slice){NULL, 0}));
    for (size_t i = 0; i < COUNT_OF(around); i++) {
        char text[LONGEST];
        memset(text, around[i], sizeof text);
        for (size_t size = 1; size <= LONGEST; size++) {
            assert_false(afc__has_control((afc_slice){text, size}));
            for (size_t at = 0; at < size; at++) {
                for (unsigned octet = 0; octet < 256; octet++) {
                    text[at] = (char)octet;
                    bool is_control = octet < 0x20 || octet == 0x7f;
                    assert_int_equal(afc__has_control((afc_slice){text, size}), is_control);
                    assert_int_equal(afc__may_be_sent((afc_slice){text, size}),
                                     !is_control || octet == '\t');
                }
                text[at] = around[i];
            }
        }
    }
}

static void fields_are_added_together_or_not_at_all(void **state) {
    (void)state;
    const char text[] = "NameValue";
    const afc_header more[] = {{{text, 4}, {text + 4, 5}, 0},
                               {S("B"), S(""), 0},
                               {S("C"), S("third"), 0},
                               {{text, 4}, {text, 4}, 0}};
    TORTURE(n) {
        afc__fields fields;
        afc__fields_init(&fields, 35);
        afc_status status = afc__fields_add(&fields, S("A"), S("1"));
        if (status == AFC_OK) {
            status = afc__fields_add_all(&fields, more, COUNT_OF(more));
            assert_int_equal(fields.count, status == AFC_OK ? 1 + COUNT_OF(more) : 1);
        }
        if (status == AFC_OK) {
            check_slice(((afc_slice){fields.text.bytes, fields.text.size}),
                        "A1NameValueBCthirdNameName");
            afc__fields_bind(&fields, 0);
            check_slice(fields.headers[1].value, "Value");
            check_slice(fields.headers[4].name, "Name");
            check_status(afc__fields_add_all(&fields, more, 2), AFC_ETOOBIG);
            assert_int_equal(fields.count, 5);
            check_status(afc__fields_add_all(&fields, more, 1), AFC_OK);
        }
        afc__fields_clear(&fields);
    }
}

static void compares_names_without_case(void **state) {
    (void)state;
    assert_true(afc__same_name(S("Content-LENGTH"), "content-length"));
    assert_true(afc__same_name(S(""), ""));
    assert_false(afc__same_name(S("Content-Lengt"), "Content-Length"));
    assert_false(afc__same_name(S("Content-Length "), "Content-Length"));
    assert_false(afc__same_name(S("a["), "a{"));
    assert_false(afc__same_name(S("\xC4"), "\xE4"));
}

static void splits_lists_into_members(void **state) {
    (void)state;
    afc_slice list = S(" a ,\tb c,, d"), member;
    static const char *const expected[] = {"a", "b c", "", "d"};
    for (size_t i = 0; i < COUNT_OF(expected); i++) {
        assert_true(afc__next_member(&list, &member));
        check_slice(member, expected[i]);
    }
    assert_false(afc__next_member(&list, &member));
    list = S("");
    assert_true(afc__next_member(&list, &member));
    assert_int_equal(member.size, 0);
    assert_false(afc__next_member(&list, &member));
}

static void checks_request_fields(void **state) {
    (void)state;
    static const struct {
        afc_header header;
        const char *reason; /**< NULL: fine. */
    } cases[] = {
        {{ROW_S("Accept"), ROW_S("*/*"), 0}, NULL},
        {{ROW_S("X"), ROW_S(""), 0}, NULL},
        {{ROW_S("X"), ROW_S("\xE4 \t"), AFC_HEADER_SECRET}, NULL},
        {{ROW_S("Accept"), {NULL, 0}, AFC_HEADER_REMOVE}, NULL},
        {{ROW_S("Accept"), ROW_S("ignored\r\n"), AFC_HEADER_REMOVE}, NULL},
        {{ROW_S(""), ROW_S("secret"), 0}, "field 2 isn't a token"},
        {{ROW_S("A: secret"), ROW_S("x"), 0}, "field 2 isn't a token"},
        {{ROW_S("A\r\nB"), ROW_S("x"), 0}, "field 2 isn't a token"},
        {{ROW_S("A b"), {NULL, 0}, AFC_HEADER_REMOVE}, "field 2 isn't a token"},
        {{ROW_S("X-A"), ROW_S("secret\r\nHost: evil"), 0}, "X-A"},
        {{ROW_S("X-A"), ROW_S("secret\n"), 0}, "X-A"},
        {{ROW_S("X-A"), ROW_S("sec\0ret"), 0}, "X-A"},
        {{ROW_S("X-A"), ROW_S("sec\x1bret"), 0}, "X-A"},
        {{ROW_S("X-A"), ROW_S("\x7fsecret"), 0}, "X-A"},
        {{ROW_S("content-length"), ROW_S("5"), 0}, "content-length"},
        {{ROW_S("Transfer-Encoding"), ROW_S("chunked"), 0}, "Transfer-Encoding"},
        {{ROW_S("Content-Length"), {NULL, 0}, AFC_HEADER_REMOVE}, "Content-Length"},
        {{ROW_S("X-A"), ROW_S("secret"), 1u << 2}, "unknown flags for header X-A: 0x4"},
        {{{NULL, 3}, ROW_S("secret"), 0}, "the name of header field 2 has a size but no bytes"},
        {{ROW_S("X-A"), {NULL, 3}, 0}, "the value of header field 2 has a size but no bytes"},
        {{ROW_S("X-A"), {NULL, 3}, AFC_HEADER_REMOVE}, "the value of header field 2 has a size"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const afc_header headers[] = {{ROW_S("Fine"), ROW_S("fine"), 0}, cases[i].header};
        afc_failure failure;
        afc_status status = afc__check_request_headers(headers, 2, &failure);
        check_status(status, cases[i].reason != NULL ? AFC_EINVAL : AFC_OK);
        if (cases[i].reason == NULL) continue;
        check_contains(failure.text, cases[i].reason);
        assert_null(strstr(failure.text, "secret"));
    }
    check_status(afc__check_request_headers(NULL, 0, NULL), AFC_OK);
    afc_failure failure;
    check_status(afc__check_request_headers(NULL, 1, &failure), AFC_EINVAL);
    assert_string_equal(failure.text, "header_count is set but headers is NULL");
    const afc_header nameless = {{NULL, 1}, S(""), 0};
    check_status(afc_header_check(&nameless, &failure), AFC_EINVAL);
    check_contains(failure.text, "has a size but no bytes");
}

static void refuses_second_host(void **state) {
    (void)state;
    const afc_header headers[] = {{S("Host"), S("a.test"), 0},
                                  {S("Accept"), {NULL, 0}, AFC_HEADER_REMOVE},
                                  {S("HOST"), {NULL, 0}, AFC_HEADER_REMOVE},
                                  {S("host"), S("a.test"), 0}};
    afc_failure failure;
    check_status(afc__check_request_headers(headers, 3, &failure), AFC_OK);
    check_status(afc__check_request_headers(headers, 4, &failure), AFC_EINVAL);
    assert_string_equal(failure.text, "the request has 2 Host fields: expected at most one");
}

static void failed_allocation_keeps_the_fields(void **state) {
    (void)state;
    TORTURE(n) {
        afc__fields fields;
        afc__fields_init(&fields, 1 << 16);
        size_t added = 0;
        for (int i = 0; i < 100; i++) {
            char name[8];
            int size = snprintf(name, sizeof name, "N%02d", i);
            afc_status status = afc__fields_add(&fields, (afc_slice){name, (size_t)size},
                                                S("value"));
            if (status == AFC_OK) added++;
            if (status == AFC_OK) status = afc__fields_fold(&fields, S("folded"));
            assert_true(status == AFC_OK || status == AFC_ENOMEM);
        }
        afc__fields_bind(&fields, 0);
        assert_int_equal(fields.count, added);
        for (size_t i = 0; i < fields.count; i++) {
            assert_int_equal(fields.headers[i].name.size, 3);
            assert_memory_equal(fields.headers[i].value.bytes, "value", 5);
        }
        afc__fields_clear(&fields);
    }
}

static void fields_outgrow_their_inline_storage(void **state) {
    (void)state;
    char text[64];
    afc_header headers[2];
    afc__fields fields;
    afc__fields_init(&fields, 1 << 16);
    afc__fields_use_storage(&fields, (afc__storage){text, sizeof text}, headers, COUNT_OF(headers));
    afc__alloc_fail_at(SIZE_MAX);
    check_status(afc__fields_add(&fields, S("A"), S("1")), AFC_OK);
    check_status(afc__fields_add(&fields, S("B"), S("2")), AFC_OK);
    assert_int_equal(afc__alloc_fail_at(0), 0);
    assert_ptr_equal(fields.headers, headers);
    for (int i = 0; i < 30; i++) {
        check_status(afc__fields_add(&fields, S("Name"), S("value")), AFC_OK);
    }
    assert_ptr_not_equal(fields.headers, headers);
    afc__fields_bind(&fields, 0);
    assert_int_equal(fields.count, 32);
    check_slice(fields.headers[0].name, "A");
    check_slice(fields.headers[1].value, "2");
    for (size_t i = 2; i < fields.count; i++) check_slice(fields.headers[i].value, "value");
    afc__fields_clear(&fields);
}

static void limits_the_size_of_fields(void **state) {
    (void)state;
    afc__fields fields;
    afc__fields_init(&fields, 10);
    check_status(afc__fields_add(&fields, S("Name"), S("value")), AFC_OK);
    check_status(afc__fields_fold(&fields, S("x")), AFC_ETOOBIG);
    check_status(afc__fields_add(&fields, S("N"), S("v")), AFC_ETOOBIG);
    check_status(afc__fields_fold(&fields, S("")), AFC_OK);
    afc__fields_bind(&fields, 0);
    assert_int_equal(fields.count, 1);
    check_slice(fields.headers[0].value, "value");
    afc__fields_restart(&fields);
    check_status(afc__fields_add(&fields, S("Other"), S("")), AFC_OK);
    check_status(afc__fields_fold(&fields, S("more")), AFC_OK);
    afc__fields_bind(&fields, 0);
    check_slice(fields.headers[0].value, "more");
    afc__fields_clear(&fields);
}

static void makes_basic_credentials_of_userinfo(void **state) {
    (void)state;
    static const struct {
        const char *userinfo, *credentials;
    } cases[] = {
        {"Aladdin:open sesame", "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ=="},
        {"a", "Basic YTo="},
        {"a:", "Basic YTo="},
        {":b", "Basic OmI="},
        {"%61%253a:%40%3a", "Basic YSUzYTpAOg=="},
        {"100%:%zz%4", "Basic MTAwJTolenolNA=="},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        TORTURE(n) {
            char *credentials;
            if (afc__basic_credentials(&credentials, cases[i].userinfo, NULL) != AFC_OK) continue;
            assert_string_equal(credentials, cases[i].credentials);
            afc__free_secret(credentials, strlen(credentials));
        }
    }
}

static void refuses_colon_in_the_user_of_basic(void **state) {
    (void)state;
    static const char *const cases[] = {"a%3Ab:c", "%3a:c", "a%3A"};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char *credentials;
        afc_failure failure;
        check_status(afc__basic_credentials(&credentials, cases[i], &failure), AFC_EINVAL);
        assert_null(credentials);
        check_contains(failure.text, "the URL's user name contains a colon");
    }
}

static void refuses_control_characters_in_userinfo_of_basic(void **state) {
    (void)state;
    static const struct {
        const char *userinfo, *part;
    } cases[] = {
        {"a%0Ab:c", "the URL's user name"}, {"a%00", "the URL's user name"},
        {"%7f:c", "the URL's user name"},   {"a%09b:c", "the URL's user name"},
        {"a:c%00", "the URL's password"},   {"a:%0d%0aX: y", "the URL's password"},
        {":c:%1fd", "the URL's password"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char *credentials;
        afc_failure failure;
        check_status(afc__basic_credentials(&credentials, cases[i].userinfo, &failure), AFC_EINVAL);
        assert_null(credentials);
        check_contains(failure.text, cases[i].part);
        check_contains(failure.text, "control character");
    }
}

static void quoted_strings_end_at_their_quote(void **state) {
    (void)state;
    static const struct {
        const char *text;
        size_t size;
        const char *without;
    } rows[] = {
        {"\"\"", 2, ""},
        {"\"a\"", 3, "a"},
        {"\"a,b\";c", 5, "\"a,b\";c"},
        {"\"a\\\"b\"", 6, "a\\\"b"},
        {"\"a\\\\\"", 5, "a\\\\"},
        {"\"a\\\"", 0, "a\\"},
        {"\"a\\", 0, "\"a\\"},
        {"\"", 0, "\""},
        {"", 0, ""},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        afc_slice text = afc_slice_of(rows[i].text);
        assert_int_equal(afc__quoted_size(text), rows[i].size);
        check_slice(afc__without_quotes(text), rows[i].without);
    }
}

static void marks_in_quoted_strings_are_passed_over(void **state) {
    (void)state;
    static const struct {
        const char *text;
        size_t at;
        bool is_open;
    } rows[] = {
        {"a,b", 1, false},
        {"a", 1, false},
        {"", 0, false},
        {"a=\"b,c\",d", 7, false},
        {"a=\"b\\\",c\",d", 9, false},
        {"a\\,b", 2, false},
        {"\"a\"\"b,\",c", 7, false},
        {"a=\"b,c", 6, true},
        {"a=\"b\\\",c", 8, true},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        bool is_open;
        assert_int_equal(afc__find_unquoted(afc_slice_of(rows[i].text), ',', &is_open), rows[i].at);
        assert_int_equal(is_open, rows[i].is_open);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(recognises_tokens),
        cmocka_unit_test(parses_numbers_and_clamps_them_on_request),
        cmocka_unit_test(tells_names_of_credentials_from_others),
        cmocka_unit_test(finds_controls_anywhere_in_a_text),
        cmocka_unit_test(fields_are_added_together_or_not_at_all),
        cmocka_unit_test(compares_names_without_case),
        cmocka_unit_test(splits_lists_into_members),
        cmocka_unit_test(checks_request_fields),
        cmocka_unit_test(refuses_second_host),
        cmocka_unit_test(failed_allocation_keeps_the_fields),
        cmocka_unit_test(fields_outgrow_their_inline_storage),
        cmocka_unit_test(limits_the_size_of_fields),
        cmocka_unit_test(makes_basic_credentials_of_userinfo),
        cmocka_unit_test(refuses_colon_in_the_user_of_basic),
        cmocka_unit_test(refuses_control_characters_in_userinfo_of_basic),
        cmocka_unit_test(quoted_strings_end_at_their_quote),
        cmocka_unit_test(marks_in_quoted_strings_are_passed_over),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
