/** Is a certificate, or enough of a chain, among those that a rule pins? */
#ifndef AF_TRUST_PINS_H
#define AF_TRUST_PINS_H

#include "trust/policy.h"

/** Is this one pinned, by its key or as a whole? */
bool af__pins_hold(const af__trust_rule *rule, const X509 *certificate);

/**
 * By the rule's way of matching. `chain` is the verified path; NULL if there is none, and then only
 * the key of `leaf` can count: whole certificates want to be verified against.
 */
bool af__pins_match(const af__trust_rule *rule, X509 *leaf, STACK_OF(X509) * chain);

#endif
