#include "trust/evaluate.h"

#include <openssl/err.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <string.h>

static af_trust_reason reason_of(int error) {
    switch (error) {
    case X509_V_OK:
        return AF_TRUST_ACCEPTED;
    case X509_V_ERR_CERT_HAS_EXPIRED:
    case X509_V_ERR_CRL_HAS_EXPIRED:
        return AF_TRUST_EXPIRED;
    case X509_V_ERR_CERT_NOT_YET_VALID:
    case X509_V_ERR_CRL_NOT_YET_VALID:
        return AF_TRUST_NOT_YET_VALID;
    case X509_V_ERR_HOSTNAME_MISMATCH:
    case X509_V_ERR_IP_ADDRESS_MISMATCH:
        return AF_TRUST_WRONG_HOST;
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
        return AF_TRUST_SELF_SIGNED;
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
        return AF_TRUST_UNKNOWN_ISSUER;
    case X509_V_ERR_CERT_REVOKED:
        return AF_TRUST_REVOKED;
    case X509_V_ERR_EE_KEY_TOO_SMALL:
    case X509_V_ERR_CA_KEY_TOO_SMALL:
    case X509_V_ERR_CA_MD_TOO_WEAK:
        return AF_TRUST_WEAK;
    default:
        return AF_TRUST_OTHER;
    }
}

/** A URL's host may end in the root's dot; a certificate's names don't. */
static size_t host_length(const char *host) {
    size_t length = strlen(host);
    return length > 1 && host[length - 1] == '.' ? length - 1 : length;
}

static bool is_address(const char *host) {
    ASN1_OCTET_STRING *address = a2i_IPADDRESS(host);
    ASN1_OCTET_STRING_free(address);
    ERR_clear_error();
    return address != NULL;
}

static const unsigned host_flags = X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS |
                                   X509_CHECK_FLAG_NEVER_CHECK_SUBJECT;

static bool names_host(X509 *leaf, const char *host) {
    if (is_address(host)) return X509_check_ip_asc(leaf, host, 0) == 1;
    return X509_check_host(leaf, host, host_length(host), host_flags, NULL) == 1;
}

static bool prepare(const af__trust *trust, const char *host, X509_STORE_CTX *context) {
    X509_VERIFY_PARAM *parameters = X509_STORE_CTX_get0_param(context);
    unsigned long flags = X509_V_FLAG_TRUSTED_FIRST;
    /* Whoever names an intermediate or the server's own certificate as an anchor means it. */
    if (trust->has_own_anchors) flags |= X509_V_FLAG_PARTIAL_CHAIN;
    X509_VERIFY_PARAM_set_flags(parameters, flags);
    if (trust->skip_host_check) return true;
    X509_VERIFY_PARAM_set_hostflags(parameters, host_flags);
    if (is_address(host)) return X509_VERIFY_PARAM_set1_ip_asc(parameters, host) == 1;
    return X509_VERIFY_PARAM_set1_host(parameters, host, host_length(host)) == 1;
}

static void refuse(af__verdict *verdict, af_trust_reason reason, const char *text) {
    verdict->is_accepted = false;
    verdict->reason = reason;
    snprintf(verdict->text, sizeof verdict->text, "%s", text);
}

void af__trust_evaluate(const af__trust *trust, const char *host, X509_STORE_CTX *context,
                        af__verdict *verdict) {
    *verdict = (af__verdict){.is_accepted = true, .reason = AF_TRUST_ACCEPTED};
    int error = X509_V_ERR_OUT_OF_MEM;
    if (prepare(trust, host, context)) {
        error = X509_verify_cert(context) == 1 ? X509_V_OK : X509_STORE_CTX_get_error(context);
        if (error == X509_V_OK) return;
    }
    verdict->depth = X509_STORE_CTX_get_error_depth(context);
    refuse(verdict, reason_of(error), X509_verify_cert_error_string(error));
    if (!trust->allow_invalid_certificates || error == X509_V_ERR_OUT_OF_MEM) return;
    /* The chain may be wrong, the name not: verification may have ended before it was compared. */
    X509 *leaf = X509_STORE_CTX_get0_cert(context);
    if (!trust->skip_host_check && (leaf == NULL || !names_host(leaf, host))) {
        refuse(verdict, AF_TRUST_WRONG_HOST, "the certificate is not for this host");
        return;
    }
    verdict->is_accepted = true;
    X509_STORE_CTX_set_error(context, X509_V_OK);
    ERR_clear_error();
}
