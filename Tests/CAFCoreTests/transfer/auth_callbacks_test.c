/* Challenges that were answered, as they are told, whoever answered them. */
#include "support/auth_server.h"
#include "support/call.h"
#include "support/test_proxy.h"

#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DIGEST "Digest realm=\"a place\", nonce=\"n%u\", qop=\"auth\""

/** What was told: for each challenge its number, who asked, the status, the scheme, realm and user; and a line of
    their own for heads and redirects. */
typedef struct told {
    char lines[2048];
    size_t size;
    bool asks;     /**< on_challenge answers, else the request does. */
    bool is_later; /**< In another way. */
} told;

static void note(told *told, const char *line) {
    int size = snprintf(told->lines + told->size, sizeof told->lines - told->size, "%s\n", line);
    told->size += (size_t)size;
}

static void on_answered(void *context, const afc_challenge *challenge) {
    call *call = context;
    char line[256];
    snprintf(line, sizeof line, "%u %s %d %u '%s' %s", challenge->number,
             challenge->is_proxy ? "proxy" : "server", challenge->head->status, challenge->scheme,
             challenge->realm, challenge->proposed->user);
    note(call->payload, line);
}

static afc_challenge_decision on_challenge(void *context, const afc_challenge *challenge,
                                           afc_credentials *credentials) {
    call *call = context;
    told *told = call->payload;
    note(told, challenge->proposed != NULL ? "asked, with a proposal" : "asked");
    if (challenge->proposed != NULL || challenge->failures > 0) return AFC_CHALLENGE_DEFAULT;
    *credentials = valid_credentials;
    if (!told->is_later) return AFC_CHALLENGE_USE;
    afc_task_answer_challenge(call->task, challenge->number, AFC_CHALLENGE_USE, credentials);
    return AFC_CHALLENGE_LATER;
}

static afc_status at_head(call *call, afc_response *response) {
    char line[16];
    snprintf(line, sizeof line, "head %d", response->head->status);
    note(call->payload, line);
    return AFC_OK;
}

static afc_redirect_decision at_redirect(call *call, afc_redirect *redirect) {
    (void)redirect;
    note(call->payload, "redirect");
    return AFC_REDIRECT_FOLLOW;
}

static call *call_telling(fixture *fixture, const char *path, told *told) {
    call *call = call_new(fixture, path);
    call->payload = told;
    call->at_head = at_head;
    call->at_redirect = at_redirect;
    call->events.on_challenge_accepted = on_answered;
    if (told->asks) {
        call->events.on_challenge = on_challenge;
    } else {
        call->request.credentials = &valid_credentials;
    }
    return call;
}

static void check_told(call *call, const char *lines) {
    told *told = call->payload;
    call_perform(call);
    check_ended(call, AFC_OK);
    assert_string_equal(told->lines, lines);
    call_free(call);
}

static void reports_challenges_answered_without_callback(void **state) {
    fixture *fixture = *state;
    static const struct {
        const char *challenges[3], *password, *lines;
    } rows[] = {
        {{"Basic realm=x"}, "secret", "1 server 401 1 'x' me\nhead 200\n"},
        {{"Basic realm=x", DIGEST}, "secret", "1 server 401 4 'a place' me\nhead 200\n"},
        /* Refused, the second 401 is the answer. */
        {{"Basic realm=\"a \\\"b\""}, "other", "1 server 401 1 'a \"b' me\nhead 401\n"},
        /* Nothing that could be answered. */
        {{"Bearer realm=x"}, "secret", "head 401\n"},
        {{"NTLM"}, "secret", "1 server 401 8 '' me\nhead 200\n"},
    };
    for (size_t i = 0; i < COUNT_OF(rows) - !has_ntlm(); i++) {
        const char *path = text_of(fixture, "/%zu", i);
        auth_server auth_server = {.user = "me", .password = rows[i].password};
        memcpy(auth_server.challenges, rows[i].challenges, sizeof rows[i].challenges);
        auth_server_path(fixture, path, &auth_server);
        told told = {.asks = false};
        check_told(call_telling(fixture, path, &told), rows[i].lines);
    }
}

static void reports_each_round_in_order(void **state) {
    fixture *fixture = *state;
    auth_server auth_server = {
        .challenges = {DIGEST}, .user = "me", .password = "secret", .nonce_uses = 1};
    auth_server_path(fixture, "/", &auth_server);
    serve(fixture, "/turn", answer(302, "Location: /", ""));
    told first = {.asks = false};
    check_told(call_telling(fixture, "/turn", &first),
               "redirect\n1 server 401 4 'a place' me\nhead 200\n");
    /* Right, but too late: the nonce has served. */
    told second = {.asks = false};
    check_told(call_telling(fixture, "/", &second),
               "1 server 401 4 'a place' me\n2 server 401 4 'a place' me\nhead 200\n");
}

static void reports_responses_of_the_callback(void **state) {
    fixture *fixture = *state;
    auth_server auth_server = {.challenges = {"Basic realm=x"}, .user = "me", .password = "secret"};
    struct auth_server strict = {
        .challenges = {"Basic realm=x"}, .user = "me", .password = "other"};
    auth_server_path(fixture, "/", &auth_server);
    auth_server_path(fixture, "/strict", &strict);
    for (int is_later = 0; is_later < 2; is_later++) {
        told told = {.asks = true, .is_later = is_later};
        check_told(call_telling(fixture, "/", &told), "asked\n1 server 401 1 'x' me\nhead 200\n");
        struct told refused = {.asks = true, .is_later = is_later};
        check_told(call_telling(fixture, "/strict", &refused),
                   "asked\n1 server 401 1 'x' me\nasked\nhead 401\n");
    }
    told both = {.asks = true};
    call *call = call_telling(fixture, "/", &both);
    call->request.credentials = &valid_credentials;
    check_told(call, "asked, with a proposal\n1 server 401 1 'x' me\nhead 200\n");
}

static void distinguishes_proxy_challenges(void **state) {
    fixture *fixture = *state;
    auth_server auth_server = {
        .challenges = {"Basic realm=p"}, .user = "me", .password = "secret", .is_proxy = true};
    auth_server_path(fixture, "/", &auth_server);
    told plain = {.asks = true};
    call *call = call_telling(fixture, "/", &plain);
    call->request.url = "http://example.test/";
    call->request.proxy = url_of(fixture, "");
    check_told(call, "asked\n1 proxy 407 1 'p' me\nhead 200\n");

    struct fixture *secure = fixture_new_tls();
    test_proxy *test_proxy = test_proxy_new(secure);
    serve(secure, "/", answer(200, NULL, "here"));
    test_proxy_challenge(test_proxy, "Basic realm=\"t\"", "Basic bWU6c2VjcmV0\r\n");
    told tunnel = {.asks = false};
    call = call_telling(secure, "/", &tunnel);
    call->request.credentials = NULL;
    call->request.proxy_credentials = &valid_credentials;
    call->request.proxy = test_proxy_url(test_proxy, "http", NULL);
    check_told(call, "1 proxy 407 1 't' me\nhead 200\n");
    fixture_close_session(secure);
    test_proxy_free(test_proxy);
    fixture_free(secure);
}

/* ---- A colon in the user name, which Basic has no way to send ---------------------------------- */

static const afc_credentials with_colon = {"m:e", "secret", NULL, 0, false, {0}};

static void refuses_colon_where_only_basic_is_allowed(void **state) {
    fixture *fixture = *state;
    static const struct {
        const char *url;
        unsigned schemes;
        bool is_proxy;
        afc_status status;
    } rows[] = {
        {"http://a.test/", AFC_AUTH_BASIC, false, AFC_EINVAL},
        {"http://a.test/", AFC_AUTH_BASIC, true, AFC_EINVAL},
        {"http://a.test/", AFC_AUTH_BASIC | AFC_AUTH_BEARER, false, AFC_EINVAL},
        {"http://a.test/", AFC_AUTH_BASIC | AFC_AUTH_DIGEST, false, AFC_OK},
        {"http://a.test/", AFC_AUTH_DIGEST, false, AFC_OK},
        {"http://a.test/", 0, false, AFC_OK},
        {"http://m%3Ae:secret@a.test/", 0, false, AFC_OK},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        afc_credentials credentials = with_colon;
        credentials.schemes = rows[i].schemes;
        afc_request request = AFC_REQUEST_INIT;
        request.url = rows[i].url;
        if (rows[i].is_proxy) {
            request.proxy_credentials = &credentials;
        } else {
            request.credentials = &credentials;
        }
        afc_task *task;
        afc_failure failure;
        check_status(afc_task_new(&task, fixture->session, &request, NULL, &failure),
                     rows[i].status);
        if (rows[i].status != AFC_OK) check_contains(failure.text, "user name contains a colon");
        assert_null(strstr(failure.text, "secret"));
        afc_task_release(task);
    }
    afc_request request = AFC_REQUEST_INIT;
    request.url = "http://m%3Ae:secret@a.test/";
    afc_failure failure;
    check_status(afc_perform(NULL, fixture->session, &request, &failure), AFC_EINVAL);
    check_contains(failure.text, "the URL's user name contains a colon");
}

static afc_challenge_decision use_colon(void *context, const afc_challenge *challenge,
                                        afc_credentials *credentials) {
    (void)context, (void)challenge;
    *credentials = with_colon;
    return AFC_CHALLENGE_USE;
}

static afc_challenge_decision use_default(void *context, const afc_challenge *challenge,
                                          afc_credentials *credentials) {
    (void)context, (void)challenge, (void)credentials;
    return AFC_CHALLENGE_DEFAULT;
}

static void says_that_basic_can_not_send_a_colon(void **state) {
    fixture *fixture = *state;
    static const struct {
        afc_challenge_decision (*on_challenge)(void *, const afc_challenge *, afc_credentials *);
        bool has_credentials;
    } rows[] = {{NULL, true}, {use_default, true}, {use_colon, false}, {use_colon, true}};
    auth_server auth_server = {
        .challenges = {"Basic realm=x"}, .user = "m:e", .password = "secret"};
    auth_server_path(fixture, "/", &auth_server);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        call *call = call_new(fixture, "/");
        if (rows[i].has_credentials) call->request.credentials = &with_colon;
        call->events.on_challenge = rows[i].on_challenge;
        call_perform(call);
        check_ended(call, AFC_EAUTH);
        check_contains(call->failure.text, "the server offers only Basic");
        check_contains(call->failure.text, "colon");
        assert_null(strstr(call->failure.text, "m:e"));
        call_free(call);
    }
    assert_int_equal(auth_server.challenges_sent, COUNT_OF(rows));
}

static void digest_sends_a_colon(void **state) {
    fixture *fixture = *state;
    auth_server auth_server = {
        .challenges = {"Basic realm=x", DIGEST}, .user = "m:e", .password = "secret"};
    auth_server_path(fixture, "/", &auth_server);
    call *call = call_new(fixture, "/");
    call->request.credentials = &with_colon;
    check_answer(call, 200, 2);
    check_contains(seen_header(fixture, 1, "Authorization"), "username=\"m:e\"");
}

/** A challenge that waits until the test answers it. */
typedef struct question {
    sem_t is_asked;
    atomic_uint number;
} question;

static afc_challenge_decision ask_later(void *context, const afc_challenge *challenge,
                                        afc_credentials *credentials) {
    (void)credentials;
    question *question = ((call *)context)->payload;
    atomic_store(&question->number, challenge->number);
    sem_post(&question->is_asked);
    return AFC_CHALLENGE_LATER;
}

static void invalid_answers_leave_the_challenge_waiting(void **state) {
    fixture *fixture = *state;
    auth_server auth_server = {.challenges = {"Basic realm=x"}, .user = "me", .password = "secret"};
    auth_server_path(fixture, "/", &auth_server);
    question question = {.number = 0};
    sem_init(&question.is_asked, 0, 0);
    call *call = call_new(fixture, "/");
    call->payload = &question;
    call->events.on_challenge = ask_later;
    call_start(call);
    while (sem_wait(&question.is_asked) != 0) {}
    afc_credentials control = valid_credentials;
    control.password = "a\nb";
    uint32_t number = atomic_load(&question.number);
    const struct {
        uint32_t number;
        int answer;
        const afc_credentials *credentials;
    } rows[] = {{0, AFC_CHALLENGE_USE, &valid_credentials},
                {number + 1, AFC_CHALLENGE_USE, &valid_credentials},
                {number, AFC_CHALLENGE_USE, NULL},
                {number, AFC_CHALLENGE_USE, &control},
                {number, AFC_CHALLENGE_LATER, NULL},
                {number, AFC_CHALLENGE_LATER + 1, NULL},
                {number, -1, NULL}};
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        afc_challenge_decision answer = (afc_challenge_decision)rows[i].answer;
        check_status(
            afc_task_answer_challenge(call->task, rows[i].number, answer, rows[i].credentials),
            AFC_EINVAL);
    }
    check_status(
        afc_task_answer_challenge(call->task, number, AFC_CHALLENGE_USE, &valid_credentials),
        AFC_OK);
    /* Once it is answered, no challenge is left to answer. */
    check_status(
        afc_task_answer_challenge(call->task, number, AFC_CHALLENGE_USE, &valid_credentials),
        AFC_EINVAL);
    call_wait(call);
    check_ended(call, AFC_OK);
    assert_int_equal(status_of(call), 200);
    for (uint32_t i = 0; i < 2; i++) {
        check_status(afc_task_answer_challenge(call->task, i, AFC_CHALLENGE_DEFAULT, NULL),
                     AFC_EINVAL);
    }
    call_free(call);
    sem_destroy(&question.is_asked);
}

int main(void) {
    setenv("KRB5_CONFIG", "/dev/null", 1);
    const struct CMUnitTest tests[] = {
        FIXTURE_TEST(reports_challenges_answered_without_callback),
        FIXTURE_TEST(reports_each_round_in_order),
        FIXTURE_TEST(reports_responses_of_the_callback),
        FIXTURE_TEST(distinguishes_proxy_challenges),
        FIXTURE_TEST(refuses_colon_where_only_basic_is_allowed),
        FIXTURE_TEST(says_that_basic_can_not_send_a_colon),
        FIXTURE_TEST(digest_sends_a_colon),
        FIXTURE_TEST(invalid_answers_leave_the_challenge_waiting),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
