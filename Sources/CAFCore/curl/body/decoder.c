#include "curl/body/decoder.h"

#include "base/alloc.h"
#include "curl/body/codec.h"

/* Like libcurl's largest piece (CURL_MAX_WRITE_SIZE). */
enum { PIECE = 16 * 1024 };

struct afc__decoder {
    const afc__codec *codec;
    void *state;
    size_t used;   /**< Bytes at the start of the caller's that are decoded already. */
    size_t filled; /**< Bytes in `piece` that the caller hasn't taken yet. */
    enum { AT_BODY, AT_END, AT_DAMAGE } progress;
    char piece[PIECE];
};

static const afc__codec *codec_of(afc__content_coding coding) {
    switch (coding) {
    case AFC__CONTENT_BROTLI:
        return &afc__codec_brotli;
    case AFC__CONTENT_GZIP:
        return &afc__codec_gzip;
    case AFC__CONTENT_ZSTD:
        return &afc__codec_zstd;
    case AFC__CONTENT_OTHER:
        break;
    }
    return NULL;
}

bool afc__decoder_is_available(afc__content_coding coding) {
    const afc__codec *codec = codec_of(coding);
    return codec != NULL && codec->is_available();
}

afc__decoder *afc__decoder_new(afc__content_coding coding) {
    afc__decoder *decoder = afc__alloc(sizeof *decoder);
    if (decoder == NULL) return NULL;
    decoder->codec = codec_of(coding);
    decoder->used = decoder->filled = 0;
    decoder->progress = AT_BODY;
    decoder->state = decoder->codec->new_state();
    if (decoder->state != NULL) return decoder;
    afc_free(decoder);
    return NULL;
}

void afc__decoder_free(afc__decoder *decoder) {
    if (decoder == NULL) return;
    decoder->codec->free_state(decoder->state);
    afc_free(decoder);
}

const char *afc__decoder_name(const afc__decoder *decoder) {
    return decoder->codec->name;
}

const char *afc__decoder_problem(const afc__decoder *decoder) {
    const char *text = decoder->codec->problem(decoder->state);
    return text != NULL ? text : "the bytes are damaged";
}

/** Returns the result of the last step. What was decoded before damaged bytes is passed on first. */
static afc__decoding result_of(const afc__decoder *decoder) {
    if (decoder->filled > 0) return AFC__DECODED_PIECE;
    return decoder->progress == AT_DAMAGE ? AFC__DECODE_INVALID : AFC__DECODED_ALL;
}

static afc__decoding decode_some(afc__decoder *decoder, afc_slice rest) {
    afc__codec_step step = {.in = rest, .out = decoder->piece, .room = PIECE};
    afc__codec_result result = decoder->codec->decode(decoder->state, &step);
    if (result == AFC__CODEC_NO_MEMORY) return AFC__DECODE_NO_MEMORY;
    decoder->used += rest.size - step.in.size;
    decoder->filled = step.filled;
    decoder->progress = result == AFC__CODEC_MORE    ? AT_BODY
                        : result == AFC__CODEC_ENDED ? AT_END
                                                     : AT_DAMAGE;
    return result_of(decoder);
}

afc__decoding afc__decoder_next(afc__decoder *decoder, afc_slice bytes, afc_slice *piece) {
    afc_slice rest = {bytes.bytes + decoder->used, bytes.size - decoder->used};
    bool continues = decoder->filled == 0 && decoder->progress == AT_BODY;
    afc__decoding result = continues ? decode_some(decoder, rest) : result_of(decoder);
    if (result == AFC__DECODED_PIECE) {
        *piece = (afc_slice){decoder->piece, decoder->filled};
    } else if (result == AFC__DECODED_ALL) {
        if (decoder->used < bytes.size) return AFC__DECODE_BEHIND_END;
        decoder->used = 0;
    }
    return result;
}

bool afc__decoder_is_whole(const afc__decoder *decoder) {
    if (decoder->progress == AT_END) return true;
    return decoder->codec->may_end != NULL && decoder->codec->may_end(decoder->state);
}

void afc__decoder_took_piece(afc__decoder *decoder) {
    decoder->filled = 0;
}
