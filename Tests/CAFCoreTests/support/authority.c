#include "support/authority.h"

#include <stddef.h>

afts_cert *authority, *leaf;

int make_certificates(void **state) {
    (void)state;
    authority = afts_cert_new(&(afts_cert_options){.authority = true}, NULL);
    leaf = afts_cert_new(NULL, authority);
    return authority != NULL && leaf != NULL ? 0 : -1;
}

int free_certificates(void **state) {
    (void)state;
    afts_cert_free(leaf);
    afts_cert_free(authority);
    return 0;
}
