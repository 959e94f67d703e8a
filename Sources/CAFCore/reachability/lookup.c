#include "reachability/lookup.h"

#include "reachability/netlink.h"

#include <netdb.h>
#include <string.h>
#include <sys/socket.h>

size_t afc__reach_take_addresses(const afc__addresses *found, afc__reach_address *out) {
    size_t count = 0;
    for (; count < found->count && count < AFC__REACH_MOST_ADDRESSES; count++) {
        const afc__address *address = &found->list[count];
        out[count] = (afc__reach_address){.family = (uint8_t)address->family,
                                          .scope = (int)address->scope};
        memcpy(out[count].bytes, address->bytes, sizeof out[count].bytes);
    }
    return count;
}

bool afc__reach_is_temporary(int error) {
    return error == EAI_AGAIN || error == EAI_SYSTEM || error == EAI_MEMORY;
}

bool afc__reach_parse(const char *host, afc__reach_address *out) {
    struct addrinfo hints = {.ai_flags = AI_NUMERICHOST, .ai_socktype = SOCK_DGRAM};
    struct addrinfo *found;
    if (getaddrinfo(host, NULL, &hints, &found) != 0) return false;
    bool is_address = afc__reach_address_of(out, found->ai_addr);
    freeaddrinfo(found);
    return is_address;
}
