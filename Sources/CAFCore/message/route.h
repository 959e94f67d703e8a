/**
 * Checks network options and converts them to libcurl's notation. Pure functions.
 */
#ifndef AF_MESSAGE_ROUTE_H
#define AF_MESSAGE_ROUTE_H

#include <afcore/error.h>
#include <afcore/network.h>

/** Maximum size of a Unix-domain socket's path (sun_path without the NUL), or of an abstract name with its "@". */
enum { AF__SOCKET_PATH_LONGEST = 107 };

/*
 * All functions: AF_EINVAL with a text that names the invalid part, AF_ENOMEM; `*out` is then NULL. The caller
 * owns the texts, af_free().
 */

/**
 * Writes "host:port:address,[address]" for CURLOPT_RESOLVE. libcurl resolves an absolute name, "host.",
 * separately.
 */
af_status af__route_write_override(char **out, const af_host_override *given, bool is_absolute,
                                   af_failure *failure);

/** Writes "if!name" or "host!address" for CURLOPT_INTERFACE: never a form that libcurl would resolve as a host. */
af_status af__route_write_interface(char **out, const char *given, af_failure *failure);

/** Checks a list in the format of af_network_options.dns_servers. */
af_status af__route_check_servers(const char *given, af_failure *failure);

/** Checks a path, or "@" and an abstract name. "": none. */
af_status af__route_check_socket(const char *path, af_failure *failure);

/** Writes the host of an https URL without user and fragment, in lower case, for the verification of its server. */
af_status af__route_write_doh_host(char **out, const char *url, af_failure *failure);

#endif
