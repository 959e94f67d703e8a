/* The same form, written by libcurl and by us: but for the boundary not a byte may differ. */
#include "support/call.h"
#include "support/files.h"
#include "support/form.h"

#include <curl/curl.h>
#include <stdlib.h>
#include <unistd.h>

typedef struct field {
    const char *name, *file_name, *type, *value;
} field;

static const field fields[] = {
    {"plain", NULL, NULL, "value"},
    {"empty", NULL, NULL, ""},
    {"two words", NULL, NULL, "line one\r\n--line two"},
    {"quo\"te", "na\"me.txt", "text/plain", "quoted"},
    {"n\xC3\xA4me", "\xE2\x9C\x82.bin", "application/octet-stream", "\x01\x02\xFF"},
    {"back\\slash", "a\\b.txt", "text/plain; charset=utf-8", "kept"},
    {"plain", NULL, "application/json", "{\"again\": true}"},
};

static CURLcode curl_fields(curl_mime *mime, const char *path) {
    CURLcode code = CURLE_OK;
    for (size_t i = 0; i < COUNT_OF(fields) && code == CURLE_OK; i++) {
        curl_mimepart *part = curl_mime_addpart(mime);
        code = curl_mime_name(part, fields[i].name);
        if (code == CURLE_OK) code = curl_mime_data(part, fields[i].value, CURL_ZERO_TERMINATED);
        if (code == CURLE_OK && fields[i].file_name != NULL) {
            code = curl_mime_filename(part, fields[i].file_name);
        }
        if (code == CURLE_OK && fields[i].type != NULL) code = curl_mime_type(part, fields[i].type);
    }
    curl_mimepart *file = curl_mime_addpart(mime);
    if (code == CURLE_OK) code = curl_mime_name(file, "file");
    if (code == CURLE_OK) code = curl_mime_filedata(file, path);
    if (code == CURLE_OK) code = curl_mime_type(file, "image/png");
    return code;
}

static void post_with_curl(fixture *fixture, const char *path) {
    CURL *easy = curl_easy_init();
    assert_non_null(easy);
    curl_mime *mime = curl_mime_init(easy);
    assert_non_null(mime);
    assert_int_equal(curl_fields(mime, path), CURLE_OK);
    const char *url = text_of(fixture, "http://127.0.0.1:%u/",
                              (unsigned)afts_server_port(fixture->server));
    assert_int_equal(curl_easy_setopt(easy, CURLOPT_URL, url), CURLE_OK);
    assert_int_equal(curl_easy_setopt(easy, CURLOPT_MIMEPOST, mime), CURLE_OK);
    assert_int_equal(curl_easy_setopt(easy, CURLOPT_NOPROXY, "*"), CURLE_OK);
    assert_int_equal(curl_easy_perform(easy), CURLE_OK);
    curl_mime_free(mime);
    curl_easy_cleanup(easy);
}

static void post_with_af(fixture *fixture, const char *path, const char *boundary) {
    afc_multipart *form;
    check_status(afc_multipart_new(&form, boundary, NULL), AFC_OK);
    for (size_t i = 0; i < COUNT_OF(fields); i++) {
        afc_part part = AFC_PART_INIT;
        part.name = afc_slice_of(fields[i].name);
        if (fields[i].file_name != NULL) part.file_name = afc_slice_of(fields[i].file_name);
        if (fields[i].type != NULL) part.content_type = afc_slice_of(fields[i].type);
        check_status(
            afc_multipart_add_bytes(form, &part, afc_slice_of(fields[i].value), NULL, NULL, NULL),
            AFC_OK);
    }
    afc_part part = AFC_PART_INIT;
    part.name = S("file");
    part.content_type = S("image/png");
    afc_part_file file = AFC_PART_FILE_INIT;
    file.path = path;
    check_status(afc_multipart_add_file(form, &part, &file, NULL), AFC_OK);
    call *call = call_new(fixture, "/");
    call->request.method = "POST";
    call->request.body = (afc_body){.kind = AFC_BODY_MULTIPART, .form = form};
    call_perform(call);
    check_ended(call, AFC_OK);
    call_free(call);
}

static void writes_the_same_bytes_as_libcurl(void **state) {
    fixture *fixture = *state;
    char path[] = "/tmp/af-form-XXXXXX";
    int descriptor = mkstemp(path);
    assert_true(descriptor >= 0);
    assert_int_equal(write(descriptor, "\x89PNG\r\n\r\n--", 10), 10);
    close(descriptor);
    post_with_curl(fixture, path);
    const char *type = seen_header(fixture, 0, "Content-Type");
    const char *boundary = strstr(type, "boundary=");
    assert_non_null(boundary);
    char *chosen = strdup(boundary + strlen("boundary="));
    assert_non_null(chosen);
    post_with_af(fixture, path, chosen);
    free(chosen);
    unlink(path);
    afts_request *curls = afts_copy_request(fixture->server, 0);
    afts_request *ours = afts_copy_request(fixture->server, 1);
    assert_int_equal(ours->body_total, curls->body_total);
    assert_memory_equal(ours->body, curls->body, curls->body_total);
    afts_request_free(curls);
    afts_request_free(ours);
    assert_string_equal(seen_header(fixture, 1, "Content-Length"),
                        text_of(fixture, "%s", seen_header(fixture, 0, "Content-Length")));
}

int main(void) {
    const struct CMUnitTest tests[] = {FIXTURE_TEST(writes_the_same_bytes_as_libcurl)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
