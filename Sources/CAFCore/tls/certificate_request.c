#include "tls/certificate_request.h"

#include "base/alloc.h"
#include "base/failure.h"
#include "tls/client_certificate.h"

#include <openssl/err.h>

const char *afc_certificate_request_get_host(const afc_certificate_request *request) {
    return request->host;
}

size_t afc_certificate_request_get_authority_count(const afc_certificate_request *request) {
    int count = sk_X509_NAME_num(SSL_get0_peer_CA_list(request->ssl));
    return count > 0 ? (size_t)count : 0;
}

afc_status afc_certificate_request_copy_authority(char **out,
                                                  const afc_certificate_request *request,
                                                  size_t index) {
    *out = NULL;
    if (index >= afc_certificate_request_get_authority_count(request)) return AFC_EINVAL;
    const X509_NAME *name = sk_X509_NAME_value(SSL_get0_peer_CA_list(request->ssl), (int)index);
    BIO *text = BIO_new(BIO_s_mem());
    char *bytes = NULL;
    bool is_written = text != NULL &&
                      X509_NAME_print_ex(text, name, 0, XN_FLAG_RFC2253 & ~ASN1_STRFLGS_ESC_MSB) >=
                          0;
    long size = is_written ? BIO_get_mem_data(text, &bytes) : -1;
    if (size >= 0) *out = afc__copy_text((afc_slice){bytes, (size_t)size});
    BIO_free(text);
    return *out != NULL ? AFC_OK : AFC_ENOMEM;
}

afc_status afc_certificate_request_show(afc_certificate_request *request,
                                        const afc_client_certificate *certificate,
                                        afc_failure *failure) {
    afc__tls_identity identity;
    afc_client_certificate source = *certificate;
    source.host = NULL;
    afc__clear_failure(failure);
    afc_status status = afc__tls_identity_read(&identity, &source, failure);
    if (status != AFC_OK) return status;
    if (afc__tls_identity_show(&identity, request->ssl)) {
        request->is_decided = true;
    } else {
        status = afc__fail(failure, AFC_EINVAL, "OpenSSL refused the client certificate: %s",
                           ERR_reason_error_string(ERR_peek_last_error()));
        SSL_certs_clear(request->ssl);
        ERR_clear_error();
    }
    afc__tls_identity_clear(&identity);
    return status;
}

void afc_certificate_request_decline(afc_certificate_request *request) {
    SSL_certs_clear(request->ssl);
    request->is_decided = true;
}
