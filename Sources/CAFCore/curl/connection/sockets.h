/** libcurl's callbacks for sockets and timers, implemented on the loop. Loop thread only. */
#ifndef AFC_CURL_CONNECTION_SOCKETS_H
#define AFC_CURL_CONNECTION_SOCKETS_H

#include "curl/driver.h"

#include <curl/curl.h>

/**
 * CURLOPT_OPENSOCKETFUNCTION, whose context is an exchange, and CURLOPT_CLOSESOCKETFUNCTION, whose context is a driver.
 */
curl_socket_t afc__driver_open_socket(void *exchange, curlsocktype purpose,
                                      struct curl_sockaddr *address);
int afc__driver_close_socket(void *driver, curl_socket_t descriptor);

/** Makes libcurl run the handles whose timeouts have expired, as its timer does. Don't call it inside libcurl. */
void afc__driver_run_due(afc__driver *driver);

/** Makes the multi handle use the driver's loop. Returns false if libcurl refuses an option. */
bool afc__driver_use_loop(afc__driver *driver);

/** Detaches all sockets from their last exchanges, so that input left in them when they are closed is ignored. */
void afc__driver_forget_last(afc__driver *driver);

/** Frees the sockets, after libcurl has closed all of them. */
void afc__driver_free_sockets(afc__driver *driver);

#endif
