/*
 * Encoded bodies. Whatever they are, their pieces have a limit, and a body that is read in portions is the same as one
 * that is read at once.
 */
#include "curl/body/decoder.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { PIECE = 16 * 1024, MOST = 1024 * 1024 };

static const char *const codings[] = {
    "gzip", "deflate", "br", "zstd", "br, gzip", "zstd, gzip", "gzip, zstd", "gzip, gzip, deflate"};

static void require(bool holds) {
    if (!holds) abort();
}

typedef struct outcome {
    afc__decoding result;
    uint64_t size, sum;
    bool is_whole;
} outcome;

/** Decodes a portion. Returns AFC__DECODED_PIECE when there is too much. */
static void decode_portion(afc__decoder *decoder, afc_slice portion, outcome *out) {
    afc_slice piece;
    uint64_t between = afc__decoder_between(decoder);
    while (out->size + between <= MOST) {
        out->result = afc__decoder_next(decoder, portion, &piece);
        between = afc__decoder_between(decoder);
        if (out->result == AFC__DECODED_BETWEEN) continue;
        if (out->result != AFC__DECODED_PIECE) return;
        require(piece.size > 0 && piece.size <= PIECE);
        for (size_t i = 0; i < piece.size; i++)
            out->sum = out->sum * 31 + (unsigned char)piece.bytes[i];
        out->size += piece.size;
        afc__decoder_took_piece(decoder);
    }
    out->result = AFC__DECODED_PIECE;
}

static outcome decode(const char *coding, afc_slice bytes, size_t portion) {
    afc_header field = {afc_slice_of("Content-Encoding"), afc_slice_of(coding), 0};
    afc_head head = {.status = 200, .headers = &field, .header_count = 1};
    afc__decoder *decoder;
    afc_failure failure;
    outcome out = {.result = AFC__DECODED_ALL};
    require(afc__decoder_new(&decoder, &head, &failure) == AFC_OK);
    while (bytes.size > 0 && out.result == AFC__DECODED_ALL) {
        size_t count = bytes.size < portion ? bytes.size : portion;
        decode_portion(decoder, (afc_slice){bytes.bytes, count}, &out);
        bytes = (afc_slice){bytes.bytes + count, bytes.size - count};
    }
    out.is_whole = afc__decoder_is_whole(decoder);
    require(afc__decoder_name(decoder) != NULL && afc__decoder_problem(decoder) != NULL);
    afc__decoder_free(decoder);
    return out;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < 2) return 0;
    const char *coding = codings[data[0] % (sizeof codings / sizeof codings[0])];
    afc_slice bytes = {(const char *)data + 2, size - 2};
    outcome whole = decode(coding, bytes, bytes.size), parts = decode(coding, bytes, data[1] + 1u);
    /* Damage may be found before or after what precedes it was passed on. */
    if (whole.result != AFC__DECODED_ALL) return 0;
    require(parts.result == AFC__DECODED_ALL && parts.size == whole.size);
    require(parts.sum == whole.sum && parts.is_whole == whole.is_whole);
    return 0;
}
