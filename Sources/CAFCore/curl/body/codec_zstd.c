/*
 * Zstandard (RFC 8878), with libzstd. A body may consist of several frames, so it may end after each of them:
 * AFC__CODEC_ENDED is never returned.
 *
 * libzstd accepts windows of 128 MiB, and reserves them as soon as it knows a frame's head. As a content coding, no
 * window may be larger than 8 MiB (RFC 9659); that of a frame in a single segment is as large as its content. Where
 * libzstd is built with them, it also reads formats from before the standard, for which it has no such limit.
 */
#include "base/alloc.h"
#include "base/symbol.h"
#include "curl/body/codec.h"

#include <pthread.h>

/* Copied from zstd.h and zstd_errors.h, as the core isn't linked with libzstd. */
typedef struct zstd_in {
    const void *bytes;
    size_t size, used;
} zstd_in;

typedef struct zstd_out {
    void *bytes;
    size_t size, filled;
} zstd_out;

enum {
    ZSTD_NO_ERROR = 0,
    ZSTD_UNKNOWN_PREFIX = 10,
    ZSTD_WINDOW_TOO_LARGE = 16,
    ZSTD_NO_MEMORY = 64
};
enum { ZSTD_WINDOW_LOG_MAX = 100 };

enum { WINDOW_LOG = 23 };

typedef struct zstd_state {
    void *stream;
    bool is_in_frame;
    int error;
} zstd_state;

static void *(*create)(void);
static size_t (*destroy)(void *stream);
static size_t (*set_parameter)(void *stream, int parameter, int value);
static size_t (*decompress)(void *stream, zstd_out *out, zstd_in *in);
static int (*error_code)(size_t result);

static bool is_loaded;

static void load(void) {
    void *library = dlopen("libzstd.so.1", RTLD_LAZY);
    is_loaded =
        library != NULL &&
        afc__symbol_find(library, "ZSTD_createDStream", &create, sizeof create) &&
        afc__symbol_find(library, "ZSTD_freeDStream", &destroy, sizeof destroy) &&
        afc__symbol_find(library, "ZSTD_DCtx_setParameter", &set_parameter, sizeof set_parameter) &&
        afc__symbol_find(library, "ZSTD_decompressStream", &decompress, sizeof decompress) &&
        afc__symbol_find(library, "ZSTD_getErrorCode", &error_code, sizeof error_code);
}

static bool is_available(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, load);
    return is_loaded;
}

static void free_state(void *memory) {
    zstd_state *state = memory;
    destroy(state->stream);
    afc_free(state);
}

static void *new_state(void) {
    zstd_state *state = afc__zalloc(sizeof *state);
    if (state == NULL) return NULL;
    state->stream = afc__alloc_succeeds() ? create() : NULL;
    bool is_limited = state->stream != NULL &&
                      error_code(set_parameter(state->stream, ZSTD_WINDOW_LOG_MAX, WINDOW_LOG)) ==
                          ZSTD_NO_ERROR;
    if (is_limited) return state;
    free_state(state);
    return NULL;
}

/**
 * Returns whether a frame, or one that is skipped, may begin with this byte of its magic number (RFC 8878 3.1). libzstd
 * looks at the others; those of older formats differ in this one.
 */
static bool may_begin(unsigned char byte) {
    return byte == 0x28 || (byte & 0xF0) == 0x50;
}

static void decode_some(zstd_state *state, zstd_out *out, zstd_in *in) {
    bool has_byte = in->used < in->size;
    if (!state->is_in_frame && has_byte &&
        !may_begin(((const unsigned char *)in->bytes)[in->used])) {
        state->error = ZSTD_UNKNOWN_PREFIX;
        return;
    }
    size_t result = decompress(state->stream, out, in);
    state->error = error_code(result);
    /* 0: the frame has ended. */
    state->is_in_frame = result != 0 && (state->is_in_frame || has_byte);
}

static afc__codec_result decode(void *memory, afc__codec_step *step) {
    zstd_state *state = memory;
    zstd_in in = {step->in.bytes, step->in.size, 0};
    zstd_out out = {step->out, step->room, 0};
    /*
     * libzstd returns at the end of each frame, even of an empty or skippable one (RFC 8878 section 3.1.2), though
     * others follow.
     */
    do {
        decode_some(state, &out, &in);
    } while (state->error == ZSTD_NO_ERROR && out.filled == 0 && in.used < in.size);
    step->in = (afc_slice){step->in.bytes + in.used, in.size - in.used};
    step->filled = out.filled;
    if (state->error == ZSTD_NO_ERROR) return AFC__CODEC_MORE;
    return state->error == ZSTD_NO_MEMORY ? AFC__CODEC_NO_MEMORY : AFC__CODEC_INVALID;
}

static bool may_end(const void *memory) {
    const zstd_state *state = memory;
    return !state->is_in_frame;
}

/** Describes the error that decode() has kept, as libzstd doesn't store it in the stream. NULL if it has no name. */
static const char *problem(const void *memory) {
    const zstd_state *state = memory;
    if (state->error == ZSTD_WINDOW_TOO_LARGE) return "a window of more than 8 MiB (RFC 9659)";
    return state->error == ZSTD_UNKNOWN_PREFIX ? "not a frame of RFC 8878" : NULL;
}

const afc__codec afc__codec_zstd = {"Zstandard", is_available, new_state, free_state,
                                    decode,      may_end,      problem};
