#include "floor.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* More than the default pays for itself in bulk and costs memory for nothing in small answers. */
enum { BULK_BUFFER = 256 * 1024, BULK_BYTES = 1024 * 1024 };

/* A recycled easy handle, and where its bodies come from or go to. */
typedef struct slot {
    CURL *easy;
    int64_t received;
    char *body; /* Kept from one request to the next, if it is small. */
    size_t body_capacity;
    int file; /* -1: not open. */
    char error[CURL_ERROR_SIZE];
} slot;

static bench_options options;
static X509_STORE *store; /* Parsed once; NULL: libcurl loads the system's by itself. */
static struct curl_slist *fields;
static int64_t unstarted; /* Requests of this run that wait for a free slot. */
static int64_t under_way;

void floor_check_easy(CURLcode code) {
    if (code != CURLE_OK) bench_fail("libcurl", curl_easy_strerror(code));
}

void floor_check_multi(CURLMcode code) {
    if (code != CURLM_OK) bench_fail("libcurl", curl_multi_strerror(code));
}

/* ---- Bodies ---------------------------------------------------------------------------------- */

/* Room for the whole body at its first byte: Content-Length is known, growing would only copy. */
static void reserve(slot *self, size_t size) {
    curl_off_t announced = 0;
    floor_check_easy(curl_easy_getinfo(self->easy, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &announced));
    size_t needed = (size_t)self->received + size;
    if (announced > 0 && (size_t)announced > needed) needed = (size_t)announced;
    if (needed <= self->body_capacity) return;
    self->body = realloc(self->body, needed);
    if (self->body == NULL) bench_fail("realloc", strerror(errno));
    self->body_capacity = needed;
}

static void write_all(int file, const char *bytes, size_t size) {
    while (size > 0) {
        ssize_t written = write(file, bytes, size);
        if (written < 0) bench_fail("write", strerror(errno));
        bytes += written;
        size -= (size_t)written;
    }
}

static size_t on_write(char *bytes, size_t one, size_t size, void *context) {
    (void)one;
    slot *self = context;
    if (options.kind == BENCH_FILE) {
        write_all(self->file, bytes, size);
    } else if (options.kind != BENCH_EVENTS) {
        if ((size_t)self->received + size > self->body_capacity) reserve(self, size);
        memcpy(self->body + self->received, bytes, size);
    }
    self->received += (int64_t)size;
    return size;
}

static size_t on_read(char *bytes, size_t one, size_t size, void *context) {
    slot *self = context;
    ssize_t count = read(self->file, bytes, one * size);
    return count < 0 ? CURL_READFUNC_ABORT : (size_t)count;
}

static void open_file(slot *self) {
    int flags = options.kind == BENCH_FILE ? O_WRONLY | O_CREAT | O_TRUNC : O_RDONLY;
    self->file = open(options.path, flags | O_CLOEXEC, 0600);
    struct stat info;
    if (self->file < 0 || fstat(self->file, &info) != 0) bench_fail(options.path, strerror(errno));
    if (options.kind == BENCH_UPLOAD)
        floor_check_easy(
            curl_easy_setopt(self->easy, CURLOPT_INFILESIZE_LARGE, (curl_off_t)info.st_size));
}

/* ---- Trust ----------------------------------------------------------------------------------- */

static X509_STORE *load_store(const char *path) {
    X509_STORE *loaded = X509_STORE_new();
    if (loaded == NULL || X509_STORE_load_file(loaded, path) != 1)
        bench_fail(path, "not a PEM file of certificates");
    return loaded;
}

static CURLcode on_ssl_ctx(CURL *easy, void *ssl_ctx, void *context) {
    (void)easy;
    (void)context;
    SSL_CTX_set1_cert_store(ssl_ctx, store);
    return CURLE_OK;
}

/* ---- Transfers ------------------------------------------------------------------------------- */

/* Everything that stays the same from one request to the next is set here. */
static void make_handle(slot *self) {
    CURL *easy = curl_easy_init();
    if (easy == NULL) bench_fail("handle", "out of memory");
    self->easy = easy;
    floor_check_easy(curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L));
    floor_check_easy(curl_easy_setopt(easy, CURLOPT_PRIVATE, self));
    floor_check_easy(curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, self->error));
    floor_check_easy(curl_easy_setopt(easy, CURLOPT_USERAGENT, BENCH_USER_AGENT));
    floor_check_easy(curl_easy_setopt(easy, CURLOPT_ACCEPT_ENCODING, BENCH_ACCEPT_ENCODING));
    floor_check_easy(curl_easy_setopt(easy, CURLOPT_HTTPHEADER, fields));
    floor_check_easy(curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_write));
    floor_check_easy(curl_easy_setopt(easy, CURLOPT_WRITEDATA, self));
    if (strncmp(options.url, "https:", 6) ==
        0) /* Wait to see whether one connection will do: HTTP/2. */
        floor_check_easy(curl_easy_setopt(easy, CURLOPT_PIPEWAIT, 1L));
    if (options.bytes >= BULK_BYTES)
        floor_check_easy(curl_easy_setopt(easy, CURLOPT_BUFFERSIZE, (long)BULK_BUFFER));
    if (options.kind == BENCH_UPLOAD) {
        floor_check_easy(curl_easy_setopt(easy, CURLOPT_UPLOAD, 1L));
        floor_check_easy(curl_easy_setopt(easy, CURLOPT_READFUNCTION, on_read));
        floor_check_easy(curl_easy_setopt(easy, CURLOPT_READDATA, self));
        floor_check_easy(curl_easy_setopt(easy, CURLOPT_UPLOAD_BUFFERSIZE, (long)BULK_BUFFER));
    }
    if (store != NULL) {
        floor_check_easy(curl_easy_setopt(easy, CURLOPT_CAINFO, NULL));
        floor_check_easy(curl_easy_setopt(easy, CURLOPT_CAPATH, NULL));
        floor_check_easy(curl_easy_setopt(easy, CURLOPT_SSL_CTX_FUNCTION, on_ssl_ctx));
    }
}

static slot *slot_new(void) {
    slot *self = calloc(1, sizeof *self);
    if (self == NULL) bench_fail("slot", "out of memory");
    self->file = -1;
    if (options.handles != BENCH_HANDLES_FRESH) make_handle(self);
    return self;
}

static void slot_start(slot *self, CURLM *multi) {
    self->received = 0;
    if (options.handles == BENCH_HANDLES_FRESH) {
        curl_easy_cleanup(self->easy);
        make_handle(self);
    }
    if (options.path != NULL) open_file(self);
    floor_check_easy(curl_easy_setopt(self->easy, CURLOPT_URL, options.url));
    floor_check_multi(curl_multi_add_handle(multi, self->easy));
    under_way++;
}

static void slot_finish(slot *self, CURLcode code) {
    under_way--;
    if (code != CURLE_OK) bench_fail(curl_easy_strerror(code), self->error);
    long status = 0;
    floor_check_easy(curl_easy_getinfo(self->easy, CURLINFO_RESPONSE_CODE, &status));
    bench_check(&options, status, self->received);
    if (self->file >= 0) {
        close(self->file);
        self->file = -1;
    }
    /* As every other client does inside what is measured, and it is the kernel's work. */
    if (self->body_capacity >= BULK_BYTES) {
        free(self->body);
        self->body = NULL;
        self->body_capacity = 0;
    }
}

int64_t floor_harvest(CURLM *multi) {
    int left;
    for (CURLMsg *message; (message = curl_multi_info_read(multi, &left)) != NULL;) {
        if (message->msg != CURLMSG_DONE) continue;
        slot *self;
        CURLcode code = message->data.result;
        floor_check_easy(curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &self));
        floor_check_multi(curl_multi_remove_handle(multi, self->easy));
        slot_finish(self, code);
        if (unstarted > 0) {
            unstarted--;
            slot_start(self, multi);
        }
    }
    return under_way;
}

/* ---- The program ----------------------------------------------------------------------------- */

static void run(CURLM *multi, slot **slots, int64_t count) {
    unstarted = count;
    for (int64_t i = 0; i < options.in_flight && unstarted > 0; i++) {
        unstarted--;
        slot_start(slots[i], multi);
    }
    if (options.loop == BENCH_LOOP_EPOLL)
        floor_run_epoll(multi);
    else
        floor_run_poll(multi);
}

static void clean_up(CURLM *multi, slot **slots) {
    for (int64_t i = 0; i < options.in_flight; i++) {
        curl_easy_cleanup(slots[i]->easy);
        free(slots[i]->body);
        free(slots[i]);
    }
    free(slots);
    floor_check_multi(curl_multi_cleanup(multi));
    curl_slist_free_all(fields);
    X509_STORE_free(store);
    curl_global_cleanup();
}

int main(int argc, char **argv) {
    options = bench_parse(argc, argv);
    if (options.kind == BENCH_ECHO || options.kind == BENCH_SOCKETS) {
        floor_echo(&options);
        return 0;
    }
    floor_check_easy(curl_global_init(CURL_GLOBAL_DEFAULT));
    CURLM *multi = curl_multi_init();
    slot **slots = calloc((size_t)options.in_flight, sizeof *slots);
    if (multi == NULL || slots == NULL) bench_fail("start", "out of memory");
    floor_check_multi(curl_multi_setopt(multi, CURLMOPT_MAXCONNECTS, (long)options.in_flight));
    if (options.ca != NULL) store = load_store(options.ca);
    fields = curl_slist_append(NULL, "Accept-Language: " BENCH_ACCEPT_LANGUAGE);
    if (fields == NULL) bench_fail("start", "out of memory");
    if (options.loop == BENCH_LOOP_EPOLL) floor_prepare_epoll(multi);
    if (options.warmup == 0) bench_begin();
    for (int64_t i = 0; i < options.in_flight; i++) slots[i] = slot_new();
    if (options.warmup > 0) {
        run(multi, slots, options.warmup);
        bench_begin();
    }
    run(multi, slots, options.count);
    const char *client = options.loop == BENCH_LOOP_EPOLL ? "floor-epoll" : "floor-poll";
    bench_end(&options, options.handles == BENCH_HANDLES_FRESH ? "floor-fresh" : client);
    clean_up(multi, slots);
    return 0;
}
