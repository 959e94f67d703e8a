/** Passes bodies between libcurl and the transfer, and handles back-pressure. Loop thread only. */
#ifndef AFC_CURL_BODY_BODY_FLOW_H
#define AFC_CURL_BODY_BODY_FLOW_H

#include "base/list.h"
#include "curl/driver.h"

#include <curl/curl.h>

/** Exchanges of a driver that need something after libcurl has returned, or that end without a message of libcurl. */
typedef struct afc__body_lists {
    afc__list unwatched; /**< Exchanges whose peer may have ended its direction; see peer_end.h. */
    /** Exchanges whose end libcurl doesn't report; see afc__driver_next_broken(). */
    afc__list broken;
} afc__body_lists;

void afc__body_lists_init(afc__body_lists *lists);

/** CURLOPT_WRITEFUNCTION and CURLOPT_READFUNCTION; the context is an exchange. */
size_t afc__exchange_take_body(char *bytes, size_t one, size_t size, void *exchange);
size_t afc__exchange_read_body(char *buffer, size_t one, size_t size, void *exchange);

/**
 * Passes on bytes of an upgraded connection that were received without libcurl (direct_io.h). The exchange may end: it
 * is then reported by afc__driver_next_broken().
 */
void afc__exchange_take_received(afc__exchange *exchange, afc_slice bytes);

/** Reports the end of an exchange that libcurl doesn't report: afc__driver_next_broken() returns the exchange. */
void afc__exchange_report_end(afc__exchange *exchange);

/** Returns the next exchange whose end was reported by afc__exchange_report_end(), or NULL. */
afc__exchange *afc__driver_next_broken(afc__driver *driver);

/** Removes the exchange from the driver's lists of this file, before it is recycled. */
void afc__exchange_leave_lists(afc__exchange *exchange);

/**
 * Starts the wait for 100 (Continue), if libcurl may forget its end (afc__quirks.forgets_waiting_body). Called when the
 * exchange has its connection, before its request is sent.
 */
void afc__exchange_await_continue(afc__exchange *exchange);

/** Implements afc__exchange_continue() for a paused exchange; same result. */
bool afc__exchange_resume(afc__exchange *exchange);

/** Returns whether the transfer still keeps bytes although libcurl has ended the exchange in order. */
bool afc__exchange_must_deliver(afc__exchange *exchange);

#endif
