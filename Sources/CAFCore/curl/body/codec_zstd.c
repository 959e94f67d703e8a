/* Zstandard (RFC 8878), with libzstd. A body may be several frames, so it ends anywhere between two. */
#include "base/alloc.h"
#include "base/symbol.h"
#include "curl/body/codec.h"

#include <pthread.h>

/* Declarations of zstd.h and zstd_errors.h. */
typedef struct zstd_in {
    const void *bytes;
    size_t size, used;
} zstd_in;

typedef struct zstd_out {
    void *bytes;
    size_t size, filled;
} zstd_out;

enum { ZSTD_NO_ERROR = 0, ZSTD_NO_MEMORY = 64 };

static void *(*create)(void);
static size_t (*destroy)(void *stream);
static size_t (*decompress)(void *stream, zstd_out *out, zstd_in *in);
static int (*error_code)(size_t result);

static bool is_loaded;

static void load(void) {
    void *library = dlopen("libzstd.so.1", RTLD_LAZY | RTLD_NOLOAD);
    is_loaded = library != NULL &&
                afc__symbol_find(library, "ZSTD_createDStream", &create, sizeof create) &&
                afc__symbol_find(library, "ZSTD_freeDStream", &destroy, sizeof destroy) &&
                afc__symbol_find(library, "ZSTD_decompressStream", &decompress,
                                 sizeof decompress) &&
                afc__symbol_find(library, "ZSTD_getErrorCode", &error_code, sizeof error_code);
}

static bool is_available(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, load);
    return is_loaded;
}

static void *new_state(void) {
    return afc__alloc_succeeds() ? create() : NULL;
}

static void free_state(void *state) {
    destroy(state);
}

static afc__codec_result decode(void *state, afc__codec_step *part) {
    zstd_in in = {part->in.bytes, part->in.size, 0};
    zstd_out out = {part->out, part->room, 0};
    int code;
    /* libzstd stops behind a frame, also if it was empty or skipped, and others follow. */
    do {
        code = error_code(decompress(state, &out, &in));
    } while (code == ZSTD_NO_ERROR && out.filled == 0 && in.used < in.size);
    part->in = (afc_slice){part->in.bytes + in.used, in.size - in.used};
    part->filled = out.filled;
    if (code == ZSTD_NO_ERROR) return AFC__CODEC_MORE;
    return code == ZSTD_NO_MEMORY ? AFC__CODEC_NO_MEMORY : AFC__CODEC_INVALID;
}

/** libzstd doesn't remember it. */
static const char *problem(const void *state) {
    (void)state;
    return NULL;
}

const afc__codec afc__codec_zstd = {"Zstandard", is_available, new_state,
                                    free_state,  decode,       problem};
