/*
 * Stores that two threads save at once: a save never replaces what a later one has written. And a process that is
 * killed while it saves.
 *
 * fsync() and pthread_mutex_lock() are defined here and pass on to libc, so that the first save stops where it has
 * copied the store and hasn't replaced the file, until the second one has ended or waits for it.
 */
#include "store/cookie_jar.h"
#include "store/hsts.h"
#include "support/check.h"
#include "support/child.h"
#include "support/files.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- The order of two saves ---------------------------------------------------------------- */

static sem_t first_has_copied, second_has_come_far;
static _Thread_local bool is_first, is_second;
/* In the child that is killed. */
static bool dies_in_fsync;

/* The address of a function as a pointer to data, as dlsym() has it. */
#define REAL(name, type)                                                                           \
    static type real;                                                                              \
    if (real == NULL) *(void **)&real = dlsym(RTLD_NEXT, name)

int fsync(int descriptor) {
    typedef int (*call)(int);
    REAL("fsync", call);
    if (dies_in_fsync) kill(getpid(), SIGKILL);
    if (is_first) {
        sem_post(&first_has_copied);
        sem_wait(&second_has_come_far);
    }
    return real(descriptor);
}

int pthread_mutex_lock(pthread_mutex_t *mutex) {
    typedef int (*call)(pthread_mutex_t *);
    REAL("pthread_mutex_lock", call);
    if (is_second) {
        if (pthread_mutex_trylock(mutex) == 0) return 0;
        sem_post(&second_has_come_far);
    }
    return real(mutex);
}

/* ---- Stores -------------------------------------------------------------------------------- */

/** A store of either kind, with a file. */
typedef struct kind {
    void *(*open)(const char *path);
    void (*release)(void *store);
    void (*add)(void *store, const char *name);
    afc_status (*save)(void *store);
    bool (*has)(void *store, const char *name);
    size_t (*remove)(void *store, const char *name);
} kind;

static void *open_jar(const char *path) {
    afc_cookie_jar *jar;
    afc_cookie_jar_options options = AFC_COOKIE_JAR_OPTIONS_INIT;
    options.path = path;
    check_status(afc_cookie_jar_new(&jar, &options, NULL), AFC_OK);
    return jar;
}

static void release_jar(void *store) {
    afc_cookie_jar_release(store);
}

static void add_cookie(void *store, const char *name) {
    char line[64];
    int size = snprintf(line, sizeof line, "%s=1; Max-Age=100000", name);
    afc_slice field = {line, (size_t)size};
    check_status(afc_cookie_jar_receive(store, "http://a.test/", field, NULL), AFC_OK);
}

static afc_status save_jar(void *store) {
    return afc_cookie_jar_save(store, NULL, NULL);
}

static bool has_cookie(void *store, const char *name) {
    afc_cookie_list *list;
    bool has = false;
    check_status(afc_cookie_jar_copy(&list, store, NULL, NULL), AFC_OK);
    for (size_t i = 0; i < list->count; i++) {
        has = has || strcmp(list->cookies[i].name, name) == 0;
    }
    afc_cookie_list_free(list);
    return has;
}

static size_t remove_cookie(void *store, const char *name) {
    return afc_cookie_jar_remove(store, name, NULL, NULL);
}

static void *open_hsts(const char *path) {
    afc_hsts *hsts;
    afc_hsts_options options = AFC_HSTS_OPTIONS_INIT;
    options.path = path;
    check_status(afc_hsts_new(&hsts, &options, NULL), AFC_OK);
    return hsts;
}

static void release_hsts(void *store) {
    afc_hsts_release(store);
}

static void add_host(void *store, const char *name) {
    check_status(afc_hsts_add(store, name, AFC_HSTS_FOREVER, false, NULL), AFC_OK);
}

static afc_status save_hsts(void *store) {
    return afc_hsts_save(store, NULL, NULL);
}

static bool has_host(void *store, const char *name) {
    return afc_hsts_has(store, name);
}

static size_t remove_host(void *store, const char *name) {
    return afc_hsts_remove(store, name);
}

static const kind kinds[] = {
    {open_jar, release_jar, add_cookie, save_jar, has_cookie, remove_cookie},
    {open_hsts, release_hsts, add_host, save_hsts, has_host, remove_host},
};

typedef struct saver {
    pthread_t thread;
    const kind *kind;
    void *store;
    bool is_second;
    afc_status status;
} saver;

static void *save(void *context) {
    saver *saver = context;
    is_first = !saver->is_second;
    is_second = saver->is_second;
    saver->status = saver->kind->save(saver->store);
    if (is_second) sem_post(&second_has_come_far);
    is_first = is_second = false;
    return NULL;
}

static void start(saver *saver) {
    assert_int_equal(pthread_create(&saver->thread, NULL, save, saver), 0);
}

/* ---- Tests --------------------------------------------------------------------------------- */

static void earlier_save_does_not_undo_a_later_one(void **state) {
    (void)state;
    folder folder;
    folder_make(&folder);
    const char *path = path_in(&folder, "store");
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        const kind *kind = &kinds[i];
        assert_int_equal(sem_init(&first_has_copied, 0, 0), 0);
        assert_int_equal(sem_init(&second_has_come_far, 0, 0), 0);
        void *store = kind->open(path);
        saver first = {.kind = kind, .store = store};
        saver second = {.kind = kind, .store = store, .is_second = true};
        kind->add(store, "one");
        start(&first);
        while (sem_wait(&first_has_copied) != 0) assert_int_equal(errno, EINTR);
        kind->add(store, "two");
        start(&second);
        pthread_join(first.thread, NULL);
        pthread_join(second.thread, NULL);
        check_status(first.status, AFC_OK);
        check_status(second.status, AFC_OK);
        /* Before the store is released, which might save once more. */
        void *read = kind->open(path);
        assert_true(kind->has(read, "one"));
        assert_true(kind->has(read, "two"));
        kind->release(read);
        kind->release(store);
        unlink(path);
        sem_destroy(&first_has_copied);
        sem_destroy(&second_has_come_far);
    }
    folder_remove(&folder);
}

/** All bytes are written when the process dies, and the file has no name yet. */
static void killed_save_leaves_the_old_file_and_no_other(void **state) {
    (void)state;
    folder folder;
    folder_make(&folder);
    if (!has_unnamed_files(&folder)) {
        folder_remove(&folder);
        skip();
    }
    const char *path = path_in(&folder, "store");
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        const kind *kind = &kinds[i];
        void *store = kind->open(path);
        kind->add(store, "one");
        check_status(kind->save(store), AFC_OK);
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            dies_in_fsync = true;
            kind->add(store, "two");
            kind->save(store);
            child_exit(1);
        }
        int status;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
        assert_int_equal(count_files(&folder), 1);
        void *read = kind->open(path);
        assert_true(kind->has(read, "one"));
        assert_false(kind->has(read, "two"));
        kind->release(read);
        kind->release(store);
        unlink(path);
    }
    folder_remove(&folder);
}

/* Not /proc/self/exe, which is another program under valgrind. */
static const char *program;

/** Runs this program again, which leaves a store in a global variable and ends. */
static void leave_store(size_t index, const char *path, const char *how) {
    char kind[2] = {(char)('0' + index), '\0'};
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        execl(program, program, kind, path, how, (char *)NULL);
        _exit(127);
    }
    child_check(child);
}

static void *left_store;

static int leave(char **arguments) {
    const kind *kind = &kinds[arguments[0][0] - '0'];
    left_store = kind->open(arguments[1]);
    bool is_unchanged = strcmp(arguments[2], "unchanged") == 0;
    if (!is_unchanged) kind->add(left_store, "left");
    bool has_own = strcmp(arguments[2], "forked with its own") == 0;
    if (!has_own && strcmp(arguments[2], "forked") != 0) return 0;
    /* The child's copy has changed too; the parent ends without exit(). */
    pid_t child = fork();
    if (child == 0) {
        if (!has_own) exit(0);
        static void *own_store;
        char path[PATH_MAX];
        snprintf(path, sizeof path, "%s.child", arguments[1]);
        own_store = kind->open(path);
        kind->add(own_store, "own");
        exit(0);
    }
    int status;
    _exit(waitpid(child, &status, 0) == child && status == 0 ? 0 : 1);
}

static void exit_saves_what_has_changed(void **state) {
    (void)state;
    folder folder;
    folder_make(&folder);
    const char *path = path_in(&folder, "store"), *own = path_in(&folder, "store.child");
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        const kind *kind = &kinds[i];
        leave_store(i, path, "unchanged");
        leave_store(i, path, "forked");
        leave_store(i, path, "forked with its own");
        assert_false(file_exists(path));
        void *read = kind->open(own);
        assert_true(kind->has(read, "own"));
        assert_false(kind->has(read, "left"));
        kind->release(read);
        assert_int_equal(unlink(own), 0);
        leave_store(i, path, "changed");
        read = kind->open(path);
        assert_true(kind->has(read, "left"));
        kind->release(read);
        /* Nor is a file written anew. */
        struct stat before, after;
        assert_int_equal(stat(path, &before), 0);
        leave_store(i, path, "unchanged");
        assert_int_equal(stat(path, &after), 0);
        assert_int_equal(before.st_ino, after.st_ino);
        assert_int_equal(unlink(path), 0);
    }
    folder_remove(&folder);
}

/** The last reference saves what has changed, if only something was removed. */
static void release_saves_removals(void **state) {
    (void)state;
    folder folder;
    folder_make(&folder);
    const char *path = path_in(&folder, "store");
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        const kind *kind = &kinds[i];
        void *store = kind->open(path);
        kind->add(store, "stays");
        kind->add(store, "goes");
        kind->release(store);
        store = kind->open(path);
        assert_int_equal(kind->remove(store, "goes"), 1);
        kind->release(store);
        store = kind->open(path);
        assert_true(kind->has(store, "stays"));
        assert_false(kind->has(store, "goes"));
        kind->release(store);
        assert_int_equal(unlink(path), 0);
    }
    folder_remove(&folder);
}

static afc_status open_status(bool is_jar, const char *path, afc_failure *failure) {
    afc_cookie_jar *jar = NULL;
    afc_hsts *hsts = NULL;
    afc_cookie_jar_options of_jar = AFC_COOKIE_JAR_OPTIONS_INIT;
    afc_hsts_options of_hsts = AFC_HSTS_OPTIONS_INIT;
    of_jar.path = of_hsts.path = path;
    afc_status status = is_jar ? afc_cookie_jar_new(&jar, &of_jar, failure)
                               : afc_hsts_new(&hsts, &of_hsts, failure);
    assert_int_equal(status == AFC_OK, jar != NULL || hsts != NULL);
    afc_cookie_jar_release(jar);
    afc_hsts_release(hsts);
    return status;
}

/** Otherwise the error would come when the store is released, which reports none. A file that exists can be read. */
static void refuses_file_that_can_never_be_saved(void **state) {
    (void)state;
    folder folder;
    folder_make(&folder);
    const char *path = path_in(&folder, "store");
    const char *lost = path_in(&folder, "missing/store");
    for (int is_jar = 0; is_jar < 2; is_jar++) {
        afc_failure failure;
        char expected[AFC_FAILURE_TEXT_SIZE];
        check_status(open_status(is_jar, path, &failure), AFC_OK);
        check_status(open_status(is_jar, lost, &failure), AFC_EFILE);
        snprintf(expected, sizeof expected, "cannot create files in the folder %s/missing: %s",
                 folder.path, strerror(ENOENT));
        assert_string_equal(failure.text, expected);
        assert_int_equal(failure.system_error, ENOENT);

        /* Root may write everywhere. */
        bool is_root = geteuid() == 0;
        assert_int_equal(chmod(folder.path, 0555), 0);
        if (is_root) assert_int_equal(seteuid(65534), 0);
        afc_status status = open_status(is_jar, path, &failure);
        if (is_root) assert_int_equal(seteuid(0), 0);
        check_status(status, AFC_EFILE);
        assert_int_equal(failure.system_error, EACCES);
        check_contains(failure.text, folder.path);

        assert_int_equal(chmod(folder.path, 0755), 0);
        write_file(path, S(""));
        assert_int_equal(chmod(folder.path, 0555), 0);
        if (is_root) assert_int_equal(seteuid(65534), 0);
        status = open_status(is_jar, path, &failure);
        if (is_root) assert_int_equal(seteuid(0), 0);
        check_status(status, AFC_OK);
        assert_int_equal(chmod(folder.path, 0755), 0);
        assert_int_equal(unlink(path), 0);
    }
    folder_remove(&folder);
}

static void link_stays_a_link(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        const kind *kind = &kinds[i];
        folder folder;
        struct stat facts;
        folder_make(&folder);
        const char *link = path_in(&folder, "link"), *target = path_in(&folder, "target");
        assert_int_equal(symlink("target", link), 0);
        /* Its target is made, and then replaced. */
        for (unsigned round = 0; round < 2; round++) {
            void *store = kind->open(link);
            kind->add(store, round == 0 ? "one" : "two");
            check_status(kind->save(store), AFC_OK);
            kind->release(store);
            assert_int_equal(lstat(link, &facts), 0);
            assert_true(S_ISLNK(facts.st_mode));
            assert_int_equal(lstat(target, &facts), 0);
            assert_true(S_ISREG(facts.st_mode));
        }
        void *store = kind->open(target);
        assert_true(kind->has(store, "one"));
        assert_true(kind->has(store, "two"));
        kind->release(store);
        folder_remove(&folder);
    }
}

/** Such as one that was opened, checked, and deleted or replaced since then. */
static void files_behind_descriptors_are_not_replaced(void **state) {
    (void)state;
    folder folder;
    folder_make(&folder);
    const char *path = path_in(&folder, "store"), *deleted = path_in(&folder, "store (deleted)");
    const char *link = path_in(&folder, "link");
    for (size_t i = 0; i < 4 * COUNT_OF(kinds); i++) {
        const kind *kind = &kinds[i / 4];
        bool is_deleted = i % 2 == 1, is_linked = i / 2 % 2 == 1;
        void *store = kind->open(path);
        kind->add(store, "one");
        check_status(kind->save(store), AFC_OK);
        kind->release(store);
        int descriptor = open(path, O_RDONLY | O_CLOEXEC);
        assert_true(descriptor >= 0);
        if (is_deleted) assert_int_equal(unlink(path), 0);
        char name[32];
        snprintf(name, sizeof name, "/proc/self/fd/%d", descriptor);
        /* As /dev/stdout is one. */
        if (is_linked) assert_int_equal(symlink(name, link), 0);
        store = kind->open(is_linked ? link : name);
        assert_true(kind->has(store, "one"));
        kind->add(store, "two");
        check_status(kind->save(store), AFC_EFILE);
        /* Saves once more. */
        kind->release(store);
        close(descriptor);
        if (is_linked) assert_int_equal(unlink(link), 0);
        assert_int_equal(access(deleted, F_OK), -1);
        assert_int_equal(access(path, F_OK), is_deleted ? -1 : 0);
        if (is_deleted) continue;
        store = kind->open(path);
        assert_true(kind->has(store, "one") && !kind->has(store, "two"));
        kind->release(store);
        assert_int_equal(unlink(path), 0);
    }
    folder_remove(&folder);
}

int main(int count, char **arguments) {
    program = arguments[0];
    if (count == 4) return leave(arguments + 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(earlier_save_does_not_undo_a_later_one),
        cmocka_unit_test(refuses_file_that_can_never_be_saved),
        cmocka_unit_test(killed_save_leaves_the_old_file_and_no_other),
        cmocka_unit_test(exit_saves_what_has_changed),
        cmocka_unit_test(release_saves_removals),
        cmocka_unit_test(link_stays_a_link),
        cmocka_unit_test(files_behind_descriptors_are_not_replaced),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
