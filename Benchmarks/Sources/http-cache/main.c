/*
 * The HTTP cache on disk: what it costs to open one with many entries, and to answer from it, beside reading files that
 * have the same bytes. Usage: bench-http-cache FOLDER [ENTRIES]; the folder must not exist.
 */
#include <afcore/afcore.h>
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <inttypes.h>
#include <malloc.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { SMALL = 1024, MEDIUM = 64 * 1024, MEDIUM_COUNT = 200, ROUNDS = 5, URL_SIZE = 128 };

#define LARGE ((size_t)100 << 20)

static const char *folder;
static char cache_path[4096], plain_path[4096];

static _Noreturn void fail(const char *what, const char *why) {
    fprintf(stderr, "bench-http-cache: %s: %s\n", what, why);
    exit(1);
}

static void check(afc_status status, const char *what, const afc_failure *failure) {
    if (status != AFC_OK) fail(what, failure->text);
}

/* ---- Measures ------------------------------------------------------------------------------ */

typedef struct moment {
    double wall_us, cpu_us;
} moment;

static double microseconds(struct timeval time) {
    return (double)time.tv_sec * 1e6 + (double)time.tv_usec;
}

static moment now(void) {
    struct timespec wall;
    struct rusage used;
    clock_gettime(CLOCK_MONOTONIC, &wall);
    getrusage(RUSAGE_SELF, &used);
    return (moment){(double)wall.tv_sec * 1e6 + (double)wall.tv_nsec / 1e3,
                    microseconds(used.ru_utime) + microseconds(used.ru_stime)};
}

/** The time since `start`, divided by `count`; the smaller of it and `least`. */
static moment least_since(moment start, size_t count, moment least) {
    moment end = now();
    moment each = {(end.wall_us - start.wall_us) / (double)count,
                   (end.cpu_us - start.cpu_us) / (double)count};
    return each.cpu_us < least.cpu_us ? each : least;
}

static const moment endless = {1e18, 1e18};

static uint64_t resident_bytes(void) {
    unsigned long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (file == NULL || fscanf(file, "%*u %lu", &pages) != 1)
        fail("/proc/self/statm", "unreadable");
    fclose(file);
    return (uint64_t)pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

static uint64_t file_bytes;

static int add_file(const char *path, const struct stat *info, int kind, struct FTW *position) {
    (void)path;
    (void)position;
    if (kind == FTW_F) file_bytes += (uint64_t)info->st_size;
    return 0;
}

/* ---- The cache ----------------------------------------------------------------------------- */

/** Without memory, so that every response comes from the disk. */
static afc_http_cache *open_cache(void) {
    afc_http_cache *cache;
    afc_failure failure;
    afc_http_cache_options options = AFC_HTTP_CACHE_OPTIONS_INIT;
    options.memory_bytes = 0;
    options.disk_bytes = (uint64_t)8 << 30;
    options.max_entry_bytes = 2 * LARGE;
    options.directory = cache_path;
    check(afc_http_cache_open(&cache, &options, &failure), "open", &failure);
    return cache;
}

static const char *origin = "http://cache.test"; /* Is never asked. */

static void url_of(char out[URL_SIZE], const char *kind, size_t number) {
    snprintf(out, URL_SIZE, "%s/%s/%zu", origin, kind, number);
}

static void store(afc_http_cache *cache, const char *kind, size_t number, afc_slice body) {
    char url[URL_SIZE];
    afc_failure failure;
    const afc_header fields[] = {{{"Cache-Control", 13}, {"max-age=86400", 13}, 0},
                                 {{"Content-Type", 12}, {"image/png", 9}, 0},
                                 {{"ETag", 4}, {"\"5d8c72a5edda8\"", 15}, 0}};
    afc_http_cache_request request = AFC_HTTP_CACHE_REQUEST_INIT;
    afc_http_cache_response response = AFC_HTTP_CACHE_RESPONSE_INIT;
    url_of(url, kind, number);
    request.url = url;
    response.head.headers = fields;
    response.head.header_count = sizeof fields / sizeof *fields;
    response.body = body;
    check(afc_http_cache_store(cache, &request, &response, &failure), url, &failure);
}

/** `rate`: the most bytes a second; 0: no limit, and the cache must answer. */
static void get(afc_session *session, const char *kind, size_t number, size_t size, uint64_t rate) {
    char url[URL_SIZE];
    size_t count;
    afc_failure failure;
    afc_result *result;
    afc_request request = AFC_REQUEST_INIT;
    url_of(url, kind, number);
    request.url = url;
    request.max_receive_bytes_per_s = rate;
    request.limits.body_bytes = LARGE;
    check(afc_perform(&result, session, &request, &failure), url, &failure);
    const afc_hop *hops = afc_result_get_hops(result, &count);
    bool is_hit = count == 1 && hops[0].cache == AFC_CACHE_USE_HIT;
    if (is_hit != (rate == 0) || afc_result_get_body_size(result) != size) {
        fail(url, is_hit ? "answered by the cache" : "not answered by the cache");
    }
    afc_result_free(result);
}

/* ---- A server ------------------------------------------------------------------------------ */

/** Answers one request with zeros. What is larger than the queue of the disk can't be stored by value. */
static void *serve_large(void *context) {
    int listener = *(int *)context;
    char text[4096], *zeros = calloc(1, LARGE);
    int connection = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    if (connection < 0 || zeros == NULL || recv(connection, text, sizeof text, 0) <= 0) {
        fail("server", strerror(errno));
    }
    int size = snprintf(
        text, sizeof text,
        "HTTP/1.1 200 OK\r\nCache-Control: max-age=86400\r\nContent-Length: %zu\r\n\r\n", LARGE);
    if (send(connection, text, (size_t)size, MSG_NOSIGNAL) != size) fail("server", strerror(errno));
    for (size_t done = 0; done < LARGE;) {
        ssize_t count = send(connection, zeros + done, LARGE - done, MSG_NOSIGNAL);
        if (count <= 0) fail("server", strerror(errno));
        done += (size_t)count;
    }
    close(connection);
    free(zeros);
    return NULL;
}

/** Received slowly enough for the disk. */
static void store_large(afc_session *session) {
    static char text[64];
    pthread_t thread;
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t length = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (listener < 0 || bind(listener, (struct sockaddr *)&address, length) != 0 ||
        listen(listener, 1) != 0 ||
        getsockname(listener, (struct sockaddr *)&address, &length) != 0 ||
        pthread_create(&thread, NULL, serve_large, &listener) != 0) {
        fail("server", strerror(errno));
    }
    snprintf(text, sizeof text, "http://127.0.0.1:%u", (unsigned)ntohs(address.sin_port));
    origin = text;
    get(session, "large", 0, LARGE, (uint64_t)64 << 20);
    pthread_join(thread, NULL);
    close(listener);
}

/* ---- Plain files --------------------------------------------------------------------------- */

static void plain_name(char out[4200], const char *kind, size_t number) {
    snprintf(out, 4200, "%s/%s-%zu", plain_path, kind, number);
}

static void write_plain(const char *kind, size_t number, afc_slice body) {
    char path[4200];
    plain_name(path, kind, number);
    FILE *file = fopen(path, "wb");
    if (file == NULL || fwrite(body.bytes, 1, body.size, file) != body.size || fclose(file) != 0) {
        fail(path, strerror(errno));
    }
}

/** Into new memory, as a response of which the whole body is asked for. */
static void read_plain(const char *kind, size_t number, size_t size) {
    char path[4200], *bytes = malloc(size);
    plain_name(path, kind, number);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0 || bytes == NULL) fail(path, strerror(errno));
    for (size_t done = 0; done < size;) {
        ssize_t count = read(file, bytes + done, size - done);
        if (count <= 0) fail(path, "cut short");
        done += (size_t)count;
    }
    close(file);
    free(bytes);
}

/* ---- Rows ---------------------------------------------------------------------------------- */

static void measure_hits(afc_session *session, const char *kind, size_t count, size_t size,
                         const char *title) {
    moment cached = endless, plain = endless;
    for (int round = 0; round < ROUNDS; round++) {
        moment start = now();
        for (size_t i = 0; i < count; i++) read_plain(kind, i, size);
        plain = least_since(start, count, plain);
        start = now();
        for (size_t i = 0; i < count; i++) get(session, kind, i, size, 0);
        cached = least_since(start, count, cached);
    }
    printf("| %s, CPU µs | %.1f | %.1f × %.2f |\n", title, plain.cpu_us, cached.cpu_us,
           cached.cpu_us / plain.cpu_us);
    printf("| %s, µs | %.1f | %.1f × %.2f |\n", title, plain.wall_us, cached.wall_us,
           cached.wall_us / plain.wall_us);
}

static void compare_with_files(const char *bytes) {
    afc_failure failure;
    afc_session *session;
    afc_http_cache *cache = open_cache();
    afc_session_options options = AFC_SESSION_OPTIONS_INIT;
    if (mkdir(plain_path, 0700) != 0) fail(plain_path, strerror(errno));
    for (size_t i = 0; i < MEDIUM_COUNT; i++) {
        store(cache, "medium", i, (afc_slice){bytes, MEDIUM});
        write_plain("medium", i, (afc_slice){bytes, MEDIUM});
        /* What waits for the disk is limited. */
        if (i % 50 == 49) afc_http_cache_flush(cache);
    }
    write_plain("large", 0, (afc_slice){bytes, LARGE});
    afc_http_cache_flush(cache);
    options.http_cache = cache;
    check(afc_session_new(&session, &options, &failure), "session", &failure);
    printf("| | a plain file | the cache |\n|---|--:|--:|\n");
    measure_hits(session, "medium", MEDIUM_COUNT, MEDIUM, "64 KiB from the disk");
    store_large(session);
    afc_http_cache_flush(cache);
    measure_hits(session, "large", 1, LARGE, "100 MiB from the disk");
    afc_session_release(session);
    afc_http_cache_release(cache);
}

static void open_with_entries(const char *bytes, size_t entries) {
    afc_http_cache *cache = open_cache();
    for (size_t i = 0; i < entries; i++) {
        store(cache, "small", i, (afc_slice){bytes, SMALL});
        /* What waits for the disk is limited. */
        if (i % 1000 == 999) afc_http_cache_flush(cache);
    }
    afc_http_cache_flush(cache);
    afc_http_cache_release(cache);
    if (nftw(cache_path, add_file, 64, FTW_PHYS) != 0) fail(cache_path, strerror(errno));
    malloc_trim(0); /* What was freed so far would be used again, and not counted. */
    uint64_t resident = resident_bytes();
    moment least = endless;
    afc_http_cache_statistics statistics;
    for (int round = 0; round < ROUNDS; round++) {
        moment start = now();
        cache = open_cache();
        least = least_since(start, 1, least);
        if (round < ROUNDS - 1) afc_http_cache_release(cache);
    }
    afc_http_cache_get_statistics(cache, &statistics);
    if (statistics.entries != entries) fail("entries", "some are missing");
    double memory = (double)resident_bytes() - (double)resident;
    printf("\n%zu entries of 1 KiB: opened in %.1f ms (%.1f ms of CPU); %.0f bytes of memory and "
           "%.0f bytes of "
           "files beside the body for each\n",
           entries, least.wall_us / 1e3, least.cpu_us / 1e3, memory / (double)entries,
           (double)file_bytes / (double)entries - SMALL);
    afc_http_cache_release(cache);
}

int main(int count, char **arguments) {
    size_t entries = count > 2 ? strtoul(arguments[2], NULL, 10) : 100000;
    if (count < 2 || entries == 0) fail("usage", "bench-http-cache FOLDER [ENTRIES]");
    folder = arguments[1];
    if (mkdir(folder, 0700) != 0) fail(folder, strerror(errno));
    snprintf(cache_path, sizeof cache_path, "%s/entries", folder);
    snprintf(plain_path, sizeof plain_path, "%s/plain", folder);
    char *bytes = calloc(1, LARGE);
    if (bytes == NULL) fail("memory", "not enough");
    open_with_entries(bytes, entries);
    snprintf(cache_path, sizeof cache_path, "%s/cache", folder);
    compare_with_files(bytes);
    free(bytes);
    return 0;
}
