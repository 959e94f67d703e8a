/* The opening handshake: what is asked for, and which responses are refused with which reason (RFC 6455 4.1). */
#include "support/head.h"
#include "support/torture.h"
#include "websocket/handshake.h"

#include <string.h>

static const afc__deflate no_deflate = {0};
static const afc__deflate deflate = {true, 15, 15, false, false};

/* The key and its answer of RFC 6455 1.3. */
#define KEY "dGhlIHNhbXBsZSBub25jZQ=="
#define ACCEPT "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo="
#define UPGRADE "Upgrade: websocket\nConnection: Upgrade\n" ACCEPT

static void init(afc__handshake *handshake, const afc__deflate *offer) {
    static const char *const protocols[] = {"chat", "superchat"};
    check_status(afc__handshake_init(handshake, protocols, 2, offer, NULL), AFC_OK);
    memcpy(handshake->key, KEY, sizeof KEY);
}

static const struct {
    const char *name;
    int status;
    const char *fields;
    afc_status expected;
    const char *text; /**< In the failure; or the subprotocol. */
} rows[] = {
    {"accepted", 101, UPGRADE, AFC_OK, ""},
    {"names in any case", 101, "upgrade: WebSocket\nCONNECTION: keep-alive, upgrade\n" ACCEPT,
     AFC_OK, ""},
    {"with a subprotocol", 101, UPGRADE "\nSec-WebSocket-Protocol: superchat", AFC_OK, "superchat"},
    {"with compression", 101, UPGRADE "\nSec-WebSocket-Extensions: permessage-deflate", AFC_OK, ""},
    {"no upgrade field", 101, "Connection: Upgrade\n" ACCEPT, AFC_EPROTOCOL, "Upgrade: websocket"},
    {"another protocol", 101, "Upgrade: h2c\nConnection: Upgrade\n" ACCEPT, AFC_EPROTOCOL,
     "Upgrade: websocket"},
    {"several protocols", 101, "Upgrade: h2c, websocket\nConnection: Upgrade\n" ACCEPT,
     AFC_EPROTOCOL, "Upgrade: websocket"},
    {"several upgrade fields", 101, "Upgrade: h2c\n" UPGRADE, AFC_EPROTOCOL, "Upgrade: websocket"},
    {"no connection field", 101, "Upgrade: websocket\n" ACCEPT, AFC_EPROTOCOL,
     "Connection: Upgrade"},
    {"no accept field", 101, "Upgrade: websocket\nConnection: Upgrade", AFC_EPROTOCOL,
     "has no Sec-WebSocket-Accept"},
    {"two accept fields", 101, UPGRADE "\n" ACCEPT, AFC_EPROTOCOL, "several Sec-WebSocket-Accept"},
    {"wrong accept field", 101,
     "Upgrade: websocket\nConnection: Upgrade\nSec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOp=",
     AFC_EPROTOCOL, "doesn't match"},
    {"accept field in other case", 101,
     "Upgrade: websocket\nConnection: Upgrade\nSec-WebSocket-Accept: S3pPLMBiTxaQ9kYGzzhZRbK+xOo=",
     AFC_EPROTOCOL, "doesn't match"},
    {"subprotocol that wasn't offered", 101, UPGRADE "\nSec-WebSocket-Protocol: other",
     AFC_EPROTOCOL, "\"other\""},
    {"subprotocol in other case", 101, UPGRADE "\nSec-WebSocket-Protocol: Chat", AFC_EPROTOCOL,
     "wasn't offered"},
    {"several subprotocols", 101, UPGRADE "\nSec-WebSocket-Protocol: chat, superchat",
     AFC_EPROTOCOL, "wasn't offered"},
    {"several subprotocol fields", 101,
     UPGRADE "\nSec-WebSocket-Protocol: chat\nSec-WebSocket-Protocol: chat", AFC_EPROTOCOL,
     "several subprotocols"},
    {"empty subprotocol", 101, UPGRADE "\nSec-WebSocket-Protocol: ", AFC_EPROTOCOL, "offered"},
    {"unknown extension", 101, UPGRADE "\nSec-WebSocket-Extensions: other", AFC_EPROTOCOL,
     "wasn't offered"},
    {"ordinary response", 200, "", AFC_EPROTOCOL, "status 200"},
    {"not found", 404, "", AFC_EPROTOCOL, "status 404"},
    {"other version", 426, "Sec-WebSocket-Version: 14", AFC_EPROTOCOL, "status 426"},
    {"unauthorized", 401, "", AFC_EAUTH, "status 401"},
    {"unauthorized by a proxy", 407, "", AFC_EAUTH, "status 407"},
};

static void checks_responses(void **state) {
    (void)state;
    afc__handshake handshake;
    init(&handshake, &deflate);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        parsed_head parsed_head;
        afc__agreement agreement;
        afc_failure failure = {0};
        make_head(&parsed_head, rows[i].status, rows[i].fields);
        afc_status status = afc__handshake_check(&handshake, &parsed_head.head, &agreement,
                                                 &failure);
        if (status != rows[i].expected)
            fail_msg("%s: got %d %s", rows[i].name, (int)status, failure.text);
        if (status == AFC_OK) {
            check_slice(agreement.protocol, rows[i].text);
        } else {
            check_contains(failure.text, rows[i].text);
        }
    }
    afc__handshake_clear(&handshake);
}

static void accepts_a_101_of_http_1_1_only(void **state) {
    (void)state;
    static const afc_http_version versions[] = {AFC_HTTP_UNKNOWN, AFC_HTTP_1_0, AFC_HTTP_1_1,
                                                AFC_HTTP_2, AFC_HTTP_3};
    afc__handshake handshake;
    init(&handshake, &deflate);
    for (size_t i = 0; i < COUNT_OF(versions); i++) {
        parsed_head parsed_head;
        afc__agreement agreement;
        afc_failure failure = {0};
        make_head(&parsed_head, 101, UPGRADE);
        parsed_head.head.version = versions[i];
        afc_status status = afc__handshake_check(&handshake, &parsed_head.head, &agreement,
                                                 &failure);
        bool is_right = versions[i] == AFC_HTTP_1_1;
        check_status(status, is_right ? AFC_OK : AFC_EPROTOCOL);
        if (!is_right) check_contains(failure.text, "101 isn't HTTP/1.1");
    }
    afc__handshake_clear(&handshake);
}

static void asks_with_the_fields_of_the_standard(void **state) {
    (void)state;
    afc__handshake handshake;
    afc_header fields[AFC__HANDSHAKE_FIELDS];
    init(&handshake, &deflate);
    assert_int_equal(afc__handshake_write_fields(&handshake, fields), 6);
    static const char *const expected[][2] = {
        {"Upgrade", "websocket"},
        {"Connection", "Upgrade"},
        {"Sec-WebSocket-Version", "13"},
        {"Sec-WebSocket-Key", KEY},
        {"Sec-WebSocket-Protocol", "chat, superchat"},
        {"Sec-WebSocket-Extensions", "permessage-deflate; client_max_window_bits"},
    };
    for (size_t i = 0; i < COUNT_OF(expected); i++) {
        check_slice(fields[i].name, expected[i][0]);
        check_slice(fields[i].value, expected[i][1]);
        assert_true(afc__handshake_owns_field(fields[i].name));
    }
    assert_false(afc__handshake_owns_field(afc_slice_of("Origin")));
    afc__handshake_clear(&handshake);
}

static void makes_a_new_key_each_time(void **state) {
    (void)state;
    afc__handshake first, second;
    check_status(afc__handshake_init(&first, NULL, 0, &no_deflate, NULL), AFC_OK);
    check_status(afc__handshake_init(&second, NULL, 0, &no_deflate, NULL), AFC_OK);
    assert_int_equal(strlen(first.key), 24);
    assert_string_not_equal(first.key, second.key);
    afc_header fields[AFC__HANDSHAKE_FIELDS];
    assert_int_equal(afc__handshake_write_fields(&first, fields), 4);
}

static void new_key_replaces_the_old_one_only(void **state) {
    (void)state;
    enum { SIZE = AFC__WEBSOCKET_KEY_SIZE - 1 };
    afc__handshake handshake;
    char texts[3][SIZE + 1] = {KEY, KEY, "short"};
    afc_header fields[] = {{S("X-Key"), {texts[0], SIZE}, 0},
                           {S("sec-websocket-key"), {texts[1], SIZE}, 0},
                           {S("Sec-WebSocket-Key"), {texts[2], 5}, 0}};
    init(&handshake, &no_deflate);
    check_status(afc__handshake_renew(&handshake, fields, COUNT_OF(fields), NULL), AFC_OK);
    assert_string_not_equal(handshake.key, KEY);
    assert_string_equal(texts[0], KEY);
    assert_string_equal(texts[1], handshake.key);
    assert_string_equal(texts[2], "short");
    afc__handshake_clear(&handshake);
}

static void refuses_invalid_subprotocols(void **state) {
    (void)state;
    static const char *const invalid[][2] = {
        {"", "a"}, {"a", "a"}, {"a b", "c"}, {"a", "b,c"}, {"a\r\nX: y", "b"}};
    for (size_t i = 0; i < COUNT_OF(invalid); i++) {
        afc__handshake handshake;
        afc_failure failure = {0};
        check_status(afc__handshake_init(&handshake, invalid[i], 2, &no_deflate, &failure),
                     AFC_EINVAL);
        check_contains(failure.text, "subprotocol");
    }
}

static void survives_every_failed_allocation(void **state) {
    (void)state;
    static const char *const protocols[] = {"chat", "superchat"};
    TORTURE(n) {
        afc__handshake handshake;
        afc_status status = afc__handshake_init(&handshake, protocols, 2, &deflate, NULL);
        if (status == AFC_OK) afc__handshake_clear(&handshake);
        assert_true(status == AFC_OK || status == AFC_ENOMEM);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(checks_responses),
        cmocka_unit_test(accepts_a_101_of_http_1_1_only),
        cmocka_unit_test(asks_with_the_fields_of_the_standard),
        cmocka_unit_test(makes_a_new_key_each_time),
        cmocka_unit_test(new_key_replaces_the_old_one_only),
        cmocka_unit_test(refuses_invalid_subprotocols),
        cmocka_unit_test(survives_every_failed_allocation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
