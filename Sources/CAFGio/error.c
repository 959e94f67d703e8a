#include "internal.h"

GQuark afgio_error_quark(void) {
    return g_quark_from_static_string("afgio-error-quark");
}

_Static_assert(AFGIO_ERROR_INVALID_INPUT == -AFC_EINVAL, "codes are statuses");
_Static_assert(AFGIO_ERROR_OUT_OF_MEMORY == -AFC_ENOMEM, "codes are statuses");
_Static_assert(AFGIO_ERROR_DNS == -AFC_EDNS, "codes are statuses");
_Static_assert(AFGIO_ERROR_CONNECT == -AFC_ECONNECT, "codes are statuses");
_Static_assert(AFGIO_ERROR_CONNECTION_LOST == -AFC_ELOST, "codes are statuses");
_Static_assert(AFGIO_ERROR_TRUNCATED == -AFC_ETRUNCATED, "codes are statuses");
_Static_assert(AFGIO_ERROR_PROTOCOL == -AFC_EPROTOCOL, "codes are statuses");
_Static_assert(AFGIO_ERROR_REDIRECT == -AFC_EREDIRECT, "codes are statuses");
_Static_assert(AFGIO_ERROR_TIMEOUT == -AFC_ETIMEOUT, "codes are statuses");
_Static_assert(AFGIO_ERROR_UNTRUSTED == -AFC_EUNTRUSTED, "codes are statuses");
_Static_assert(AFGIO_ERROR_TLS == -AFC_ETLS, "codes are statuses");
_Static_assert(AFGIO_ERROR_TOO_LARGE == -AFC_ETOOBIG, "codes are statuses");
_Static_assert(AFGIO_ERROR_AUTHENTICATION == -AFC_EAUTH, "codes are statuses");
_Static_assert(AFGIO_ERROR_FILE == -AFC_EFILE, "codes are statuses");
_Static_assert(AFGIO_ERROR_BODY_NOT_REPLAYABLE == -AFC_EREPLAY, "codes are statuses");
_Static_assert(AFGIO_ERROR_BODY_SOURCE == -AFC_ESOURCE, "codes are statuses");
_Static_assert(AFGIO_ERROR_UNSUPPORTED == -AFC_EUNSUPPORTED, "codes are statuses");
_Static_assert(AFGIO_ERROR_CLOSED == -AFC_ECLOSED, "codes are statuses");
_Static_assert(AFGIO_ERROR_AGAIN == -AFC_EAGAIN, "codes are statuses");
_Static_assert(AFGIO_ERROR_INTERNAL == -AFC_EINTERNAL, "codes are statuses");

GError *afgio__error_new(const afc_failure *failure) {
    const char *text = failure->text[0] != 0 ? failure->text : afc_status_text(failure->status);
    /* A text may contain bytes of a server, or be cut inside a character. */
    char *valid = g_utf8_make_valid(text, -1);
    bool is_cancelled = failure->status == AFC_ECANCELED;
    GError *error = g_error_new_literal(is_cancelled ? G_IO_ERROR : AFGIO_ERROR,
                                        is_cancelled ? G_IO_ERROR_CANCELLED : -failure->status,
                                        valid);
    g_free(valid);
    return error;
}
