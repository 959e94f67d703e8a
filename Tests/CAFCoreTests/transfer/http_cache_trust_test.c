/* Whom a session trusts decides which stored responses it uses, and which responses are stored. */
#include "support/caching_fixture.h"

#include <stdlib.h>
#include <string.h>

#define FRESH "Cache-Control: max-age=3600"

static afc_header field(const char *name, const char *value) {
    return (afc_header){afc_slice_of(name), afc_slice_of(value), 0};
}

static afc_session *session_with(afc_http_cache *cache, const afc_trust_options *trust) {
    afc_session *session;
    afc_session_options options = AFC_SESSION_OPTIONS_INIT;
    check_status(afc_trust_policy_new(&options.trust, trust, NULL), AFC_OK);
    options.http_cache = cache;
    check_status(afc_session_new(&session, &options, NULL), AFC_OK);
    afc_trust_policy_release(options.trust);
    return session;
}

static call *fetch_by(fixture *fixture, afc_session *session, afc_status expected) {
    call *call = call_new(fixture, "/");
    call->session = session;
    call->request.url = tls_url(fixture);
    call_perform(call);
    check_ended(call, expected);
    return call;
}

static void store_by_value(afc_http_cache *cache, const char *url, const afc_header *fields,
                           size_t count) {
    afc_http_cache_request request = AFC_HTTP_CACHE_REQUEST_INIT;
    afc_http_cache_response response = AFC_HTTP_CACHE_RESPONSE_INIT;
    request.url = url;
    response.head.headers = fields;
    response.head.header_count = count;
    response.body = S("stored");
    check_status(afc_http_cache_store(cache, &request, &response, NULL), AFC_OK);
}

/** Another policy might refuse the server. Equal ones find it, also those of another process. */
static void response_is_used_under_the_trust_policy_that_accepted_its_server(void **state) {
    (void)state;
    afc_http_cache *cache;
    fixture *fixture = fixture_new_tls();
    check_status(afc_http_cache_open(&cache, NULL, NULL), AFC_OK);
    const char *pins[] = {"sha256//AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="};
    const afc_slice anchors = afc_slice_of(afts_cert_pem(fixture->authority));
    afc_trust_options options[3] = {AFC_TRUST_OPTIONS_INIT, AFC_TRUST_OPTIONS_INIT,
                                    AFC_TRUST_OPTIONS_INIT};
    options[0].anchors = options[1].anchors = anchors;
    options[1].everywhere.mode = AFC_PINNING_PUBLIC_KEY;
    options[1].everywhere.pins = pins;
    options[1].everywhere.pin_count = COUNT_OF(pins);
    static const struct {
        size_t options;
        afc_status status;
        afc_http_cache_use use;
    } rows[] = {{0, AFC_OK, AFC_CACHE_USE_UNUSED},
                {0, AFC_OK, AFC_CACHE_USE_HIT},
                {1, AFC_EUNTRUSTED, AFC_CACHE_USE_UNUSED},
                {2, AFC_EUNTRUSTED, AFC_CACHE_USE_UNUSED},
                {0, AFC_OK, AFC_CACHE_USE_HIT}};
    serve(fixture, "/", answer(200, FRESH ", public", "body"));
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        afc_session *session = session_with(cache, &options[rows[i].options]);
        call *call = fetch_by(fixture, session, rows[i].status);
        if (rows[i].status == AFC_OK) assert_int_equal(cache_use_of(call), rows[i].use);
        call_free(call);
        afc_session_release(session);
    }
    /* A program finds it in any case, and vouches for what it stores. */
    afc_http_cache_request request = AFC_HTTP_CACHE_REQUEST_INIT;
    const afc_http_cache_response *found;
    request.url = tls_url(fixture);
    check_status(afc_http_cache_lookup(&found, cache, &request, NULL), AFC_OK);
    assert_non_null(found);
    afc_http_cache_response_free(found);
    afc_http_cache_remove_all(cache);
    const afc_header fresh = field("Cache-Control", "max-age=60");
    store_by_value(cache, tls_url(fixture), &fresh, 1);
    for (size_t i = 0; i < COUNT_OF(options); i++) {
        afc_session *session = session_with(cache, &options[i]);
        call *call = fetch_by(fixture, session, AFC_OK);
        assert_int_equal(cache_use_of(call), AFC_CACHE_USE_HIT);
        call_free(call);
        afc_session_release(session);
    }
    afc_http_cache_release(cache);
    fixture_free(fixture);
}

/** From then on it is the server's, and used as what was received of that. */
static void response_of_a_program_is_the_servers_once_that_has_confirmed_it(void **state) {
    (void)state;
    afc_http_cache *cache;
    fixture *fixture = fixture_new_tls();
    check_status(afc_http_cache_open(&cache, NULL, NULL), AFC_OK);
    const afc_header stale[] = {field("Cache-Control", "max-age=60, public"), field("Age", "100"),
                                field("ETag", "\"one\"")};
    store_by_value(cache, tls_url(fixture), stale, COUNT_OF(stale));
    serve(fixture, "/", answer(304, FRESH ", public\r\nETag: \"one\"", ""));
    afts_cert *other = afts_cert_new(&(afts_cert_options){.authority = true}, NULL);
    const struct {
        const afts_cert *anchor;
        afc_status status;
        afc_http_cache_use use;
    } rows[] = {{fixture->authority, AFC_OK, AFC_CACHE_USE_VALIDATED},
                {fixture->authority, AFC_OK, AFC_CACHE_USE_HIT},
                {other, AFC_EUNTRUSTED, AFC_CACHE_USE_UNUSED}};
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        afc_trust_options trust = AFC_TRUST_OPTIONS_INIT;
        trust.anchors = afc_slice_of(afts_cert_pem(rows[i].anchor));
        afc_session *session = session_with(cache, &trust);
        call *call = fetch_by(fixture, session, rows[i].status);
        assert_int_equal(cache_use_of(call), rows[i].use);
        call_free(call);
        afc_session_release(session);
    }
    afts_cert_free(other);
    afc_http_cache_release(cache);
    fixture_free(fixture);
}

static void stale_response_does_not_hide_an_untrusted_server(void **state) {
    (void)state;
    afc_http_cache *cache;
    fixture *fixture = fixture_new_tls();
    check_status(afc_http_cache_open(&cache, NULL, NULL), AFC_OK);
    const afc_header stale[] = {field("Cache-Control", "max-age=60, stale-if-error=600"),
                                field("Age", "100")};
    store_by_value(cache, tls_url(fixture), stale, COUNT_OF(stale));
    afc_trust_options trust = AFC_TRUST_OPTIONS_INIT;
    afts_cert *other = afts_cert_new(&(afts_cert_options){.authority = true}, NULL);
    trust.anchors = afc_slice_of(afts_cert_pem(other));
    afc_session *session = session_with(cache, &trust);
    call_free(fetch_by(fixture, session, AFC_EUNTRUSTED));
    afc_session_release(session);
    afts_cert_free(other);
    afc_http_cache_release(cache);
    fixture_free(fixture);
}

static void response_over_an_unverified_connection_is_not_stored(void **state) {
    (void)state;
    afc_http_cache *cache;
    fixture *fixture = fixture_new_tls();
    check_status(afc_http_cache_open(&cache, NULL, NULL), AFC_OK);
    afts_cert *other = afts_cert_new(&(afts_cert_options){.authority = true}, NULL);
    afc_trust_options trust = AFC_TRUST_OPTIONS_INIT;
    trust.anchors = afc_slice_of(afts_cert_pem(other));
    trust.everywhere.allow_invalid_certificates = true;
    afc_session *session = session_with(cache, &trust);
    serve(fixture, "/", answer(200, FRESH, "body"));
    /* Also over a connection that is used again. */
    for (int i = 0; i < 2; i++) {
        call *call = fetch_by(fixture, session, AFC_OK);
        assert_int_equal(cache_use_of(call), AFC_CACHE_USE_UNUSED);
        assert_string_equal(afc_result_get_not_stored(call->result),
                            "the server's certificate wasn't verified without a fault");
        call_free(call);
    }
    afc_session_release(session);
    trust = (afc_trust_options)AFC_TRUST_OPTIONS_INIT;
    trust.anchors = afc_slice_of(afts_cert_pem(fixture->authority));
    session = session_with(cache, &trust);
    for (int i = 0; i < 2; i++) {
        call *call = fetch_by(fixture, session, AFC_OK);
        assert_int_equal(cache_use_of(call), i == 0 ? AFC_CACHE_USE_UNUSED : AFC_CACHE_USE_HIT);
        call_free(call);
    }
    afc_session_release(session);
    afts_cert_free(other);
    afc_http_cache_release(cache);
    fixture_free(fixture);
}

/** A rule that compares no host must not store what a server says for a host that its certificate doesn't name. */
static void response_of_another_host_is_not_stored(void **state) {
    (void)state;
    afc_http_cache *cache;
    fixture *fixture = fixture_new_tls();
    check_status(afc_http_cache_open(&cache, NULL, NULL), AFC_OK);
    const uint16_t port = (uint16_t)strtoul(strrchr(url_of(fixture, ""), ':') + 1, NULL, 10);
    const afc_host_override override = {"*", port, "127.0.0.1", {0}};
    afc_trust_options trust = AFC_TRUST_OPTIONS_INIT;
    trust.anchors = afc_slice_of(afts_cert_pem(fixture->authority));
    trust.everywhere.skip_host_check = true;
    afc_session_options options = AFC_SESSION_OPTIONS_INIT;
    options.network = (afc_network_options){.overrides = &override, .override_count = 1};
    check_status(afc_trust_policy_new(&options.trust, &trust, NULL), AFC_OK);
    options.http_cache = cache;
    afc_session *session;
    check_status(afc_session_new(&session, &options, NULL), AFC_OK);
    afc_trust_policy_release(options.trust);
    serve(fixture, "/", answer(200, FRESH, "body"));
    static const char *const hosts[] = {"other.test", "localhost"};
    for (size_t i = 0; i < COUNT_OF(hosts); i++) {
        call *call = call_new(fixture, "/");
        call->session = session;
        call->request.url = text_of(fixture, "https://%s:%u/", hosts[i], (unsigned)port);
        call_perform(call);
        check_ended(call, AFC_OK);
        assert_int_equal(afc_result_get_not_stored(call->result)[0] == '\0', i == 1);
        call_free(call);
    }
    afc_session_release(session);
    afc_http_cache_release(cache);
    fixture_free(fixture);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(response_is_used_under_the_trust_policy_that_accepted_its_server),
        cmocka_unit_test(response_of_a_program_is_the_servers_once_that_has_confirmed_it),
        cmocka_unit_test(stale_response_does_not_hide_an_untrusted_server),
        cmocka_unit_test(response_of_another_host_is_not_stored),
        cmocka_unit_test(response_over_an_unverified_connection_is_not_stored),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
