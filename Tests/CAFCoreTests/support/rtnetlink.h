/**
 * Messages as the kernel sends them about links and addresses.
 */
#ifndef AFC_TESTS_RTNETLINK_H
#define AFC_TESTS_RTNETLINK_H

#include <linux/rtnetlink.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** One datagram in the making; zeroed it is empty. */
typedef struct datagram {
    _Alignas(8) unsigned char bytes[4096];
    size_t size;
} datagram;

/** A message without content: NLMSG_DONE, NLMSG_OVERRUN … */
void put_message(datagram *datagram, uint16_t type, uint16_t flags, uint32_t sequence);

/** A link: `type` is an ARPHRD_…, `flags` are IFF_…. */
void put_link(datagram *datagram, bool is_gone, int index, const char *name, uint16_t type,
              unsigned flags);

/** An address, written out. */
void put_address(datagram *datagram, bool is_gone, int index, const char *address);

/** The same of a link between two points. */
void put_pair(datagram *datagram, int index, const char *own, const char *other);

#endif
