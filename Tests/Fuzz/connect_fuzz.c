/*
 * One octet that chooses credentials, then what a proxy answers to CONNECT, through sockets and libcurl: each
 * connection its part, each request its piece. Whatever it is, the task completes once, and nothing of it is taken for
 * the server's.
 */
#include "wire.h"

#include <curl/curl.h>

static afc_status on_head(void *context, afc_response *response) {
    (void)context;
    (void)response;
    abort(); /* There is no server behind this proxy. */
}

static afc_challenge_decision on_challenge(void *context, const afc_challenge *challenge,
                                           afc_credentials *credentials) {
    (void)context;
    require(challenge->is_proxy && challenge->head->status == 407);
    credentials->user = "asked";
    credentials->password = "secret";
    return challenge->failures < 3 ? AFC_CHALLENGE_USE : AFC_CHALLENGE_DEFAULT;
}

static bool has_ntlm(void) {
    return (curl_version_info(CURLVERSION_NOW)->features & CURL_VERSION_NTLM) != 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const afc_credentials user = {"u", "p", NULL, 0, false, {0}};
    static const afc_credentials ntlm = {"u", "p", NULL, AFC_AUTH_NTLM, true, {0}};
    input input = {data, size};
    wire_run run = {0};
    afc_request request = AFC_REQUEST_INIT;
    afc_task_events events = AFC_TASK_EVENTS_INIT;
    unsigned choice = take_octet(&input) % 4;
    if (choice == 1) request.proxy_credentials = &user;
    if (choice == 2 && has_ntlm()) request.proxy_credentials = &ntlm;
    if (choice == 3) events.on_challenge = on_challenge;
    events.on_head = on_head;
    request.url = "https://a.test/b?c";
    request.limits = (afc_limits){4096, 4096, 32, 4, 5, 3, {0}};
    request.timeouts = (afc_timeouts){2000, 2000, 4000, {0}};
    request.proxy = wire_listen(take_bytes(&input, input.size), true);
    wire_perform(&run, &request, events);
    require(run.status != AFC_OK);
    return 0;
}
