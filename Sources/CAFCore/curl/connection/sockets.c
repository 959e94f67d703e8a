/* libcurl's callbacks for sockets (open, close, watch) and its timer, implemented on the loop. */
#include "curl/connection/sockets.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/list.h"
#include "curl/body/body_flow.h"
#include "curl/body/direct_io.h"
#include "curl/body/early_response.h"
#include "curl/body/peer_end.h"
#include "curl/body/read_pause.h"
#include "curl/connection/connection_reuse.h"
#include "curl/connection/idle_connections.h"
#include "curl/connection/next_address.h"
#include "curl/connection/socket.h"
#include "curl/exchange_state.h"
#include "curl/request/network.h"
#include "curl/trace.h"
#include "tls/tls.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* ---- Sockets ------------------------------------------------------------------------------- */

/**
 * Records activity on a ready socket. On a shared connection it may be another exchange's;
 * afc__exchange_last_activity() counts the bytes of each exchange there.
 */
static void note_activity(afc__exchange *exchange) {
    if (exchange != NULL && exchange->hop.transfer != NULL && !exchange->run.is_multiplexed)
        afc__exchange_note_activity(exchange);
}

/**
 * Sets `*moves` to the number of times that bytes were moved on a TLS connection. Returns false if it isn't known:
 * through a proxy over TLS, only the moves of the inner connection would be counted.
 */
static bool counts_moves(const afc__exchange *exchange, uint64_t *moves) {
    return exchange != NULL && exchange->proxy_peer == NULL &&
           afc__tls_peer_get_moves(exchange->peer, moves);
}

/**
 * Calls libcurl for a ready socket, or for a timeout (CURL_SOCKET_TIMEOUT), and does what must follow each such call.
 */
static void drive(afc__driver *driver, curl_socket_t descriptor, int what) {
    int running;
    if (afc__multi_is_usable(&driver->multi))
        afc__multi_check(&driver->multi, afc__driver_recheck(driver));
    if (!afc__multi_is_usable(&driver->multi)) return;
    afc__tls_begin_turn(driver->tls);
    afc__tls_begin_turn(driver->proxy_tls);
    CURLMcode code = curl_multi_socket_action(driver->multi.handle, descriptor, what, &running);
    afc__multi_check(&driver->multi, code);
    if (!afc__multi_is_usable(&driver->multi)) return;
    afc__driver_begin_next_attempts(driver);
}

/**
 * Returns whether there is something to read on a socket that libcurl doesn't wait for. `readiness` may be stale: when
 * it is called for another socket, libcurl also runs the transfers whose timers have expired, which may have read the
 * input.
 */
static bool is_still_readable(const afc__watch *watch, unsigned readiness) {
    if ((readiness & (AFC__ENDED | AFC__BROKEN)) != 0) return true;
    return (readiness & AFC__READABLE) != 0 && afc__socket_has_input(watch->descriptor);
}

static void socket_is_ready(afc__watch *watch, unsigned readiness) {
    afc__socket *entry = (afc__socket *)(void *)watch;
    afc__driver *driver = entry->driver;
    if (entry->wanted == 0) {
        /*
         * The socket is still watched for its last use, perhaps also for being writable, which isn't relevant any more.
         */
        if (!is_still_readable(watch, readiness) &&
            afc__loop_watch(driver->loop, watch, AFC__READABLE) == AFC_OK) {
            return;
        }
        afc__loop_unwatch(driver->loop, watch);
        afc__reuse_on_input(entry);
        afc__idle_on_input(entry, readiness);
        return;
    }
    readiness = afc__reading_filter(entry, readiness);
    if (readiness == 0) return;
    afc__exchange *exchange = entry->exchange;
    uint64_t before, after;
    bool is_counted = counts_moves(exchange, &before);
    if (!is_counted) note_activity(exchange);
    bool is_input = readiness == AFC__READABLE && exchange != NULL;
    afc_slice input;
    if (is_input && afc__direct_receive(entry->exchange, watch->descriptor, &input)) {
        if (input.size > 0) afc__exchange_take_received(entry->exchange, input);
        return;
    }
    int what = 0;
    if (readiness & AFC__READABLE) what |= CURL_CSELECT_IN;
    if (readiness & AFC__WRITABLE) what |= CURL_CSELECT_OUT;
    if (readiness & AFC__BROKEN) what |= CURL_CSELECT_ERR;
    if (afc__reading_is_mixed(entry)) what = 0;
    drive(driver, watch->descriptor, what);
    /* No bytes moved if OpenSSL lacks memory for a record: it reads nothing then, and the socket stays ready. */
    if (is_counted && (!counts_moves(exchange, &after) || after != before)) note_activity(exchange);
}

static afc__socket *socket_entry(afc__driver *driver, curl_socket_t descriptor) {
    size_t index = (size_t)descriptor;
    if (index >= driver->socket_capacity) {
        size_t capacity = index + 64;
        afc__socket **sockets = afc__realloc(driver->sockets, capacity * sizeof *sockets);
        if (sockets == NULL) return NULL;
        memset(sockets + driver->socket_capacity, 0,
               (capacity - driver->socket_capacity) * sizeof *sockets);
        driver->sockets = sockets;
        driver->socket_capacity = capacity;
    }
    if (driver->sockets[index] == NULL) {
        afc__socket *entry = afc__zalloc(sizeof *entry);
        if (entry == NULL) return NULL;
        entry->watch = (afc__watch){.descriptor = descriptor, .ready = socket_is_ready};
        entry->driver = driver;
        driver->sockets[index] = entry;
    }
    return driver->sockets[index];
}

/**
 * Records that a socket can't be watched, and returns the error for libcurl. libcurl now fails every transfer when it
 * runs that transfer next. 7.88.1 crashes if the transfer has no connection yet, so the multi handle isn't used any
 * more. The error is recorded here because curl_easy_pause(), which calls back, too, doesn't always return it.
 */
static int fail_to_watch(afc__driver *driver) {
    afc__multi_check(&driver->multi, CURLM_ABORTED_BY_CALLBACK);
    return -1;
}

/**
 * Reports that an attempt to connect has ended, if the socket was one. Until it is established, a connection belongs to
 * the exchange that opened it; see afc__reuse_opened().
 */
static void note_end_of_attempt(const afc__socket *entry) {
    bool is_attempt = entry->opener != NULL && entry->opener->serial == entry->opener_serial;
    if (is_attempt) afc__exchange_attempt_ended(entry->opener);
}

/** Resets everything that is remembered of a closed socket, whose descriptor may soon be that of another file. */
static void forget_closed(afc__socket *entry) {
    afc__driver *driver = entry->driver;
    if (entry->name != NULL) afc__name_connection_closed(driver, entry->name);
    entry->name = NULL;
    afc__idle_ends(entry);
    afc__reuse_closing(entry);
    afc__loop_unwatch(driver->loop, &entry->watch);
    entry->is_own = false;
    entry->wanted = 0;
    afc__socket_set_exchange(entry, NULL);
}

/**
 * CURLMOPT_SOCKETFUNCTION: sets the readiness that libcurl waits for. A socket that this driver opened stays registered
 * with the loop when libcurl releases it after an exchange. That saves two system calls per request on a reused
 * connection.
 */
static int socket_changed(CURL *easy, curl_socket_t descriptor, int what, void *context,
                          void *assigned) {
    (void)assigned;
    afc__driver *driver = context;
    afc__socket *entry = socket_entry(driver, descriptor);
    if (entry == NULL) return fail_to_watch(driver);
    if (what == CURL_POLL_REMOVE) {
        /* libcurl before 8.2 doesn't call CURLOPT_CLOSESOCKETFUNCTION for the socket of an attempt to connect. */
        note_end_of_attempt(entry);
        if (entry->exchange != NULL) {
            afc__exchange_socket_is_unwatched(entry->exchange, descriptor);
            afc__direct_watches(entry->exchange, descriptor, false);
        }
        entry->wanted = 0;
        afc__socket_set_exchange(entry, NULL);
        if (entry->is_own)
            afc__idle_begins(entry);
        else
            afc__loop_unwatch(driver->loop, &entry->watch);
        /* Otherwise libcurl 7 would pool the connection, and give the next request the response to this one. */
        if (driver->multi.is_abandoning) shutdown(descriptor, SHUT_RDWR);
        return 0;
    }
    afc__idle_ends(entry);
    unsigned wanted = 0;
    if (what & CURL_POLL_IN) wanted |= AFC__READABLE;
    if (what & CURL_POLL_OUT) wanted |= AFC__WRITABLE;
    /* Usually `last` is the handle's exchange already: take_connection() has set it. */
    if (entry->last == NULL || entry->last->easy != easy) {
        char *exchange = NULL;
        curl_easy_getinfo(easy, CURLINFO_PRIVATE, &exchange);
        afc__socket_set_last(entry, (afc__exchange *)(void *)exchange);
    }
    afc__socket_set_exchange(entry, entry->last);
    /* `last` is NULL for the handles that libcurl makes for DNS over HTTPS. */
    if (entry->last != NULL) {
        entry->last_serial = entry->last->serial;
        if (wanted & AFC__READABLE) afc__direct_watches(entry->last, descriptor, true);
    }
    if (!entry->is_own && entry->watch.watched == 0) fcntl(descriptor, F_SETFD, FD_CLOEXEC);
    entry->wanted = wanted;
    return afc__socket_watch(entry) ? 0 : fail_to_watch(driver);
}

static curl_socket_t no_socket(afc__exchange *exchange) {
    afc__exchange_attempt_ended(exchange);
    return CURL_SOCKET_BAD;
}

curl_socket_t afc__driver_open_socket(void *context, curlsocktype purpose,
                                      struct curl_sockaddr *address) {
    (void)purpose;
    afc__exchange *exchange = context;
    afc__exchange_drop_early_response(exchange);
    exchange->run.tls_layers = 0;
    exchange->hop.is_looking_up = false;
    afc__exchange_attempt_begins(exchange);
    if (!afc__exchange_may_connect(exchange, address)) return no_socket(exchange);
    /* SOCK_CLOEXEC, so that programs started by the host process don't inherit it. */
    curl_socket_t descriptor = afc__exchange_uses_own_listener(exchange)
                                   ? afc__exchange_open_reinjection(exchange, address)
                                   : socket(address->family, address->socktype | SOCK_CLOEXEC,
                                            address->protocol);
    if (descriptor < 0) {
        exchange->run.socket_error = errno;
        return no_socket(exchange);
    }
    if (!afc__exchange_uses_own_listener(exchange)) afc__exchange_trace_socket(exchange, address);
    afc__socket *entry = socket_entry(exchange->driver, descriptor);
    if (entry == NULL) {
        /* From CURL_SOCKET_BAD libcurl only learns that there is no socket, and would report a refused connection. */
        if (exchange->hop.transfer != NULL) {
            afc__transfer_fail_text(exchange->hop.transfer, AFC_ENOMEM,
                                    "out of memory for a connection");
        }
        close(descriptor);
        return no_socket(exchange);
    }
    /* libcurl may have closed the last socket with this descriptor without calling back. */
    forget_closed(entry);
    entry->is_own = true;
    afc__reuse_opened(entry, exchange);
    entry->name = afc__name_of_connection(exchange);
    afc__exchange_names_are_loaded(exchange);
    afc__exchange_add_scope(exchange, address);
    if (exchange->hop.transfer != NULL) {
        /* The lookup counts towards the connect limit, the wait for a free connection doesn't. */
        afc__exchange_report_connecting(exchange, afc__now_us() - exchange->hosts.waited_us);
    }
    return descriptor;
}

int afc__driver_close_socket(void *context, curl_socket_t descriptor) {
    afc__driver *driver = context;
    if (descriptor >= 0 && (size_t)descriptor < driver->socket_capacity &&
        driver->sockets[descriptor] != NULL) {
        afc__socket *entry = driver->sockets[descriptor];
        if (entry->last != NULL && entry->last->serial == entry->last_serial) {
            afc__exchange_recover_early_response(entry->last, descriptor);
        }
        afc__socket_set_last(entry, NULL);
        note_end_of_attempt(entry);
        forget_closed(entry);
    }
    return close(descriptor);
}

/* ---- Time ---------------------------------------------------------------------------------- */

/** CURLMOPT_TIMERFUNCTION: arms or disarms the driver's alarm. */
static int timer_changed(CURLM *multi, long timeout_ms, void *context) {
    (void)multi;
    afc__driver *driver = context;
    if (timeout_ms < 0) {
        afc__loop_disarm(driver->loop, &driver->alarm);
    } else {
        int64_t now = timeout_ms == 0 ? afc__loop_now(driver->loop) : afc__now_us();
        afc__loop_arm(driver->loop, &driver->alarm, now + timeout_ms * 1000);
    }
    return 0;
}

void afc__driver_run_due(afc__driver *driver) {
    drive(driver, CURL_SOCKET_TIMEOUT, 0);
    if (afc__timer_is_armed(&driver->alarm.timer) || !afc__multi_is_usable(&driver->multi)) return;
    /*
     * libcurl doesn't call CURLMOPT_TIMERFUNCTION if its next timeout equals the last one. If the alarm fired slightly
     * too early for libcurl, it would never be armed again.
     */
    long left = -1;
    if (curl_multi_timeout(driver->multi.handle, &left) != CURLM_OK || left < 0) return;
    timer_changed(driver->multi.handle, left > 0 ? left : 1, driver);
}

static void on_timer(afc__alarm *alarm) {
    afc__driver_run_due(AFC__OWNER(alarm, afc__driver, alarm));
}

/* ---- Of a driver --------------------------------------------------------------------------- */

bool afc__driver_use_loop(afc__driver *driver) {
    CURLM *multi = driver->multi.handle;
    driver->alarm.callback = on_timer;
    return curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, socket_changed) == CURLM_OK &&
           curl_multi_setopt(multi, CURLMOPT_SOCKETDATA, driver) == CURLM_OK &&
           curl_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, timer_changed) == CURLM_OK &&
           curl_multi_setopt(multi, CURLMOPT_TIMERDATA, driver) == CURLM_OK;
}

void afc__driver_forget_last(afc__driver *driver) {
    for (size_t i = 0; i < driver->socket_capacity; i++) {
        if (driver->sockets[i] != NULL) afc__socket_set_last(driver->sockets[i], NULL);
    }
}

void afc__driver_free_sockets(afc__driver *driver) {
    for (size_t i = 0; i < driver->socket_capacity; i++) {
        if (driver->sockets[i] != NULL) afc__tls_peer_release(driver->sockets[i]->proxy);
        afc_free(driver->sockets[i]);
    }
    afc_free(driver->sockets);
}
