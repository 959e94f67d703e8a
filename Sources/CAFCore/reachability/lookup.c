#include "reachability/lookup.h"

#include "reachability/netlink.h"

#include <netdb.h>
#include <string.h>
#include <sys/socket.h>

size_t af__reach_take_addresses(const af__addresses *found, af__reach_address *out) {
    size_t count = 0;
    for (; count < found->count && count < AF__REACH_MOST_ADDRESSES; count++) {
        const af__address *address = &found->list[count];
        out[count] = (af__reach_address){.family = (uint8_t)address->family,
                                         .scope = (int)address->scope};
        memcpy(out[count].bytes, address->bytes, sizeof out[count].bytes);
    }
    return count;
}

bool af__reach_is_temporary(int error) {
    return error == EAI_AGAIN || error == EAI_SYSTEM || error == EAI_MEMORY;
}

bool af__reach_parse(const char *host, af__reach_address *out) {
    struct addrinfo hints = {.ai_flags = AI_NUMERICHOST, .ai_socktype = SOCK_DGRAM};
    struct addrinfo *found;
    if (getaddrinfo(host, NULL, &hints, &found) != 0) return false;
    bool is_address = af__reach_address_of(out, found->ai_addr);
    freeaddrinfo(found);
    return is_address;
}
