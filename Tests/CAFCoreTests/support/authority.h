/**
 * The certificates of a group of tests: an authority, and what it has issued to the server.
 */
#ifndef AFC_TESTS_AUTHORITY_H
#define AFC_TESTS_AUTHORITY_H

#include <caftestserver.h>

/** Made by make_certificates(). */
extern afts_cert *authority, *leaf;

/** Group setup and teardown of cmocka. */
int make_certificates(void **state);
int free_certificates(void **state);

#endif
