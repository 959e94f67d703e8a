#include "curl/connection/socket.h"

#include "curl/connection/socket_address.h"
#include "curl/exchange_state.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

/**
 * Changes a socket's pointer `*from` to an exchange, and moves its node to that exchange's list; either exchange may be
 * NULL.
 */
static void move(afc__exchange **from, afc__node *node, afc__exchange *to, afc__list *list) {
    if (*from == to) return;
    afc__list_remove(node);
    if (to != NULL) afc__list_append(list, node);
    *from = to;
}

void afc__socket_set_exchange(afc__socket *socket, afc__exchange *exchange) {
    move(&socket->exchange, &socket->exchange_node, exchange,
         exchange != NULL ? &exchange->watched : NULL);
}

void afc__socket_set_last(afc__socket *socket, afc__exchange *exchange) {
    move(&socket->last, &socket->last_node, exchange, exchange != NULL ? &exchange->used : NULL);
}

void afc__socket_set_opener(afc__socket *socket, afc__exchange *exchange) {
    move(&socket->opener, &socket->opener_node, exchange,
         exchange != NULL ? &exchange->opened : NULL);
}

bool afc__socket_watch(afc__socket *socket) {
    if (socket->wanted == 0) return true;
    return afc__loop_watch(socket->driver->loop, &socket->watch, socket->wanted) == AFC_OK;
}

bool afc__socket_is_in_use(const afc__socket *socket) {
    if (socket->kind == AFC__CONNECTION_HTTP_2) return socket->streams > 0;
    const afc__exchange *last = socket->last;
    return last != NULL && last->serial == socket->last_serial && last->hop.transfer != NULL;
}

bool afc__driver_waits_on(const afc__driver *driver, int descriptor) {
    return driver->sockets[descriptor]->wanted != 0;
}

void afc__exchange_forget_sockets(afc__exchange *exchange) {
    afc__node *node;
    while ((node = afc__list_first(&exchange->watched)) != NULL)
        afc__socket_set_exchange(AFC__OWNER(node, afc__socket, exchange_node), NULL);
    while ((node = afc__list_first(&exchange->used)) != NULL)
        afc__socket_set_last(AFC__OWNER(node, afc__socket, last_node), NULL);
    while ((node = afc__list_first(&exchange->opened)) != NULL)
        afc__socket_set_opener(AFC__OWNER(node, afc__socket, opener_node), NULL);
}

bool afc__socket_has_input(int descriptor) {
    char byte;
    ssize_t count;
    do {
        count = recv(descriptor, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    } while (count < 0 && errno == EINTR);
    return count >= 0 || (errno != EAGAIN && errno != EWOULDBLOCK);
}

/* No system call answers this directly. But only an address of this machine can be bound. */
bool afc__socket_has_lost_address(int descriptor) {
    struct sockaddr_storage name;
    socklen_t size = sizeof name;
    int link = 0;
    socklen_t link_size = sizeof link;
    if (getsockname(descriptor, (struct sockaddr *)&name, &size) != 0) return false;
    /* An address of a link that has its own routes can't be bound without that link. */
    if (getsockopt(descriptor, SOL_SOCKET, SO_BINDTOIFINDEX, &link, &link_size) == 0 && link != 0)
        return false;
    if (!afc__socket_address_clear_port(&name)) return false;
    int probe = socket(name.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (probe < 0) return false;
    bool is_lost = bind(probe, (struct sockaddr *)&name, size) != 0 && errno == EADDRNOTAVAIL;
    close(probe);
    return is_lost;
}
