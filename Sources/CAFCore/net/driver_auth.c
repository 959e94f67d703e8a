/*
 * NTLM and Negotiate, which authenticate a connection in several rounds: libcurl's work. Basic, Digest and
 * Bearer are fields of requests and none of its business.
 */
#include "net/driver_internal.h"
#include "net/transfer_auth.h"

/* libcurl counts them as redirects, and follows no others. */
static const long MOST_ROUNDS = 10;

#define SET(option, value)                                                                         \
    do {                                                                                           \
        CURLcode code_ = curl_easy_setopt(exchange->easy, option, value);                          \
        if (exchange->option_error == CURLE_OK) exchange->option_error = code_;                    \
    } while (0)

unsigned af__driver_auth_schemes(void) {
    int features = curl_version_info(CURLVERSION_NOW)->features;
    unsigned schemes = 0;
    if ((features & CURL_VERSION_NTLM) != 0) schemes |= AF_AUTH_NTLM;
    if ((features & CURL_VERSION_SPNEGO) != 0) schemes |= AF_AUTH_NEGOTIATE;
    return schemes;
}

void af__exchange_set_auth(af__exchange *exchange) {
    unsigned scheme;
    const af_credentials *credentials = af__transfer_connection_auth(exchange->transfer, &scheme);
    if (credentials == NULL || exchange->is_replay) return;
    /* libcurl keeps more of it than can be reset: the handle carries this one hop. */
    exchange->state.connection_auth = true;
    bool has_user = credentials->user != NULL;
    SET(CURLOPT_MAXREDIRS, MOST_ROUNDS);
    SET(CURLOPT_HTTPAUTH, scheme == AF_AUTH_NTLM ? CURLAUTH_NTLM : CURLAUTH_NEGOTIATE);
    SET(CURLOPT_USERNAME, has_user ? credentials->user : "");
    SET(CURLOPT_PASSWORD, has_user ? credentials->password : "");
}
