/**
 * What callers say about the ways to their hosts, checked and put into libcurl's notation. Pure.
 */
#ifndef AF_MESSAGE_ROUTE_H
#define AF_MESSAGE_ROUTE_H

#include <afcore/error.h>
#include <afcore/network.h>

/** Bytes of the longest path of a Unix-domain socket; one less for an abstract name with its "@". */
enum { AF__SOCKET_PATH_LONGEST = 107 };

/*
 * All of them: AF_EINVAL with a text that names what is wrong, AF_ENOMEM; `*out` is then NULL. The
 * texts are the caller's, af_free().
 */

/** "host:port:address,[address]"; libcurl looks up an absolute name, "host.", by itself. */
af_status af__route_write_override(char **out, const af_host_override *given, bool is_absolute,
                                   af_failure *failure);

/** "if!name" or "host!address": never what libcurl would look up as a host. */
af_status af__route_write_interface(char **out, const char *given, af_failure *failure);

/** A list as af_network_options.dns_servers has it. */
af_status af__route_check_servers(const char *given, af_failure *failure);

/** A path, or "@" and an abstract name. "" is none. */
af_status af__route_check_socket(const char *path, af_failure *failure);

/** The host of an https URL without user and fragment, lower case, for the verdict on its server. */
af_status af__route_write_doh_host(char **out, const char *url, af_failure *failure);

#endif
