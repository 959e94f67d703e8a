/*
 * via ROUTE URL...: fetches URLs through a proxy, such as socks5h://127.0.0.1:9050, or a Unix-domain socket, which is a
 * path or "@" and an abstract name.
 */
#include <afcore/afcore.h>
#include <stdio.h>

static afc_status print(afc_session *session, const char *url, afc_failure *failure) {
    afc_result *result;
    afc_request request = AFC_REQUEST_INIT;
    request.url = url;
    afc_status status = afc_perform(&result, session, &request, failure);
    if (status == AFC_OK) {
        afc_slice body = afc_result_get_body(result);
        printf("%d\n%.*s\n", afc_result_get_head(result)->status, (int)body.size, body.bytes);
    }
    afc_result_free(result);
    return status;
}

int main(int argc, char **argv) {
    afc_session *session = NULL;
    afc_failure failure;
    if (argc < 3) {
        fprintf(stderr, "usage: %s ROUTE URL...\n", argv[0]);
        return 2;
    }
    const char *route = argv[1];
    afc_session_options options = AFC_SESSION_OPTIONS_INIT;
    if (route[0] == '/' || route[0] == '@') {
        options.network.unix_socket = route;
    } else {
        options.proxies.source = AFC_PROXIES_GIVEN;
        options.proxies.all = route;
        options.proxies.bypass = "localhost, .internal, 10.0.0.0/8"; /* Reached directly. */
    }
    afc_status status = afc_session_new(&session, &options, &failure);
    for (int i = 2; i < argc && status == AFC_OK; i++) status = print(session, argv[i], &failure);
    if (status != AFC_OK) fprintf(stderr, "%s: %s\n", afc_status_name(status), failure.text);
    afc_session_release(session);
    return status == AFC_OK ? 0 : 1;
}
