/* Challenges met on the way: who is asked, what is sent, and what never is. */
#include "support/call.h"
#include "support/form.h"
#include "support/guard.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DIGEST "Digest realm=\"a place\", nonce=\"n%u\", qop=\"auth\""

static call *call_as(world *world, const char *path, const afc_credentials *credentials) {
    call *call = call_new(world, path);
    call->request.credentials = credentials;
    return call;
}

/* ---- Schemes ------------------------------------------------------------------------------- */

static void answers_each_scheme(void **state) {
    (void)state;
    static const struct {
        const char *challenges[3];
        const char *seen;
    } rows[] = {
        {{"Basic realm=\"x\""}, "Basic bWU6c2VjcmV0"},
        {{"Basic realm=\"x\"", DIGEST}, "Digest username=\"me\", realm=\"a place\", nonce=\"n0\""},
        {{DIGEST ", algorithm=SHA-256"}, "Digest "},
        {{DIGEST ", algorithm=MD5-sess"}, "Digest "},
        {{DIGEST ", algorithm=SHA-256-sess"}, "Digest "},
        {{DIGEST ", algorithm=SHA-512-256"}, "Digest "},
        {{"Digest realm=r, nonce=x%u"}, "Digest "},
        {{"Digest realm=r, nonce=x%u, qop=auth-int, opaque=o"}, "Digest "},
        {{"Digest realm=r, nonce=x%u, qop=auth, userhash=true"}, "Digest "},
        {{"Unknown x=y", "Basic realm=z"}, "Basic "},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        world *world = world_new(NULL, NULL);
        guard guard = {.user = "me", .password = "secret"};
        memcpy(guard.challenges, rows[i].challenges, sizeof rows[i].challenges);
        guard_path(world, "/a", &guard);
        check_answer(call_as(world, "/a?b=c", &me), 200, 2);
        assert_string_equal(seen_header(world, 0, "Authorization"), "");
        check_contains(seen_header(world, 1, "Authorization"), rows[i].seen);
        world_free(world);
    }
}

static void token_answers_only_bearer(void **state) {
    world *world = *state;
    static const afc_credentials token = {NULL, NULL, "a.b-c", 0, false, {0}};
    guard guard = {.challenges = {"Basic realm=x, Bearer realm=y"}, .token = "a.b-c"};
    guard_path(world, "/", &guard);
    check_answer(call_as(world, "/", &token), 200, 2);
    assert_string_equal(seen_header(world, 1, "Authorization"), "Bearer a.b-c");
    check_answer(call_as(world, "/", &(afc_credentials){NULL, NULL, "a.b-c", 0, true, {0}}), 200,
                 1);
}

static void returns_401_without_credentials(void **state) {
    world *world = *state;
    guard guard = {.challenges = {"Basic realm=x"}};
    guard_path(world, "/", &guard);
    check_answer(call_new(world, "/"), 401, 1);
    /* Nor is anything sent that doesn't fit. */
    check_answer(call_as(world, "/", &(afc_credentials){NULL, NULL, "token", 0, false, {0}}), 401,
                 1);
    check_answer(
        call_as(world, "/", &(afc_credentials){"u", "p", NULL, AFC_AUTH_DIGEST, false, {0}}), 401,
        1);
}

static void tries_wrong_credentials_once(void **state) {
    world *world = *state;
    static const char *const challenges[] = {"Basic realm=x", DIGEST};
    for (size_t i = 0; i < COUNT_OF(challenges); i++) {
        guard guard = {.challenges = {challenges[i]}, .user = "me", .password = "other"};
        guard_path(world, text_of(world, "/%zu", i), &guard);
        check_answer(call_as(world, text_of(world, "/%zu", i), &me), 401, 2);
        assert_int_equal(guard.asked, 2);
    }
}

static void preemptive_basic_needs_no_challenge(void **state) {
    world *world = *state;
    static const afc_credentials at_once = {"me", "secret", NULL, 0, true, {0}};
    guard guard = {.challenges = {"Basic realm=x"}, .user = "me", .password = "secret"};
    guard_path(world, "/", &guard);
    check_answer(call_as(world, "/", &at_once), 200, 1);
    /* Where it is refused, but something stronger asked for, that is answered. */
    struct guard strict = {.challenges = {DIGEST}, .user = "me", .password = "secret"};
    guard_path(world, "/strict", &strict);
    check_answer(call_as(world, "/strict", &at_once), 200, 2);
    check_contains(seen_header(world, 1, "Authorization"), "Basic ");
    check_contains(seen_header(world, 2, "Authorization"), "Digest ");
    struct guard other = {.challenges = {"Basic realm=x"}, .user = "me", .password = "other"};
    guard_path(world, "/other", &other);
    check_answer(call_as(world, "/other", &at_once), 401, 1);
}

static void uses_userinfo_of_the_url(void **state) {
    world *world = *state;
    afc_credentials any = AFC_CREDENTIALS_INIT;
    guard guard = {.challenges = {DIGEST}, .user = "a@b", .password = "c:d"};
    guard_path(world, "/", &guard);
    call *call = call_as(world, "/", &any);
    call->request.url = text_of(world, "http://a%%40b:c:d@%s", url_of(world, "/") + 7);
    check_answer(call, 200, 2);
    assert_string_equal(seen_header(world, 0, "Authorization"), "");
}

static void own_authorization_field_takes_precedence(void **state) {
    world *world = *state;
    static const afc_header own[] = {{ROW_S("authorization"), ROW_S("Own thing"), 0}};
    static const afc_credentials at_once = {"me", "secret", NULL, 0, true, {0}};
    guard guard = {.challenges = {"Basic realm=x"}, .user = "me", .password = "secret"};
    guard_path(world, "/", &guard);
    call *call = call_as(world, "/", &at_once);
    call->request.headers = own;
    call->request.header_count = 1;
    check_answer(call, 200, 2);
    assert_string_equal(seen_header(world, 0, "Authorization"), "Own thing");
    assert_string_equal(seen_header(world, 1, "Authorization"), "Basic bWU6c2VjcmV0");
}

static void replaces_stale_nonce(void **state) {
    world *world = *state;
    guard guard = {.challenges = {DIGEST}, .user = "me", .password = "secret", .nonce_serves = 1};
    serve(world, "/turn", answer(302, "Location: /", ""));
    guard_path(world, "/", &guard);
    check_answer(call_as(world, "/", &me), 200, 2);
    /* The nonce of the first answer has served; the second is right, and stale. */
    check_answer(call_as(world, "/", &me), 200, 3);
    check_contains(seen_header(world, 3, "Authorization"), "nonce=\"n0\"");
    check_contains(seen_header(world, 4, "Authorization"), "nonce=\"n1\"");
}

/** A server that calls every answer stale. */
static void ask_again(afts_conn *conn, const afts_request *request, void *payload) {
    (void)request;
    char headers[128];
    unsigned count = atomic_fetch_add((atomic_uint *)payload, 1);
    snprintf(headers, sizeof headers, "WWW-Authenticate: Digest nonce=n%u, stale=true", count);
    afts_conn_respond(conn, 401, headers, "who?", 4);
}

static void limits_rounds_of_challenges(void **state) {
    world *world = *state;
    atomic_uint asked = 0;
    afts_script *script = afts_script_new();
    afts_handle(script, ask_again, &asked, NULL);
    serve(world, "/", script);
    check_answer(call_as(world, "/", &me), 401, 11);
}

/* ---- Bodies -------------------------------------------------------------------------------- */

static void replays_bodies(void **state) {
    world *world = *state;
    guard guard = {.challenges = {"Digest nonce=n%u, qop=\"auth-int,auth\""},
                   .user = "me",
                   .password = "secret"};
    guard_path(world, "/", &guard);
    for (int is_reader = 0; is_reader < 2; is_reader++) {
        script_reader script = {.bytes = S("0123456789")};
        call *call = call_as(world, "/", &me);
        call_send(call, "POST", S("0123456789"));
        if (is_reader) {
            call->request.body = (afc_body){.kind = AFC_BODY_READER, .length = AFC_LENGTH_UNKNOWN};
            call->request.body.reader = reader_of(&script);
            call->request.expect = AFC_EXPECT_NEVER;
        }
        check_answer(call, 200, 2);
        for (size_t i = 0; i < 2; i++) {
            afts_request *request = afts_copy_request(world->server, (size_t)is_reader * 2 + i);
            check_slice(((afc_slice){(const char *)request->body, request->body_size}),
                        "0123456789");
            afts_request_free(request);
        }
    }
}

static void never_cuts_body_that_cannot_be_replayed(void **state) {
    world *world = *state;
    guard guard = {.challenges = {"Basic realm=x"}, .user = "me", .password = "secret"};
    guard_path(world, "/", &guard);
    script_reader script = {.bytes = S("0123456789")};
    call *call = call_as(world, "/", &me);
    call->request.method = "POST";
    call->request.expect = AFC_EXPECT_NEVER;
    call->request.body = (afc_body){.kind = AFC_BODY_READER, .length = 10};
    call->request.body.reader = reader_of(&script);
    call->request.body.reader.rewind = NULL;
    call_perform(call);
    check_ended(call, AFC_EREPLAY);
    check_contains(call->failure.text, "credentials");
    assert_int_equal(call->failure.reason, AFC_REASON_CREDENTIALS);
    assert_int_equal(call->failure.party, AFC_PARTY_SERVER);
    assert_int_equal(guard.asked, 1);
    call_free(call);
}

/* ---- Origins ------------------------------------------------------------------------------- */

static void credentials_stay_with_their_origin(void **state) {
    world *first = *state;
    world *second = world_new(NULL, NULL);
    guard guard = {.challenges = {"Basic realm=x"}, .user = "me", .password = "secret"};
    static const afc_credentials at_once = {"me", "secret", NULL, 0, true, {0}};
    guard_path(first, "/in", &guard);
    guard_path(second, "/in", &guard);
    serve(first, "/away", answer(302, text_of(first, "Location: %s", url_of(second, "/in")), ""));
    serve(first, "/round",
          answer(302, text_of(first, "Location: %s", url_of(second, "/back")), ""));
    serve(second, "/back", answer(302, text_of(first, "Location: %s", url_of(first, "/in")), ""));
    serve(first, "/near", answer(302, "Location: /in", ""));
    check_answer(call_as(first, "/near", &at_once), 200, 2);
    check_answer(call_as(first, "/near", &me), 200, 3);
    check_answer(call_as(first, "/away", &at_once), 401, 2);
    check_answer(call_as(first, "/away", &me), 401, 2);
    check_answer(call_as(first, "/round", &at_once), 401, 3);
    for (size_t i = 0; i < 3; i++) {
        assert_string_equal(seen_header(second, i, "Authorization"), "");
    }
    world_free(second);
}

static void digest_covers_method_and_target_of_each_hop(void **state) {
    world *world = *state;
    guard guard = {.challenges = {DIGEST}, .user = "me", .password = "secret"};
    guard_path(world, "/in", &guard);
    serve_once(world, "/start",
               answer(401,
                      "WWW-Authenticate: Digest realm=\"a place\", "
                      "nonce=\"n0\", qop=auth",
                      ""));
    serve(world, "/start", answer(302, "Location: /in", ""));
    check_answer(call_as(world, "/start", &me), 200, 3);
    check_contains(seen_header(world, 1, "Authorization"), "uri=\"/start\"");
    check_contains(seen_header(world, 2, "Authorization"), "uri=\"/in\"");
    check_contains(seen_header(world, 2, "Authorization"), "nc=00000002");
}

/* ---- Being asked --------------------------------------------------------------------------- */

typedef struct asked {
    afc_challenge_decision answers[12];
    afc_credentials credentials;
    atomic_uint count;
    unsigned failures;
    bool had_proposal;
    char realm[64];
    bool is_threaded;
    pthread_t thread;
    afc_status late;
    call *call;
    uint32_t number;
} asked;

static void *answer_later(void *context) {
    asked *asked = context;
    call_wait_for(asked->call, &asked->count, 1);
    asked->late = afc_task_answer_challenge(asked->call->task, asked->number, AFC_CHALLENGE_USE,
                                            &asked->credentials);
    return NULL;
}

static afc_challenge_decision at_challenge(void *context, const afc_challenge *challenge,
                                           afc_credentials *credentials) {
    call *call = context;
    asked *asked = call->payload;
    unsigned index = atomic_load(&asked->count);
    asked->failures = challenge->failures;
    asked->had_proposal = challenge->proposed != NULL;
    asked->number = challenge->number;
    snprintf(asked->realm, sizeof asked->realm, "%s", challenge->realm);
    if (asked->credentials.user != NULL) *credentials = asked->credentials;
    pthread_mutex_lock(&call->lock);
    atomic_fetch_add(&asked->count, 1);
    pthread_cond_broadcast(&call->changed);
    pthread_mutex_unlock(&call->lock);
    return asked->answers[index < COUNT_OF(asked->answers) ? index : 0];
}

static call *call_asking(world *world, const char *path, asked *asked) {
    call *call = call_new(world, path);
    call->events.on_challenge = at_challenge;
    call->payload = asked;
    asked->call = call;
    return call;
}

static void callback_answers_challenge(void **state) {
    world *world = *state;
    guard guard = {
        .challenges = {"Basic realm=\"the \\\"place\\\"\""}, .user = "me", .password = "secret"};
    guard_path(world, "/", &guard);
    asked asked = {.answers = {AFC_CHALLENGE_USE},
                   .credentials = {.user = "me", .password = "secret"}};
    check_answer(call_asking(world, "/", &asked), 200, 2);
    assert_string_equal(asked.realm, "the \"place\"");
    assert_int_equal(asked.count, 1);
    assert_false(asked.had_proposal);

    struct asked nothing = {.answers = {AFC_CHALLENGE_DEFAULT}};
    check_answer(call_asking(world, "/", &nothing), 401, 1);

    struct asked default_ = {.answers = {AFC_CHALLENGE_DEFAULT}};
    call *call = call_asking(world, "/", &default_);
    call->request.credentials = &me;
    check_answer(call, 200, 2);
    assert_true(default_.had_proposal);
}

static void callback_may_answer_again(void **state) {
    world *world = *state;
    guard guard = {.challenges = {"Basic realm=x"}, .user = "me", .password = "secret"};
    guard_path(world, "/", &guard);
    asked asked = {.answers = {AFC_CHALLENGE_USE, AFC_CHALLENGE_DEFAULT},
                   .credentials = {.user = "me", .password = "wrong"}};
    check_answer(call_asking(world, "/", &asked), 401, 2);
    assert_int_equal(asked.failures, 1);
    assert_false(asked.had_proposal);
    /* And not for ever. */
    struct asked stubborn = {.credentials = {.user = "me", .password = "wrong"}};
    for (size_t i = 0; i < COUNT_OF(stubborn.answers); i++) stubborn.answers[i] = AFC_CHALLENGE_USE;
    check_answer(call_asking(world, "/", &stubborn), 401, 11);
    assert_int_equal(stubborn.count, 10);
}

static void callback_may_cancel_or_fail(void **state) {
    world *world = *state;
    guard guard = {.challenges = {"Basic realm=x"}};
    guard_path(world, "/", &guard);
    static const struct {
        afc_challenge_decision answer;
        afc_credentials credentials;
        afc_status expected;
    } rows[] = {
        {AFC_CHALLENGE_CANCEL, AFC_CREDENTIALS_INIT, AFC_ECANCELED},
        {AFC_CHALLENGE_FAIL, AFC_CREDENTIALS_INIT, AFC_EAUTH},
        {AFC_CHALLENGE_USE, {"a\nb", "", NULL, 0, false, {0}}, AFC_EINVAL},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        asked asked = {.answers = {rows[i].answer}, .credentials = rows[i].credentials};
        call *call = call_asking(world, "/", &asked);
        call_perform(call);
        check_ended(call, rows[i].expected);
        assert_int_equal(call->head_count, 0);
        assert_int_equal(call->hop_count, 1);
        call_free(call);
    }
}

/** With a body, and without one, so that the exchange is over while somebody thinks. */
static void callback_may_answer_later(void **state) {
    world *world = *state;
    guard guard = {.challenges = {"Basic realm=x"}, .user = "me", .password = "secret"};
    guard_path(world, "/in", &guard);
    serve_once(world, "/empty", answer(401, "WWW-Authenticate: Basic realm=x", ""));
    guard_path(world, "/empty", &guard);
    static const char *const paths[] = {"/in", "/empty"};
    for (size_t i = 0; i < COUNT_OF(paths); i++) {
        asked asked = {.answers = {AFC_CHALLENGE_LATER},
                       .credentials = {.user = "me", .password = "secret"}};
        call *call = call_asking(world, paths[i], &asked);
        call_start(call);
        assert_int_equal(pthread_create(&asked.thread, NULL, answer_later, &asked), 0);
        pthread_join(asked.thread, NULL);
        check_status(asked.late, AFC_OK);
        check_status(afc_task_answer_challenge(call->task, asked.number, AFC_CHALLENGE_USE, &me),
                     AFC_EINVAL);
        call_wait(call);
        check_ended(call, AFC_OK);
        assert_int_equal(status_of(call), 200);
        check_status(afc_task_answer_challenge(call->task, asked.number, AFC_CHALLENGE_USE, &me),
                     AFC_EINVAL);
        call_free(call);
    }
}

/** What an answer needs, such as a token, may come from the same host, of which no more connections are allowed. */
static void task_that_waits_for_its_answer_leaves_the_connection_to_others(void **state) {
    (void)state;
    afc_session_options options = AFC_SESSION_OPTIONS_INIT;
    options.max_connections_per_host = 1;
    world *world = world_new(NULL, &options);
    guard guard = {.challenges = {"Basic realm=x"}, .user = "me", .password = "secret"};
    guard_path(world, "/in", &guard);
    serve(world, "/token", answer(200, NULL, "token"));
    static const afc_challenge_decision answers[] = {AFC_CHALLENGE_USE, AFC_CHALLENGE_DEFAULT};
    for (size_t i = 0; i < COUNT_OF(answers); i++) {
        asked asked = {.answers = {AFC_CHALLENGE_LATER}};
        call *call = call_asking(world, "/in", &asked);
        call_start(call);
        call_wait_for(call, &asked.count, 1);
        check_fetch(world, "/token", AFC_OK);
        check_status(afc_task_answer_challenge(call->task, asked.number, answers[i], &me), AFC_OK);
        call_wait(call);
        check_ended(call, AFC_OK);
        assert_int_equal(status_of(call), i == 0 ? 200 : 401);
        if (i != 0) check_slice(call->body, "who?");
        call_free(call);
    }
    world_free(world);
}

static void ignores_late_response_of_ended_task(void **state) {
    world *world = *state;
    guard guard = {.challenges = {"Basic realm=x"}};
    guard_path(world, "/body", &guard);
    serve(world, "/empty", answer(401, "WWW-Authenticate: Basic realm=x", ""));
    static const struct {
        const char *path;
        afc_challenge_decision answer;
        afc_status expected;
        const char *body;
    } rows[] = {
        {"/body", AFC_CHALLENGE_DEFAULT, AFC_OK, "who?"},
        {"/empty", AFC_CHALLENGE_DEFAULT, AFC_OK, ""},
        {"/body", AFC_CHALLENGE_CANCEL, AFC_ECANCELED, ""},
        {"/empty", AFC_CHALLENGE_CANCEL, AFC_ECANCELED, ""},
        {"/body", AFC_CHALLENGE_FAIL, AFC_EAUTH, ""},
        {"/empty", AFC_CHALLENGE_FAIL, AFC_EAUTH, ""},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        asked asked = {.answers = {AFC_CHALLENGE_LATER}};
        call *call = call_asking(world, rows[i].path, &asked);
        call_start(call);
        call_wait_for(call, &asked.count, 1);
        check_status(afc_task_answer_challenge(call->task, 99, rows[i].answer, NULL), AFC_EINVAL);
        check_status(afc_task_answer_challenge(call->task, asked.number, AFC_CHALLENGE_LATER, NULL),
                     AFC_EINVAL);
        check_status(afc_task_answer_challenge(call->task, asked.number, AFC_CHALLENGE_USE, NULL),
                     AFC_EINVAL);
        check_status(afc_task_answer_challenge(call->task, asked.number, rows[i].answer, NULL),
                     AFC_OK);
        call_wait(call);
        check_ended(call, rows[i].expected);
        check_slice(call->body, rows[i].body);
        assert_int_equal(call->hop_count, 1);
        assert_int_equal(call->hops[0].status, 401);
        call_free(call);
    }
}

static void cancel_and_time_limit_end_the_wait(void **state) {
    world *world = *state;
    guard guard = {.challenges = {"Basic realm=x"}};
    guard_path(world, "/body", &guard);
    serve(world, "/empty", answer(401, "WWW-Authenticate: Basic realm=x", ""));
    static const char *const paths[] = {"/body", "/empty"};
    for (size_t i = 0; i < 2 * COUNT_OF(paths); i++) {
        bool is_timed = i >= COUNT_OF(paths);
        asked asked = {.answers = {AFC_CHALLENGE_LATER}};
        call *call = call_asking(world, paths[i % 2], &asked);
        if (is_timed) call->request.timeouts.total_ms = 300;
        call_start(call);
        if (!is_timed) {
            call_wait_for(call, &asked.count, 1);
            afc_task_cancel(call->task);
        }
        call_wait(call);
        check_ended(call, is_timed ? AFC_ETIMEOUT : AFC_ECANCELED);
        check_status(afc_task_answer_challenge(call->task, asked.number, AFC_CHALLENGE_USE, &me),
                     AFC_EINVAL);
        call_free(call);
    }
}

/* ---- Connections --------------------------------------------------------------------------- */

static void ntlm_connection_is_not_shared(void **state) {
    world *world = *state;
    if (!has_ntlm()) skip();
    guard guard = {.challenges = {"NTLM"}, .user = "me", .password = "secret"};
    guard_path(world, "/", &guard);
    serve(world, "/plain", answer(200, NULL, "in"));
    check_answer(call_as(world, "/plain", NULL), 200, 1);
    call *call = call_as(world, "/", &me);
    call_send(call, "POST", S("content"));
    check_answer(call, 200, 2);
    /* Plain, challenged, and the two rounds of one new connection. */
    afts_request *first = afts_copy_request(world->server, 2);
    afts_request *second = afts_copy_request(world->server, 3);
    check_contains(afts_request_header(first, "Authorization"), "NTLM TlRMTVNTUAAB");
    check_contains(afts_request_header(second, "Authorization"), "NTLM TlRMTVNTUAAD");
    assert_int_equal(first->connection, second->connection);
    assert_int_equal(first->number, 0);
    check_slice(((afc_slice){(const char *)second->body, second->body_size}), "content");
    afts_request_free(first);
    afts_request_free(second);
    check_answer(call_as(world, "/plain", NULL), 200, 1);
    afts_request *last = afts_copy_request(world->server, 4);
    assert_int_equal(last->connection, 0);
    assert_string_equal(seen_header(world, 4, "Authorization"), "");
    afts_request_free(last);
    assert_int_equal(afts_server_stats(world->server).accepted, 2);
}

static void refused_ntlm_returns_401(void **state) {
    world *world = *state;
    if (!has_ntlm()) skip();
    /* Asks by the second message again and again, whatever comes. */
    serve(world, "/", answer(401, "WWW-Authenticate: " NTLM_CHALLENGE, "who?"));
    afc_credentials only = {"me", "secret", NULL, AFC_AUTH_NTLM, true, {0}};
    call *call = call_as(world, "/", &only);
    call_perform(call);
    check_ended(call, AFC_EAUTH);
    assert_int_equal(call->head_count, 0);
    call_free(call);
    assert_true(afts_server_stats(world->server).requests <= 12);
    /* No second message at all. */
    serve(world, "/deaf", answer(401, "WWW-Authenticate: NTLM", "who?"));
    check_answer(call_as(world, "/deaf", &only), 401, 1);
    struct guard strict = {.challenges = {"NTLM"}};
    guard_path(world, "/strict", &strict);
    check_answer(call_as(world, "/strict", &only), 401, 1);
    check_answer(call_as(world, "/strict", &me), 401, 2);
    /* And one whose heads together are too long. */
    guard guard = {.challenges = {"NTLM"}, .user = "me", .password = "secret"};
    guard_path(world, "/long", &guard);
    call = call_as(world, "/long", &only);
    call->request.limits.head_count = 3;
    call_perform(call);
    check_ended(call, AFC_ETOOBIG);
    call_free(call);
}

static void negotiate_without_ticket_returns_401(void **state) {
    world *world = *state;
    if (!has_negotiate()) skip();
    guard guard = {.challenges = {"Negotiate", "Basic realm=x"}, .user = "", .password = ""};
    guard_path(world, "/", &guard);
    afc_credentials only = {"", "", NULL, AFC_AUTH_NEGOTIATE, false, {0}};
    check_answer(call_as(world, "/", &only), 401, 2);
    /* It is tried first, and then what is left. */
    afc_credentials ambient = {"", "", NULL, 0, false, {0}};
    check_answer(call_as(world, "/", &ambient), 200, 3);
}

int main(void) {
    /* No tickets of whoever runs the tests. */
    setenv("KRB5CCNAME", "FILE:/nonexistent/tickets", 1);
    setenv("KRB5_CONFIG", "/dev/null", 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_each_scheme),
        WORLD_TEST(token_answers_only_bearer),
        WORLD_TEST(returns_401_without_credentials),
        WORLD_TEST(tries_wrong_credentials_once),
        WORLD_TEST(preemptive_basic_needs_no_challenge),
        WORLD_TEST(uses_userinfo_of_the_url),
        WORLD_TEST(own_authorization_field_takes_precedence),
        WORLD_TEST(replaces_stale_nonce),
        WORLD_TEST(limits_rounds_of_challenges),
        WORLD_TEST(replays_bodies),
        WORLD_TEST(never_cuts_body_that_cannot_be_replayed),
        WORLD_TEST(credentials_stay_with_their_origin),
        WORLD_TEST(digest_covers_method_and_target_of_each_hop),
        WORLD_TEST(callback_answers_challenge),
        WORLD_TEST(callback_may_answer_again),
        WORLD_TEST(callback_may_cancel_or_fail),
        WORLD_TEST(callback_may_answer_later),
        cmocka_unit_test(task_that_waits_for_its_answer_leaves_the_connection_to_others),
        WORLD_TEST(ignores_late_response_of_ended_task),
        WORLD_TEST(cancel_and_time_limit_end_the_wait),
        WORLD_TEST(ntlm_connection_is_not_shared),
        WORLD_TEST(refused_ntlm_returns_401),
        WORLD_TEST(negotiate_without_ticket_returns_401),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
