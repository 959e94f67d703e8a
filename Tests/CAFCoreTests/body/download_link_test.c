/* Downloads in the place of links and of files with permissions of their own. */
#include "support/scene.h"

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

static void link_to(scene *scene, const char *target) {
    assert_int_equal(symlink(target, scene->path), 0);
}

static void fetch(scene *scene, unsigned flags, afc_status expected) {
    call *call = download(scene, flags);
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
    scene *scene = *state;
    static const unsigned kinds[] = {KEEP, KEEP | BOTH};
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        struct stat before, after;
        write_file_of_another(scene->path);
        assert_int_equal(chmod(scene->path, 0640), 0);
        assert_int_equal(stat(scene->path, &before), 0);
        fetch(scene, kinds[i], AFC_OK);
        assert_int_equal(stat(scene->path, &after), 0);
        assert_int_equal(after.st_uid, before.st_uid);
        assert_int_equal(after.st_gid, before.st_gid);
        assert_int_equal(mode_of(scene->path), 0640);
        unlink(scene->path);
    }
}

static void replaces_the_target_of_links(void **state) {
    scene *scene = *state;
    static const unsigned kinds[] = {FOLLOW, FOLLOW | BOTH};
    const char *target = path_in(&scene->folder, "target");
    const char *between = path_in(&scene->folder, "between");
    assert_int_equal(symlink(target, between), 0);
    link_to(scene, "between");
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        for (int exists = 0; exists <= 1; exists++) {
            unlink(target);
            if (exists) write_file(target, S("old"));
            fetch(scene, kinds[i], AFC_OK);
            assert_true(is_link(scene->path));
            assert_true(is_link(between));
            check_file(target, (afc_slice){scene->content, LARGE});
            assert_int_equal(count_files(&scene->folder), 3);
        }
    }
}

static void replaces_the_link_itself_without_the_flag(void **state) {
    scene *scene = *state;
    const char *target = path_in(&scene->folder, "target");
    write_file(target, S("old"));
    link_to(scene, "target");
    fetch(scene, 0, AFC_OK);
    assert_false(is_link(scene->path));
    check_file(target, S("old"));
}

static void leaves_the_target_when_the_download_fails(void **state) {
    scene *scene = *state;
    const char *target = path_in(&scene->folder, "target");
    write_file(target, S("old"));
    link_to(scene, "target");
    serve(scene->world, "/missing", answer(404, NULL, "no"));
    call *call = prepare(scene, "/missing", FOLLOW);
    call_perform(call);
    call_free(call);
    check_file(target, S("old"));
    assert_true(is_link(scene->path));
    assert_int_equal(count_files(&scene->folder), 2);
}

static void refuses_links_in_a_circle_and_to_folders(void **state) {
    scene *scene = *state;
    static const struct {
        const char *target;
        int error;
    } cases[] = {{"got", ELOOP}, {".", EISDIR}, {"none/file", ENOENT}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        link_to(scene, cases[i].target);
        call *call = prepare(scene, "/file", FOLLOW);
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
        assert_true(is_link(scene->path));
        assert_int_equal(unlink(scene->path), 0);
    }
}

static void keeps_permissions_of_the_file_that_is_replaced(void **state) {
    scene *scene = *state;
    static const mode_t modes[] = {0600, 0644, 0755, 0400, 04755};
    static const unsigned kinds[] = {KEEP, KEEP | BOTH, KEEP | FOLLOW};
    for (size_t i = 0; i < COUNT_OF(modes); i++) {
        for (size_t j = 0; j < COUNT_OF(kinds); j++) {
            write_file(scene->path, S("old"));
            assert_int_equal(chmod(scene->path, modes[i]), 0);
            fetch(scene, kinds[j], AFC_OK);
            assert_int_equal(mode_of(scene->path), modes[i] & 0777);
            check_file(scene->path, (afc_slice){scene->content, LARGE});
            assert_int_equal(unlink(scene->path), 0);
        }
    }
}

static void new_files_have_the_permissions_of_new_files(void **state) {
    scene *scene = *state;
    mode_t former = umask(027);
    fetch(scene, KEEP | FOLLOW, AFC_OK);
    assert_int_equal(mode_of(scene->path), 0640);
    fetch(scene, KEEP | FOLLOW | BOTH, AFC_OK);
    assert_int_equal(mode_of(scene->path), 0640);
    umask(former);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        SCENE_TEST(keeps_the_owner_of_the_file_it_replaces),
        SCENE_TEST(replaces_the_target_of_links),
        SCENE_TEST(replaces_the_link_itself_without_the_flag),
        SCENE_TEST(leaves_the_target_when_the_download_fails),
        SCENE_TEST(refuses_links_in_a_circle_and_to_folders),
        SCENE_TEST(keeps_permissions_of_the_file_that_is_replaced),
        SCENE_TEST(new_files_have_the_permissions_of_new_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
