#include "base/failure.h"
#include "support/check.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static void each_status_has_its_own_name_and_text(void **state) {
    (void)state;
    static const struct {
        int number;
        const char *name, *text;
    } all[] = {
#define ROW(identifier, number, name, text) {number, name, text},
        AFC_STATUS_MAP(ROW)
#undef ROW
    };
    for (size_t i = 0; i < COUNT_OF(all); i++) {
        assert_int_equal(all[i].number, -(int)i);
        assert_string_equal(afc_status_name((afc_status)all[i].number), all[i].name);
        assert_string_equal(afc_status_text((afc_status)all[i].number), all[i].text);
        for (size_t j = 0; j < i; j++) assert_string_not_equal(all[i].name, all[j].name);
    }
}

static void status_numbers_do_not_change(void **state) {
    (void)state;
    assert_int_equal(AFC_OK, 0);
    assert_int_equal(AFC_ECANCELED, -3);
    assert_int_equal(AFC_ETIMEOUT, -10);
    assert_int_equal(AFC_EINTERNAL, -21);
    assert_string_equal(afc_status_name(AFC_EINVAL), "invalidInput");
    assert_string_equal(afc_status_name(AFC_EREPLAY), "bodyNotReplayable");
}

static void unknown_numbers_get_a_text(void **state) {
    (void)state;
    assert_string_equal(afc_status_name((afc_status)1), "unknown");
    assert_string_equal(afc_status_text((afc_status)-1000), "unknown status");
    assert_string_equal(afc_trust_reason_name((afc_trust_reason)77), "other");
}

static void each_trust_reason_has_a_name(void **state) {
    (void)state;
    static const char *const names[] = {"accepted",     "expired",           "notYetValid",
                                        "wrongHost",    "selfSigned",        "unknownIssuer",
                                        "pin",          "revoked",           "weak",
                                        "other",        "untrustedRoot",     "nameConstraint",
                                        "purpose",      "pathLength",        "notAnAuthority",
                                        "badSignature", "unknownRevocation", "malformed",
                                        "handler"};
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        assert_string_equal(afc_trust_reason_name((afc_trust_reason)i), names[i]);
    }
}

static void each_reason_has_its_own_name(void **state) {
    (void)state;
    static const struct {
        int number;
        const char *name;
    } all[] = {
#define ROW(identifier, number, name) {number, name},
        AFC_REASON_MAP(ROW)
#undef ROW
    };
    for (size_t i = 0; i < COUNT_OF(all); i++) {
        assert_int_equal(all[i].number, (int)i);
        assert_string_equal(afc_reason_name((afc_reason)i), all[i].name);
        for (size_t j = 0; j < i; j++) assert_string_not_equal(all[i].name, all[j].name);
    }
    assert_int_equal(AFC_REASON_NO_CLOSE_FRAME, 22);
    assert_int_equal(AFC_REASON_DECLARED_DIGEST, 23);
    assert_int_equal(AFC_REASON_OFFLINE, 24);
    assert_int_equal(AFC_REASON_NOT_OPEN, 25);
    assert_int_equal(AFC_REASON_CREDENTIALS, 32);
    assert_string_equal(afc_reason_name((afc_reason)1000), "none");
}

static void reason_is_added_to_a_failure(void **state) {
    (void)state;
    afc_failure failure;
    check_status(
        afc__give_reason(&failure, AFC_REASON_DIGEST, afc__fail(&failure, AFC_EPROTOCOL, "x")),
        AFC_EPROTOCOL);
    assert_int_equal(failure.reason, AFC_REASON_DIGEST);
    check_status(afc__fail(&failure, AFC_EPROTOCOL, "y"), AFC_EPROTOCOL);
    assert_int_equal(failure.reason, AFC_REASON_NONE);
    check_status(afc__give_reason(NULL, AFC_REASON_DIGEST, AFC_EFILE), AFC_EFILE);
}

static void setting_a_failure_replaces_the_old_one(void **state) {
    (void)state;
    afc_failure failure;
    memset(&failure, 0xAA, sizeof failure);
    check_status(afc__fail(&failure, AFC_EDNS, "no %s for %d", "address", 7), AFC_EDNS);
    check_status(failure.status, AFC_EDNS);
    assert_string_equal(failure.text, "no address for 7");
    assert_int_equal(failure.timeout, AFC_TIMEOUT_NONE);
    assert_int_equal(failure.trust, AFC_TRUST_ACCEPTED);
    assert_int_equal(failure.curl_code, 0);
    assert_int_equal(failure.system_error, 0);
    check_status(afc__fail(NULL, AFC_EFILE, "%s", "nobody listens"), AFC_EFILE);
}

static void failure_text_can_quote_itself(void **state) {
    (void)state;
    afc_failure failure;
    afc__fail(&failure, AFC_EINVAL, "the inner one");
    afc__fail(&failure, AFC_EREDIRECT, "outer: %s", failure.text);
    assert_string_equal(failure.text, "outer: the inner one");
}

static void replaces_control_characters(void **state) {
    (void)state;
    afc_failure failure;
    afc__fail(&failure, AFC_EINVAL, "%s", "a\r\nb\x1b[31m\x7f\tc");
    assert_string_equal(failure.text, "a??b?[31m??c");
    afc__fail(&failure, AFC_EINVAL, "%s", "csi \xC2\x9B, \xC3\xA4, \xC2\xA0, end \xC2");
    assert_string_equal(failure.text, "csi ??, \xC3\xA4, \xC2\xA0, end \xC2");
}

static void cuts_long_texts_between_characters(void **state) {
    (void)state;
    enum { ROOM = AFC_FAILURE_TEXT_SIZE - 1 };
    static const struct {
        const char *character;
        size_t size;
    } cases[] = {{"x", 1}, {"\xC3\xA4", 2}, {"\xE2\x82\xAC", 3}, {"\xF0\x9F\x98\x80", 4}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        for (size_t lead = 0; lead < 5; lead++) {
            char text[2 * AFC_FAILURE_TEXT_SIZE];
            memset(text, '-', lead);
            size_t size = lead;
            while (size <= AFC_FAILURE_TEXT_SIZE) {
                memcpy(text + size, cases[i].character, cases[i].size);
                size += cases[i].size;
            }
            text[size] = '\0';
            afc_failure failure;
            afc__fail(&failure, AFC_EINVAL, "%s", text);
            size_t whole = (ROOM - lead) / cases[i].size;
            assert_int_equal(strlen(failure.text), lead + whole * cases[i].size);
            assert_memory_equal(failure.text, text, strlen(failure.text));
        }
    }
}

static void long_path_keeps_its_ends_and_the_reason(void **state) {
    (void)state;
    for (size_t size = 100; size < 400; size++) {
        char path[512] = "/begin/";
        size_t used = strlen(path);
        while (used < size) used += (size_t)snprintf(path + used, sizeof path - used, "\xC3\xA4");
        snprintf(path + used, sizeof path - used, "/end");
        afc_failure failure;
        assert_int_equal(afc__fail_file(&failure, "cannot write", path, ENAMETOOLONG), AFC_EFILE);
        char whole[1024];
        snprintf(whole, sizeof whole, "cannot write %s: %s", path, strerror(ENAMETOOLONG));
        bool is_short = strlen(whole) < AFC_FAILURE_TEXT_SIZE;
        assert_int_equal(strcmp(failure.text, whole) == 0, is_short);
        assert_memory_equal(failure.text, "cannot write /begin/\xC3\xA4", 22);
        const char *end = "\xC3\xA4/end: File name too long";
        assert_string_equal(failure.text + strlen(failure.text) - strlen(end), end);
        assert_int_equal(strstr(failure.text, "\xC3\xA4\xE2\x80\xA6\xC3\xA4") == NULL, is_short);
        assert_int_equal(failure.system_error, ENAMETOOLONG);
    }
}

static void cuts_parts_between_characters(void **state) {
    (void)state;
    assert_int_equal(afc__cut("", 5), 0);
    assert_int_equal(afc__cut("abc", 2), 2);
    assert_int_equal(afc__cut("abc", 3), 3);
    assert_int_equal(afc__cut("a\xc3\xbc", 2), 1);
    assert_int_equal(afc__cut("a\xc3\xbc", 3), 3);
    assert_int_equal(afc__cut("a\xc3\xbc", 4), 3);
    assert_int_equal(afc__cut("\xf0\x9f\x98\x80", 3), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_status_has_its_own_name_and_text),
        cmocka_unit_test(status_numbers_do_not_change),
        cmocka_unit_test(unknown_numbers_get_a_text),
        cmocka_unit_test(each_trust_reason_has_a_name),
        cmocka_unit_test(each_reason_has_its_own_name),
        cmocka_unit_test(reason_is_added_to_a_failure),
        cmocka_unit_test(setting_a_failure_replaces_the_old_one),
        cmocka_unit_test(failure_text_can_quote_itself),
        cmocka_unit_test(replaces_control_characters),
        cmocka_unit_test(cuts_long_texts_between_characters),
        cmocka_unit_test(cuts_parts_between_characters),
        cmocka_unit_test(long_path_keeps_its_ends_and_the_reason),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
