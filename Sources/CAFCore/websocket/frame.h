/** Frames (RFC 6455 section 5): heads, masks, close codes. Pure functions, except for the masks' random numbers. */
#ifndef AFC_WEBSOCKET_FRAME_H
#define AFC_WEBSOCKET_FRAME_H

#include <afcore/base.h>

typedef enum afc__opcode {
    AFC__OP_CONTINUATION = 0,
    AFC__OP_TEXT = 1,
    AFC__OP_BINARY = 2,
    AFC__OP_CLOSE = 8,
    AFC__OP_PING = 9,
    AFC__OP_PONG = 10
} afc__opcode;

enum {
    AFC__FRAME_CONTROL_MAX = 125,
    AFC__FRAME_HEAD_MAX = 14, /**< Bytes of the longest head. */
    AFC__FRAME_MASK = 4
};

/** The head of a frame. */
typedef struct afc__frame {
    bool is_final;      /**< FIN. */
    bool is_compressed; /**< RSV1. */
    uint8_t reserved;   /**< RSV2 and RSV3, as bits. */
    uint8_t opcode;
    bool is_masked;
    bool is_padded; /**< The length is written with more bytes than it needs. */
    uint64_t length;
} afc__frame;

/** Returns whether this is a control frame, which may come between the frames of a message. */
static inline bool afc__frame_is_control(const afc__frame *frame) {
    return (frame->opcode & 8u) != 0;
}

/** Returns the size of the head that begins with these two bytes. */
size_t afc__frame_head_size(const unsigned char first[2]);

/** Reads a complete head. A length with its highest bit set is read as it is. */
void afc__frame_read_head(const unsigned char *head, afc__frame *out);

/** Writes the head of a masked frame. Returns its size. */
size_t afc__frame_write_head(unsigned char out[AFC__FRAME_HEAD_MAX], const afc__frame *frame,
                             const unsigned char mask[AFC__FRAME_MASK]);

/** Writes `size` masked bytes of a payload; the first one is at `offset` in the payload. `out` may be `bytes`. */
void afc__frame_mask(char *out, const char *bytes, size_t size,
                     const unsigned char mask[AFC__FRAME_MASK], uint64_t offset);

/** Random bytes that weren't used yet. Zeroed if there are none. */
typedef struct afc__mask_source {
    unsigned char bytes[256];
    size_t left;
} afc__mask_source;

/**
 * Makes the mask of a frame, which must be unpredictable (RFC 6455 10.3). Returns false if the system has no random
 * bytes.
 */
bool afc__frame_make_mask(afc__mask_source *source, unsigned char out[AFC__FRAME_MASK]);

/** Returns whether a close frame may have this code (RFC 6455 7.4; 1012 to 1014 were registered later). */
bool afc__close_code_is_valid(unsigned code);

#endif
