/**
 * An authority whose key every run has, so that a mutated certificate or answer can be signed again: what a valid
 * signature vouches for is then as odd as what it doesn't.
 */
#ifndef AFC_FUZZ_AUTHORITY_H
#define AFC_FUZZ_AUTHORITY_H

#include <openssl/x509.h>

/** Within the life of the authority and its leaf. */
enum { AUTHORITY_NOW_S = 1800000000 };

/** Made at the first call; they stay. The leaf is for a.test. */
EVP_PKEY *authority_key(void);
X509 *authority_root(void);
X509 *authority_leaf(void);

#endif
