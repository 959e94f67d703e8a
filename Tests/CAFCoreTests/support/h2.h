/**
 * HTTP/2 as the server's side of a scripted connection speaks it: frame by frame, with nothing done
 * that the test doesn't say but what every peer must (acknowledging, counting its window).
 */
#ifndef AFC_TESTS_H2_H
#define AFC_TESTS_H2_H

#include "support/fixture.h"

#include <stdbool.h>

enum {
    H2_DATA = 0,
    H2_HEADERS = 1,
    H2_RST_STREAM = 3,
    H2_SETTINGS = 4,
    H2_PING = 6,
    H2_GOAWAY = 7,
    H2_WINDOW_UPDATE = 8,
    H2_CONTINUATION = 9
};

enum { H2_END_STREAM = 1, H2_ACK = 1, H2_END_HEADERS = 4 };

/** Codes of RST_STREAM and GOAWAY. */
enum { H2_NO_ERROR = 0, H2_INTERNAL_ERROR = 2, H2_REFUSED_STREAM = 7, H2_CANCEL = 8 };

enum { H2_FRAME_MAX = 16384 };

typedef struct h2_frame {
    uint8_t type, flags;
    uint32_t stream;
    size_t size;
    uint8_t payload[H2_FRAME_MAX];
} h2_frame;

/** One connection, in its handler. */
typedef struct h2_peer {
    afts_conn *conn;
    uint64_t received; /**< Bytes of DATA. */
    /** What the client still has room for; of streams, the one that a body is sent on. */
    int64_t window, stream_window;
    h2_frame frame; /**< The last one read. */
} h2_peer;

/** Every connection of the fixture's server is given to `handler`, then closed as `ends` says. */
typedef enum h2_end { H2_CLOSE, H2_RESET } h2_end;
void h2_serve(fixture *fixture, afts_handler handler, void *payload, h2_end end);

/** Do requests share connections of HTTP/2? Not with a libcurl before 8.1.0: see curl/quirks.h. */
bool h2_multiplexes(void);

/** A fixture with TLS whose server agrees on HTTP/2. `session` may be NULL. */
fixture *h2_fixture(const afc_session_options *session);

/** The preface and settings of both sides. All that follow are false once the client has gone. */
bool h2_begin(h2_peer *peer, afts_conn *conn);

/** The next frame that is not of the connection's own housekeeping. */
bool h2_read(h2_peer *peer);

/** Read until the head of a request has come: its stream, or 0. */
uint32_t h2_read_request(h2_peer *peer);

/** Read until `count` bytes of bodies have come, or the end of one, without giving a new window. */
bool h2_read_body(h2_peer *peer, uint64_t count);

bool h2_send(h2_peer *peer, uint8_t type, uint8_t flags, uint32_t stream, const void *payload,
             size_t size);

/** A head of nothing but a status. */
bool h2_send_head(h2_peer *peer, uint32_t stream, int status, uint8_t flags);

/** A body as long as the client has room for it, and reads it; true once it wants no more. */
bool h2_send_endless(h2_peer *peer, uint32_t stream);

/** The same with a Content-Length, of one digit. */
bool h2_send_sized_head(h2_peer *peer, uint32_t stream, int status, int length, uint8_t flags);

/** RST_STREAM. */
bool h2_send_reset(h2_peer *peer, uint32_t stream, uint32_t code);

/** `last` is the last stream that was or will be looked at. */
bool h2_send_goaway(h2_peer *peer, uint32_t last, uint32_t code);

/**
 * An afts_handler that answers every request of a connection with 200. Counts connections in an `atomic_uint` payload.
 */
void h2_answer_all(afts_conn *conn, const afts_request *request, void *payload);

/** SETTINGS: what each stream has room for in the beginning. */
bool h2_send_initial_window(h2_peer *peer, uint32_t size);

/** More window for `stream`; 0: the connection. */
bool h2_send_window(h2_peer *peer, uint32_t stream, uint32_t size);

#endif
