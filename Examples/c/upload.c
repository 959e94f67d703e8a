/*
 * upload URL: sends standard input with PUT, whether it is a file, a pipe or a terminal. Its length isn't known in
 * advance, so it is sent in chunks as it arrives.
 */
#include <afcore/afcore.h>
#include <stdio.h>
#include <unistd.h>

int main(int argc, char **argv) {
    afc_session *session;
    afc_result *result;
    afc_failure failure;
    if (argc != 2) {
        fprintf(stderr, "usage: %s URL\n", argv[0]);
        return 2;
    }
    if (afc_session_new(&session, NULL, &failure) != AFC_OK) {
        fprintf(stderr, "%s\n", failure.text);
        return 1;
    }
    afc_request request = AFC_REQUEST_INIT;
    request.method = "PUT";
    request.url = argv[1];
    request.body.kind = AFC_BODY_FD;
    request.body.descriptor = STDIN_FILENO;
    request.body.length = AFC_LENGTH_UNKNOWN;
    afc_status status = afc_perform(&result, session, &request, &failure);
    if (status == AFC_OK) {
        int code = afc_result_get_head(result)->status;
        afc_slice body = afc_result_get_body(result);
        printf("status %d: %.*s\n", code, (int)body.size, body.bytes);
        if (code < 200 || code > 299) status = AFC_EPROTOCOL;
    } else {
        fprintf(stderr, "%s: %s\n", afc_status_name(status), failure.text);
    }
    afc_result_free(result);
    afc_session_release(session);
    return status == AFC_OK ? 0 : 1;
}
