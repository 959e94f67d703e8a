#include <afcore/afcore.h>

#include <cstring>

/** C++ compilers warn about a conditional expression of an enumerator and another type. */
static ptrdiff_t read_body(void *context, void *buffer, size_t size) {
    auto text = static_cast<afc_slice *>(context);
    size_t count = text->size < size ? text->size : size;
    if (count > 0) std::memcpy(buffer, text->bytes, count);
    *text = {text->bytes + count, text->size - count};
    return count > 0 ? static_cast<ptrdiff_t>(count) : AFC_READ_END;
}

int main() {
    afc_session_options options = AFC_SESSION_OPTIONS_INIT;
    afc_session *session = nullptr;
    if (afc_session_new(&session, &options, nullptr) != AFC_OK) {
        return 1;
    }

    // Structs that begin as the others that hold them.
    options.tls = AFC_TLS_OPTIONS_INIT;
    options.network = AFC_NETWORK_OPTIONS_INIT;
    afc_client_certificate certificate = AFC_CLIENT_CERTIFICATE_INIT;
    afc_trust_rule rule = AFC_TRUST_RULE_INIT;
    afc_websocket_limits limits = AFC_WEBSOCKET_LIMITS_INIT;
    (void)certificate, (void)rule, (void)limits;

    // Not started: it only has to be made and to go away.
    afc_request request = AFC_REQUEST_INIT;
    afc_task_events events = AFC_TASK_EVENTS_INIT;
    request.url = "http://localhost/";
    request.body = AFC_BODY_INIT;
    afc_slice text = AFC_SLICE_INIT("text");
    request.method = "POST";
    request.body.kind = AFC_BODY_READER;
    request.body.length = AFC_LENGTH_UNKNOWN;
    request.body.reader = {&text, read_body, nullptr, nullptr};
    request.sink = AFC_SINK_INIT;
    afc_task *task = nullptr;
    afc_status status = afc_task_new(&task, session, &request, &events, nullptr);
    afc_task_release(task);
    afc_session_release(session);
    afc_join_closed_sessions();

    bool same = std::strcmp(afc_version(), AFCORE_VERSION_STRING) == 0;
    return status == AFC_OK && same ? 0 : 1;
}
