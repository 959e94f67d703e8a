/* An option that libcurl refuses ends the task with libcurl's reason, wherever it is set. */
#include "support/call.h"

#include <curl/curl.h>
#include <dlfcn.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/** The option to refuse, and with what. 0: none. */
static atomic_int refused_option, refusal;

/* It is a macro, too. */
#undef curl_easy_setopt

typedef CURLcode setter(CURL *easy, CURLoption option, ...);

static setter *real_setopt;

static __attribute__((constructor)) void find_real_setopt(void) {
    *(void **)&real_setopt = dlsym(RTLD_NEXT, "curl_easy_setopt");
}

/** Takes the place of libcurl's. Every value is as wide as a pointer here. */
CURLcode curl_easy_setopt(CURL *easy, CURLoption option, ...) {
    if ((int)option == atomic_load(&refused_option)) return (CURLcode)atomic_load(&refusal);
    va_list values;
    va_start(values, option);
    void *value = va_arg(values, void *);
    va_end(values);
    return real_setopt(easy, option, value);
}

static void refuse(CURLoption option, CURLcode code) {
    atomic_store(&refusal, (int)code);
    atomic_store(&refused_option, (int)option);
}

static int teardown(void **state) {
    refuse((CURLoption)0, CURLE_OK);
    return fixture_teardown(state);
}

static void reports_option_of_new_handle(void **state) {
    fixture *fixture = *state;
    static const struct {
        CURLcode code;
        afc_status expected;
    } rows[] = {{CURLE_UNKNOWN_OPTION, AFC_EUNSUPPORTED},
                {CURLE_NOT_BUILT_IN, AFC_EUNSUPPORTED},
                {CURLE_BAD_FUNCTION_ARGUMENT, AFC_EINTERNAL},
                {CURLE_OUT_OF_MEMORY, AFC_ENOMEM}};
    serve(fixture, "/", answer(200, NULL, "here"));
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        refuse(CURLOPT_TCP_KEEPALIVE, rows[i].code);
        call *call = call_fetch(fixture, "/");
        check_ended(call, rows[i].expected);
        check_contains(call->failure.text, curl_easy_strerror(rows[i].code));
        assert_int_equal(call->failure.curl_code, rows[i].code);
        call_free(call);
    }
    refuse((CURLoption)0, CURLE_OK);
    check_fetch(fixture, "/", AFC_OK);
}

static void reports_option_of_request(void **state) {
    fixture *fixture = *state;
    serve(fixture, "/", answer(200, NULL, "here"));
    for (int round = 0; round < 2; round++) {
        refuse(CURLOPT_REQUEST_TARGET, CURLE_UNKNOWN_OPTION);
        call *call = call_fetch(fixture, "/");
        check_ended(call, AFC_EUNSUPPORTED);
        check_contains(call->failure.text, curl_easy_strerror(CURLE_UNKNOWN_OPTION));
        call_free(call);
        refuse((CURLoption)0, CURLE_OK);
        check_fetch(fixture, "/", AFC_OK);
    }
}

/**
 * Whether libcurl itself looks for input on a connection before it uses it again. 7.88.1 doesn't, 8.5.0 does. From
 * 8.22.0 it does so once a second.
 */
static bool looks_for_input(void) {
    return libcurl_is_at_least(8, 0) && !libcurl_is_at_least(8, 22);
}

/**
 * The second request takes the connection of the first one, finds input there, and can't begin on another. The body is
 * longer than a read, so that what follows it isn't read with it, and not longer than two, which always have time in
 * one turn: in the next one the loop itself would find the input.
 */
static void reports_option_of_second_try(void **state) {
    (void)state;
    enum { LARGE = 20000 };
    static const char head[] = "HTTP/1.1 200 OK\r\nContent-Length: 20000\r\n\r\n";
    static char bytes[sizeof head + LARGE];
    memcpy(bytes, head, sizeof head - 1);
    memset(bytes + sizeof head - 1, 'x', LARGE + 1);
    afc_session_options options = AFC_SESSION_OPTIONS_INIT;
    options.max_connections_per_host = 1;
    fixture *fixture = fixture_new(NULL, &options);
    afts_script *script = afts_script_new();
    afts_read_request(script);
    afts_stall(script, "together");
    afts_send(script, bytes, sizeof bytes);
    afts_wait_peer_close(script);
    afts_on_connection(fixture->server, 0, script);
    refuse(CURLOPT_FRESH_CONNECT, CURLE_UNKNOWN_OPTION);
    call *first = call_new(fixture, "/first");
    call *second = call_new(fixture, "/second");
    call_start(first);
    call_start(second);
    assert_true(afts_wait_stalled(fixture->server, "together", 1, PATIENCE_MS));
    afts_release(fixture->server, "together", 1);
    call_wait(first);
    call_wait(second);
    check_ended(first, AFC_OK);
    if (looks_for_input()) {
        check_ended(second, AFC_OK);
    } else {
        check_ended(second, AFC_EUNSUPPORTED);
        check_contains(second->failure.text, curl_easy_strerror(CURLE_UNKNOWN_OPTION));
        assert_int_equal(second->failure.curl_code, CURLE_UNKNOWN_OPTION);
    }
    call_free(first);
    call_free(second);
    refuse((CURLoption)0, CURLE_OK);
    fixture_free(fixture);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(reports_option_of_new_handle, fixture_setup, teardown),
        cmocka_unit_test_setup_teardown(reports_option_of_request, fixture_setup, teardown),
        cmocka_unit_test(reports_option_of_second_try),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
