#include "curl/error_texts.h"

#include "base/text.h"

#include <string.h>

typedef struct known_text {
    afc__text_meaning meaning;
    bool is_end; /* The text must end with `text`; otherwise `text` may be anywhere in it. */
    const char *text;
} known_text;

static const known_text known[] = {
    /* Up to 8.13, where it is also a part of the text of AFC__TEXT_LONG_TRAILER. */
    {AFC__TEXT_BAD_CHUNK, false, "chunked-encoding"},
    /* From 8.14. */
    {AFC__TEXT_BAD_CHUNK, false, "chunk hex-length"},
    {AFC__TEXT_BAD_CHUNK, false, "invalid chunk size"},

    {AFC__TEXT_LONG_TRAILER, false, "memory in chunked-encoding"},

    /* A text of OpenSSL. */
    {AFC__TEXT_CUT_TLS, false, "unexpected eof"},

    {AFC__TEXT_PROTOCOL_ERROR, false, "PROTOCOL_ERROR"},

    /*
     * Before 8.13.0 "nghttp2_session_mem_recv()", and since then "nghttp2 recv error" or "nghttp2
     * shuts down connection".
     */
    {AFC__TEXT_BAD_FRAME, false, "nghttp2"},

    /* Since 8.17.0. */
    {AFC__TEXT_DIFFERENT_LOCATIONS, false, "Multiple Location headers"},

    /* Debug messages, up to 8.14. */
    {AFC__TEXT_EXCESS, false, "Excess found"},
    {AFC__TEXT_EXCESS, false, "Leftovers after chunking"},

    /* Reasons of OpenSSL: the peer sent bytes that aren't TLS, such as a response in plain HTTP. */
    {AFC__TEXT_NOT_TLS, true, "wrong version number"},
    {AFC__TEXT_NOT_TLS, true, "packet length too long"},
    /* Reasons of OpenSSL, found by either side. */
    {AFC__TEXT_TLS_VERSION, true, "protocol version"},
    {AFC__TEXT_TLS_VERSION, true, "unsupported protocol"},

    /*
     * Texts for failures without a reason of OpenSSL: an end of the connection ("SSL_ERROR_SYSCALL in connection to
     * …"), and errors of the socket.
     */
    {AFC__TEXT_CUT_HANDSHAKE, false, " in connection to "},
    {AFC__TEXT_CUT_HANDSHAKE, false, "unexpected eof"},
    {AFC__TEXT_CUT_HANDSHAKE, false, "Recv failure"},
    {AFC__TEXT_CUT_HANDSHAKE, false, "Send failure"},

    {AFC__TEXT_NOT_BOUND, false, "Couldn't bind to "},
    {AFC__TEXT_NOT_BOUND, false, "bind failed with errno"},
};

bool afc__text_means(afc_slice text, afc__text_meaning meaning) {
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        const known_text *at = &known[i];
        if (at->meaning != meaning) continue;
        bool fits = at->is_end ? afc__ends_with(text, at->text)
                               : memmem(text.bytes, text.size, at->text, strlen(at->text)) != NULL;
        if (fits) return true;
    }
    return false;
}
