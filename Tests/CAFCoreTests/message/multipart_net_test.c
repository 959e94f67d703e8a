/* Forms as bodies of requests: framing, type, redirects, failures, the throttle's timer. */
#include "support/call.h"
#include "support/files.h"
#include "support/form.h"
#include "support/torture.h"

#include <stdlib.h>
#include <unistd.h>

static call *call_posting(fixture *fixture, const char *path, afc_multipart *form) {
    call *call = call_new(fixture, path);
    call->request.method = "POST";
    call->request.body = (afc_body){.kind = AFC_BODY_MULTIPART, .form = form};
    return call;
}

static void check_body_seen(fixture *fixture, size_t index, afc_slice expected) {
    afts_request *request = afts_copy_request(fixture->server, index);
    assert_non_null(request);
    assert_true(request->body_complete);
    assert_int_equal(request->body_total, expected.size);
    assert_memory_equal(request->body, expected.bytes, expected.size);
    afts_request_free(request);
}

#define FIELD_A "--B\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n1"
#define READER_R "\r\n--B\r\nContent-Disposition: form-data; name=\"r\"\r\n\r\n0123456789"
#define CLOSING "\r\n--B--\r\n"

static void sends_form_with_length_and_type(void **state) {
    fixture *fixture = *state;
    script_reader script = {.bytes = S("0123456789"), .piece = 3};
    afc_multipart *form = form_new();
    form_add(form, "a", NULL, NULL, S("1"));
    form_add_reader(form, "r", &script, 10);
    call *call = call_posting(fixture, "/", form);
    call_perform(call);
    check_ended(call, AFC_OK);
    assert_int_equal(call->progress.sent, strlen(FIELD_A READER_R CLOSING));
    assert_int_equal(call->progress.sent_total, call->progress.sent);
    call_free(call);
    assert_int_equal(script.releases, 1);
    check_body_seen(fixture, 0, S(FIELD_A READER_R CLOSING));
    assert_string_equal(seen_header(fixture, 0, "Content-Type"), "multipart/form-data; boundary=B");
    assert_string_equal(seen_header(fixture, 0, "Content-Length"),
                        text_of(fixture, "%zu", strlen(FIELD_A READER_R CLOSING)));
    assert_string_equal(seen_header(fixture, 0, "Transfer-Encoding"), "");
}

static void form_of_unknown_length_is_chunked(void **state) {
    fixture *fixture = *state;
    script_reader script = {.bytes = S("0123456789"), .piece = 3};
    afc_multipart *form = form_new();
    form_add(form, "a", NULL, NULL, S("1"));
    form_add_reader(form, "r", &script, AFC_LENGTH_UNKNOWN);
    call *call = call_posting(fixture, "/", form);
    call_perform(call);
    check_ended(call, AFC_OK);
    call_free(call);
    check_body_seen(fixture, 0, S(FIELD_A READER_R CLOSING));
    assert_string_equal(seen_header(fixture, 0, "Transfer-Encoding"), "chunked");
    assert_string_equal(seen_header(fixture, 0, "Content-Length"), "");
}

static void caller_can_set_the_content_type(void **state) {
    fixture *fixture = *state;
    static const afc_header headers[] = {
        {ROW_S("content-type"), ROW_S("multipart/mixed; boundary=B"), 0},
        {ROW_S("Content-Type"), {NULL, 0}, AFC_HEADER_REMOVE}};
    static const char *const expected[] = {"multipart/mixed; boundary=B", ""};
    for (size_t i = 0; i < COUNT_OF(headers); i++) {
        call *call = call_posting(fixture, "/", form_new());
        call->request.headers = &headers[i];
        call->request.header_count = 1;
        call_perform(call);
        check_ended(call, AFC_OK);
        call_free(call);
        assert_string_equal(seen_header(fixture, i, "Content-Type"), expected[i]);
    }
}

static void content_type_and_credentials_of_the_url_are_both_sent(void **state) {
    fixture *fixture = *state;
    afc_multipart *form = form_new();
    call *call = call_posting(fixture, "/", form);
    call->request.url = text_of(fixture, "http://u:p@127.0.0.1:%u/",
                                (unsigned)afts_server_port(fixture->server));
    call_perform(call);
    check_ended(call, AFC_OK);
    call_free(call);
    assert_string_equal(seen_header(fixture, 0, "Content-Type"), "multipart/form-data; boundary=B");
    assert_string_equal(seen_header(fixture, 0, "Authorization"), "Basic dTpw");
}

/* ---- Once more ------------------------------------------------------------------------------- */

static void redirect_replays_the_form(void **state) {
    fixture *fixture = *state;
    folder folder;
    folder_make(&folder);
    const char *path = path_in(&folder, "a");
    write_file(path, S("0123456789"));
    static const int statuses[] = {307, 308};
    for (size_t i = 0; i < COUNT_OF(statuses); i++) {
        script_reader script = {.bytes = S("0123456789")};
        afc_multipart *form = form_new();
        form_add(form, "a", NULL, NULL, S("1"));
        form_add_reader(form, "r", &script, 10);
        form_add_file(form, "f", path);
        size_t length = (size_t)afc_multipart_get_length(form);
        serve_once(fixture, "/from", answer(statuses[i], "Location: /to", ""));
        call *call = call_posting(fixture, "/from", form);
        call_perform(call);
        check_ended(call, AFC_OK);
        assert_int_equal(call->hop_count, 2);
        assert_int_equal(call->progress.sent, length);
        call_free(call);
        assert_int_equal(script.rewinds, 1);
        afts_request *first = afts_copy_request(fixture->server, 2 * i);
        assert_int_equal(first->body_total, length);
        check_body_seen(fixture, 2 * i + 1, (afc_slice){(const char *)first->body, length});
        afts_request_free(first);
        assert_string_equal(seen_header(fixture, 2 * i + 1, "Content-Type"),
                            "multipart/form-data; boundary=B");
    }
    folder_remove(&folder);
}

static void redirect_fails_if_a_reader_cannot_rewind(void **state) {
    fixture *fixture = *state;
    script_reader script = {.bytes = S("0123456789"), .reads_once = true};
    afc_multipart *form = form_new();
    form_add_reader(form, "r", &script, 10);
    serve(fixture, "/from", answer(307, "Location: /to", ""));
    call *call = call_posting(fixture, "/from", form);
    call_perform(call);
    check_ended(call, AFC_EREPLAY);
    call_free(call);
    assert_int_equal(afts_server_stats(fixture->server).requests, 1);
    assert_int_equal(script.releases, 1);
}

static void redirect_without_body_drops_the_content_type(void **state) {
    fixture *fixture = *state;
    script_reader script = {.bytes = S("0123456789"), .reads_once = true};
    afc_multipart *form = form_new();
    form_add_reader(form, "r", &script, 10);
    serve(fixture, "/from", answer(303, "Location: /to", ""));
    call *call = call_posting(fixture, "/from", form);
    call_perform(call);
    check_ended(call, AFC_OK);
    call_free(call);
    assert_string_equal(seen_header(fixture, 1, "Content-Type"), "");
    assert_string_equal(seen_header(fixture, 1, "Content-Length"), "");
}

/* ---- Failures -------------------------------------------------------------------------------- */

static void changed_file_ends_the_task(void **state) {
    fixture *fixture = *state;
    folder folder;
    folder_make(&folder);
    const char *path = path_in(&folder, "a");
    static const struct {
        off_t size; /**< -1: it vanishes. */
        const char *text;
    } rows[] = {{-1, "cannot open"}, {3, "shorter"}, {11, "longer"}};
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        write_file(path, S("0123456789"));
        afc_multipart *form = form_new();
        form_add_file(form, "f", path);
        if (rows[i].size < 0)
            assert_int_equal(unlink(path), 0);
        else
            assert_int_equal(truncate(path, rows[i].size), 0);
        call *call = call_posting(fixture, "/", form);
        call_perform(call);
        check_ended(call, AFC_EFILE);
        check_contains(call->failure.text, rows[i].text);
        check_contains(call->failure.text, path);
        assert_int_equal(call->failure.system_error != 0, rows[i].size < 0);
        call_free(call);
    }
    folder_remove(&folder);
}

static void failing_reader_ends_the_task(void **state) {
    fixture *fixture = *state;
    script_reader script = {.bytes = S("0123456789"), .piece = 5, .fails_at = 5};
    afc_multipart *form = form_new();
    form_add_reader(form, "r", &script, 10);
    call *call = call_posting(fixture, "/", form);
    call_perform(call);
    check_ended(call, AFC_ESOURCE);
    check_contains(call->failure.text, "part 1");
    call_free(call);
    assert_int_equal(script.releases, 1);
}

static void refused_request_frees_its_form(void **state) {
    fixture *fixture = *state;
    for (int i = 0; i < 2; i++) {
        script_reader script = {0};
        afc_multipart *form = form_new();
        form_add_reader(form, "r", &script, 10);
        afc_request request = AFC_REQUEST_INIT;
        request.url = i == 0 ? "ftp://127.0.0.1/" : "http://127.0.0.1/";
        if (i == 1) request.method = "NO METHOD";
        request.body = (afc_body){.kind = AFC_BODY_MULTIPART, .form = form};
        afc_task *task;
        check_status(afc_task_new(&task, fixture->session, &request, NULL, NULL), AFC_EINVAL);
        assert_int_equal(script.releases, 1);
    }
    afc_request request = AFC_REQUEST_INIT;
    request.url = "http://127.0.0.1/";
    request.body.kind = AFC_BODY_MULTIPART;
    afc_task *task;
    check_status(afc_task_new(&task, fixture->session, &request, NULL, NULL), AFC_EINVAL);
}

static void failed_allocation_frees_the_form(void **state) {
    fixture *fixture = *state;
    const char *url = text_of(fixture, "http://u:p@127.0.0.1:%u/",
                              (unsigned)afts_server_port(fixture->server));
    TORTURE(round) {
        script_reader script = {.bytes = S("0123456789")};
        afc_part part = AFC_PART_INIT;
        afc_reader reader = reader_of(&script);
        afc_multipart *form = NULL;
        if (afc_multipart_new(&form, NULL, NULL) != AFC_OK) continue;
        (void)!afc_multipart_add_reader(form, &part, &reader, 10, NULL);
        afc_request request = AFC_REQUEST_INIT;
        request.method = "POST";
        request.url = url;
        request.body = (afc_body){.kind = AFC_BODY_MULTIPART, .form = form};
        afc_task *task = NULL;
        afc_status status = afc_task_new(&task, fixture->session, &request, NULL, NULL);
        assert_true(status == AFC_OK || status == AFC_ENOMEM);
        if (status == AFC_OK) afc_task_release(task);
        assert_int_equal(script.releases, 1);
    }
}

/* ---- Not too fast ---------------------------------------------------------------------------- */

static void throttled_form_waits_and_continues(void **state) {
    fixture *fixture = *state;
    afc_multipart *form = form_new();
    form_add(form, "a", NULL, NULL, S("1"));
    afc_multipart_throttle(form, 7, 1);
    serve_once(fixture, "/from", answer(307, "Location: /to", ""));
    call *call = call_posting(fixture, "/from", form);
    call_perform(call);
    check_ended(call, AFC_OK);
    call_free(call);
    check_body_seen(fixture, 0, S(FIELD_A CLOSING));
    check_body_seen(fixture, 1, S(FIELD_A CLOSING));
}

static void throttled_form_can_be_cancelled(void **state) {
    fixture *fixture = *state;
    afc_multipart *form = form_new();
    form_add(form, "a", NULL, NULL, S("1"));
    afc_multipart_throttle(form, 7, 3600 * 1000);
    afts_script *script = afts_script_new();
    afts_read_head_only(script);
    afts_stall(script, "head");
    serve(fixture, "/", script);
    call *call = call_posting(fixture, "/", form);
    call_start(call);
    assert_true(afts_wait_stalled(fixture->server, "head", 1, PATIENCE_MS));
    afc_task_wake(call->task);
    afc_task_suspend(call->task);
    afc_task_resume(call->task);
    afc_task_cancel(call->task);
    call_wait(call);
    check_ended(call, AFC_ECANCELED);
    call_free(call);
}

/* ---- Another sender -------------------------------------------------------------------------- */

/** The body of a request, with every occurrence of its boundary replaced by B. */
static char *normalised_body(fixture *fixture, size_t index, size_t *size) {
    afts_request *request = afts_copy_request(fixture->server, index);
    assert_non_null(request);
    assert_true(request->body_complete && request->body_total == request->body_size);
    char *body = malloc(request->body_size + 1);
    assert_non_null(body);
    const char *boundary = strstr(seen_header(fixture, index, "Content-Type"), "boundary=");
    assert_non_null(boundary);
    boundary += strlen("boundary=");
    size_t length = strlen(boundary);
    *size = 0;
    for (size_t i = 0; i < request->body_size;) {
        bool is_boundary = request->body_size - i >= length &&
                           memcmp(request->body + i, boundary, length) == 0;
        body[(*size)++] = is_boundary ? 'B' : (char)request->body[i];
        i += is_boundary ? length : 1;
    }
    afts_request_free(request);
    return body;
}

static void libcurl_sends_the_same_form(void **state) {
    fixture *fixture = *state;
    if (system("curl --version >/dev/null 2>&1") != 0) skip();
    folder folder;
    folder_make(&folder);
    const char *path = path_in(&folder, "n\xc3\xa4h.bin");
    write_file(path, S("\0\r\n--\xff"));
    const char *command = text_of(
        fixture,
        "curl --silent --noproxy '*' --output /dev/null --form-string 'a=1' --form-string 'n\"m=' "
        "--form 'f=@%s;type=x/y' --form 'g=@%s;type=image/png;filename=\"other.png\"' %s",
        path, path, url_of(fixture, "/"));
    if (system(command) != 0) skip();
    afc_multipart *form = form_new();
    form_add(form, "a", NULL, NULL, S("1"));
    form_add(form, "n\"m", NULL, NULL, S(""));
    form_add(form, "f", "n\xc3\xa4h.bin", "x/y", S("\0\r\n--\xff"));
    form_add(form, "g", "other.png", "image/png", S("\0\r\n--\xff"));
    call *call = call_posting(fixture, "/", form);
    call_perform(call);
    check_ended(call, AFC_OK);
    call_free(call);
    size_t theirs_size, ours_size;
    char *theirs = normalised_body(fixture, 0, &theirs_size);
    char *ours = normalised_body(fixture, 1, &ours_size);
    assert_int_equal(ours_size, theirs_size);
    assert_memory_equal(ours, theirs, theirs_size);
    free(theirs);
    free(ours);
    folder_remove(&folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        FIXTURE_TEST(sends_form_with_length_and_type),
        FIXTURE_TEST(form_of_unknown_length_is_chunked),
        FIXTURE_TEST(caller_can_set_the_content_type),
        FIXTURE_TEST(content_type_and_credentials_of_the_url_are_both_sent),
        FIXTURE_TEST(redirect_replays_the_form),
        FIXTURE_TEST(redirect_fails_if_a_reader_cannot_rewind),
        FIXTURE_TEST(redirect_without_body_drops_the_content_type),
        FIXTURE_TEST(changed_file_ends_the_task),
        FIXTURE_TEST(failing_reader_ends_the_task),
        FIXTURE_TEST(refused_request_frees_its_form),
        FIXTURE_TEST(failed_allocation_frees_the_form),
        FIXTURE_TEST(throttled_form_waits_and_continues),
        FIXTURE_TEST(throttled_form_can_be_cancelled),
        FIXTURE_TEST(libcurl_sends_the_same_form),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
