#include "curl/body/direct_io.h"

#include "base/alloc.h"
#include "curl/exchange_state.h"

#include <errno.h>
#include <sys/socket.h>

/* After this many writes libcurl continues, so that other sockets aren't kept waiting. */
enum { MAX_WRITES = 8 };

/* ---- When ---------------------------------------------------------------------------------- */

void afc__direct_watches(afc__exchange *exchange, curl_socket_t descriptor, bool for_input) {
    afc__direct *direct = &exchange->direct;
    /* While libcurl connects several sockets, it watches none of them for input, so this one is the connection's. */
    if (for_input) {
        direct->socket = descriptor;
    } else if (direct->socket == descriptor) {
        direct->socket = CURL_SOCKET_BAD;
    }
}

void afc__direct_gave(afc__exchange *exchange, size_t size) {
    exchange->direct.given += (int64_t)size;
}

void afc__direct_add_bytes(const afc__exchange *exchange, afc_hop *hop) {
    hop->sent += exchange->direct.sent;
    hop->received += exchange->direct.received;
}

void afc__direct_reset(afc__exchange *exchange) {
    afc__buffer_clear(&exchange->direct.unsent);
    exchange->direct = (afc__direct){.socket = CURL_SOCKET_BAD};
    afc__buffer_init(&exchange->direct.unsent, AFC__UPGRADED_BUFFER);
}

void afc__direct_buffers_clear(afc__direct_buffers *buffers) {
    afc_free(buffers->outgoing);
    afc_free(buffers->incoming);
    *buffers = (afc__direct_buffers){NULL, NULL};
}

/** Returns whether libcurl holds no bytes of either direction, and waits until it is resumed or there is input. */
static bool can_bypass_libcurl(const afc__exchange *exchange) {
    const afc__direct *direct = &exchange->direct;
    curl_off_t sent = 0;
    if (!afc__exchange_sending_waits(exchange) || direct->socket == CURL_SOCKET_BAD) return false;
    if (exchange->run.has_ended || exchange->run.tls_layers > 0) return false;
    if (afc__exchange_receiving_is_paused(exchange)) return false;
    if (!afc__transfer_is_upgraded(exchange->hop.transfer)) return false;
    curl_easy_getinfo(exchange->easy, CURLINFO_SIZE_UPLOAD_T, &sent);
    return sent == direct->given;
}

/** Makes a buffer of the driver at its first use. Returns false when out of memory. */
static bool make_buffer(char **buffer) {
    if (*buffer == NULL) *buffer = afc__alloc(AFC__UPGRADED_BUFFER);
    return *buffer != NULL;
}

/* ---- Sending ------------------------------------------------------------------------------- */

static void keep_unsent(afc__exchange *exchange, afc_slice rest) {
    afc__buffer *unsent = &exchange->direct.unsent;
    exchange->direct.unsent_offset = 0;
    unsent->size = 0;
    if (afc__buffer_append(unsent, rest.bytes, rest.size) == AFC_OK) return;
    afc__transfer_fail_memory(exchange->hop.transfer);
}

size_t afc__direct_take_unsent(afc__exchange *exchange, char *buffer, size_t size) {
    afc__direct *direct = &exchange->direct;
    size_t left = direct->unsent.size - direct->unsent_offset;
    if (left == 0) return 0;
    size_t count = left < size ? left : size;
    memcpy(buffer, direct->unsent.bytes + direct->unsent_offset, count);
    direct->unsent_offset += count;
    if (count == left) {
        afc__buffer_clear(&direct->unsent);
        direct->unsent_offset = 0;
    }
    return count;
}

bool afc__direct_has_output(afc__exchange *exchange) {
    afc__driver *driver = exchange->driver;
    if (exchange->direct.unsent.size > exchange->direct.unsent_offset) return true;
    if (!make_buffer(&driver->direct.outgoing)) return true;
    ptrdiff_t count = afc__transfer_read_body(exchange->hop.transfer, driver->direct.outgoing,
                                              AFC__UPGRADED_BUFFER);
    if (count == AFC_READ_AGAIN) return false;
    /* The end or an error: libcurl calls the read callback, which gets the same result. */
    if (count > 0) keep_unsent(exchange, (afc_slice){driver->direct.outgoing, (size_t)count});
    return true;
}

/** Returns how many bytes the socket accepted; 0 also after an error, which libcurl will meet and report. */
static size_t write_some(int descriptor, const char *bytes, size_t size) {
    ssize_t count;
    do {
        count = send(descriptor, bytes, size, MSG_NOSIGNAL | MSG_DONTWAIT);
    } while (count < 0 && errno == EINTR);
    return count > 0 ? (size_t)count : 0;
}

bool afc__direct_send(afc__exchange *exchange) {
    afc__direct *direct = &exchange->direct;
    afc__driver *driver = exchange->driver;
    if (!can_bypass_libcurl(exchange)) return false;
    if (!make_buffer(&driver->direct.outgoing)) return false;
    for (int writes = 0; writes < MAX_WRITES; writes++) {
        afc_slice lent = afc__transfer_lend_body(exchange->hop.transfer);
        if (lent.size > 0) {
            size_t sent = write_some(direct->socket, lent.bytes, lent.size);
            direct->sent += (int64_t)sent;
            afc__transfer_took_body(exchange->hop.transfer, sent);
            if (sent < lent.size) return false;
            continue;
        }
        ptrdiff_t count = afc__transfer_read_body(exchange->hop.transfer, driver->direct.outgoing,
                                                  AFC__UPGRADED_BUFFER);
        if (count == AFC_READ_AGAIN) return true;
        /* The end or an error: libcurl calls the read callback, which gets the same result. */
        if (count <= 0) return false;
        size_t sent = write_some(direct->socket, driver->direct.outgoing, (size_t)count);
        direct->sent += (int64_t)sent;
        if (sent == (size_t)count) continue;
        keep_unsent(exchange, (afc_slice){driver->direct.outgoing + sent, (size_t)count - sent});
        return false;
    }
    return false;
}

/* ---- Receiving ----------------------------------------------------------------------------- */

bool afc__direct_receive(afc__exchange *exchange, curl_socket_t descriptor, afc_slice *out) {
    afc__driver *driver = exchange->driver;
    *out = (afc_slice){NULL, 0};
    if (!can_bypass_libcurl(exchange) || descriptor != exchange->direct.socket) return false;
    if (!make_buffer(&driver->direct.incoming)) return false;
    ssize_t count;
    do {
        count = recv(descriptor, driver->direct.incoming, AFC__UPGRADED_BUFFER, MSG_DONTWAIT);
    } while (count < 0 && errno == EINTR);
    /* Errors and the end are left to libcurl, which gets them again. */
    if (count <= 0) return count < 0 && errno == EAGAIN;
    exchange->direct.received += count;
    *out = (afc_slice){driver->direct.incoming, (size_t)count};
    return true;
}
