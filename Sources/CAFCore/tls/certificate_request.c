#include "tls/certificate_request.h"

#include "base/alloc.h"
#include "base/failure.h"
#include "tls/client_certificate.h"

#include <openssl/err.h>

const char *af_certificate_request_get_host(const af_certificate_request *request) {
    return request->host;
}

size_t af_certificate_request_get_authority_count(const af_certificate_request *request) {
    int count = sk_X509_NAME_num(SSL_get0_peer_CA_list(request->ssl));
    return count > 0 ? (size_t)count : 0;
}

af_status af_certificate_request_copy_authority(const af_certificate_request *request, size_t index,
                                                char **out) {
    *out = NULL;
    if (index >= af_certificate_request_get_authority_count(request)) return AF_EINVAL;
    const X509_NAME *name = sk_X509_NAME_value(SSL_get0_peer_CA_list(request->ssl), (int)index);
    BIO *text = BIO_new(BIO_s_mem());
    char *bytes = NULL;
    bool is_written = text != NULL &&
                      X509_NAME_print_ex(text, name, 0, XN_FLAG_RFC2253 & ~ASN1_STRFLGS_ESC_MSB) >=
                          0;
    long size = is_written ? BIO_get_mem_data(text, &bytes) : -1;
    if (size >= 0) *out = af__copy_text((af_slice){bytes, (size_t)size});
    BIO_free(text);
    return *out != NULL ? AF_OK : AF_ENOMEM;
}

af_status af_certificate_request_show(af_certificate_request *request,
                                      const af_client_certificate *certificate,
                                      af_failure *failure) {
    af__tls_identity identity;
    af_client_certificate source = *certificate;
    source.host = NULL;
    af_status status = af__tls_identity_read(&identity, &source, failure);
    if (status != AF_OK) return status;
    if (af__tls_identity_show(&identity, request->ssl)) {
        request->is_answered = true;
    } else {
        status = af__fail(failure, AF_EINVAL, "OpenSSL refused the client certificate: %s",
                          ERR_reason_error_string(ERR_peek_last_error()));
        SSL_certs_clear(request->ssl);
        ERR_clear_error();
    }
    af__tls_identity_clear(&identity);
    return status;
}

void af_certificate_request_decline(af_certificate_request *request) {
    SSL_certs_clear(request->ssl);
    request->is_answered = true;
}
