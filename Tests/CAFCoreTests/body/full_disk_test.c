/*
 * A disk that is full, and a file that may not grow: the task says so, once, and what it leaves is what
 * it always leaves. The disk is a small file system in memory, mounted where only this process sees it. So are single
 * files, which can't be replaced.
 */
#include "body/overwrite.h"
#include "support/download_fixture.h"

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
static void check_failed(download_fixture *download_fixture, call *call, int error, bool is_kept) {
    check_ended(call, AFC_EFILE);
    assert_int_equal(call->failure.system_error, error);
    check_contains(call->failure.text, strerror(error));
    assert_int_equal(atomic_load(&call->done_count), 1);
    const afc_download *file = afc_result_get_download(call->result);
    bool has_token = afc_result_get_resume_token(call->result)[0] != '\0';
    assert_int_equal(has_token, is_kept);
    assert_int_equal(file_exists(download_fixture->part), is_kept);
    assert_int_equal(file_exists(download_fixture->token_path), is_kept);
    assert_false(file_exists(download_fixture->path));
    if (is_kept) {
        assert_true(file->size > 0 && file->size < LARGE);
        check_file(download_fixture->part,
                   (afc_slice){download_fixture->content, (size_t)file->size});
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
    {KEEP_AND_RESUME, LARGE, false},
    {KEEP_AND_RESUME, LARGE, true},
    {KEEP_AND_RESUME, SMALL, false},
    {KEEP_AND_RESUME, SMALL, true},
    {AFC_FILE_SYNC, SMALL, true},
    {AFC_FILE_SYNC | AFC_FILE_KEEP_PARTIAL, LARGE, true},
};

/** `is_told`: room for what is announced is asked for before the first byte, so nothing is begun. */
static void check_rows(download_fixture *download_fixture, int error, bool is_told) {
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        download_fixture->range_server.content.size = rows[i].size;
        download_fixture->range_server.chunks = rows[i].chunks;
        bool is_kept = (rows[i].flags & AFC_FILE_KEEP_PARTIAL) != 0 && (rows[i].chunks || !is_told);
        check_failed(download_fixture, download(download_fixture, rows[i].flags), error, is_kept);
        unlink(download_fixture->part);
        unlink(download_fixture->token_path);
    }
}

static void full_disk_is_an_error(void **state) {
    download_fixture *download_fixture = *state;
    if (!mount_disk(download_fixture->folder.path)) {
        print_message("left out: no file system can be mounted here\n");
        skip();
    }
    /* So that a small file finds no room either. */
    char *filler = calloc(1, FILLER);
    assert_non_null(filler);
    write_file(path_in(&download_fixture->folder, "filler"), (afc_slice){filler, FILLER});
    free(filler);
    check_rows(download_fixture, ENOSPC, true);
    /* With room again it all comes. */
    assert_int_equal(unlink(path_in(&download_fixture->folder, "filler")), 0);
    download_fixture->range_server.content.size = SMALL;
    call *call = download(download_fixture, KEEP_AND_RESUME);
    check_ended(call, AFC_OK);
    call_free(call);
    check_file(download_fixture->path, (afc_slice){download_fixture->content, SMALL});
    assert_int_equal(umount2(download_fixture->folder.path, MNT_DETACH), 0);
}

static void resumes_on_another_disk_after_full_disk(void **state) {
    download_fixture *download_fixture = *state;
    if (!mount_disk(download_fixture->folder.path)) {
        print_message("left out: no file system can be mounted here\n");
        skip();
    }
    download_fixture->range_server.chunks = true;
    check_failed(download_fixture, download(download_fixture, KEEP_AND_RESUME), ENOSPC, true);
    assert_int_equal(mount("none", download_fixture->folder.path, "none", MS_REMOUNT, "size=8m"),
                     0);
    check_done(download_fixture, download(download_fixture, KEEP_AND_RESUME),
               AFC_RESUMPTION_RESUMED);
    assert_int_equal(umount2(download_fixture->folder.path, MNT_DETACH), 0);
}

/** Mounts a file of this content on the path of the download. */
static void mount_file(download_fixture *download_fixture, const char *folder, afc_slice content) {
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/source", folder);
    write_file(path, content);
    write_file(download_fixture->path, (afc_slice){"", 0});
    assert_int_equal(mount(path, download_fixture->path, "none", MS_BIND, ""), 0);
}

static void unmount_file(download_fixture *download_fixture) {
    assert_int_equal(umount2(download_fixture->path, MNT_DETACH), 0);
    assert_int_equal(unlink(download_fixture->path), 0);
}

static void mount_points_are_written_over(void **state) {
    static const unsigned flags[] = {0, KEEP_AND_RESUME, AFC_FILE_SYNC,
                                     AFC_FILE_SYNC | KEEP_AND_RESUME};
    static const size_t former[] = {0, 10, 2 * LARGE};
    download_fixture *download_fixture = *state;
    if (!may_mount) {
        print_message("left out: no file can be mounted here\n");
        skip();
    }
    char *content = calloc(1, 2 * LARGE);
    for (size_t i = 0; i < COUNT_OF(flags) * COUNT_OF(former); i++) {
        unsigned flag = flags[i / COUNT_OF(former)] | AFC_FILE_FOLLOW_LINKS;
        download_fixture->range_server.content.size = i % 2 == 0 ? SMALL : LARGE;
        mount_file(download_fixture, download_fixture->folder.path,
                   (afc_slice){content, former[i % COUNT_OF(former)]});
        call *call = download(download_fixture, flag);
        check_ended(call, AFC_OK);
        call_free(call);
        check_file(
            download_fixture->path,
            (afc_slice){download_fixture->content, download_fixture->range_server.content.size});
        check_file(
            path_in(&download_fixture->folder, "source"),
            (afc_slice){download_fixture->content, download_fixture->range_server.content.size});
        unmount_file(download_fixture);
        assert_int_equal(count_files(&download_fixture->folder), 1);
    }
    free(content);
}

static void mount_point_without_room_keeps_its_content(void **state) {
    download_fixture *download_fixture = *state;
    const char *disk = path_in(&download_fixture->folder, "disk");
    assert_int_equal(mkdir(disk, 0700), 0);
    if (!mount_disk(disk)) {
        print_message("left out: no file system can be mounted here\n");
        skip();
    }
    afc_slice former = afc_slice_of("former");
    mount_file(download_fixture, disk, former);
    call *call = download(download_fixture, AFC_FILE_FOLLOW_LINKS);
    check_ended(call, AFC_EFILE);
    assert_int_equal(call->failure.system_error, ENOSPC);
    call_free(call);
    check_file(download_fixture->path, former);
    unmount_file(download_fixture);
    assert_int_equal(umount2(disk, MNT_DETACH), 0);
    assert_int_equal(rmdir(disk), 0);
}

static void files_are_written_over_in_pieces(void **state) {
    enum { SIZE = 9 * 1024 * 1024, PIECES = 3 };
    download_fixture *download_fixture = *state;
    int target = -1;
    char *content = malloc(SIZE);
    assert_non_null(content);
    for (size_t i = 0; i < SIZE; i++) content[i] = (char)(i * 7 + i / 4096);
    const char *source = path_in(&download_fixture->folder, "new");
    write_file(source, (afc_slice){content, SIZE});
    int descriptor = open(source, O_RDONLY | O_CLOEXEC);
    /* Only mount points. */
    write_file(download_fixture->path, afc_slice_of("former"));
    assert_int_equal(afc__overwrite_begin(&target, download_fixture->path, SIZE), EBUSY);
    assert_int_equal(afc__overwrite_begin(&target, download_fixture->folder.path, SIZE), EISDIR);
    assert_int_equal(afc__overwrite_end(&target, false), 0);
    if (!may_mount) {
        print_message("left out: no file can be mounted here\n");
        skip();
    }
    mount_file(download_fixture, download_fixture->folder.path, afc_slice_of("former"));
    for (size_t end = 1; end <= PIECES; end++) {
        size_t count = 0;
        bool goes_on = true;
        assert_int_equal(afc__overwrite_begin(&target, download_fixture->path, SIZE), 0);
        for (; goes_on && count < end; count++) {
            assert_int_equal(afc__overwrite_piece(target, descriptor, SIZE, &goes_on), 0);
        }
        assert_int_equal(goes_on, end < PIECES);
        /* One that is given up leaves the beginning. */
        size_t written = (size_t)lseek(target, 0, SEEK_CUR);
        assert_true(end < PIECES ? written < SIZE : written == SIZE);
        assert_int_equal(afc__overwrite_end(&target, end == PIECES), 0);
        check_file(download_fixture->path, (afc_slice){content, written});
    }
    /* A source that has become shorter. */
    bool goes_on = true;
    assert_int_equal(truncate(source, 5), 0);
    assert_int_equal(afc__overwrite_begin(&target, download_fixture->path, SIZE), 0);
    assert_int_equal(afc__overwrite_piece(target, descriptor, SIZE, &goes_on), EIO);
    assert_int_equal(afc__overwrite_end(&target, false), 0);
    check_file(download_fixture->path, (afc_slice){content, 5});
    unmount_file(download_fixture);
    close(descriptor);
    free(content);
}

/** SIGXFSZ comes with it, and ends a process that doesn't block it. */
static void file_size_limit_is_an_error(void **state) {
    download_fixture *download_fixture = *state;
    struct rlimit before;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    struct rlimit limit = {.rlim_cur = 50000, .rlim_max = before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    check_rows(download_fixture, EFBIG, false);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    download_fixture->range_server.content.size = LARGE;
    download_fixture->range_server.chunks = false;
    check_done(download_fixture, download(download_fixture, KEEP_AND_RESUME), AFC_RESUMPTION_NONE);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        DOWNLOAD_TEST(full_disk_is_an_error),
        DOWNLOAD_TEST(resumes_on_another_disk_after_full_disk),
        DOWNLOAD_TEST(mount_points_are_written_over),
        DOWNLOAD_TEST(mount_point_without_room_keeps_its_content),
        DOWNLOAD_TEST(files_are_written_over_in_pieces),
        DOWNLOAD_TEST(file_size_limit_is_an_error),
    };
    may_mount = have_own_mounts();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
