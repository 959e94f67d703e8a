/*
 * libcurl closes connections that are too old or dead only when a request looks for a connection
 * (prune_dead_connections() in lib/url.c, later Curl_cpool_prune_dead() in lib/conncache.c), and at most once a second.
 * A session without requests would keep them for ever, with what they cost the server. So a handle that can't be
 * connected makes libcurl prune them.
 *
 * From 8.22.0 on, libcurl prunes with its own handle, whose limits of age are the defaults. So what libcurl has kept is
 * shut down first, and found dead when libcurl prunes again.
 */
#include "curl/connection/pruning.h"

#include "base/clock.h"
#include "curl/connection/connection_reuse.h"
#include "curl/connection/idle_connections.h"
#include "curl/connection/socket.h"
#include "curl/connection/sockets.h"
#include "curl/driver_internal.h"

/* libcurl prunes at most once a second; this is slightly longer. */
static const int64_t interval_us = 1100000;

/*
 * How often libcurl is made to prune because of one connection. If libcurl still keeps the connection, for whatever
 * reason, it checks it again with the next request.
 */
enum { MAX_PRUNES = 4 };

/* A path where no server can listen. So no connection in the pool matches, and no name is looked up. */
static const char nowhere[] = "/dev/null/nowhere";

/* ---- Closing ------------------------------------------------------------------------------- */

static curl_socket_t open_none(void *context, curlsocktype purpose, struct curl_sockaddr *address) {
    (void)context, (void)purpose, (void)address;
    return CURL_SOCKET_BAD;
}

/** Makes a handle that looks for a connection and can't open one. Returns NULL when out of memory. */
static CURL *make_handle(const afc__driver *driver) {
    CURL *easy = curl_easy_init();
    if (easy == NULL) return NULL;
    bool is_set = curl_easy_setopt(easy, CURLOPT_URL, "http://localhost/") == CURLE_OK &&
                  curl_easy_setopt(easy, CURLOPT_UNIX_SOCKET_PATH, nowhere) == CURLE_OK &&
                  curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, open_none) == CURLE_OK &&
                  curl_easy_setopt(easy, CURLOPT_PROXY, "") == CURLE_OK &&
                  curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L) == CURLE_OK &&
                  curl_easy_setopt(easy, CURLOPT_MAXAGE_CONN, driver->max_idle_s) == CURLE_OK &&
                  curl_easy_setopt(easy, CURLOPT_MAXLIFETIME_CONN, driver->max_age_s) == CURLE_OK;
    if (is_set) return easy;
    curl_easy_cleanup(easy);
    return NULL;
}

/** Makes libcurl close the connections that it finds too old or dead. */
static void prune(afc__driver *driver) {
    CURLM *multi = driver->multi.handle;
    if (!afc__multi_is_usable(&driver->multi)) return;
    CURL *easy = make_handle(driver);
    if (easy == NULL) return;
    /* At the limit of connections libcurl would close another one for this handle, or make the handle wait. */
    curl_multi_setopt(multi, CURLMOPT_MAX_TOTAL_CONNECTIONS, 0L);
    if (curl_multi_add_handle(multi, easy) == CURLM_OK) {
        afc__driver_run_due(driver);
        curl_multi_remove_handle(multi, easy);
    }
    curl_multi_setopt(multi, CURLMOPT_MAX_TOTAL_CONNECTIONS, (long)driver->max_connections);
    curl_easy_cleanup(easy);
}

/** Shuts down the due connections that libcurl has kept, and gives up those that it keeps too often. */
static void end_remaining(afc__driver *driver) {
    afc__list *due = &driver->idle.due;
    for (afc__node *node = due->head.next, *next; node != &due->head; node = next) {
        next = node->next;
        afc__socket *socket = AFC__OWNER(node, afc__socket, idle.node);
        if (++socket->idle.prunes == 1) afc__reuse_end(socket);
        if (socket->idle.prunes == MAX_PRUNES) afc__idle_ends(socket);
    }
}

/* ---- The alarm ----------------------------------------------------------------------------- */

static void on_alarm(afc__alarm *alarm) {
    afc__driver *driver = AFC__OWNER(alarm, afc__driver, idle.alarm);
    afc__idle_connections *idle = &driver->idle;
    int64_t now = afc__now_us();
    afc__idle_expire(driver, now);
    if (!afc__list_is_empty(&idle->due) && now >= idle->prune_due_us) {
        idle->prune_due_us = now + interval_us;
        prune(driver);
        end_remaining(driver);
    }
    afc__idle_arm(driver);
}

void afc__pruning_init(afc__driver *driver) {
    afc__idle_init(&driver->idle);
    driver->idle.alarm.callback = on_alarm;
}

void afc__pruning_clear(afc__driver *driver) {
    afc__loop_disarm(driver->loop, &driver->idle.alarm);
}
