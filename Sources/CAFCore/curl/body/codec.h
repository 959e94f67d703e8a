/** The content codings that a decoder (curl/body/decoder.h) knows, each with the functions of its library. */
#ifndef AFC_CURL_BODY_CODEC_H
#define AFC_CURL_BODY_CODEC_H

#include <afcore/base.h>

typedef enum afc__codec_result {
    AFC__CODEC_MORE,    /**< It needs more bytes, or more room. */
    AFC__CODEC_ENDED,   /**< The body has ended: nothing may follow. */
    AFC__CODEC_INVALID, /**< What was decoded before is there. */
    AFC__CODEC_NO_MEMORY
} afc__codec_result;

/** What a step reads and writes. */
typedef struct afc__codec_step {
    afc_slice in; /**< Shortened by what was used. */
    char *out;
    size_t room;   /**< At `out`. */
    size_t filled; /**< Set to what was written there. */
} afc__codec_step;

typedef struct afc__codec {
    const char *name;
    /** Looks up the functions of the library, once. false: libcurl hasn't loaded it. Call it before the others. */
    bool (*is_available)(void);
    /** NULL when out of memory. */
    void *(*new_state)(void);
    void (*free_state)(void *state);
    /** Decodes as much as there is room for. Without progress it needs more bytes. */
    afc__codec_result (*decode)(void *state, afc__codec_step *step);
    /** Returns the library's words for what is wrong with the bytes, which are static; NULL: none. */
    const char *(*problem)(const void *state);
} afc__codec;

extern const afc__codec afc__codec_brotli, afc__codec_gzip, afc__codec_zstd;

#endif
