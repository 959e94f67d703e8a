#include "net/reachability_names.h"

#include "net/reachability_kernel.h"
#include "net/threads.h"

#include <netdb.h>
#include <sys/socket.h>

static size_t take_addresses(const struct addrinfo *found, af__reach_address *out, size_t room) {
    size_t count = 0;
    for (; found != NULL && count < room; found = found->ai_next) {
        if (af__reach_address_of(&out[count], found->ai_addr)) count++;
    }
    return count;
}

bool af__reach_parse(const char *host, af__reach_address *out) {
    struct addrinfo hints = {.ai_flags = AI_NUMERICHOST, .ai_socktype = SOCK_DGRAM};
    struct addrinfo *found;
    if (getaddrinfo(host, NULL, &hints, &found) != 0) return false;
    bool is_address = take_addresses(found, out, 1) == 1;
    freeaddrinfo(found);
    return is_address;
}

static void run(void *context) {
    af__reach_lookup *lookup = context;
    struct addrinfo hints = {.ai_socktype = SOCK_DGRAM};
    struct addrinfo *found;
    int error = getaddrinfo(lookup->host, NULL, &hints, &found);
    if (error == 0) {
        lookup->count = take_addresses(found, lookup->addresses, AF__REACH_MOST_ADDRESSES);
        freeaddrinfo(found);
    }
    lookup->is_temporary = error == EAI_AGAIN || error == EAI_SYSTEM || error == EAI_MEMORY;
    lookup->ended(lookup);
}

bool af__reach_look_up(af__reach_lookup *lookup) {
    af__thread_will_end();
    if (af__thread_start("af-names", run, lookup) == 0) return true;
    af__thread_will_stay();
    return false;
}
