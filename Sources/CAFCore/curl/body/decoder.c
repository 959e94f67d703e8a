#include "curl/body/decoder.h"

#include "base/alloc.h"
#include "base/failure.h"
#include "curl/body/codec.h"
#include "message/fields.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

/* Like libcurl's largest piece (CURL_MAX_WRITE_SIZE). */
enum { PIECE = 16 * 1024 };

/* Like libcurl's limit (MAX_ENCODE_STACK). Each coding takes memory, and can multiply the work of the next. */
enum { MAX_CODINGS = 5 };

/* The longest name of a coding in an error text. */
enum { MAX_SHOWN = 40 };

/** One coding of the body. */
typedef struct coding_stage {
    const afc__codec *codec;
    void *state;
    size_t used;   /**< Bytes at the start of the input that are decoded already. */
    size_t filled; /**< Bytes in `piece` that weren't taken yet. */
    enum { AT_BODY, AT_END, AT_DAMAGE } progress;
    char piece[PIECE];
} coding_stage;

/** The first stage decodes the coding that was applied last. */
struct afc__decoder {
    uint64_t between; /**< Bytes that were passed from one stage to the next. */
    size_t count;
    coding_stage stages[];
};

/* ---- Codings ------------------------------------------------------------------------------- */

/** The codings by name. Those at the start are asked for. */
static const struct {
    const char *name;
    const afc__codec *codec;
} codings[] = {
    {"gzip", &afc__codec_gzip},   {"br", &afc__codec_brotli},       {"zstd", &afc__codec_zstd},
    {"x-gzip", &afc__codec_gzip}, {"deflate", &afc__codec_deflate},
};

enum { CODINGS = sizeof codings / sizeof codings[0], ASKED_FOR = 3 };

static char decodable[sizeof "gzip, br, zstd"];

static void list_decodable(void) {
    for (size_t i = 0; i < ASKED_FOR; i++) {
        if (!codings[i].codec->is_available()) continue;
        size_t used = strlen(decodable);
        snprintf(decodable + used, sizeof decodable - used, "%s%s", used > 0 ? ", " : "",
                 codings[i].name);
    }
}

const char *afc__decodable_codings(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, list_decodable);
    return decodable[0] != '\0' ? decodable : NULL;
}

/** Returns the codec of a coding, or NULL if it can't be decoded. */
static const afc__codec *codec_of(afc_slice name) {
    for (size_t i = 0; i < CODINGS; i++) {
        if (afc__same_name(name, codings[i].name))
            return codings[i].codec->is_available() ? codings[i].codec : NULL;
    }
    return NULL;
}

/** Adds the codecs of a list, in its order. */
static afc_status add_codecs(afc_slice list, const afc__codec *codecs[MAX_CODINGS], size_t *count,
                             afc_failure *failure) {
    afc_slice name;
    while (afc__next_member(&list, &name)) {
        if (afc__coding_is_none(name)) continue;
        const afc__codec *codec = codec_of(name);
        const char *accepted = afc__decodable_codings();
        if (codec == NULL) {
            return afc__fail(failure, AFC_EPROTOCOL,
                             "the content coding \"%.*s\" can't be decoded; accepted: %s",
                             afc__cut(name.bytes, name.size < MAX_SHOWN ? name.size : MAX_SHOWN),
                             name.bytes, accepted != NULL ? accepted : "identity");
        }
        if (*count == MAX_CODINGS) {
            return afc__fail(failure, AFC_EPROTOCOL, "the body has more than %d content codings",
                             MAX_CODINGS);
        }
        codecs[(*count)++] = codec;
    }
    return AFC_OK;
}

/* ---- Making and freeing ---------------------------------------------------------------------- */

static afc__decoder *new_decoder(const afc__codec *const *codecs, size_t count) {
    afc__decoder *decoder = afc__alloc(sizeof *decoder + count * sizeof decoder->stages[0]);
    if (decoder == NULL) return NULL;
    decoder->between = decoder->count = 0;
    while (decoder->count < count) {
        coding_stage *stage = &decoder->stages[decoder->count];
        stage->codec = codecs[count - 1 - decoder->count];
        stage->used = stage->filled = 0;
        stage->progress = AT_BODY;
        stage->state = stage->codec->new_state();
        if (stage->state == NULL) {
            afc__decoder_free(decoder);
            return NULL;
        }
        decoder->count++;
    }
    return decoder;
}

afc_status afc__decoder_new(afc__decoder **out, const afc_head *head, afc_failure *failure) {
    const afc__codec *codecs[MAX_CODINGS];
    size_t count = 0;
    *out = NULL;
    for (size_t i = 0; i < head->header_count; i++) {
        const afc_header *field = &head->headers[i];
        if (!afc__same_name(field->name, "Content-Encoding")) continue;
        afc_status status = add_codecs(field->value, codecs, &count, failure);
        if (status != AFC_OK) return status;
    }
    *out = new_decoder(codecs, count);
    return *out != NULL ? AFC_OK : afc__fail_memory(failure);
}

void afc__decoder_free(afc__decoder *decoder) {
    if (decoder == NULL) return;
    for (size_t i = 0; i < decoder->count; i++) {
        const coding_stage *stage = &decoder->stages[i];
        stage->codec->free_state(stage->state);
    }
    afc_free(decoder);
}

/* ---- Stages ---------------------------------------------------------------------------------- */

/** Returns the result of the last step. What was decoded before damaged bytes is passed on first. */
static afc__decoding result_of(const coding_stage *stage) {
    if (stage->filled > 0) return AFC__DECODED_PIECE;
    return stage->progress == AT_DAMAGE ? AFC__DECODE_INVALID : AFC__DECODED_ALL;
}

static afc__decoding decode_some(coding_stage *stage, afc_slice rest) {
    afc__codec_step step = {.in = rest, .out = stage->piece, .room = PIECE};
    afc__codec_result result = stage->codec->decode(stage->state, &step);
    if (result == AFC__CODEC_NO_MEMORY) return AFC__DECODE_NO_MEMORY;
    stage->used += rest.size - step.in.size;
    stage->filled = step.filled;
    stage->progress = result == AFC__CODEC_MORE    ? AT_BODY
                      : result == AFC__CODEC_ENDED ? AT_END
                                                   : AT_DAMAGE;
    return result_of(stage);
}

/** Implements afc__decoder_next() for one stage. */
static afc__decoding decode_stage(coding_stage *stage, afc_slice bytes) {
    afc_slice rest = {bytes.bytes + stage->used, bytes.size - stage->used};
    bool continues = stage->filled == 0 && stage->progress == AT_BODY;
    afc__decoding result = continues ? decode_some(stage, rest) : result_of(stage);
    if (result == AFC__DECODED_ALL) {
        if (stage->used < bytes.size) return AFC__DECODE_BEHIND_END;
        stage->used = 0;
    }
    return result;
}

static bool is_whole(const coding_stage *stage) {
    if (stage->progress == AT_END) return true;
    return stage->codec->may_end != NULL && stage->codec->may_end(stage->state);
}

/* ---- All stages ------------------------------------------------------------------------------ */

/** Decodes for a stage. Its input is the piece of the stage before. */
static afc__decoding decode_to(afc__decoder *decoder, size_t index, afc_slice bytes) {
    if (index == 0) return decode_stage(&decoder->stages[0], bytes);
    coding_stage *before = &decoder->stages[index - 1];
    afc__decoding input = decode_to(decoder, index - 1, bytes);
    if (input != AFC__DECODED_PIECE) return input;
    afc_slice piece = {before->piece, before->filled};
    afc__decoding result = decode_stage(&decoder->stages[index], piece);
    if (result != AFC__DECODED_ALL) return result;
    before->filled = 0;
    decoder->between += piece.size;
    return AFC__DECODED_BETWEEN;
}

uint64_t afc__decoder_between(const afc__decoder *decoder) {
    return decoder->between;
}

afc__decoding afc__decoder_next(afc__decoder *decoder, afc_slice bytes, afc_slice *piece) {
    const coding_stage *last = &decoder->stages[decoder->count - 1];
    afc__decoding result = decode_to(decoder, decoder->count - 1, bytes);
    if (result == AFC__DECODED_PIECE) *piece = (afc_slice){last->piece, last->filled};
    return result;
}

void afc__decoder_took_piece(afc__decoder *decoder) {
    decoder->stages[decoder->count - 1].filled = 0;
}

bool afc__decoder_is_whole(const afc__decoder *decoder) {
    for (size_t i = 0; i < decoder->count; i++) {
        if (!is_whole(&decoder->stages[i])) return false;
    }
    return true;
}

/* ---- Errors ---------------------------------------------------------------------------------- */

static const coding_stage *faulty_stage(const afc__decoder *decoder) {
    const coding_stage *faulty = &decoder->stages[0];
    for (size_t i = 0; i < decoder->count; i++) {
        const coding_stage *stage = &decoder->stages[i];
        if (stage->progress == AT_DAMAGE) return stage;
        if (!is_whole(stage)) faulty = stage;
    }
    return faulty;
}

const char *afc__decoder_name(const afc__decoder *decoder) {
    return faulty_stage(decoder)->codec->name;
}

const char *afc__decoder_problem(const afc__decoder *decoder) {
    const coding_stage *stage = faulty_stage(decoder);
    const char *text = stage->codec->problem(stage->state);
    return text != NULL ? text : "the bytes are damaged";
}
