#include "bench.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>

/* ---- The command line ---------------------------------------------------------------------- */

static const char usage[] =
    "arguments: --kind memory|file|events|upload|json|closures|echo|sockets|cached|stored --url "
    "URL --count N "
    "--bytes N\n"
    "           [--in-flight N] [--connections N] [--warmup N] [--path FILE] [--ca FILE]\n"
    "           [--loop poll|epoll|external] [--handles recycled|fresh]\n"
    "           [--executor pool|loop]\n";

static _Noreturn void usage_error(const char *what) {
    fprintf(stderr, "%s\n%s", what, usage);
    exit(2);
}

static int64_t parse_number(const char *text) {
    char *end;
    errno = 0;
    long long number = strtoll(text, &end, 10);
    if (end == text || *end != '\0' || errno != 0 || number < 0)
        usage_error("a number is expected");
    return number;
}

static int parse_choice(const char *text, const char *const *names, int count) {
    for (int i = 0; i < count; i++) {
        if (strcmp(text, names[i]) == 0) return i;
    }
    usage_error("not one of the choices");
}

static void parse_option(bench_options *options, const char *name, const char *value) {
    static const char *const kinds[] = {"memory",   "file", "events",  "upload", "json",
                                        "closures", "echo", "sockets", "cached", "stored"};
    static const char *const loops[] = {"poll", "epoll", "external"};
    static const char *const handles[] = {"recycled", "fresh"};
    static const char *const executors[] = {"pool", "loop"};
    if (strcmp(name, "--kind") == 0)
        options->kind = (bench_kind)parse_choice(value, kinds, 10);
    else if (strcmp(name, "--loop") == 0)
        options->loop = (bench_loop)parse_choice(value, loops, 3);
    else if (strcmp(name, "--handles") == 0)
        options->handles = (bench_handles)parse_choice(value, handles, 2);
    else if (strcmp(name, "--executor") == 0)
        options->executor = (bench_executor)parse_choice(value, executors, 2);
    else if (strcmp(name, "--url") == 0)
        options->url = value;
    else if (strcmp(name, "--path") == 0)
        options->path = value;
    else if (strcmp(name, "--ca") == 0)
        options->ca = value;
    else if (strcmp(name, "--count") == 0)
        options->count = parse_number(value);
    else if (strcmp(name, "--warmup") == 0)
        options->warmup = parse_number(value);
    else if (strcmp(name, "--in-flight") == 0)
        options->in_flight = parse_number(value);
    else if (strcmp(name, "--connections") == 0)
        options->connections = parse_number(value);
    else if (strcmp(name, "--bytes") == 0)
        options->bytes = parse_number(value);
    else
        usage_error(name);
}

bench_options bench_parse(int argc, char **argv) {
    bench_options options = {.in_flight = 1, .bytes = -1};
    if (argc % 2 == 0) usage_error("every argument has a value");
    for (int i = 1; i < argc; i += 2) parse_option(&options, argv[i], argv[i + 1]);
    if (options.url == NULL || options.count == 0 || options.in_flight == 0 || options.bytes < 0)
        usage_error("--url, --count, --in-flight and --bytes are needed");
    if ((options.kind == BENCH_FILE || options.kind == BENCH_UPLOAD) && options.path == NULL)
        usage_error("this kind needs --path");
    return options;
}

/* ---- Checks -------------------------------------------------------------------------------- */

void bench_fail(const char *what, const char *detail) {
    fprintf(stderr, "benchmark client failed: %s: %s\n", what, detail);
    exit(1);
}

void bench_check(const bench_options *options, int64_t status, int64_t bytes) {
    if (status == 200 && bytes == options->bytes) return;
    char detail[128];
    snprintf(detail, sizeof detail, "status %" PRId64 ", %" PRId64 " bytes instead of %" PRId64,
             status, bytes, options->bytes);
    bench_fail("wrong answer", detail);
}

void bench_check_file(const bench_options *options) {
    struct stat info;
    if (stat(options->path, &info) != 0) bench_fail(options->path, strerror(errno));
    bench_check(options, 200, info.st_size);
}

char *bench_read_file(const char *path, int64_t *size) {
    FILE *file = fopen(path, "rb");
    struct stat info;
    if (file == NULL || fstat(fileno(file), &info) != 0) bench_fail(path, strerror(errno));
    char *bytes = malloc((size_t)info.st_size + 1);
    if (bytes == NULL || fread(bytes, 1, (size_t)info.st_size, file) != (size_t)info.st_size)
        bench_fail(path, "cannot be read");
    fclose(file);
    *size = info.st_size;
    return bytes;
}

/* ---- Measures ------------------------------------------------------------------------------ */

static struct {
    int64_t wall_ns;
    int64_t cpu_us;
    int64_t resident_kib;
    int64_t wakeups;
} at_begin;

static int64_t monotonic_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

static int64_t microseconds(struct timeval time) {
    return time.tv_sec * INT64_C(1000000) + time.tv_usec;
}

/* User and system time of all threads of this process. */
static int64_t cpu_us(void) {
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    return microseconds(used.ru_utime) + microseconds(used.ru_stime);
}

/* How often a thread of this process went to sleep. */
static int64_t wakeups(void) {
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    return used.ru_nvcsw;
}

/*
 * A field of /proc/self/status in KiB. ru_maxrss won't do for the peak: it is inherited through
 * exec, and would be that of the program that started this one.
 */
static int64_t status_kib(const char *field) {
    FILE *file = fopen("/proc/self/status", "r");
    if (file == NULL) bench_fail("/proc/self/status", strerror(errno));
    char line[256];
    size_t length = strlen(field);
    int64_t value = 0;
    while (fgets(line, sizeof line, file) != NULL) {
        if (strncmp(line, field, length) == 0 && line[length] == ':')
            value = strtoll(line + length + 1, NULL, 10);
    }
    fclose(file);
    return value;
}

void bench_begin(void) {
    at_begin.resident_kib = status_kib("VmRSS");
    at_begin.wakeups = wakeups();
    at_begin.cpu_us = cpu_us();
    at_begin.wall_ns = monotonic_ns();
}

void bench_end(const bench_options *options, const char *client) {
    int64_t answered_ns = monotonic_ns();
    int64_t cpu = cpu_us() - at_begin.cpu_us;
    printf("{\"client\": \"%s\", \"requests\": %" PRId64 ", \"wall_us\": %" PRId64
           ", \"cpu_us\": %" PRId64 ", \"base_kib\": %" PRId64 ", \"peak_kib\": %" PRId64
           ", \"wakeups\": %" PRId64 ", \"answered_ns\": %" PRId64 "}\n",
           client, options->count, (answered_ns - at_begin.wall_ns) / 1000, cpu,
           at_begin.resident_kib, status_kib("VmHWM"), wakeups() - at_begin.wakeups, answered_ns);
    fflush(stdout);
}
