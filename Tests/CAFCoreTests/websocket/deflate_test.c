/* The negotiation of permessage-deflate (RFC 7692 section 5 and 7). */
#include "support/check.h"
#include "websocket/deflate.h"

#include <stdio.h>
#include <string.h>

static const afc__deflate plain = {true, 15, 15, false, false};
static const afc__deflate small = {true, 10, 11, false, false};
static const afc__deflate forgetful = {true, 15, 15, true, true};
static const afc__deflate none = {0};

static void writes_offers(void **state) {
    (void)state;
    static const struct {
        const afc__deflate *offer;
        const char *expected;
    } rows[] = {
        {&plain, "permessage-deflate; client_max_window_bits"},
        {&small, "permessage-deflate; client_max_window_bits=11; server_max_window_bits=10"},
        {&forgetful, "permessage-deflate; client_max_window_bits; server_no_context_takeover; "
                     "client_no_context_takeover"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        char text[AFC__DEFLATE_OFFER_SIZE];
        afc__deflate_write_offer(text, rows[i].offer);
        assert_string_equal(text, rows[i].expected);
    }
    afc__deflate longest = {true, 14, 14, true, true};
    char text[AFC__DEFLATE_OFFER_SIZE];
    afc__deflate_write_offer(text, &longest);
    check_contains(text, "client_no_context_takeover");
}

static const struct {
    const afc__deflate *offer;
    const char *answer;
    const char *agreed; /**< "S C": window bits, each with "n" for no takeover; NULL: refused. */
} rows[] = {
    {&plain, "permessage-deflate", "15 15"},
    {&plain, "PerMessage-Deflate", "15 15"},
    {&plain, "permessage-deflate;server_no_context_takeover", "15n 15"},
    {&plain, "permessage-deflate; client_no_context_takeover", "15 15n"},
    {&plain, "permessage-deflate; server_max_window_bits=8; client_max_window_bits=9", "8 9"},
    {&plain, "permessage-deflate; server_max_window_bits=\"10\"", "10 15"},
    {&plain, "permessage-deflate ;\tserver_max_window_bits = 10", "10 15"},
    {&plain, ", permessage-deflate ,", "15 15"},
    {&plain, "", "unused"},
    {&plain, " , ,", "unused"},
    {&small, "permessage-deflate; server_max_window_bits=10", "10 11"},
    {&small, "permessage-deflate; server_max_window_bits=9; client_max_window_bits=8", "9 8"},
    {&forgetful, "permessage-deflate; server_no_context_takeover", "15n 15n"},
    {&none, "permessage-deflate", NULL},
    {&plain, "x-webkit-deflate-frame", NULL},
    {&plain, "permessage-deflate, permessage-deflate", NULL},
    {&plain, "permessage-deflate, other", NULL},
    {&plain, "permessage-deflate; unknown", NULL},
    {&plain, "permessage-deflate; server_no_context_takeover=1", NULL},
    {&plain, "permessage-deflate; client_no_context_takeover=\"\"", NULL},
    {&plain, "permessage-deflate; server_no_context_takeover; server_no_context_takeover", NULL},
    {&plain, "permessage-deflate; server_max_window_bits", NULL},
    {&plain, "permessage-deflate; server_max_window_bits=", NULL},
    {&plain, "permessage-deflate; server_max_window_bits=7", NULL},
    {&plain, "permessage-deflate; server_max_window_bits=16", NULL},
    {&plain, "permessage-deflate; server_max_window_bits=08", NULL},
    {&plain, "permessage-deflate; server_max_window_bits=+9", NULL},
    {&plain, "permessage-deflate; server_max_window_bits=1000", NULL},
    {&plain, "permessage-deflate; server_max_window_bits=\"10", NULL},
    {&plain, "permessage-deflate; server_max_window_bits=\"10 ; server_no_context_takeover", NULL},
    {&plain, "permessage-deflate; client_max_window_bits", NULL},
    {&plain, "permessage-deflate; client_max_window_bits=16", NULL},
    {&small, "permessage-deflate; server_max_window_bits=11", NULL},
    {&small, "permessage-deflate", NULL},
    {&small, "permessage-deflate; server_max_window_bits=10; client_max_window_bits=12", NULL},
    {&forgetful, "permessage-deflate", NULL},
    {&plain, "permessage-deflate;", NULL},
    {&plain, "permessage-deflate; =1", NULL},
    {&plain, "permessage-deflate x", NULL},
    {&plain, "\"permessage-deflate\"", NULL},
};

static void describe(const afc__deflate *agreed, char *out, size_t size) {
    if (!agreed->is_used) {
        snprintf(out, size, "unused");
        return;
    }
    snprintf(out, size, "%d%s %d%s", agreed->server_window_bits,
             agreed->server_no_context_takeover ? "n" : "", agreed->client_window_bits,
             agreed->client_no_context_takeover ? "n" : "");
}

static void reads_answers(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        afc__deflate agreed = {0};
        afc_failure failure = {0};
        char text[32];
        afc_status status = afc__deflate_read_response(&agreed, rows[i].offer,
                                                       afc_slice_of(rows[i].answer), &failure);
        describe(&agreed, text, sizeof text);
        if (rows[i].agreed == NULL) {
            if (status != AFC_EPROTOCOL) fail_msg("%s: got %s", rows[i].answer, text);
            check_contains(failure.text, "Sec-WebSocket-Extensions");
        } else if (status != AFC_OK || strcmp(text, rows[i].agreed) != 0) {
            fail_msg("%s: got %s, %s", rows[i].answer, text, failure.text);
        }
    }
}

static void refuses_extension_in_two_fields(void **state) {
    (void)state;
    afc__deflate agreed = {0};
    afc_slice answer = afc_slice_of("permessage-deflate");
    check_status(afc__deflate_read_response(&agreed, &plain, answer, NULL), AFC_OK);
    check_status(afc__deflate_read_response(&agreed, &plain, answer, NULL), AFC_EPROTOCOL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(writes_offers),
        cmocka_unit_test(reads_answers),
        cmocka_unit_test(refuses_extension_in_two_fields),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
