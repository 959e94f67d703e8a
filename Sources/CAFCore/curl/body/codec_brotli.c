/* Brotli (RFC 7932), with libbrotlidec. Its window takes up to 16 MiB, as the body demands (RFC 7932 9.1). */
#include "base/alloc.h"
#include "base/symbol.h"
#include "curl/body/codec.h"

#include <pthread.h>
#include <stdint.h>

/* Copied from brotli/decode.h, as the core isn't linked with libbrotlidec. */
enum {
    BROTLI_SUCCESS = 1,
    BROTLI_NEEDS_MORE_INPUT = 2,
    BROTLI_NEEDS_MORE_OUTPUT = 3,
    /* Error codes in this range mean that an allocation failed. */
    FIRST_ALLOC_ERROR = -21,
    LAST_ALLOC_ERROR = -30
};

static void *(*create)(void *(*alloc)(void *, size_t), void (*release)(void *, void *), void *);
static void (*destroy)(void *decoder);
static int (*decompress)(void *decoder, size_t *in_size, const uint8_t **in, size_t *out_size,
                         uint8_t **out, size_t *total);
static int (*error_code)(const void *decoder);
static const char *(*error_text)(int code);

static bool is_loaded;

static void load(void) {
    void *library = dlopen("libbrotlidec.so.1", RTLD_LAZY);
    is_loaded =
        library != NULL &&
        afc__symbol_find(library, "BrotliDecoderCreateInstance", &create, sizeof create) &&
        afc__symbol_find(library, "BrotliDecoderDestroyInstance", &destroy, sizeof destroy) &&
        afc__symbol_find(library, "BrotliDecoderDecompressStream", &decompress,
                         sizeof decompress) &&
        afc__symbol_find(library, "BrotliDecoderGetErrorCode", &error_code, sizeof error_code) &&
        afc__symbol_find(library, "BrotliDecoderErrorString", &error_text, sizeof error_text);
}

static bool is_available(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, load);
    return is_loaded;
}

static void *allocate(void *opaque, size_t size) {
    (void)opaque;
    return afc__alloc(size);
}

static void release(void *opaque, void *memory) {
    (void)opaque;
    afc_free(memory);
}

static void *new_state(void) {
    return create(allocate, release, NULL);
}

static void free_state(void *state) {
    destroy(state);
}

static afc__codec_result decode(void *state, afc__codec_step *step) {
    const uint8_t *in = (const uint8_t *)step->in.bytes;
    uint8_t *out = (uint8_t *)step->out;
    size_t in_size = step->in.size, room = step->room;
    int result = decompress(state, &in_size, &in, &room, &out, NULL);
    step->in = (afc_slice){(const char *)in, in_size};
    step->filled = step->room - room;
    if (result == BROTLI_SUCCESS) return AFC__CODEC_ENDED;
    if (result == BROTLI_NEEDS_MORE_INPUT || result == BROTLI_NEEDS_MORE_OUTPUT)
        return AFC__CODEC_MORE;
    int code = error_code(state);
    bool is_memory = code <= FIRST_ALLOC_ERROR && code >= LAST_ALLOC_ERROR;
    return is_memory ? AFC__CODEC_NO_MEMORY : AFC__CODEC_INVALID;
}

static const char *problem(const void *state) {
    return error_text(error_code(state));
}

const afc__codec afc__codec_brotli = {"Brotli", is_available, new_state, free_state,
                                      decode,   NULL,         problem};
