/* What the server promised about the bytes is checked, and a lack of memory costs none of them. */
#include "support/download_fixture.h"

#include <stdio.h>
#include <unistd.h>

/* ---- Digests ------------------------------------------------------------------------------- */

typedef struct promise {
    const EVP_MD *(*type)(void);
    const char *form;
} promise;

static const promise promises[] = {
    {EVP_sha256, "Repr-Digest: sha-256=:%s:\r\n"},
    {EVP_sha512, "Repr-Digest: sha-512=:%s:\r\n"},
    {EVP_md5, "Content-MD5: %s\r\n"},
};

static void accepts_matching_digest(void **state) {
    download_fixture *download_fixture = *state;
    for (size_t i = 0; i < COUNT_OF(promises); i++) {
        download_fixture->range_server.fields = digest_field(download_fixture, promises[i].type(),
                                                             promises[i].form, false);
        check_done(download_fixture, download(download_fixture, KEEP_AND_RESUME),
                   AFC_RESUMPTION_NONE);
        interrupt_download(download_fixture);
        /* What was promised first still counts when the part itself says nothing. */
        if (i % 2 == 0) download_fixture->range_server.fields = NULL;
        check_done(download_fixture, download(download_fixture, KEEP_AND_RESUME),
                   AFC_RESUMPTION_RESUMED);
    }
}

static void wrong_digest_leaves_no_file(void **state) {
    download_fixture *download_fixture = *state;
    for (size_t i = 0; i < COUNT_OF(promises); i++) {
        for (int breaks = 0; breaks <= 1; breaks++) {
            download_fixture->range_server.fields = digest_field(
                download_fixture, promises[i].type(), promises[i].form, true);
            if (breaks) interrupt_download(download_fixture);
            call *call = download(download_fixture, KEEP_AND_RESUME);
            check_ended(call, AFC_EPROTOCOL);
            check_contains(call->failure.text, "digest");
            assert_string_equal(afc_result_get_resume_token(call->result), "");
            call_free(call);
            assert_int_equal(count_files(&download_fixture->folder), 0);
        }
    }
}

static void finds_damage_of_the_part_on_disk(void **state) {
    download_fixture *download_fixture = *state;
    download_fixture->range_server.fields = digest_field(download_fixture, EVP_sha256(),
                                                         promises[0].form, false);
    interrupt_download(download_fixture);
    FILE *file = fopen(download_fixture->part, "r+b");
    assert_non_null(file);
    fputc(download_fixture->content[0] ^ 1, file);
    fclose(file);
    call *call = download(download_fixture, KEEP_AND_RESUME);
    check_ended(call, AFC_EPROTOCOL);
    call_free(call);
    assert_int_equal(count_files(&download_fixture->folder), 0);
}

static void checks_digest_of_part_that_is_already_complete(void **state) {
    download_fixture *download_fixture = *state;
    for (int is_damaged = 0; is_damaged <= 1; is_damaged++) {
        download_fixture->range_server.fields = digest_field(download_fixture, EVP_sha256(),
                                                             promises[0].form, false);
        interrupt_download(download_fixture);
        FILE *file = fopen(download_fixture->part, "ab");
        assert_non_null(file);
        fwrite(download_fixture->content + BROKEN_AT, 1, LARGE - BROKEN_AT - 1, file);
        fputc(download_fixture->content[LARGE - 1] ^ is_damaged, file);
        fclose(file);
        /* As of a process that was killed before it noticed the end. */
        replace_in_file(download_fixture->token_path, "received 1200000\n", "received 0\n");
        call *call = download(download_fixture, KEEP_AND_RESUME);
        if (!is_damaged) {
            check_done(download_fixture, call, AFC_RESUMPTION_COMPLETE);
            continue;
        }
        check_ended(call, AFC_EPROTOCOL);
        call_free(call);
        assert_int_equal(count_files(&download_fixture->folder), 0);
    }
}

static void cancel_at_end(void *context, const afc_progress *progress) {
    call *call = context;
    if (progress->received == 1) afc_task_cancel(call->task);
}

static void cancelling_at_the_last_byte_keeps_the_whole_part(void **state) {
    download_fixture *download_fixture = *state;
    char field[512];
    snprintf(field, sizeof field, "%s",
             digest_field(download_fixture, EVP_sha256(), promises[0].form, false));
    download_fixture->range_server.fields = field;
    download_fixture->range_server.stops_after = LARGE - 1;
    call *call = download(download_fixture, KEEP_AND_RESUME);
    check_ended(call, AFC_ETRUNCATED);
    call_free(call);
    download_fixture->range_server.stops_after = WHOLE;
    call = prepare(download_fixture, "/file", KEEP_AND_RESUME);
    call->request.progress_ms = 1;
    call->events.on_progress = cancel_at_end;
    call_perform(call);
    check_ended(call, AFC_ECANCELED);
    assert_int_equal(afc_result_get_download(call->result)->size, LARGE);
    call_free(call);
    check_done(download_fixture, download(download_fixture, KEEP_AND_RESUME),
               AFC_RESUMPTION_COMPLETE);
}

/* ---- Expected by the caller ---------------------------------------------------------------- */

static call *expect(download_fixture *download_fixture, unsigned flags, bool is_wrong) {
    call *call = prepare(download_fixture, "/file", flags);
    call->request.sink.digest = digest_field(download_fixture, EVP_sha256(), "sha-256=%s",
                                             is_wrong);
    call_perform(call);
    return call;
}

/** The text names the digest that the file has, and then another one, which was expected. */
static void check_both_digests(const download_fixture *download_fixture, const char *text) {
    unsigned char digest[EVP_MAX_MD_SIZE];
    char digits[65] = "", has[65] = "", wants[65] = "";
    assert_int_equal(EVP_Digest(download_fixture->content, LARGE, digest, NULL, EVP_sha256(), NULL),
                     1);
    for (size_t i = 0; i < 32; i++) snprintf(digits + 2 * i, 3, "%02x", digest[i]);
    static const char form[] = "the file's sha-256 digest is %64[0-9a-f], expected %64[0-9a-f]";
    assert_int_equal(sscanf(text, form, has, wants), 2);
    assert_string_equal(has, digits);
    assert_int_equal(strlen(wants), 64);
    assert_string_not_equal(wants, digits);
}

static void names_the_digest_alone_if_two_have_no_room(void **state) {
    download_fixture *download_fixture = *state;
    call *call = prepare(download_fixture, "/file", 0);
    call->request.sink.digest = digest_field(download_fixture, EVP_sha512(), "sha-512=%s", true);
    call_perform(call);
    check_ended(call, AFC_EPROTOCOL);
    check_contains(call->failure.text, "the file's sha-512 digest isn't the expected one: ");
    assert_int_equal(call->failure.reason, AFC_REASON_DIGEST);
    call_free(call);
}

static void verifies_expected_digest_with_any_flags(void **state) {
    download_fixture *download_fixture = *state;
    const unsigned flags[] = {0, AFC_FILE_KEEP_PARTIAL, KEEP_AND_RESUME};
    for (size_t i = 0; i < COUNT_OF(flags); i++) {
        check_done(download_fixture, expect(download_fixture, flags[i], false),
                   AFC_RESUMPTION_NONE);
        call *call = expect(download_fixture, flags[i], true);
        check_ended(call, AFC_EPROTOCOL);
        check_both_digests(download_fixture, call->failure.text);
        assert_int_equal(call->failure.reason, AFC_REASON_DIGEST);
        call_free(call);
        assert_int_equal(count_files(&download_fixture->folder), 0);
    }
}

static void verifies_expected_digest_of_resumed_file(void **state) {
    download_fixture *download_fixture = *state;
    interrupt_download(download_fixture);
    check_done(download_fixture, expect(download_fixture, KEEP_AND_RESUME, false),
               AFC_RESUMPTION_RESUMED);
    interrupt_download(download_fixture);
    call *call = expect(download_fixture, KEEP_AND_RESUME, true);
    check_ended(call, AFC_EPROTOCOL);
    call_free(call);
    assert_int_equal(count_files(&download_fixture->folder), 0);
}

static void expected_digest_replaces_declared_one(void **state) {
    download_fixture *download_fixture = *state;
    download_fixture->range_server.fields = digest_field(download_fixture, EVP_sha512(),
                                                         promises[1].form, true);
    check_done(download_fixture, expect(download_fixture, KEEP_AND_RESUME, false),
               AFC_RESUMPTION_NONE);
}

static void expected_digest_is_not_noted_for_later_downloads(void **state) {
    download_fixture *download_fixture = *state;
    download_fixture->range_server.stops_after = BROKEN_AT;
    call *call = expect(download_fixture, KEEP_AND_RESUME, true);
    check_ended(call, AFC_ETRUNCATED);
    call_free(call);
    download_fixture->range_server.stops_after = WHOLE;
    check_done(download_fixture, download(download_fixture, KEEP_AND_RESUME),
               AFC_RESUMPTION_RESUMED);
}

static afc_status accept_body(void *context, afc_slice chunk) {
    (void)context, (void)chunk;
    return AFC_OK;
}

static void refuses_other_digests(void **state) {
    download_fixture *download_fixture = *state;
    const char *good = digest_field(download_fixture, EVP_sha256(), "sha-256=%s", false);
    const struct {
        afc_sink_kind kind;
        const char *digest;
    } cases[] = {
        {AFC_SINK_FILE, ""},           {AFC_SINK_FILE, "sha-256="},
        {AFC_SINK_FILE, "sha-256=AA"}, {AFC_SINK_FILE, "md5=1B2M2Y8AsgTpgAmY7PhCfg=="},
        {AFC_SINK_MEMORY, good},       {AFC_SINK_CALLBACK, good},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        afc_request request = AFC_REQUEST_INIT;
        request.url = url_of(download_fixture->fixture, "/file");
        request.sink.kind = cases[i].kind;
        request.sink.digest = cases[i].digest;
        if (cases[i].kind == AFC_SINK_FILE) request.sink.path = download_fixture->path;
        afc_task_events events = AFC_TASK_EVENTS_INIT;
        events.on_body = accept_body;
        afc_task *task;
        afc_failure failure;
        check_status(
            afc_task_new(&task, download_fixture->fixture->session, &request, &events, &failure),
            AFC_EINVAL);
        check_contains(failure.text, "invalid digest of the sink");
    }
}

/* ---- Out of memory ------------------------------------------------------------------------- */

/** One round; false once the task made fewer than `n` allocations. */
static bool fail_allocation(download_fixture *download_fixture, size_t n) {
    call *call = prepare(download_fixture, "/file", KEEP_AND_RESUME);
    afc_status status;
    size_t made = call_perform_failing(call, n, &status);
    call_free(call);
    return made >= n;
}

static void failed_allocation_keeps_the_part(void **state) {
    download_fixture *download_fixture = *state;
    char field[512];
    snprintf(field, sizeof field, "%s",
             digest_field(download_fixture, EVP_sha256(), promises[0].form, false));
    const char *fields[] = {NULL, field};
    for (size_t i = 0; i < COUNT_OF(fields); i++) {
        download_fixture->range_server.fields = fields[i];
        for (size_t n = 1;; n++) {
            interrupt_download(download_fixture);
            bool goes_on = fail_allocation(download_fixture, n);
            if (!file_exists(download_fixture->path)) {
                call *call = download(download_fixture, KEEP_AND_RESUME);
                check_done(download_fixture, call, AFC_RESUMPTION_RESUMED);
            } else {
                check_file(download_fixture->path, (afc_slice){download_fixture->content, LARGE});
                assert_int_equal(unlink(download_fixture->path), 0);
            }
            if (!goes_on) break;
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        DOWNLOAD_TEST(accepts_matching_digest),
        DOWNLOAD_TEST(wrong_digest_leaves_no_file),
        DOWNLOAD_TEST(finds_damage_of_the_part_on_disk),
        DOWNLOAD_TEST(checks_digest_of_part_that_is_already_complete),
        DOWNLOAD_TEST(cancelling_at_the_last_byte_keeps_the_whole_part),
        DOWNLOAD_TEST(verifies_expected_digest_with_any_flags),
        DOWNLOAD_TEST(names_the_digest_alone_if_two_have_no_room),
        DOWNLOAD_TEST(verifies_expected_digest_of_resumed_file),
        DOWNLOAD_TEST(expected_digest_replaces_declared_one),
        DOWNLOAD_TEST(expected_digest_is_not_noted_for_later_downloads),
        DOWNLOAD_TEST(refuses_other_digests),
        DOWNLOAD_TEST(failed_allocation_keeps_the_part),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
