/* Downloads in the place of links and of files with permissions of their own. */
#include "support/download_fixture.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FOLLOW = AFC_FILE_FOLLOW_LINKS, KEEP = AFC_FILE_KEEP_MODE };

static mode_t mode_of(const char *path) {
    struct stat facts;
    assert_int_equal(lstat(path, &facts), 0);
    return facts.st_mode & 07777;
}

static bool is_link(const char *path) {
    struct stat facts;
    assert_int_equal(lstat(path, &facts), 0);
    return S_ISLNK(facts.st_mode);
}

static void link_to(download_fixture *download_fixture, const char *target) {
    assert_int_equal(symlink(target, download_fixture->path), 0);
}

static void fetch(download_fixture *download_fixture, unsigned flags, afc_status expected) {
    call *call = download(download_fixture, flags);
    check_ended(call, expected);
    call_free(call);
}

/** One that another user or another group owns, as far as the test may make one. */
static void write_file_of_another(const char *path) {
    gid_t groups[64];
    int count = getgroups(COUNT_OF(groups), groups);
    write_file(path, S("old"));
    if (geteuid() == 0) {
        assert_int_equal(chown(path, 65534, 65534), 0);
    } else if (count > 0) {
        assert_int_equal(chown(path, (uid_t)-1, groups[count - 1]), 0);
    }
}

static void keeps_the_owner_of_the_file_it_replaces(void **state) {
    download_fixture *download_fixture = *state;
    static const unsigned kinds[] = {KEEP, KEEP | KEEP_AND_RESUME};
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        struct stat before, after;
        write_file_of_another(download_fixture->path);
        assert_int_equal(chmod(download_fixture->path, 0640), 0);
        assert_int_equal(stat(download_fixture->path, &before), 0);
        fetch(download_fixture, kinds[i], AFC_OK);
        assert_int_equal(stat(download_fixture->path, &after), 0);
        assert_int_equal(after.st_uid, before.st_uid);
        assert_int_equal(after.st_gid, before.st_gid);
        assert_int_equal(mode_of(download_fixture->path), 0640);
        unlink(download_fixture->path);
    }
}

static void replaces_the_target_of_links(void **state) {
    download_fixture *download_fixture = *state;
    static const unsigned kinds[] = {FOLLOW, FOLLOW | KEEP_AND_RESUME};
    const char *target = path_in(&download_fixture->folder, "target");
    const char *between = path_in(&download_fixture->folder, "between");
    assert_int_equal(symlink(target, between), 0);
    link_to(download_fixture, "between");
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        for (int exists = 0; exists <= 1; exists++) {
            unlink(target);
            if (exists) write_file(target, S("old"));
            fetch(download_fixture, kinds[i], AFC_OK);
            assert_true(is_link(download_fixture->path));
            assert_true(is_link(between));
            check_file(target, (afc_slice){download_fixture->content, LARGE});
            assert_int_equal(count_files(&download_fixture->folder), 3);
        }
    }
}

static void replaces_the_link_itself_without_the_flag(void **state) {
    download_fixture *download_fixture = *state;
    const char *target = path_in(&download_fixture->folder, "target");
    write_file(target, S("old"));
    link_to(download_fixture, "target");
    fetch(download_fixture, 0, AFC_OK);
    assert_false(is_link(download_fixture->path));
    check_file(target, S("old"));
}

static void leaves_the_target_when_the_download_fails(void **state) {
    download_fixture *download_fixture = *state;
    const char *target = path_in(&download_fixture->folder, "target");
    write_file(target, S("old"));
    link_to(download_fixture, "target");
    serve(download_fixture->fixture, "/missing", answer(404, NULL, "no"));
    call *call = prepare(download_fixture, "/missing", FOLLOW);
    call_perform(call);
    call_free(call);
    check_file(target, S("old"));
    assert_true(is_link(download_fixture->path));
    assert_int_equal(count_files(&download_fixture->folder), 2);
}

static void refuses_links_in_a_circle_and_to_folders(void **state) {
    download_fixture *download_fixture = *state;
    static const struct {
        const char *target;
        int error;
    } cases[] = {{"got", ELOOP}, {".", EISDIR}, {"none/file", ENOENT}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        link_to(download_fixture, cases[i].target);
        call *call = prepare(download_fixture, "/file", FOLLOW);
        afc_failure failure = {0};
        afc_status status = afc_task_begin(&call->task, call->session, &call->request,
                                           &call->events, &failure);
        if (status == AFC_OK) {
            call_wait(call);
            failure = call->failure;
        }
        check_status(failure.status, AFC_EFILE);
        assert_int_equal(failure.system_error, cases[i].error);
        call_free(call);
        assert_true(is_link(download_fixture->path));
        assert_int_equal(unlink(download_fixture->path), 0);
    }
}

static void keeps_permissions_of_the_file_that_is_replaced(void **state) {
    download_fixture *download_fixture = *state;
    static const mode_t modes[] = {0600, 0644, 0755, 0400, 04755};
    static const unsigned kinds[] = {KEEP, KEEP | KEEP_AND_RESUME, KEEP | FOLLOW};
    for (size_t i = 0; i < COUNT_OF(modes); i++) {
        for (size_t j = 0; j < COUNT_OF(kinds); j++) {
            write_file(download_fixture->path, S("old"));
            assert_int_equal(chmod(download_fixture->path, modes[i]), 0);
            fetch(download_fixture, kinds[j], AFC_OK);
            assert_int_equal(mode_of(download_fixture->path), modes[i] & 0777);
            check_file(download_fixture->path, (afc_slice){download_fixture->content, LARGE});
            assert_int_equal(unlink(download_fixture->path), 0);
        }
    }
}

static void new_files_have_the_permissions_of_new_files(void **state) {
    download_fixture *download_fixture = *state;
    mode_t former = umask(027);
    fetch(download_fixture, KEEP | FOLLOW, AFC_OK);
    assert_int_equal(mode_of(download_fixture->path), 0640);
    fetch(download_fixture, KEEP | FOLLOW | KEEP_AND_RESUME, AFC_OK);
    assert_int_equal(mode_of(download_fixture->path), 0640);
    umask(former);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        DOWNLOAD_TEST(keeps_the_owner_of_the_file_it_replaces),
        DOWNLOAD_TEST(replaces_the_target_of_links),
        DOWNLOAD_TEST(replaces_the_link_itself_without_the_flag),
        DOWNLOAD_TEST(leaves_the_target_when_the_download_fails),
        DOWNLOAD_TEST(refuses_links_in_a_circle_and_to_folders),
        DOWNLOAD_TEST(keeps_permissions_of_the_file_that_is_replaced),
        DOWNLOAD_TEST(new_files_have_the_permissions_of_new_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
