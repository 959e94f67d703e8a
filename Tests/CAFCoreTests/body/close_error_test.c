/* A file system that refuses written bytes only when a file is closed, as NFS and quotas may (close(2)). */
#include "support/scene.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/** Whether files are over the quota. */
static atomic_bool is_over;

/** In place of the system's: closes, and fails for a regular file with bytes that was open for writing. */
int close(int descriptor) {
    struct stat facts;
    int flags = fcntl(descriptor, F_GETFL);
    bool is_written = atomic_load(&is_over) && flags >= 0 && (flags & O_ACCMODE) != O_RDONLY &&
                      fstat(descriptor, &facts) == 0 && S_ISREG(facts.st_mode) && facts.st_size > 0;
    int result = (int)syscall(SYS_close, descriptor);
    if (!is_written) return result;
    errno = EDQUOT;
    return -1;
}

static void refused_bytes_fail_the_download_and_keep_the_old_file(void **state) {
    (void)state;
    folder folder;
    folder_make(&folder);
    world *world = world_new(NULL, NULL);
    const char *path = path_in(&folder, "file");
    serve(world, "/", answer(200, "ETag: \"one\"", "new content"));
    for (int flags = 0; flags <= AFC_FILE_KEEP_PARTIAL; flags += AFC_FILE_KEEP_PARTIAL) {
        write_file(path, S("old"));
        call *call = call_new(world, "/");
        call->request.sink.kind = AFC_SINK_FILE;
        call->request.sink.path = path;
        call->request.sink.flags = (unsigned)flags;
        atomic_store(&is_over, true);
        call_perform(call);
        atomic_store(&is_over, false);
        check_ended(call, AFC_EFILE);
        assert_int_equal(call->failure.system_error, EDQUOT);
        check_file(path, S("old"));
        call_free(call);
    }
    world_free(world);
    folder_remove(&folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refused_bytes_fail_the_download_and_keep_the_old_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
