/**
 * Sends and receives the messages of an upgraded connection, without libcurl.
 *
 * libcurl's transfers are made for bodies. To send a message, one is resumed, asks twice for bytes and pauses again,
 * which takes three further system calls and most of the processor time. To receive one, it asks the kernel once more
 * whether the socket is readable. So while libcurl holds no bytes and waits, the driver uses the socket itself. What
 * the socket doesn't take is given to libcurl, which then waits for room. The end of the connection and its errors are
 * left to libcurl, and so is TLS. Rows echo_32_1 and echo_32_64 of Benchmarks/run.
 */
#ifndef AFC_CURL_BODY_DIRECT_IO_H
#define AFC_CURL_BODY_DIRECT_IO_H

#include "base/buffer.h"
#include "curl/driver.h"

#include <curl/curl.h>

/**
 * What is read and written at once on an upgraded connection: a message of 64 KiB with its head. Below 128 KiB,
 * malloc() doesn't make a mapping for each buffer; the kernel limits their number. Pages that are never used take no
 * memory.
 */
enum { AFC__UPGRADED_BUFFER = 68 * 1024 };

/** What the driver sends and receives on an upgraded connection. */
typedef struct afc__direct {
    curl_socket_t socket; /**< CURL_SOCKET_BAD: unknown. */
    int64_t given;        /**< Bytes that libcurl was given, */
    int64_t sent;         /**< and those that were sent without it. */
    int64_t received;     /**< Bytes that were received without libcurl. */
    afc__buffer unsent;   /**< Bytes for libcurl, from the offset on. */
    size_t unsent_offset;
} afc__direct;

/** AFC__UPGRADED_BUFFER bytes each, for all exchanges of a driver; NULL: not needed so far. */
typedef struct afc__direct_buffers {
    char *outgoing, *incoming;
} afc__direct_buffers;

void afc__direct_buffers_clear(afc__direct_buffers *buffers);

/** Called when libcurl begins or ends to wait for input on a socket of an exchange that asks for an upgrade. */
void afc__direct_watches(afc__exchange *exchange, curl_socket_t descriptor, bool for_input);

/** Called when the read callback gives libcurl bytes. */
void afc__direct_gave(afc__exchange *exchange, size_t size);

/** Returns whether there is something to send. It is read, and kept for libcurl, which must be resumed then. */
bool afc__direct_has_output(afc__exchange *exchange);

/** Copies bytes that were read but not sent, for libcurl. 0: there are none. */
size_t afc__direct_take_unsent(afc__exchange *exchange, char *buffer, size_t size);

/**
 * Sends what there is to send. Returns false if libcurl has to continue: it may hold bytes of either direction, the
 * socket took only a part, our direction has ended, or the connection isn't a plain one.
 */
bool afc__direct_send(afc__exchange *exchange);

/**
 * Receives what there is on a readable socket, up to AFC__UPGRADED_BUFFER bytes, valid until the next call; an
 * empty slice if there is nothing. Returns false if libcurl has to do it: it may hold bytes of either direction, the
 * connection isn't a plain one, or it has ended.
 */
bool afc__direct_receive(afc__exchange *exchange, curl_socket_t descriptor, afc_slice *out);

/** Adds the bytes that were sent and received without libcurl to the metrics of the hop. */
void afc__direct_add_bytes(const afc__exchange *exchange, afc_hop *hop);

/** Forgets the connection, before another hop. */
void afc__direct_reset(afc__exchange *exchange);

#endif
