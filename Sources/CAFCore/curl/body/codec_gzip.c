/*
 * gzip (RFC 1952), with zlib. Like libcurl, it also accepts the format of zlib (RFC 1950), which some servers send
 * under that name.
 */
#include "base/alloc.h"
#include "base/symbol.h"
#include "curl/body/codec.h"

#include <pthread.h>

/* Copied from zlib.h, as the core isn't linked with zlib. */
typedef struct zlib_stream {
    const void *next_in;
    unsigned avail_in;
    unsigned long total_in;
    void *next_out;
    unsigned avail_out;
    unsigned long total_out;
    const char *msg;
    void *state;
    void *(*zalloc)(void *opaque, unsigned count, unsigned size);
    void (*zfree)(void *opaque, void *memory);
    void *opaque;
    int data_type;
    unsigned long adler, reserved;
} zlib_stream;

enum {
    Z_NO_FLUSH = 0,
    Z_OK = 0,
    Z_STREAM_END = 1,
    Z_MEM_ERROR = -4,
    Z_BUF_ERROR = -5,
    WINDOW_BITS = 15,
    /* Added to the window's size: inflateInit2() then detects the format by its header. */
    GZIP_OR_ZLIB = 32
};

static int (*inflate_begin)(zlib_stream *stream, int window_bits, const char *version, int size);
static int (*inflate_some)(zlib_stream *stream, int flush);
static int (*inflate_end)(zlib_stream *stream);

static bool is_loaded;

static void load(void) {
    void *library = dlopen("libz.so.1", RTLD_LAZY | RTLD_NOLOAD);
    is_loaded = library != NULL &&
                afc__symbol_find(library, "inflateInit2_", &inflate_begin, sizeof inflate_begin) &&
                afc__symbol_find(library, "inflate", &inflate_some, sizeof inflate_some) &&
                afc__symbol_find(library, "inflateEnd", &inflate_end, sizeof inflate_end);
}

static bool is_available(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, load);
    return is_loaded;
}

static void *allocate(void *opaque, unsigned count, unsigned size) {
    (void)opaque;
    return afc__zalloc((size_t)count * size);
}

static void release(void *opaque, void *memory) {
    (void)opaque;
    afc_free(memory);
}

static void *new_state(void) {
    zlib_stream *stream = afc__zalloc(sizeof *stream);
    if (stream == NULL) return NULL;
    stream->zalloc = allocate;
    stream->zfree = release;
    /* zlib compares only the first digit of the version. */
    if (inflate_begin(stream, WINDOW_BITS + GZIP_OR_ZLIB, "1", sizeof *stream) == Z_OK)
        return stream;
    afc_free(stream);
    return NULL;
}

static void free_state(void *state) {
    inflate_end(state);
    afc_free(state);
}

static afc__codec_result decode(void *state, afc__codec_step *step) {
    zlib_stream *stream = state;
    stream->next_in = step->in.bytes;
    stream->avail_in = (unsigned)step->in.size;
    stream->next_out = step->out;
    stream->avail_out = (unsigned)step->room;
    int code = inflate_some(stream, Z_NO_FLUSH);
    step->in = (afc_slice){step->in.bytes + (step->in.size - stream->avail_in), stream->avail_in};
    step->filled = step->room - stream->avail_out;
    if (code == Z_STREAM_END) return AFC__CODEC_ENDED;
    if (code == Z_MEM_ERROR) return AFC__CODEC_NO_MEMORY;
    return code == Z_OK || code == Z_BUF_ERROR ? AFC__CODEC_MORE : AFC__CODEC_INVALID;
}

static const char *problem(const void *state) {
    const zlib_stream *stream = state;
    return stream->msg;
}

const afc__codec afc__codec_gzip = {"gzip", is_available, new_state, free_state,
                                    decode, NULL,         problem};
