/** libcurl's socket and timer callbacks, implemented on the loop. */
#ifndef AFC_CURL_CONNECTION_SOCKETS_H
#define AFC_CURL_CONNECTION_SOCKETS_H

#include "curl/driver.h"

#include <curl/curl.h>

/** CURLOPT_OPENSOCKETFUNCTION and CURLOPT_CLOSESOCKETFUNCTION. */
curl_socket_t afc__driver_open_socket(void *exchange, curlsocktype purpose,
                                      struct curl_sockaddr *address);
int afc__driver_close_socket(void *driver, curl_socket_t descriptor);

/** Runs the handles whose time has come, as libcurl's timer does. Don't call it inside libcurl. */
void afc__driver_run_due(afc__driver *driver);

/** Makes libcurl use the driver's loop. false: libcurl refuses. */
bool afc__driver_use_loop(afc__driver *driver);

/**
 * Detaches all sockets from their exchanges: input left in them when they are closed is ignored.
 */
void afc__driver_forget_last(afc__driver *driver);

/** Frees the sockets, after libcurl has closed all of them. */
void afc__driver_free_sockets(afc__driver *driver);

#endif
