/*
 * gzip (RFC 1952) and deflate (RFC 1950), with zlib. Some servers send the format of zlib under the name gzip, and others
 * send raw DEFLATE data (RFC 1951) under the name deflate, perhaps with a check. Like browsers and curl, both codings
 * accept that.
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
    GZIP_OR_ZLIB = 32,
    /* The method "deflate" in the first byte of the zlib format, and what its first two bytes are a multiple of. */
    METHOD_MASK = 0x0F,
    METHOD_DEFLATE = 8,
    CHECK_FACTOR = 31,
    /* The check behind the data of the zlib format (RFC 1950 section 2.2). */
    CHECK_SIZE = 4,
    /* The first byte of each member of a gzip body (RFC 1952 section 2.3.1). */
    GZIP_ID = 0x1F
};

typedef struct zlib_state {
    zlib_stream stream;
    enum {
        AT_FIRST_BYTE,  /**< deflate: the first two bytes show the format. */
        AT_SECOND_BYTE, /**< `first` was used. */
        IN_DATA,
        IN_RAW_DATA,    /**< deflate: without the header of the zlib format. */
        BEHIND_MEMBER,  /**< gzip: the body may end here, or another member follows. */
        BEHIND_RAW_DATA /**< deflate: the body may end here, or `trailer` bytes follow. */
    } progress;
    unsigned char first;
    unsigned char trailer;
} zlib_state;

static int (*inflate_begin)(zlib_stream *stream, int window_bits, const char *version, int size);
static int (*inflate_some)(zlib_stream *stream, int flush);
static int (*inflate_reset)(zlib_stream *stream);
static int (*inflate_end)(zlib_stream *stream);

static bool is_loaded;

static void load(void) {
    void *library = dlopen("libz.so.1", RTLD_LAZY);
    is_loaded = library != NULL &&
                afc__symbol_find(library, "inflateInit2_", &inflate_begin, sizeof inflate_begin) &&
                afc__symbol_find(library, "inflate", &inflate_some, sizeof inflate_some) &&
                afc__symbol_find(library, "inflateReset", &inflate_reset, sizeof inflate_reset) &&
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

/** Begins to inflate. zlib compares only the first digit of the version. */
static bool begin(zlib_state *state, int window_bits) {
    state->progress = IN_DATA;
    return inflate_begin(&state->stream, window_bits, "1", sizeof state->stream) == Z_OK;
}

static void *new_deflate_state(void) {
    zlib_state *state = afc__zalloc(sizeof *state);
    if (state == NULL) return NULL;
    state->stream.zalloc = allocate;
    state->stream.zfree = release;
    return state;
}

static void *new_gzip_state(void) {
    zlib_state *state = new_deflate_state();
    if (state == NULL || begin(state, WINDOW_BITS + GZIP_OR_ZLIB)) return state;
    afc_free(state);
    return NULL;
}

/** inflateEnd() accepts a stream that wasn't begun. */
static void free_state(void *memory) {
    zlib_state *state = memory;
    inflate_end(&state->stream);
    afc_free(state);
}

static afc__codec_result inflate_step(zlib_stream *stream, afc__codec_step *step) {
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

/** Returns whether these bytes are the header of the zlib format (RFC 1950 section 2.2), and not raw data. */
static bool is_zlib_header(unsigned char first, unsigned char second) {
    return (first & METHOD_MASK) == METHOD_DEFLATE && (first * 256 + second) % CHECK_FACTOR == 0;
}

/** Finds out the format by the first two bytes, and inflates the first. */
static afc__codec_result begin_deflate(zlib_state *state, afc__codec_step *step) {
    if (step->in.size == 0) return AFC__CODEC_MORE;
    if (state->progress == AT_FIRST_BYTE) {
        state->progress = AT_SECOND_BYTE;
        state->first = (unsigned char)step->in.bytes[0];
        step->in = (afc_slice){step->in.bytes + 1, step->in.size - 1};
        if (step->in.size == 0) return AFC__CODEC_MORE;
    }
    bool is_zlib = is_zlib_header(state->first, (unsigned char)step->in.bytes[0]);
    if (!begin(state, is_zlib ? WINDOW_BITS : -WINDOW_BITS)) return AFC__CODEC_NO_MEMORY;
    if (!is_zlib) state->progress = IN_RAW_DATA;
    afc__codec_step first = {
        .in = {(const char *)&state->first, 1}, .out = step->out, .room = step->room};
    return inflate_step(&state->stream, &first);
}

/** Skips the check behind raw data: some servers leave out the header of the zlib format, but not its check. */
static afc__codec_result skip_trailer(zlib_state *state, afc__codec_step *step) {
    size_t size = step->in.size < state->trailer ? step->in.size : state->trailer;
    state->trailer -= (unsigned char)size;
    step->in = (afc_slice){step->in.bytes + size, step->in.size - size};
    return state->trailer > 0 ? AFC__CODEC_MORE : AFC__CODEC_ENDED;
}

static afc__codec_result decode_deflate(void *memory, afc__codec_step *step) {
    zlib_state *state = memory;
    if (state->progress == BEHIND_RAW_DATA) return skip_trailer(state, step);
    if (state->progress == AT_FIRST_BYTE || state->progress == AT_SECOND_BYTE) {
        afc__codec_result result = begin_deflate(state, step);
        bool has_begun = state->progress == IN_DATA || state->progress == IN_RAW_DATA;
        if (result != AFC__CODEC_MORE || !has_begun) return result;
    }
    afc__codec_result result = inflate_step(&state->stream, step);
    if (result != AFC__CODEC_ENDED || state->progress != IN_RAW_DATA) return result;
    state->progress = BEHIND_RAW_DATA;
    state->trailer = CHECK_SIZE;
    return skip_trailer(state, step);
}

static bool deflate_may_end(const void *memory) {
    const zlib_state *state = memory;
    return state->progress == BEHIND_RAW_DATA;
}

/** Begins the next member if the bytes can be one. Returns false if they can't. */
static bool begin_member(zlib_state *state, afc_slice bytes) {
    if ((unsigned char)bytes.bytes[0] != GZIP_ID) return false;
    state->progress = IN_DATA;
    return inflate_reset(&state->stream) == Z_OK;
}

/** A gzip body can consist of several members (RFC 1952 section 2.2). */
static afc__codec_result decode_gzip(void *memory, afc__codec_step *step) {
    zlib_state *state = memory;
    for (;;) {
        if (state->progress == BEHIND_MEMBER) {
            if (step->in.size == 0) return AFC__CODEC_MORE;
            if (!begin_member(state, step->in)) return AFC__CODEC_ENDED;
        }
        afc__codec_result result = inflate_step(&state->stream, step);
        if (result != AFC__CODEC_ENDED) return result;
        state->progress = BEHIND_MEMBER;
        if (step->filled > 0) return AFC__CODEC_MORE;
    }
}

static bool gzip_may_end(const void *memory) {
    const zlib_state *state = memory;
    return state->progress == BEHIND_MEMBER;
}

static const char *problem(const void *memory) {
    const zlib_state *state = memory;
    return state->stream.msg;
}

const afc__codec afc__codec_gzip = {"gzip",      is_available, new_gzip_state, free_state,
                                    decode_gzip, gzip_may_end, problem};
const afc__codec afc__codec_deflate = {"deflate",  is_available,   new_deflate_state,
                                       free_state, decode_deflate, deflate_may_end,
                                       problem};
