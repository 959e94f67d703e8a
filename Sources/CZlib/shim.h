#ifndef CZLIB_SHIM_H
#define CZLIB_SHIM_H

#include <zlib.h>

/* Swift can't see macros with arguments; zlib's two initialisers are such. */

/* 16 more than the largest window asks for gzip's head and tail around the data. */
enum { czlib_gzip_window = MAX_WBITS + 16 };

static inline int czlib_deflate_init_gzip(z_stream *stream, int level) {
    return deflateInit2(stream, level, Z_DEFLATED, czlib_gzip_window, MAX_MEM_LEVEL,
                        Z_DEFAULT_STRATEGY);
}

static inline int czlib_inflate_init_gzip(z_stream *stream) {
    return inflateInit2(stream, czlib_gzip_window);
}

/* Without head and tail (RFC 1951); a window of 1 << bits bytes. */
static inline int czlib_deflate_init_raw(z_stream *stream, int level, int bits) {
    return deflateInit2(stream, level, Z_DEFLATED, -bits, MAX_MEM_LEVEL, Z_DEFAULT_STRATEGY);
}

static inline int czlib_inflate_init_raw(z_stream *stream, int bits) {
    return inflateInit2(stream, -bits);
}

#endif
