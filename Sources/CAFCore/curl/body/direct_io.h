/**
 * Sends and receives the messages of an upgraded connection without libcurl.
 *
 * libcurl's transfers are made for bodies. To send a message, a transfer is resumed, calls the read callback twice and
 * pauses again, which takes three more system calls and most of the processor time. To receive one, libcurl asks the
 * kernel once more whether the socket is readable. So while libcurl holds no bytes and waits, the driver uses the
 * socket itself. What the socket doesn't accept is given to libcurl, which then waits until the socket is writable. The
 * end of the connection and its errors are left to libcurl, and so is TLS. Rows echo_32_1 and echo_32_64 of
 * Benchmarks/run measure it. Loop thread only.
 */
#ifndef AFC_CURL_BODY_DIRECT_IO_H
#define AFC_CURL_BODY_DIRECT_IO_H

#include "base/buffer.h"
#include "curl/driver.h"

#include <curl/curl.h>

/**
 * The size of a read or write on an upgraded connection: a message of 64 KiB with its head. Below 128 KiB, malloc()
 * doesn't make a mapping for each buffer, whose number the kernel limits. Pages that are never used take no memory.
 */
enum { AFC__UPGRADED_BUFFER = 68 * 1024 };

/** The state of an exchange whose connection is upgraded. */
typedef struct afc__direct {
    /** The connection's socket; CURL_SOCKET_BAD while libcurl doesn't wait for input on it. */
    curl_socket_t socket;
    int64_t given;    /**< Bytes that the read callback gave to libcurl. */
    int64_t sent;     /**< Bytes that were sent without libcurl. */
    int64_t received; /**< Bytes that were received without libcurl. */
    /** Bytes read from the body but not sent, for libcurl; from `unsent_offset` on. */
    afc__buffer unsent;
    size_t unsent_offset;
} afc__direct;

/** The buffers that all exchanges of a driver share, of AFC__UPGRADED_BUFFER bytes each; NULL until they are needed. */
typedef struct afc__direct_buffers {
    char *outgoing, *incoming;
} afc__direct_buffers;

void afc__direct_buffers_clear(afc__direct_buffers *buffers);

/** Call it when libcurl begins or ends to wait for input on a socket of an exchange that asks for an upgrade. */
void afc__direct_watches(afc__exchange *exchange, curl_socket_t descriptor, bool for_input);

/** Call it when the read callback gives bytes to libcurl. */
void afc__direct_gave(afc__exchange *exchange, size_t size);

/**
 * Returns whether there is something to send, or an error to report. The bytes are read from the body and kept for
 * libcurl, which must be resumed then.
 */
bool afc__direct_has_output(afc__exchange *exchange);

/** Moves bytes that were read from the body but not sent to `buffer`, for libcurl. Returns their number. */
size_t afc__direct_take_unsent(afc__exchange *exchange, char *buffer, size_t size);

/**
 * Sends what there is to send. Returns false if libcurl has to do it: it may hold bytes of either direction, the socket
 * accepted only a part, our direction has ended, too much was sent at once, or the connection isn't an upgraded one
 * without TLS.
 */
bool afc__direct_send(afc__exchange *exchange);

/**
 * Receives what a readable socket has, up to AFC__UPGRADED_BUFFER bytes, and sets `*out`, which is valid until the next
 * call; it is empty if there is nothing. Returns false if libcurl has to do it: it may hold bytes of either direction,
 * the connection isn't an upgraded one without TLS, or it has ended.
 */
bool afc__direct_receive(afc__exchange *exchange, curl_socket_t descriptor, afc_slice *out);

/** Adds the bytes that were sent and received without libcurl to the metrics of the hop. */
void afc__direct_add_bytes(const afc__exchange *exchange, afc_hop *hop);

/** Forgets the connection and the bytes to send, before another hop. */
void afc__direct_reset(afc__exchange *exchange);

#endif
