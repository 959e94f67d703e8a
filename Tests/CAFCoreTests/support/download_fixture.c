#include "support/download_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int download_fixture_setup(void **state) {
    download_fixture *download_fixture = calloc(1, sizeof *download_fixture);
    assert_non_null(download_fixture);
    download_fixture->fixture = fixture_new(NULL, NULL);
    folder_make(&download_fixture->folder);
    download_fixture->content = make_content(LARGE, 3);
    range_server_serve(&download_fixture->range_server, download_fixture->fixture, "/file",
                       (afc_slice){download_fixture->content, LARGE}, TAG);
    snprintf(download_fixture->path, sizeof download_fixture->path, "%s",
             path_in(&download_fixture->folder, "got"));
    snprintf(download_fixture->part, sizeof download_fixture->part, "%s",
             path_in(&download_fixture->folder, "got.part"));
    snprintf(download_fixture->token_path, sizeof download_fixture->token_path, "%s",
             path_in(&download_fixture->folder, "got.part.resume"));
    *state = download_fixture;
    return 0;
}

int download_fixture_teardown(void **state) {
    download_fixture *download_fixture = *state;
    fixture_free(download_fixture->fixture);
    folder_remove(&download_fixture->folder);
    free(download_fixture->content);
    free(download_fixture);
    return 0;
}

call *prepare(download_fixture *download_fixture, const char *path, unsigned flags) {
    call *call = call_new(download_fixture->fixture, path);
    call->request.sink = (afc_sink){
        .kind = AFC_SINK_FILE, .path = download_fixture->path, .flags = flags};
    return call;
}

call *download(download_fixture *download_fixture, unsigned flags) {
    call *call = prepare(download_fixture, "/file", flags);
    call_perform(call);
    return call;
}

void interrupt_download(download_fixture *download_fixture) {
    download_fixture->range_server.stops_after = BROKEN_AT;
    call *call = download(download_fixture, KEEP_AND_RESUME);
    check_ended(call, AFC_ETRUNCATED);
    call_free(call);
    download_fixture->range_server.stops_after = WHOLE;
    assert_int_equal(count_files(&download_fixture->folder), 2);
}

const char *digest_field(download_fixture *download_fixture, const EVP_MD *type, const char *form,
                         bool is_wrong) {
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned char text[128];
    unsigned size;
    EVP_Digest(download_fixture->content, LARGE, digest, &size, type, NULL);
    if (is_wrong) digest[0] ^= 1;
    EVP_EncodeBlock(text, digest, (int)size);
    return text_of(download_fixture->fixture, form, (char *)text);
}

void check_done(download_fixture *download_fixture, call *call, afc_resumption resumption) {
    check_ended(call, AFC_OK);
    assert_int_equal(afc_result_get_download(call->result)->resumption, resumption);
    call_free(call);
    check_file(download_fixture->path, (afc_slice){download_fixture->content, LARGE});
    assert_int_equal(count_files(&download_fixture->folder), 1);
    assert_int_equal(unlink(download_fixture->path), 0);
}
