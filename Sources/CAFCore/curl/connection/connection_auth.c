/*
 * NTLM and Negotiate, which authenticate a connection in several rounds. libcurl implements them.
 * Basic, Digest and Bearer are request fields, which libcurl doesn't handle here.
 */
#include "curl/connection/connection_auth.h"

#include "base/failure.h"
#include "curl/exchange_state.h"
#include "curl/library.h"
#include "transfer/auth.h"

#include <strings.h>

/*
 * Maximum number of rounds. libcurl counts them as redirects (CURLOPT_MAXREDIRS), of which it follows no real ones
 * here.
 */
static const long MAX_ROUNDS = 10;

unsigned afc__connection_schemes(void) {
    int features = afc__libcurl_info()->features;
    unsigned schemes = 0;
    if ((features & CURL_VERSION_NTLM) != 0) schemes |= AFC_AUTH_NTLM;
    if ((features & CURL_VERSION_SPNEGO) != 0) schemes |= AFC_AUTH_NEGOTIATE;
    return schemes;
}

unsigned afc__driver_auth_schemes(const afc__driver *driver) {
    return driver->auth_schemes;
}

void afc__exchange_set_auth(afc__exchange *exchange) {
    unsigned scheme;
    const afc_credentials *credentials = afc__transfer_connection_auth(
        exchange->hop.transfer, AFC__AUTH_TO_ORIGIN, &scheme);
    if (credentials == NULL || afc__exchange_uses_own_listener(exchange)) return;
    /* libcurl keeps more state of the authentication than can be reset, so this handle isn't reused after this hop. */
    exchange->state.connection_auth = true;
    bool has_user = credentials->user != NULL;
    AFC__SET(exchange, CURLOPT_MAXREDIRS, MAX_ROUNDS);
    AFC__SET(exchange, CURLOPT_HTTPAUTH,
             scheme == AFC_AUTH_NTLM ? CURLAUTH_NTLM : CURLAUTH_NEGOTIATE);
    AFC__SET(exchange, CURLOPT_USERNAME, has_user ? credentials->user : "");
    AFC__SET(exchange, CURLOPT_PASSWORD, has_user ? credentials->password : "");
}

/** Sets the proxy's user and password. libcurl sends them preemptively, as Basic, unless CURLOPT_PROXYAUTH is set. */
static void set_user(afc__exchange *exchange, const char *user, const char *password) {
    AFC__SET(exchange, CURLOPT_PROXYUSERNAME, user);
    AFC__SET(exchange, CURLOPT_PROXYPASSWORD, password);
}

static afc_status set_field(afc__exchange *exchange, const char *value) {
    static const char name[] = "Proxy-Authorization: ";
    afc__buffer *text = &exchange->proxy_text;
    if (value == NULL && !exchange->state.has_proxy_field) return AFC_OK;
    exchange->state.has_proxy_field = value != NULL;
    text->size = 0;
    if (value == NULL) {
        AFC__SET(exchange, CURLOPT_PROXYHEADER, NULL);
        return AFC_OK;
    }
    afc_status status = afc__buffer_reserve(text, sizeof name + strlen(value));
    if (status == AFC_OK) status = afc__buffer_append(text, name, sizeof name - 1);
    if (status == AFC_OK) status = afc__buffer_append(text, value, strlen(value) + 1);
    exchange->proxy_field = (struct curl_slist){text->bytes, NULL};
    AFC__SET(exchange, CURLOPT_PROXYHEADER, status == AFC_OK ? &exchange->proxy_field : NULL);
    return status;
}

afc_status afc__exchange_set_proxy_auth(afc__exchange *exchange, afc_failure *failure) {
    afc__transfer *transfer = exchange->hop.transfer;
    const afc__proxy *proxy = transfer->hop.proxy;
    if (!afc__transfer_prepare_proxy_auth(transfer)) return transfer->result->failure.status;
    const char *value = afc__transfer_proxy_authorization(transfer);
    if (set_field(exchange, value) != AFC_OK) return afc__fail_memory(failure);
    unsigned scheme;
    const afc_credentials *credentials = afc__transfer_connection_auth(transfer, AFC__AUTH_TO_PROXY,
                                                                       &scheme);
    if (credentials != NULL) {
        exchange->state.connection_auth = true;
        AFC__SET(exchange, CURLOPT_MAXREDIRS, MAX_ROUNDS);
        AFC__SET(exchange, CURLOPT_PROXYAUTH,
                 scheme == AFC_AUTH_NTLM ? CURLAUTH_NTLM : CURLAUTH_NEGOTIATE);
        bool has_user = credentials->user != NULL;
        set_user(exchange, has_user ? credentials->user : "",
                 has_user ? credentials->password : "");
        return AFC_OK;
    }
    bool speaks_http = proxy != NULL && afc__proxy_speaks_http(proxy);
    bool is_other = speaks_http && afc__transfer_has_proxy_credentials(transfer);
    bool has_user = proxy != NULL && !is_other;
    set_user(exchange, has_user ? proxy->user : NULL, has_user ? proxy->password : NULL);
    return AFC_OK;
}
