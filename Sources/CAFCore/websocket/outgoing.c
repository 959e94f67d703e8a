#include "websocket/outgoing.h"

#include "base/alloc.h"
#include "base/buffer.h"

enum { STORAGE_SIZE = 16 * 1024 };

/** The bytes at the end of every flushed block, which the last frame of a message leaves out (RFC 7692 7.2.1). */
static const char tail[4] = {0x00, 0x00, (char)0xff, (char)0xff};

void afc__encoder_close(afc__encoder *encoder) {
    if (encoder->stream != NULL) encoder->codec->close(encoder->stream);
    *encoder = (afc__encoder){0};
}

/** Takes the spare memory, unless the frame is larger, or so small that it would keep far more memory than it needs. */
static afc__outgoing *find_memory(afc__draft *draft, size_t size) {
    afc__outgoing *spare = draft->spare;
    draft->spare = NULL;
    if (spare != NULL && spare->capacity >= size && spare->capacity / 4 <= size) return spare;
    afc_free(spare);
    afc__outgoing *out = afc__alloc(sizeof *out + size);
    if (out != NULL) out->capacity = size;
    return out;
}

static afc__outgoing *make_frame(afc__draft *draft, afc_slice payload, afc_status *status) {
    afc__frame frame = draft->frame;
    frame.length = payload.size;
    *status = AFC_ENOMEM;
    if (payload.size > SIZE_MAX / 2) return NULL;
    afc__outgoing *out = find_memory(draft, AFC__FRAME_HEAD_MAX + payload.size);
    if (out == NULL) return NULL;
    size_t head = afc__frame_write_head((unsigned char *)out->bytes, &frame, draft->mask);
    afc__frame_mask(out->bytes + head, payload.bytes, payload.size, draft->mask, 0);
    out->size = head + payload.size;
    out->offset = 0;
    *status = AFC_OK;
    return out;
}

/** Compresses a piece to `out`, which the caller has initialised. */
static afc_status encode(const afc__encoder *encoder, afc_slice bytes, bool is_last,
                         afc__buffer *out) {
    char storage[STORAGE_SIZE];
    size_t size;
    do {
        size = sizeof storage;
        afc_status status = encoder->codec->convert(encoder->stream, &bytes, storage, &size);
        if (status == AFC_OK && size > sizeof storage) status = AFC_EINTERNAL;
        if (status == AFC_OK) status = afc__buffer_append(out, storage, size);
        if (status != AFC_OK) return status == AFC_ENOMEM ? AFC_ENOMEM : AFC_EINTERNAL;
    } while (size == sizeof storage);
    /* The codec broke its contract: the peer would miss the rest. */
    if (bytes.size > 0) return AFC_EINTERNAL;
    if (!is_last) return AFC_OK;
    if (encoder->forgets) encoder->codec->reset(encoder->stream);
    /* There was nothing to flush since the last time: an empty block without its end, 0x00 (RFC 7692 7.2.3.6). */
    if (out->size == 0) return afc__buffer_append(out, tail, 1);
    bool is_flushed = out->size > sizeof tail &&
                      memcmp(out->bytes + out->size - sizeof tail, tail, sizeof tail) == 0;
    if (!is_flushed) return AFC_EINTERNAL;
    out->size -= sizeof tail;
    return AFC_OK;
}

static bool check_text(afc__draft *draft, afc_slice bytes) {
    if (draft->kind != AFC_WEBSOCKET_TEXT) return true;
    return afc__utf8_take(&draft->text, bytes) &&
           (!draft->frame.is_final || afc__utf8_is_complete(&draft->text));
}

static afc__outgoing *make(afc__draft *draft, afc_slice bytes, afc_status *status) {
    *status = AFC_EINVAL;
    if (!check_text(draft, bytes)) return NULL;
    if (draft->encoder.stream == NULL) return make_frame(draft, bytes, status);
    afc__buffer encoded;
    /* Data that can't be compressed grows by the heads of its blocks. */
    afc__buffer_init(&encoded, (uint64_t)bytes.size + bytes.size / 8 + STORAGE_SIZE);
    *status = encode(&draft->encoder, bytes, draft->frame.is_final, &encoded);
    afc_slice payload = {encoded.bytes, encoded.size};
    afc__outgoing *out = *status == AFC_OK ? make_frame(draft, payload, status) : NULL;
    afc__buffer_clear(&encoded);
    return out;
}

afc__outgoing *afc__outgoing_make(afc__draft *draft, afc_slice bytes, afc_status *status) {
    afc__outgoing *out = make(draft, bytes, status);
    afc_free(draft->spare);
    draft->spare = NULL;
    return out;
}
