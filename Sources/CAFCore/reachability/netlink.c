#include "reachability/netlink.h"

#include "base/failure.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/rtnetlink.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

/* Nothing is sent to this port, but policy routing may depend on it. */
enum { PROBE_PORT = 443 };

static unsigned bit(unsigned group) {
    return 1u << (group - 1);
}

int afc__reach_open(void) {
    int descriptor = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE);
    if (descriptor < 0) return -errno;
    struct sockaddr_nl address = {.nl_family = AF_NETLINK,
                                  .nl_groups = bit(RTNLGRP_LINK) | bit(RTNLGRP_IPV4_IFADDR) |
                                               bit(RTNLGRP_IPV6_IFADDR) | bit(RTNLGRP_IPV4_ROUTE) |
                                               bit(RTNLGRP_IPV6_ROUTE) | bit(RTNLGRP_IPV4_RULE) |
                                               bit(RTNLGRP_IPV6_RULE)};
    if (bind(descriptor, (struct sockaddr *)&address, sizeof address) == 0) return descriptor;
    int error = errno;
    close(descriptor);
    return -error;
}

bool afc__reach_send(int descriptor, const afc__reach_request *request) {
    struct sockaddr_nl kernel = {.nl_family = AF_NETLINK};
    ssize_t sent;
    do {
        sent = sendto(descriptor, request, request->header.nlmsg_len, 0, (struct sockaddr *)&kernel,
                      sizeof kernel);
    } while (sent < 0 && errno == EINTR);
    return sent == (ssize_t)request->header.nlmsg_len;
}

ssize_t afc__reach_receive(int descriptor, void *buffer, size_t size) {
    for (;;) {
        struct sockaddr_nl sender = {0};
        struct iovec piece = {buffer, size};
        struct msghdr message = {
            .msg_name = &sender, .msg_namelen = sizeof sender, .msg_iov = &piece, .msg_iovlen = 1};
        ssize_t count = recvmsg(descriptor, &message, 0);
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) return errno == EAGAIN ? 0 : -errno;
        if (message.msg_flags & MSG_TRUNC) return -ENOBUFS;
        /* Ignores messages from other processes, which can send to this socket, too. */
        if (sender.nl_pid == 0 && count > 0) return count;
    }
}

/* ---- Routes -------------------------------------------------------------------------------- */

bool afc__reach_address_of(afc__reach_address *out, const struct sockaddr *address) {
    *out = (afc__reach_address){0};
    if (address->sa_family == AF_INET) {
        struct sockaddr_in v4;
        memcpy(&v4, address, sizeof v4);
        memcpy(out->bytes, &v4.sin_addr, sizeof v4.sin_addr);
    } else if (address->sa_family == AF_INET6) {
        struct sockaddr_in6 v6;
        memcpy(&v6, address, sizeof v6);
        memcpy(out->bytes, &v6.sin6_addr, sizeof v6.sin6_addr);
        out->scope = (int)v6.sin6_scope_id;
    } else {
        return false;
    }
    out->family = (uint8_t)address->sa_family;
    return true;
}

static socklen_t fill(struct sockaddr_storage *out, const afc__reach_address *address) {
    *out = (struct sockaddr_storage){0};
    if (address->family == AF_INET) {
        struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = htons(PROBE_PORT)};
        memcpy(&v4.sin_addr, address->bytes, sizeof v4.sin_addr);
        memcpy(out, &v4, sizeof v4);
        return sizeof v4;
    }
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6,
                              .sin6_port = htons(PROBE_PORT),
                              .sin6_scope_id = (uint32_t)address->scope};
    memcpy(&v6.sin6_addr, address->bytes, sizeof v6.sin6_addr);
    memcpy(out, &v6, sizeof v6);
    return sizeof v6;
}

afc__reach_route afc__reach_probe(const afc__reach_address *destination) {
    afc__reach_route route = {.destination = *destination};
    int descriptor = socket(destination->family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (descriptor < 0) {
        /* Other errors, such as EAFNOSUPPORT, mean that there is no such route. */
        route.is_unknown = afc__is_shortage(errno);
        return route;
    }
    struct sockaddr_storage address;
    socklen_t size = fill(&address, destination);
    if (connect(descriptor, (struct sockaddr *)&address, size) == 0) {
        size = sizeof address;
        route.exists = getsockname(descriptor, (struct sockaddr *)&address, &size) == 0 &&
                       afc__reach_address_of(&route.source, (struct sockaddr *)&address);
    } else {
        route.is_unknown = afc__is_shortage(errno);
    }
    close(descriptor);
    return route;
}

/* ---- Kinds of links ------------------------------------------------------------------------ */

/** Reads a small file as text; `out` is empty if that fails. */
static void read_text(const char *class, const char *name, const char *file, char *out,
                      size_t size) {
    char path[256];
    out[0] = 0;
    int length = snprintf(path, sizeof path, "%s/%s/%s", class, name, file);
    if (length < 0 || (size_t)length >= sizeof path) return;
    int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    if (descriptor < 0) return;
    ssize_t count = read(descriptor, out, size - 1);
    out[count > 0 ? count : 0] = 0;
    close(descriptor);
}

static bool has_folder(const char *class, const char *name, const char *folder) {
    char path[256];
    struct stat status;
    int length = snprintf(path, sizeof path, "%s/%s/%s", class, name, folder);
    return length > 0 && (size_t)length < sizeof path && stat(path, &status) == 0;
}

afc_link_kind afc__reach_medium(const char *class, int index, const char *name) {
    char text[512];
    /* Such names must not leave the folder. The kernel refuses them, too. */
    if (name[0] == 0 || name[0] == '.' || strchr(name, '/') != NULL) return AFC_LINK_UNKNOWN;
    read_text(class, name, "ifindex", text, sizeof text);
    if (strtol(text, NULL, 10) != index) return AFC_LINK_UNKNOWN;
    read_text(class, name, "uevent", text, sizeof text);
    const char *type = strstr(text, "DEVTYPE=");
    if (type != NULL && strncmp(type, "DEVTYPE=wwan\n", 13) == 0) return AFC_LINK_CELLULAR;
    if (type != NULL && strncmp(type, "DEVTYPE=wlan\n", 13) == 0) return AFC_LINK_WIRELESS;
    if (has_folder(class, name, "wireless") || has_folder(class, name, "phy80211")) {
        return AFC_LINK_WIRELESS;
    }
    return AFC_LINK_UNKNOWN;
}
