#include "support/rtnetlink.h"

#include "support/check.h"

#include <arpa/inet.h>
#include <string.h>

static void put(datagram *datagram, const void *bytes, size_t size) {
    size_t aligned = NLMSG_ALIGN(size);
    assert_true(datagram->size + aligned <= sizeof datagram->bytes);
    memset(datagram->bytes + datagram->size, 0, aligned);
    memcpy(datagram->bytes + datagram->size, bytes, size);
    datagram->size += aligned;
}

static size_t begin(datagram *datagram, uint16_t type, uint16_t flags, uint32_t sequence) {
    size_t start = datagram->size;
    struct nlmsghdr header = {.nlmsg_type = type, .nlmsg_flags = flags, .nlmsg_seq = sequence};
    put(datagram, &header, sizeof header);
    return start;
}

static void end(datagram *datagram, size_t start) {
    uint32_t length = (uint32_t)(datagram->size - start);
    memcpy(datagram->bytes + start + offsetof(struct nlmsghdr, nlmsg_len), &length, sizeof length);
}

static void put_attribute(datagram *datagram, uint16_t type, const void *bytes, size_t size) {
    struct rtattr header = {(uint16_t)(sizeof header + size), type};
    unsigned char whole[64];
    assert_true(sizeof header + size <= sizeof whole);
    memcpy(whole, &header, sizeof header);
    memcpy(whole + sizeof header, bytes, size);
    put(datagram, whole, sizeof header + size);
}

void put_message(datagram *datagram, uint16_t type, uint16_t flags, uint32_t sequence) {
    end(datagram, begin(datagram, type, flags, sequence));
}

void put_link(datagram *datagram, bool is_gone, int index, const char *name, uint16_t type,
              unsigned flags) {
    size_t start = begin(datagram, is_gone ? RTM_DELLINK : RTM_NEWLINK, 0, 0);
    struct ifinfomsg info = {.ifi_index = index, .ifi_type = type, .ifi_flags = flags};
    put(datagram, &info, sizeof info);
    put_attribute(datagram, IFLA_IFNAME, name, strlen(name) + 1);
    end(datagram, start);
}

static size_t parse(const char *address, unsigned char *out, uint8_t *family) {
    *family = strchr(address, ':') != NULL ? AF_INET6 : AF_INET;
    assert_int_equal(inet_pton(*family, address, out), 1);
    return *family == AF_INET6 ? 16 : 4;
}

void put_address(datagram *datagram, bool is_gone, int index, const char *address) {
    unsigned char bytes[16];
    struct ifaddrmsg info = {.ifa_index = (uint32_t)index};
    size_t start = begin(datagram, is_gone ? RTM_DELADDR : RTM_NEWADDR, 0, 0);
    size_t size = parse(address, bytes, &info.ifa_family);
    put(datagram, &info, sizeof info);
    put_attribute(datagram, IFA_ADDRESS, bytes, size);
    end(datagram, start);
}

void put_pair(datagram *datagram, int index, const char *own, const char *other) {
    unsigned char bytes[16];
    struct ifaddrmsg info = {.ifa_index = (uint32_t)index};
    size_t start = begin(datagram, RTM_NEWADDR, 0, 0);
    size_t size = parse(other, bytes, &info.ifa_family);
    put(datagram, &info, sizeof info);
    put_attribute(datagram, IFA_ADDRESS, bytes, size);
    size = parse(own, bytes, &info.ifa_family);
    put_attribute(datagram, IFA_LOCAL, bytes, size);
    end(datagram, start);
}
