/* What the server promised about the bytes is checked, and a lack of memory costs none of them. */
#include "support/scene.h"

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
    scene *scene = *state;
    for (size_t i = 0; i < COUNT_OF(promises); i++) {
        scene->origin.fields = digest_field(scene, promises[i].type(), promises[i].form, false);
        check_done(scene, download(scene, BOTH), AFC_RESUMPTION_NONE);
        break_off(scene);
        /* What was promised first still counts when the part itself says nothing. */
        if (i % 2 == 0) scene->origin.fields = NULL;
        check_done(scene, download(scene, BOTH), AFC_RESUMPTION_RESUMED);
    }
}

static void wrong_digest_leaves_no_file(void **state) {
    scene *scene = *state;
    for (size_t i = 0; i < COUNT_OF(promises); i++) {
        for (int breaks = 0; breaks <= 1; breaks++) {
            scene->origin.fields = digest_field(scene, promises[i].type(), promises[i].form, true);
            if (breaks) break_off(scene);
            call *call = download(scene, BOTH);
            check_ended(call, AFC_EPROTOCOL);
            check_contains(call->failure.text, "digest");
            assert_string_equal(afc_result_get_resume_token(call->result), "");
            call_free(call);
            assert_int_equal(count_files(&scene->folder), 0);
        }
    }
}

static void finds_damage_of_the_part_on_disk(void **state) {
    scene *scene = *state;
    scene->origin.fields = digest_field(scene, EVP_sha256(), promises[0].form, false);
    break_off(scene);
    FILE *file = fopen(scene->part, "r+b");
    assert_non_null(file);
    fputc(scene->content[0] ^ 1, file);
    fclose(file);
    call *call = download(scene, BOTH);
    check_ended(call, AFC_EPROTOCOL);
    call_free(call);
    assert_int_equal(count_files(&scene->folder), 0);
}

static void checks_digest_of_part_that_is_already_complete(void **state) {
    scene *scene = *state;
    for (int is_damaged = 0; is_damaged <= 1; is_damaged++) {
        scene->origin.fields = digest_field(scene, EVP_sha256(), promises[0].form, false);
        break_off(scene);
        FILE *file = fopen(scene->part, "ab");
        assert_non_null(file);
        fwrite(scene->content + BROKEN_AT, 1, LARGE - BROKEN_AT - 1, file);
        fputc(scene->content[LARGE - 1] ^ is_damaged, file);
        fclose(file);
        /* As of a process that was killed before it noticed the end. */
        replace_in_file(scene->note, "received 1200000\n", "received 0\n");
        call *call = download(scene, BOTH);
        if (!is_damaged) {
            check_done(scene, call, AFC_RESUMPTION_COMPLETE);
            continue;
        }
        check_ended(call, AFC_EPROTOCOL);
        call_free(call);
        assert_int_equal(count_files(&scene->folder), 0);
    }
}

static void cancel_at_end(void *context, const afc_progress *progress) {
    call *call = context;
    if (progress->received == 1) afc_task_cancel(call->task);
}

static void cancelling_at_the_last_byte_keeps_the_whole_part(void **state) {
    scene *scene = *state;
    char field[512];
    snprintf(field, sizeof field, "%s", digest_field(scene, EVP_sha256(), promises[0].form, false));
    scene->origin.fields = field;
    scene->origin.stops_after = LARGE - 1;
    call *call = download(scene, BOTH);
    check_ended(call, AFC_ETRUNCATED);
    call_free(call);
    scene->origin.stops_after = WHOLE;
    call = prepare(scene, "/file", BOTH);
    call->request.progress_ms = 1;
    call->events.on_progress = cancel_at_end;
    call_perform(call);
    check_ended(call, AFC_ECANCELED);
    assert_int_equal(afc_result_get_download(call->result)->size, LARGE);
    call_free(call);
    check_done(scene, download(scene, BOTH), AFC_RESUMPTION_COMPLETE);
}

/* ---- Expected by the caller ---------------------------------------------------------------- */

static call *expect(scene *scene, unsigned flags, bool is_wrong) {
    call *call = prepare(scene, "/file", flags);
    call->request.sink.digest = digest_field(scene, EVP_sha256(), "sha-256=%s", is_wrong);
    call_perform(call);
    return call;
}

/** The text names the digest that the file has, and then another one, which was expected. */
static void check_both_digests(const scene *scene, const char *text) {
    unsigned char digest[EVP_MAX_MD_SIZE];
    char digits[65] = "", has[65] = "", wants[65] = "";
    assert_int_equal(EVP_Digest(scene->content, LARGE, digest, NULL, EVP_sha256(), NULL), 1);
    for (size_t i = 0; i < 32; i++) snprintf(digits + 2 * i, 3, "%02x", digest[i]);
    static const char form[] = "the file's sha-256 digest is %64[0-9a-f], expected %64[0-9a-f]";
    assert_int_equal(sscanf(text, form, has, wants), 2);
    assert_string_equal(has, digits);
    assert_int_equal(strlen(wants), 64);
    assert_string_not_equal(wants, digits);
}

static void names_the_digest_alone_if_two_have_no_room(void **state) {
    scene *scene = *state;
    call *call = prepare(scene, "/file", 0);
    call->request.sink.digest = digest_field(scene, EVP_sha512(), "sha-512=%s", true);
    call_perform(call);
    check_ended(call, AFC_EPROTOCOL);
    check_contains(call->failure.text, "the file's sha-512 digest isn't the expected one: ");
    assert_int_equal(call->failure.reason, AFC_REASON_DIGEST);
    call_free(call);
}

static void verifies_expected_digest_with_any_flags(void **state) {
    scene *scene = *state;
    const unsigned flags[] = {0, AFC_FILE_KEEP_PARTIAL, BOTH};
    for (size_t i = 0; i < COUNT_OF(flags); i++) {
        check_done(scene, expect(scene, flags[i], false), AFC_RESUMPTION_NONE);
        call *call = expect(scene, flags[i], true);
        check_ended(call, AFC_EPROTOCOL);
        check_both_digests(scene, call->failure.text);
        assert_int_equal(call->failure.reason, AFC_REASON_DIGEST);
        call_free(call);
        assert_int_equal(count_files(&scene->folder), 0);
    }
}

static void verifies_expected_digest_of_resumed_file(void **state) {
    scene *scene = *state;
    break_off(scene);
    check_done(scene, expect(scene, BOTH, false), AFC_RESUMPTION_RESUMED);
    break_off(scene);
    call *call = expect(scene, BOTH, true);
    check_ended(call, AFC_EPROTOCOL);
    call_free(call);
    assert_int_equal(count_files(&scene->folder), 0);
}

static void expected_digest_replaces_declared_one(void **state) {
    scene *scene = *state;
    scene->origin.fields = digest_field(scene, EVP_sha512(), promises[1].form, true);
    check_done(scene, expect(scene, BOTH, false), AFC_RESUMPTION_NONE);
}

static void expected_digest_is_not_noted_for_later_downloads(void **state) {
    scene *scene = *state;
    scene->origin.stops_after = BROKEN_AT;
    call *call = expect(scene, BOTH, true);
    check_ended(call, AFC_ETRUNCATED);
    call_free(call);
    scene->origin.stops_after = WHOLE;
    check_done(scene, download(scene, BOTH), AFC_RESUMPTION_RESUMED);
}

static afc_status accept_body(void *context, afc_slice chunk) {
    (void)context, (void)chunk;
    return AFC_OK;
}

static void refuses_other_digests(void **state) {
    scene *scene = *state;
    const char *good = digest_field(scene, EVP_sha256(), "sha-256=%s", false);
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
        request.url = url_of(scene->world, "/file");
        request.sink.kind = cases[i].kind;
        request.sink.digest = cases[i].digest;
        if (cases[i].kind == AFC_SINK_FILE) request.sink.path = scene->path;
        afc_task_events events = AFC_TASK_EVENTS_INIT;
        events.on_body = accept_body;
        afc_task *task;
        afc_failure failure;
        check_status(afc_task_new(&task, scene->world->session, &request, &events, &failure),
                     AFC_EINVAL);
        check_contains(failure.text, "invalid digest of the sink");
    }
}

/* ---- Out of memory ------------------------------------------------------------------------- */

/** One round; false once the task made fewer than `n` allocations. */
static bool fail_allocation(scene *scene, size_t n) {
    call *call = prepare(scene, "/file", BOTH);
    afc_status status;
    size_t made = call_perform_failing(call, n, &status);
    call_free(call);
    return made >= n;
}

static void failed_allocation_keeps_the_part(void **state) {
    scene *scene = *state;
    char field[512];
    snprintf(field, sizeof field, "%s", digest_field(scene, EVP_sha256(), promises[0].form, false));
    const char *fields[] = {NULL, field};
    for (size_t i = 0; i < COUNT_OF(fields); i++) {
        scene->origin.fields = fields[i];
        for (size_t n = 1;; n++) {
            break_off(scene);
            bool goes_on = fail_allocation(scene, n);
            if (!file_exists(scene->path)) {
                call *call = download(scene, BOTH);
                check_done(scene, call, AFC_RESUMPTION_RESUMED);
            } else {
                check_file(scene->path, (afc_slice){scene->content, LARGE});
                assert_int_equal(unlink(scene->path), 0);
            }
            if (!goes_on) break;
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        SCENE_TEST(accepts_matching_digest),
        SCENE_TEST(wrong_digest_leaves_no_file),
        SCENE_TEST(finds_damage_of_the_part_on_disk),
        SCENE_TEST(checks_digest_of_part_that_is_already_complete),
        SCENE_TEST(cancelling_at_the_last_byte_keeps_the_whole_part),
        SCENE_TEST(verifies_expected_digest_with_any_flags),
        SCENE_TEST(names_the_digest_alone_if_two_have_no_room),
        SCENE_TEST(verifies_expected_digest_of_resumed_file),
        SCENE_TEST(expected_digest_replaces_declared_one),
        SCENE_TEST(expected_digest_is_not_noted_for_later_downloads),
        SCENE_TEST(refuses_other_digests),
        SCENE_TEST(failed_allocation_keeps_the_part),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
