#include "curl/body/inflater.h"

#include "base/alloc.h"
#include "base/symbol.h"

#include <pthread.h>
#include <string.h>

/* ---- zlib ------------------------------------------------------------------------------------ */

/* Declarations of zlib.h. */
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
    /* Added to the window's. */
    GZIP_OR_ZLIB = 32
};

static int (*init)(zlib_stream *stream, int window_bits, const char *version, int size);
static int (*step)(zlib_stream *stream, int flush);
static int (*end)(zlib_stream *stream);

static bool is_loaded;

static void load(void) {
    void *library = dlopen("libz.so.1", RTLD_LAZY | RTLD_NOLOAD);
    is_loaded = library != NULL && afc__symbol_find(library, "inflateInit2_", &init, sizeof init) &&
                afc__symbol_find(library, "inflate", &step, sizeof step) &&
                afc__symbol_find(library, "inflateEnd", &end, sizeof end);
}

bool afc__inflater_is_available(void) {
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

/* ---- Decoding -------------------------------------------------------------------------------- */

/* As much as libcurl passes on at once (CURL_MAX_WRITE_SIZE). */
enum { PIECE = 16 * 1024 };

struct afc__inflater {
    zlib_stream stream;
    size_t used;   /**< Bytes at the start of what comes again. */
    size_t filled; /**< Of the piece; 0: there is none. */
    enum { AT_BODY, AT_END, AT_DAMAGE } state;
    char piece[PIECE];
};

afc__inflater *afc__inflater_new(void) {
    afc__inflater *inflater = afc__alloc(sizeof *inflater);
    if (inflater == NULL) return NULL;
    memset(inflater, 0, offsetof(afc__inflater, piece));
    inflater->stream.zalloc = allocate;
    inflater->stream.zfree = release;
    /* The first digit of the version has to match. */
    int code = init(&inflater->stream, WINDOW_BITS + GZIP_OR_ZLIB, "1", sizeof inflater->stream);
    if (code == Z_OK) return inflater;
    afc_free(inflater);
    return NULL;
}

void afc__inflater_free(afc__inflater *inflater) {
    if (inflater == NULL) return;
    end(&inflater->stream);
    afc_free(inflater);
}

/** What was decoded before the damage is passed on first. */
static afc__inflating result_of(const afc__inflater *inflater) {
    if (inflater->filled > 0) return AFC__INFLATED_PIECE;
    return inflater->state == AT_DAMAGE ? AFC__INFLATE_INVALID : AFC__INFLATED_ALL;
}

static afc__inflating inflate_some(afc__inflater *inflater, afc_slice rest) {
    zlib_stream *stream = &inflater->stream;
    stream->next_in = rest.bytes;
    stream->avail_in = (unsigned)rest.size;
    stream->next_out = inflater->piece;
    stream->avail_out = PIECE;
    int code = step(stream, Z_NO_FLUSH);
    if (code == Z_MEM_ERROR) return AFC__INFLATE_NO_MEMORY;
    inflater->used += rest.size - stream->avail_in;
    inflater->filled = PIECE - stream->avail_out;
    /* Z_BUF_ERROR: without more bytes there is no progress. */
    bool is_fine = code == Z_OK || code == Z_BUF_ERROR;
    inflater->state = is_fine ? AT_BODY : code == Z_STREAM_END ? AT_END : AT_DAMAGE;
    return result_of(inflater);
}

afc__inflating afc__inflater_next(afc__inflater *inflater, afc_slice bytes, afc_slice *piece) {
    afc_slice rest = {bytes.bytes + inflater->used, bytes.size - inflater->used};
    bool goes_on = inflater->filled == 0 && inflater->state == AT_BODY;
    afc__inflating result = goes_on ? inflate_some(inflater, rest) : result_of(inflater);
    if (result == AFC__INFLATED_PIECE) {
        *piece = (afc_slice){inflater->piece, inflater->filled};
    } else if (result == AFC__INFLATED_ALL) {
        if (inflater->used < bytes.size) return AFC__INFLATE_BEHIND_END;
        inflater->used = 0;
    }
    return result;
}

const char *afc__inflater_problem(const afc__inflater *inflater) {
    const char *text = inflater->stream.msg;
    return text != NULL ? text : "unknown error of zlib";
}

void afc__inflater_took_piece(afc__inflater *inflater) {
    inflater->filled = 0;
}
