/**
 * Chains of certificates with a name each: good ones, and one for every fault that a verdict can
 * name. Made when they are needed, so that nothing expires.
 */
#ifndef AFC_TESTS_CHAINS_H
#define AFC_TESTS_CHAINS_H

#include "support/check.h"

#include <afcore/trust.h>
#include <caftestserver.h>

enum { CHAIN_LONGEST = 5, DAY_S = 24 * 3600 };

typedef struct chain {
    const char *name, *meaning;
    const afts_cert *sent[CHAIN_LONGEST]; /**< What the server shows, its own first. */
    size_t count;
} chain;

typedef struct chains {
    /* Every leaf is for localhost and not for 127.0.0.1. */
    afts_cert *root, *intermediate, *leaf; /**< The good chain; `root` is the anchor. */
    afts_cert *untrusted_root,
        *untrusted_leaf;          /**< An authority that no policy trusts, and its leaf. */
    afts_cert *self_signed;       /**< Signs itself. */
    afts_cert *shared_chains[32]; /**< All of them, to be freed. */
    size_t certificate_count;
    chain all[32];
    size_t count;
} chains;

chains *chains_new(void);
void chains_free(chains *chains);

const chain *chain_named(const chains *chains, const char *name);

/** The DER of every certificate sent. */
void chain_slices(const chain *chain, afc_slice out[CHAIN_LONGEST]);

/** The PEM of every certificate sent, in that order; free(). */
char *chain_pem(const chain *chain);

/* ---- Judging them -------------------------------------------------------------------------- */

/** Those of the group of tests that is running. */
extern chains *shared_chains;

/** Setup and teardown of a group of tests that use `made`. */
int make_chains(void **state);
int free_chains(void **state);

/** Options that trust the root of `made` alone. */
afc_trust_options trusting_root(void);

/** The policy must be a good one. */
afc_trust_policy *policy_new(const afc_trust_options *options);

/** Making a policy fails with AFC_EINVAL and a text with `part` in it. */
void check_refused(const afc_trust_options *options, const char *part);

afc_trust_report *report_on(const afc_trust_policy *policy, const chain *chain, const char *host);

/** The verdict of `options` on a chain of `made`: AFC_TRUST_ACCEPTED, or why not. */
void check_verdict(const afc_trust_options *options, const char *chain, const char *host,
                   afc_trust_reason expected);

/** The pin of a certificate's key; one of the last 4 asked for. */
const char *pin_of(const afts_cert *cert);

#endif
