/** The content codings that a decoder (curl/body/decoder.h) can decode, each with the functions of its library. */
#ifndef AFC_CURL_BODY_CODEC_H
#define AFC_CURL_BODY_CODEC_H

#include <afcore/base.h>

typedef enum afc__codec_result {
    AFC__CODEC_MORE,  /**< More bytes or more room at `out` are needed. */
    AFC__CODEC_ENDED, /**< The encoded body has ended: no bytes may follow. */
    /** The bytes can't be decoded from here; those decoded before are at `out`. */
    AFC__CODEC_INVALID,
    AFC__CODEC_NO_MEMORY
} afc__codec_result;

/** The input and output of one call of `decode`. */
typedef struct afc__codec_step {
    afc_slice in; /**< The encoded bytes; those used are removed from the start. */
    char *out;
    size_t room;   /**< Size of `out`. */
    size_t filled; /**< Set to the number of bytes written to `out`. */
} afc__codec_step;

typedef struct afc__codec {
    const char *name;
    /**
     * Loads the library and looks up its functions, once. Returns false if it isn't installed; the other functions
     * must not be called then. Any thread.
     */
    bool (*is_available)(void);
    /** Makes the state of one body. Returns NULL when out of memory. */
    void *(*new_state)(void);
    void (*free_state)(void *state);
    /**
     * Decodes as much as there is room for. AFC__CODEC_MORE without output or used bytes means that more bytes are
     * needed.
     */
    afc__codec_result (*decode)(void *state, afc__codec_step *step);
    /**
     * Returns whether the body may end behind the bytes decoded so far, though `decode` hasn't returned
     * AFC__CODEC_ENDED. NULL if it never may.
     */
    bool (*may_end)(const void *state);
    /** Returns the library's text about invalid bytes, a static string; NULL if it has none. */
    const char *(*problem)(const void *state);
} afc__codec;

extern const afc__codec afc__codec_brotli, afc__codec_deflate, afc__codec_gzip, afc__codec_zstd;

#endif
