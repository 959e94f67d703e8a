#include "lru/pressure.h"

#include "base/alloc.h"
#include "base/failure.h"
#include "run/threads.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

static const char SYSTEM_PATH[] = "/proc/pressure/memory";

/* The types of the kernel's file systems, as in linux/magic.h. */
enum { PROC_SUPER_MAGIC = 0x9fa0, CGROUP2_SUPER_MAGIC = 0x63677270 };

/* Returned instead of an errno; larger than any. */
enum { NOT_PSI = 4096 };

struct afc__pressure {
    pthread_t thread;
    unsigned generation; /* The process of the thread; see afc__process_generation(). */
    int descriptor, end;
    void (*on_pressure)(void *context);
    void *context;
};

/* ---- The file ------------------------------------------------------------------------------ */

/** Finds the PSI file of the process's control group (cgroup v2). Returns false if it is unknown. */
static bool find_own_group(char *path, size_t size) {
    static const char unified[] = "0::";
    char line[PATH_MAX];
    FILE *groups = fopen("/proc/self/cgroup", "re");
    if (groups == NULL) return false;
    bool found = false;
    while (!found && fgets(line, sizeof line, groups) != NULL) {
        if (strncmp(line, unified, sizeof unified - 1) != 0) continue;
        line[strcspn(line, "\n")] = '\0';
        int length = snprintf(path, size, "/sys/fs/cgroup%s/memory.pressure",
                              line + sizeof unified - 1);
        found = length > 0 && (size_t)length < size;
    }
    fclose(groups);
    return found;
}

static afc_status fail_open(int error, const char *path, afc_failure *failure) {
    afc_status status = AFC_EFILE;
    if (error == ENOENT || error == EOPNOTSUPP || error == ENOSYS || error == ENODEV) {
        status = AFC_EUNSUPPORTED;
        afc__fail(failure, status, "the kernel doesn't report memory pressure in %s", path);
    } else if (error == NOT_PSI) {
        return afc__fail(failure, status,
                         "%s isn't a PSI file: expected one such as /proc/pressure/memory", path);
    } else if (error == EINVAL) {
        status = AFC_EINVAL;
        afc__fail(failure, status, "the kernel refused this stall_us and window_us");
    } else if (error == ENOMEM) {
        status = afc__fail_memory(failure);
    } else if (error == EMFILE || error == ENFILE) {
        status = AFC_EINTERNAL;
        afc__fail(failure, status, "no descriptor is left to watch memory pressure");
    } else {
        afc__fail(failure, status, "cannot watch memory pressure in %s: %s", path, strerror(error));
    }
    if (failure != NULL) failure->system_error = error;
    return status;
}

/**
 * The type of the file system isn't enough: other files of these file systems can be written, too, for example
 * /proc/self/comm. So the content is checked as well.
 */
int afc__pressure_check_file(int descriptor) {
    static const char beginning[] = "some avg10=";
    char bytes[sizeof beginning - 1];
    struct stat info;
    struct statfs system;
    if (fstat(descriptor, &info) != 0 || fstatfs(descriptor, &system) != 0) return errno;
    bool is_of_kernel = system.f_type == PROC_SUPER_MAGIC || system.f_type == CGROUP2_SUPER_MAGIC;
    if (!is_of_kernel || !S_ISREG(info.st_mode)) return NOT_PSI;
    ssize_t size = pread(descriptor, bytes, sizeof bytes, 0);
    if (size < 0) return errno;
    bool is_psi = size == (ssize_t)sizeof bytes && memcmp(bytes, beginning, sizeof bytes) == 0;
    return is_psi ? 0 : NOT_PSI;
}

/** Opens a file and writes the trigger to it. Returns a descriptor or a negative errno. */
static int arm(const char *path, afc__pressure_check check, const char *trigger, size_t size) {
    int descriptor = open(path, O_RDWR | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (descriptor < 0) return -errno;
    int refusal = check(descriptor);
    if (refusal != 0) {
        close(descriptor);
        return -refusal;
    }
    if (write(descriptor, trigger, size) >= 0) return descriptor;
    int error = errno;
    close(descriptor);
    return -error;
}

afc_status afc__pressure_open(int *out, const afc_pressure_options *options,
                              afc__pressure_check check, afc_failure *failure) {
    *out = -1;
    if (options->stall_us == 0 || options->stall_us > options->window_us) {
        return afc__fail(failure, AFC_EINVAL, "invalid stall_us: expected 1 to window_us");
    }
    /* The kernel requires the NUL, too. */
    char trigger[64];
    int length = snprintf(trigger, sizeof trigger, "some %u %u", options->stall_us,
                          options->window_us);
    size_t size = (size_t)length + 1;
    char group[PATH_MAX];
    int descriptor = -ENOENT;
    const char *path = options->path;
    if (path != NULL) {
        descriptor = arm(path, check, trigger, size);
    } else {
        if (find_own_group(group, sizeof group)) descriptor = arm(group, check, trigger, size);
        path = SYSTEM_PATH;
        if (descriptor < 0) descriptor = arm(path, check, trigger, size);
    }
    if (descriptor < 0) return fail_open(-descriptor, path, failure);
    *out = descriptor;
    return AFC_OK;
}

/* ---- The thread ---------------------------------------------------------------------------- */

static void *watch(void *context) {
    afc__pressure *pressure = context;
    struct pollfd polled[] = {{pressure->end, POLLIN, 0}, {pressure->descriptor, POLLPRI, 0}};
    for (;;) {
        if (poll(polled, 2, -1) < 0) continue;
        if (polled[0].revents != 0) return NULL;
        if (polled[1].revents == POLLPRI) {
            pressure->on_pressure(pressure->context);
        } else {
            /* The control group was removed: don't poll this descriptor any more, only the end of the cache. */
            polled[1].fd = -1;
        }
    }
}

static int start_thread(afc__pressure *pressure) {
    int error = afc__thread_create(&pressure->thread, watch, pressure);
    if (error == 0) pthread_setname_np(pressure->thread, "af-pressure");
    return error;
}

afc_status afc__pressure_start(afc__pressure **out, int descriptor,
                               void (*on_pressure)(void *context), void *context,
                               afc_failure *failure) {
    *out = NULL;
    afc__pressure *pressure = afc__zalloc(sizeof *pressure);
    if (pressure == NULL) {
        close(descriptor);
        return afc__fail_memory(failure);
    }
    afc__threads_watch_forks();
    *pressure = (afc__pressure){.generation = afc__process_generation(),
                                .descriptor = descriptor,
                                .end = eventfd(0, EFD_CLOEXEC),
                                .on_pressure = on_pressure,
                                .context = context};
    int error = pressure->end < 0 ? errno : start_thread(pressure);
    if (error == 0) {
        *out = pressure;
        return AFC_OK;
    }
    if (pressure->end >= 0) close(pressure->end);
    close(descriptor);
    afc_free(pressure);
    afc__fail(failure, AFC_EINTERNAL, "cannot start the thread that watches memory pressure");
    if (failure != NULL) failure->system_error = error;
    return AFC_EINTERNAL;
}

void afc__pressure_stop(afc__pressure *pressure) {
    if (pressure == NULL) return;
    /* A forked child has no such thread, and shares the eventfd with the parent's. */
    if (pressure->generation == afc__process_generation()) {
        (void)eventfd_write(pressure->end, 1);
        pthread_join(pressure->thread, NULL);
    }
    close(pressure->end);
    close(pressure->descriptor);
    afc_free(pressure);
}
