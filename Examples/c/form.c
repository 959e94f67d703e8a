/*
 * form URL NAME FILE: sends a multipart form with a text field and a file.
 */
#include <afcore/afcore.h>
#include <stdio.h>

/** Fails if the file is missing or can't be read. */
static afc_status make_form(afc_multipart **out, const char *name, const char *path,
                            afc_failure *failure) {
    afc_part text = AFC_PART_INIT, attachment = AFC_PART_INIT;
    afc_part_file file = AFC_PART_FILE_INIT;
    text.name = afc_slice_of("name");
    attachment.name = afc_slice_of("attachment");
    file.path = path;
    afc_status status = afc_multipart_new(out, NULL, failure);
    if (status != AFC_OK) return status;
    status = afc_multipart_add_bytes(*out, &text, afc_slice_of(name), NULL, NULL, failure);
    if (status == AFC_OK) status = afc_multipart_add_file(*out, &attachment, &file, failure);
    if (status != AFC_OK) afc_multipart_free(*out);
    return status;
}

int main(int argc, char **argv) {
    afc_session *session = NULL;
    afc_result *result = NULL;
    afc_failure failure;
    afc_request request = AFC_REQUEST_INIT;
    if (argc != 4) {
        fprintf(stderr, "usage: %s URL NAME FILE\n", argv[0]);
        return 2;
    }
    request.method = "POST";
    request.url = argv[1];
    afc_status status = afc_session_new(&session, NULL, &failure);
    if (status == AFC_OK) status = make_form(&request.body.form, argv[2], argv[3], &failure);
    if (status == AFC_OK) {
        request.body.kind = AFC_BODY_MULTIPART; /* The request takes the form. */
        status = afc_perform(&result, session, &request, &failure);
    }
    if (status == AFC_OK) {
        printf("%d\n", afc_result_get_head(result)->status);
    } else {
        fprintf(stderr, "%s: %s\n", afc_status_name(status), failure.text);
    }
    afc_result_free(result);
    afc_session_release(session);
    return status == AFC_OK ? 0 : 1;
}
