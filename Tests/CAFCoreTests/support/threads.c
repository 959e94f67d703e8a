#include "support/threads.h"

#include "base/clock.h"
#include "support/fixture.h"

#include <dirent.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/** The kernel's flag of a thread that is ending. pthread_join() returns before it has left /proc. */
enum { PF_EXITING = 4 };

static bool is_thread_named(const char *task, const char *name) {
    char path[300], text[600];
    snprintf(path, sizeof path, "/proc/self/task/%s/stat", task);
    FILE *file = fopen(path, "re");
    if (file == NULL) return false;
    size_t size = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    text[size] = 0;
    const char *open = strchr(text, '('), *close = strrchr(text, ')');
    if (open == NULL || close == NULL) return false;
    /* State, parent, group, session, terminal and its group stand before the flags (proc_pid_stat(5)). */
    unsigned flags;
    assert_int_equal(sscanf(close + 1, " %*c %*d %*d %*d %*d %*d %u", &flags), 1);
    size_t length = (size_t)(close - open - 1);
    bool is_named = length == strlen(name) && memcmp(open + 1, name, length) == 0;
    return is_named && (flags & PF_EXITING) == 0;
}

/** Counts the tasks that are listed, and those of them with this name. */
static size_t list_threads(DIR *directory, const char *name, size_t *named) {
    size_t listed = 0;
    struct dirent *entry;
    *named = 0;
    rewinddir(directory);
    while ((entry = readdir(directory)) != NULL) {
        /* Above the folder of the threads is that of the process, which looks like a thread's. */
        if (entry->d_name[0] == '.') continue;
        listed++;
        if (is_thread_named(entry->d_name, name)) ++*named;
    }
    return listed;
}

/** The folder has two links, and one for each thread. */
static size_t count_links(DIR *directory) {
    struct stat status;
    assert_int_equal(fstat(dirfd(directory), &status), 0);
    return status.st_nlink;
}

size_t count_threads(const char *name) {
    DIR *directory = opendir("/proc/self/task");
    assert_non_null(directory);
    size_t before, after, listed, named;
    /* The kernel ends the list early if the thread that it is at ends meanwhile. */
    after = count_links(directory);
    do {
        before = after;
        listed = list_threads(directory, name, &named);
        after = count_links(directory);
    } while (before != after || listed + 2 < after);
    closedir(directory);
    return named;
}

void wait_for_threads(const char *name, size_t count) {
    int64_t deadline = afc__now_us() + (int64_t)PATIENCE_MS * 1000;
    size_t found = count_threads(name);
    while (found != count && afc__now_us() < deadline) {
        sched_yield();
        found = count_threads(name);
    }
    /* Not counted once more: a thread that has just begun gets its name a moment later. */
    assert_int_equal(found, count);
}

static bool is_blocked(pid_t process, const char *thread) {
    char path[300], text[600], state = ' ';
    snprintf(path, sizeof path, "/proc/%d/task/%s/stat", (int)process, thread);
    FILE *file = fopen(path, "re");
    if (file == NULL) return false;
    size_t size = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    text[size] = 0;
    const char *close = strrchr(text, ')');
    return close != NULL && sscanf(close + 1, " %c", &state) == 1 && state == 'S';
}

static bool are_blocked(pid_t process) {
    char path[64];
    bool all_block = true;
    snprintf(path, sizeof path, "/proc/%d/task", (int)process);
    DIR *directory = opendir(path);
    assert_non_null(directory);
    for (struct dirent *entry; (entry = readdir(directory)) != NULL;) {
        if (entry->d_name[0] != '.') all_block = all_block && is_blocked(process, entry->d_name);
    }
    closedir(directory);
    return all_block;
}

void wait_until_blocked(pid_t process) {
    int64_t deadline = afc__now_us() + (int64_t)PATIENCE_MS * 1000;
    while (!are_blocked(process) && afc__now_us() < deadline) sched_yield();
    assert_true(are_blocked(process));
}
