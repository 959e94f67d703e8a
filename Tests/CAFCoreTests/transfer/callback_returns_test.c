/* Callbacks that return a number which isn't of their type. */
#include "support/call.h"

static void check_refused(call *call, const char *text) {
    call_perform(call);
    check_ended(call, AFC_EINVAL);
    check_contains(call->failure.text, text);
    call_free(call);
}

static afc_status return_size(call *call, afc_slice chunk) {
    (void)call;
    return (afc_status)chunk.size;
}

static afc_status return_unknown_status(call *call, afc_slice chunk) {
    (void)call, (void)chunk;
    return (afc_status)-1000;
}

/** libcurl's write function returns the number of bytes. */
static void names_the_number_of_on_body(void **state) {
    fixture *fixture = *state;
    serve(fixture, "/", answer(200, NULL, "hello"));
    call *call = call_new(fixture, "/");
    call->request.sink.kind = AFC_SINK_CALLBACK;
    call->at_body = return_size;
    check_refused(call, "on_body returned 5: expected AFC_OK, AFC_EAGAIN or an error");
    call = call_new(fixture, "/");
    call->request.sink.kind = AFC_SINK_CALLBACK;
    call->at_body = return_unknown_status;
    check_refused(call, "on_body returned -1000: expected");
}

static afc_status return_true(call *call, afc_response *response) {
    (void)call, (void)response;
    return (afc_status)1;
}

static afc_status wait_at_head(call *call, afc_response *response) {
    (void)call, (void)response;
    return AFC_EAGAIN;
}

static void names_the_number_of_on_head(void **state) {
    fixture *fixture = *state;
    call *call = call_new(fixture, "/");
    call->at_head = return_true;
    check_refused(call, "on_head returned 1: expected AFC_OK or an error");
}

static void says_that_on_head_can_not_wait(void **state) {
    fixture *fixture = *state;
    call *call = call_new(fixture, "/");
    call->at_head = wait_at_head;
    call_perform(call);
    check_ended(call, AFC_EAGAIN);
    check_contains(call->failure.text, "only on_body can wait");
    call_free(call);
}

static afc_redirect_decision return_status_code(call *call, afc_redirect *redirect) {
    (void)call;
    return (afc_redirect_decision)redirect->head->status;
}

static void names_the_number_of_on_redirect(void **state) {
    fixture *fixture = *state;
    serve(fixture, "/", answer(302, "Location: /next", ""));
    call *call = call_new(fixture, "/");
    call->at_redirect = return_status_code;
    check_refused(call, "on_redirect returned 302: expected AFC_REDIRECT_…");
}

static afc_challenge_decision return_nonsense(void *context, const afc_challenge *challenge,
                                              afc_credentials *credentials) {
    (void)context, (void)challenge, (void)credentials;
    return (afc_challenge_decision)9;
}

static void names_the_number_of_on_challenge(void **state) {
    fixture *fixture = *state;
    serve(fixture, "/", answer(401, "WWW-Authenticate: Basic realm=x", ""));
    call *call = call_new(fixture, "/");
    call->events.on_challenge = return_nonsense;
    check_refused(call, "on_challenge returned 9: expected AFC_CHALLENGE_…");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        FIXTURE_TEST(names_the_number_of_on_body),
        FIXTURE_TEST(names_the_number_of_on_head),
        FIXTURE_TEST(says_that_on_head_can_not_wait),
        FIXTURE_TEST(names_the_number_of_on_redirect),
        FIXTURE_TEST(names_the_number_of_on_challenge),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
