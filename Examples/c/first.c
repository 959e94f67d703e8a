/*
 * first URL: performs one request and prints the body.
 */
#include <afcore/afcore.h>
#include <stdio.h>

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
    request.url = argv[1];
    afc_status status = afc_perform(&result, session, &request, &failure);
    if (status == AFC_OK) {
        afc_slice body = afc_result_get_body(result);
        fprintf(stderr, "status %d\n", afc_result_get_head(result)->status);
        fwrite(body.bytes, 1, body.size, stdout);
        if (fflush(stdout) != 0 || ferror(stdout)) { /* A full disk shows here only. */
            perror("standard output");
            status = AFC_EFILE;
        }
    } else {
        fprintf(stderr, "%s: %s\n", afc_status_name(status), failure.text);
    }
    afc_result_free(result);
    afc_session_release(session);
    return status == AFC_OK ? 0 : 1;
}
