/*
 * post URL JSON: sends a JSON text with a secret header, and prints the fields and the body of the response.
 */
#include <afcore/afcore.h>
#include <stdio.h>
#include <stdlib.h>

static void print_response(const afc_result *result) {
    const afc_head *head = afc_result_get_head(result);
    afc_slice body = afc_result_get_body(result);
    printf("%d\n", head->status);
    for (size_t i = 0; i < head->header_count; i++) {
        afc_slice name = head->headers[i].name, value = head->headers[i].value;
        printf("%.*s: %.*s\n", (int)name.size, name.bytes, (int)value.size, value.bytes);
    }
    printf("\n%.*s\n", (int)body.size, body.bytes);
}

int main(int argc, char **argv) {
    const char *key = getenv("API_KEY");
    if (argc != 3) {
        fprintf(stderr, "usage: %s URL JSON\n", argv[0]);
        return 2;
    }
    afc_session *session;
    afc_failure failure;
    if (afc_session_new(&session, NULL, &failure) != AFC_OK) {
        fprintf(stderr, "%s\n", failure.text);
        return 1;
    }
    const afc_header headers[] = {
        {AFC_SLICE_INIT("Content-Type"), AFC_SLICE_INIT("application/json"), 0},
        {afc_slice_of("X-Api-Key"), afc_slice_of(key != NULL ? key : ""), 0}};
    afc_request request = AFC_REQUEST_INIT;
    request.method = "POST";
    request.url = argv[1];
    request.headers = headers;
    request.header_count = key != NULL ? 2 : 1;
    request.body.kind = AFC_BODY_BYTES;
    request.body.bytes = afc_slice_of(argv[2]);
    request.timeouts.total_ms = 30000;
    afc_result *result;
    afc_status status = afc_perform(&result, session, &request, &failure);
    if (status == AFC_OK) {
        print_response(result);
    } else {
        fprintf(stderr, "%s: %s\n", afc_status_name(status), failure.text);
    }
    afc_result_free(result);
    afc_session_release(session);
    return status == AFC_OK ? 0 : 1;
}
