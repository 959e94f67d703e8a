#include "websocket/frame.h"

#include "base/random.h"

enum { FIN = 0x80, RSV1 = 0x40, RESERVED = 0x30, OPCODE = 0x0f, MASKED = 0x80, LENGTH = 0x7f };
enum { TWO_BYTES = 126, EIGHT_BYTES = 127 };

size_t afc__frame_head_size(const unsigned char first[2]) {
    unsigned length = first[1] & LENGTH;
    size_t size = 2;
    if (length == TWO_BYTES) size += 2;
    if (length == EIGHT_BYTES) size += 8;
    return (first[1] & MASKED) != 0 ? size + AFC__FRAME_MASK : size;
}

void afc__frame_read_head(const unsigned char *head, afc__frame *out) {
    unsigned length = head[1] & LENGTH;
    size_t bytes = length == TWO_BYTES ? 2 : length == EIGHT_BYTES ? 8 : 0;
    *out = (afc__frame){.is_final = (head[0] & FIN) != 0,
                        .is_compressed = (head[0] & RSV1) != 0,
                        .reserved = head[0] & RESERVED,
                        .opcode = head[0] & OPCODE,
                        .is_masked = (head[1] & MASKED) != 0,
                        .length = bytes == 0 ? length : 0};
    for (size_t i = 0; i < bytes; i++) out->length = out->length << 8 | head[2 + i];
    out->is_padded = (bytes == 2 && out->length < TWO_BYTES) ||
                     (bytes == 8 && out->length <= UINT16_MAX);
}

size_t afc__frame_write_head(unsigned char out[AFC__FRAME_HEAD_MAX], const afc__frame *frame,
                             const unsigned char mask[AFC__FRAME_MASK]) {
    size_t bytes = frame->length < TWO_BYTES ? 0 : frame->length <= UINT16_MAX ? 2 : 8;
    unsigned length = bytes == 0   ? (unsigned)frame->length
                      : bytes == 2 ? (unsigned)TWO_BYTES
                                   : (unsigned)EIGHT_BYTES;
    out[0] = (unsigned char)((frame->is_final ? FIN : 0) | (frame->is_compressed ? RSV1 : 0) |
                             frame->opcode);
    out[1] = (unsigned char)(MASKED | length);
    for (size_t i = 0; i < bytes; i++) {
        out[2 + i] = (unsigned char)(frame->length >> 8 * (bytes - 1 - i));
    }
    memcpy(out + 2 + bytes, mask, AFC__FRAME_MASK);
    return 2 + bytes + AFC__FRAME_MASK;
}

void afc__frame_mask(char *out, const char *bytes, size_t size,
                     const unsigned char mask[AFC__FRAME_MASK], uint64_t offset) {
    /* The mask twice, beginning with the byte for `offset`, so that eight bytes are masked at a time. */
    unsigned char rotated[sizeof(uint64_t)];
    uint64_t wide;
    size_t done = 0;
    for (size_t i = 0; i < sizeof rotated; i++) rotated[i] = mask[(offset + i) % AFC__FRAME_MASK];
    memcpy(&wide, rotated, sizeof wide);
    for (; size - done >= sizeof wide; done += sizeof wide) {
        uint64_t word;
        memcpy(&word, bytes + done, sizeof word);
        word ^= wide;
        memcpy(out + done, &word, sizeof word);
    }
    for (; done < size; done++) {
        out[done] = (char)((unsigned char)bytes[done] ^ rotated[done % AFC__FRAME_MASK]);
    }
}

bool afc__frame_make_mask(afc__mask_source *source, unsigned char out[AFC__FRAME_MASK]) {
    if (source->left < AFC__FRAME_MASK) {
        if (!afc__random(source->bytes, sizeof source->bytes)) return false;
        source->left = sizeof source->bytes;
    }
    source->left -= AFC__FRAME_MASK;
    memcpy(out, source->bytes + source->left, AFC__FRAME_MASK);
    return true;
}

bool afc__close_code_is_valid(unsigned code) {
    return (code >= 1000 && code <= 1003) || (code >= 1007 && code <= 1014) ||
           (code >= 3000 && code <= 4999);
}
