/* The idle limit is about bytes that move, not about sockets that are ready. */
#include "support/call.h"

#include <dlfcn.h>
#include <openssl/ssl.h>
#include <stdatomic.h>

typedef int reader(SSL *ssl, void *buffer, int size);
typedef int explainer(const SSL *ssl, int result);

static reader *real_read;
static explainer *real_error;

/** Whether OpenSSL can't read, as without memory for a record. */
static atomic_bool is_stuck;

static __attribute__((constructor)) void find_real(void) {
    *(void **)&real_read = dlsym(RTLD_NEXT, "SSL_read");
    *(void **)&real_error = dlsym(RTLD_NEXT, "SSL_get_error");
}

static bool fails(const SSL *ssl) {
    return atomic_load(&is_stuck) && !SSL_is_server(ssl) && SSL_is_init_finished(ssl);
}

/** In place of OpenSSL's: takes nothing from the socket, which stays readable. */
int SSL_read(SSL *ssl, void *buffer, int size) {
    return fails(ssl) ? -1 : real_read(ssl, buffer, size);
}

/** In place of OpenSSL's. */
int SSL_get_error(const SSL *ssl, int result) {
    return fails(ssl) && result == -1 ? SSL_ERROR_WANT_READ : real_error(ssl, result);
}

static void readiness_without_bytes_is_idle(void **state) {
    (void)state;
    fixture *fixture = fixture_new_tls();
    serve(fixture, "/", answer(200, NULL, "body"));
    atomic_store(&is_stuck, true);
    call *call = call_new(fixture, "/");
    call->request.url = tls_url(fixture);
    call->request.timeouts = (afc_timeouts){PATIENCE_MS, 300, PATIENCE_MS, {0}};
    call_perform(call);
    atomic_store(&is_stuck, false);
    check_ended(call, AFC_ETIMEOUT);
    assert_int_equal(call->failure.timeout, AFC_TIMEOUT_IDLE);
    call_free(call);
    fixture_free(fixture);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(readiness_without_bytes_is_idle),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
