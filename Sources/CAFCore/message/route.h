/**
 * Checks network options and converts them to libcurl's notation. Pure functions.
 */
#ifndef AFC_MESSAGE_ROUTE_H
#define AFC_MESSAGE_ROUTE_H

#include <afcore/error.h>
#include <afcore/network.h>

/** Maximum size of a Unix-domain socket's path (sun_path without the NUL), or of an abstract name with its "@". */
enum { AFC__SOCKET_PATH_MAX = 107 };

/*
 * All functions fail with AFC_EINVAL, whose text names the invalid part, or AFC_ENOMEM; `*out` is then NULL. The caller
 * owns the texts, and frees them with afc_free().
 */

/**
 * Writes "host:port:address,[address]" for CURLOPT_RESOLVE. libcurl needs another entry for the absolute name "host.",
 * which is written with `is_absolute`.
 */
afc_status afc__route_write_override(char **out, const afc_host_override *given, bool is_absolute,
                                     afc_failure *failure);

/** Writes "if!name" or "host!address" for CURLOPT_INTERFACE, never a form that libcurl would resolve as a host. */
afc_status afc__route_write_interface(char **out, const char *given, afc_failure *failure);

/** Checks a list in the format of afc_network_options.dns_servers. */
afc_status afc__route_check_servers(const char *given, afc_failure *failure);

/** Checks a path, or "@" and an abstract name. An empty text, for no socket, is valid. */
afc_status afc__route_check_socket(const char *path, afc_failure *failure);

/**
 * Writes the host of the URL of a DoH server, in lower case, so that the certificate can be verified, and sets `*port`.
 * The URL must be https without a user.
 */
afc_status afc__route_write_doh_server(char **out, uint16_t *port, const char *url,
                                       afc_failure *failure);

#endif
