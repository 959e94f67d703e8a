/** WebSockets on a connection. */
#ifndef AFTS_HTTP_WEBSOCKET_H
#define AFTS_HTTP_WEBSOCKET_H

#include "connection/connection.h"

/** Sends 101 for the request; one that doesn't open a WebSocket (RFC 6455 4.2.1) is refused. */
afts_status afts__upgrade(afts_conn *conn, const char *headers);
afts_status afts__send_frame(afts_conn *conn, uint8_t first, const void *bytes, size_t size);
/** Until the client closes, or this does because the client sent a close frame. */
afts_status afts__echo_frames(afts_conn *conn);

#endif
