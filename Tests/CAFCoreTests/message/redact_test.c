/* Heads without their secrets. */
#include "support/check.h"

#include "message/redact.h"

#include <string.h>

static const afc_header marked[] = {{{"X-Key", 5}, {"k", 1}, AFC_HEADER_SECRET},
                                    {{"X-Open", 6}, {"o", 1}, 0}};

static void check_redacted(afc__redaction *state, const char *line, const char *expected) {
    afc__buffer out;
    afc__buffer_init(&out, UINT32_MAX);
    check_status(afc__redact_line(&out, state, afc_slice_of(line), marked, COUNT_OF(marked)),
                 AFC_OK);
    check_slice(((afc_slice){out.bytes, out.size}), expected);
    afc__buffer_clear(&out);
}

static void hides_values_of_credentials(void **state) {
    (void)state;
    static const char *const cases[][2] = {
        {"Authorization: Basic eDp5\r\n", "Authorization: <hidden>\r\n"},
        {"proxy-authorization:Digest u\r\n", "proxy-authorization: <hidden>\r\n"},
        {"COOKIE: a=b\n", "COOKIE: <hidden>\n"},
        {"Set-Cookie : a=b\r\n", "Set-Cookie : <hidden>\r\n"},
        {"Cookie2: $Version=1\r\n", "Cookie2: <hidden>\r\n"},
        {"x-api-key: k\r\n", "x-api-key: <hidden>\r\n"},
        {"set-cookie2: a=b\r\n", "set-cookie2: <hidden>\r\n"},
        {"x-key: 1\r\n", "x-key: <hidden>\r\n"},
        {"Cookie:", "Cookie: <hidden>"},
        {"X-Open: 1\r\n", "X-Open: 1\r\n"},
        {"Cookies: 1\r\n", "Cookies: 1\r\n"},
        {"HTTP/1.1 200 OK\r\n", "HTTP/1.1 200 OK\r\n"},
        {"\r\n", "\r\n"},
        {":status: 1\r\n", ":status: 1\r\n"},
        {"", ""}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        afc__redaction redaction = AFC__REDACT_NOTHING;
        check_redacted(&redaction, cases[i][0], cases[i][1]);
    }
}

static void hides_folded_lines_of_credentials_only(void **state) {
    (void)state;
    afc__redaction redaction = AFC__REDACT_NOTHING;
    check_redacted(&redaction, "Set-Cookie: a=b;\r\n", "Set-Cookie: <hidden>\r\n");
    check_redacted(&redaction, "\tpath=/secret\r\n", " <hidden>\r\n");
    check_redacted(&redaction, " more: x\r\n", " <hidden>\r\n");
    check_redacted(&redaction, "X: a\r\n", "X: a\r\n");
    check_redacted(&redaction, " cookie: b\r\n", " cookie: b\r\n");
}

static void removes_userinfo_of_urls(void **state) {
    (void)state;
    static const char *const cases[][2] = {
        {"Location: http://u:p@h/a@b\r\n", "Location: http://h/a@b\r\n"},
        {"Location: //u@x:p@h:1\r\n", "Location: //h:1\r\n"},
        {"Refresh: 0; url=https://me:pass@h/\r\n", "Refresh: 0; url=https://h/\r\n"},
        {"Link: <http://a:b@h/>, <http://c:d@i?x=//e@f>\r\n",
         "Link: <http://h/>, <http://i?x=//f>\r\n"},
        {"X: http://h/?a=u@h\r\n", "X: http://h/?a=u@h\r\n"},
        {"X: me@h\r\n", "X: me@h\r\n"},
        {"X: //", "X: //"},
        {"X: http://@h\r\n", "X: http://h\r\n"}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        afc__redaction redaction = AFC__REDACT_NOTHING;
        check_redacted(&redaction, cases[i][0], cases[i][1]);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hides_values_of_credentials),
        cmocka_unit_test(hides_folded_lines_of_credentials_only),
        cmocka_unit_test(removes_userinfo_of_urls),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
