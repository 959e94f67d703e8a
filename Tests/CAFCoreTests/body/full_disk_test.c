/*
 * A disk that is full, and a file that may not grow: the task says so, once, and what it leaves is what
 * it always leaves. The disk is a small file system in memory, mounted where only this process sees it. So are single
 * files, which can't be replaced.
 */
#include "body/overwrite.h"
#include "support/scene.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SMALL = 100 * 1000, FILLER = 560 * 1024 };

static bool may_mount;

static bool write_text(const char *path, const char *text) {
    int descriptor = open(path, O_WRONLY | O_CLOEXEC);
    if (descriptor < 0) return false;
    bool is_written = write(descriptor, text, strlen(text)) == (ssize_t)strlen(text);
    close(descriptor);
    return is_written;
}

/** Mounts of this process alone; without rights in a user namespace that has them. */
static bool have_own_mounts(void) {
    char map[64];
    if (unshare(CLONE_NEWNS) != 0) {
        snprintf(map, sizeof map, "%u %u 1", getuid(), getuid());
        if (unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return false;
        if (!write_text("/proc/self/uid_map", map)) return false;
    }
    return mount("none", "/", "none", MS_REC | MS_PRIVATE, "") == 0;
}

static bool mount_disk(const char *path) {
    return may_mount && mount("tmpfs", path, "tmpfs", 0, "size=600k") == 0;
}

/** What a task has to say, and to leave, when its file can't be written. */
static void check_failed(scene *scene, call *call, int error, bool is_kept) {
    check_ended(call, AFC_EFILE);
    assert_int_equal(call->failure.system_error, error);
    check_contains(call->failure.text, strerror(error));
    assert_int_equal(atomic_load(&call->done_count), 1);
    const afc_download *file = afc_result_get_download(call->result);
    bool has_token = afc_result_get_resume_token(call->result)[0] != '\0';
    assert_int_equal(has_token, is_kept);
    assert_int_equal(file_exists(scene->part), is_kept);
    assert_int_equal(file_exists(scene->note), is_kept);
    assert_false(file_exists(scene->path));
    if (is_kept) {
        assert_true(file->size > 0 && file->size < LARGE);
        check_file(scene->part, (afc_slice){scene->content, (size_t)file->size});
    }
    call_free(call);
}

typedef struct row {
    unsigned flags;
    size_t size;
    bool chunks;
} row;

static const row rows[] = {
    {0, LARGE, false},
    {0, LARGE, true},
    {0, SMALL, false},
    {0, SMALL, true},
    {BOTH, LARGE, false},
    {BOTH, LARGE, true},
    {BOTH, SMALL, false},
    {BOTH, SMALL, true},
    {AFC_FILE_SYNC, SMALL, true},
    {AFC_FILE_SYNC | AFC_FILE_KEEP_PARTIAL, LARGE, true},
};

/** `is_told`: room for what is announced is asked for before the first byte, so nothing is begun. */
static void check_rows(scene *scene, int error, bool is_told) {
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        scene->origin.content.size = rows[i].size;
        scene->origin.chunks = rows[i].chunks;
        bool is_kept = (rows[i].flags & AFC_FILE_KEEP_PARTIAL) != 0 && (rows[i].chunks || !is_told);
        check_failed(scene, download(scene, rows[i].flags), error, is_kept);
        unlink(scene->part);
        unlink(scene->note);
    }
}

static void full_disk_is_an_error(void **state) {
    scene *scene = *state;
    if (!mount_disk(scene->folder.path)) {
        print_message("left out: no file system can be mounted here\n");
        skip();
    }
    /* So that a small file finds no room either. */
    char *filler = calloc(1, FILLER);
    assert_non_null(filler);
    write_file(path_in(&scene->folder, "filler"), (afc_slice){filler, FILLER});
    free(filler);
    check_rows(scene, ENOSPC, true);
    /* With room again it all comes. */
    assert_int_equal(unlink(path_in(&scene->folder, "filler")), 0);
    scene->origin.content.size = SMALL;
    call *call = download(scene, BOTH);
    check_ended(call, AFC_OK);
    call_free(call);
    check_file(scene->path, (afc_slice){scene->content, SMALL});
    assert_int_equal(umount2(scene->folder.path, MNT_DETACH), 0);
}

static void resumes_on_another_disk_after_full_disk(void **state) {
    scene *scene = *state;
    if (!mount_disk(scene->folder.path)) {
        print_message("left out: no file system can be mounted here\n");
        skip();
    }
    scene->origin.chunks = true;
    check_failed(scene, download(scene, BOTH), ENOSPC, true);
    assert_int_equal(mount("none", scene->folder.path, "none", MS_REMOUNT, "size=8m"), 0);
    check_done(scene, download(scene, BOTH), AFC_RESUMPTION_RESUMED);
    assert_int_equal(umount2(scene->folder.path, MNT_DETACH), 0);
}

/** Mounts a file of this content on the path of the download. */
static void mount_file(scene *scene, const char *folder, afc_slice content) {
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/source", folder);
    write_file(path, content);
    write_file(scene->path, (afc_slice){"", 0});
    assert_int_equal(mount(path, scene->path, "none", MS_BIND, ""), 0);
}

static void unmount_file(scene *scene) {
    assert_int_equal(umount2(scene->path, MNT_DETACH), 0);
    assert_int_equal(unlink(scene->path), 0);
}

static void mount_points_are_written_over(void **state) {
    static const unsigned flags[] = {0, BOTH, AFC_FILE_SYNC, AFC_FILE_SYNC | BOTH};
    static const size_t former[] = {0, 10, 2 * LARGE};
    scene *scene = *state;
    if (!may_mount) {
        print_message("left out: no file can be mounted here\n");
        skip();
    }
    char *content = calloc(1, 2 * LARGE);
    for (size_t i = 0; i < COUNT_OF(flags) * COUNT_OF(former); i++) {
        unsigned flag = flags[i / COUNT_OF(former)] | AFC_FILE_FOLLOW_LINKS;
        scene->origin.content.size = i % 2 == 0 ? SMALL : LARGE;
        mount_file(scene, scene->folder.path, (afc_slice){content, former[i % COUNT_OF(former)]});
        call *call = download(scene, flag);
        check_ended(call, AFC_OK);
        call_free(call);
        check_file(scene->path, (afc_slice){scene->content, scene->origin.content.size});
        check_file(path_in(&scene->folder, "source"),
                   (afc_slice){scene->content, scene->origin.content.size});
        unmount_file(scene);
        assert_int_equal(count_files(&scene->folder), 1);
    }
    free(content);
}

static void mount_point_without_room_keeps_its_content(void **state) {
    scene *scene = *state;
    const char *disk = path_in(&scene->folder, "disk");
    assert_int_equal(mkdir(disk, 0700), 0);
    if (!mount_disk(disk)) {
        print_message("left out: no file system can be mounted here\n");
        skip();
    }
    afc_slice former = afc_slice_of("former");
    mount_file(scene, disk, former);
    call *call = download(scene, AFC_FILE_FOLLOW_LINKS);
    check_ended(call, AFC_EFILE);
    assert_int_equal(call->failure.system_error, ENOSPC);
    call_free(call);
    check_file(scene->path, former);
    unmount_file(scene);
    assert_int_equal(umount2(disk, MNT_DETACH), 0);
    assert_int_equal(rmdir(disk), 0);
}

static void files_are_written_over_in_pieces(void **state) {
    enum { SIZE = 9 * 1024 * 1024, PIECES = 3 };
    scene *scene = *state;
    int target = -1;
    char *content = malloc(SIZE);
    assert_non_null(content);
    for (size_t i = 0; i < SIZE; i++) content[i] = (char)(i * 7 + i / 4096);
    const char *source = path_in(&scene->folder, "new");
    write_file(source, (afc_slice){content, SIZE});
    int descriptor = open(source, O_RDONLY | O_CLOEXEC);
    /* Only mount points. */
    write_file(scene->path, afc_slice_of("former"));
    assert_int_equal(afc__overwrite_begin(&target, scene->path, SIZE), EBUSY);
    assert_int_equal(afc__overwrite_begin(&target, scene->folder.path, SIZE), EISDIR);
    assert_int_equal(afc__overwrite_end(&target, false), 0);
    if (!may_mount) {
        print_message("left out: no file can be mounted here\n");
        skip();
    }
    mount_file(scene, scene->folder.path, afc_slice_of("former"));
    for (size_t end = 1; end <= PIECES; end++) {
        size_t count = 0;
        bool goes_on = true;
        assert_int_equal(afc__overwrite_begin(&target, scene->path, SIZE), 0);
        for (; goes_on && count < end; count++) {
            assert_int_equal(afc__overwrite_piece(target, descriptor, SIZE, &goes_on), 0);
        }
        assert_int_equal(goes_on, end < PIECES);
        /* One that is given up leaves the beginning. */
        size_t written = (size_t)lseek(target, 0, SEEK_CUR);
        assert_true(end < PIECES ? written < SIZE : written == SIZE);
        assert_int_equal(afc__overwrite_end(&target, end == PIECES), 0);
        check_file(scene->path, (afc_slice){content, written});
    }
    /* A source that has become shorter. */
    bool goes_on = true;
    assert_int_equal(truncate(source, 5), 0);
    assert_int_equal(afc__overwrite_begin(&target, scene->path, SIZE), 0);
    assert_int_equal(afc__overwrite_piece(target, descriptor, SIZE, &goes_on), EIO);
    assert_int_equal(afc__overwrite_end(&target, false), 0);
    check_file(scene->path, (afc_slice){content, 5});
    unmount_file(scene);
    close(descriptor);
    free(content);
}

/** SIGXFSZ comes with it, and ends a process that doesn't block it. */
static void file_size_limit_is_an_error(void **state) {
    scene *scene = *state;
    struct rlimit before;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    struct rlimit limit = {.rlim_cur = 50000, .rlim_max = before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    check_rows(scene, EFBIG, false);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    scene->origin.content.size = LARGE;
    scene->origin.chunks = false;
    check_done(scene, download(scene, BOTH), AFC_RESUMPTION_NONE);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        SCENE_TEST(full_disk_is_an_error),
        SCENE_TEST(resumes_on_another_disk_after_full_disk),
        SCENE_TEST(mount_points_are_written_over),
        SCENE_TEST(mount_point_without_room_keeps_its_content),
        SCENE_TEST(files_are_written_over_in_pieces),
        SCENE_TEST(file_size_limit_is_an_error),
    };
    may_mount = have_own_mounts();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
