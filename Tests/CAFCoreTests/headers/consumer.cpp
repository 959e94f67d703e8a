#include <afcore/afcore.h>

#include <cstring>

int main() {
    af_session_options options = AF_SESSION_OPTIONS_INIT;
    af_session *session = nullptr;
    if (af_session_new(&session, &options, nullptr) != AF_OK) {
        return 1;
    }

    // Not started: it only has to be made and to go away.
    af_request request = AF_REQUEST_INIT;
    af_task_events events = AF_TASK_EVENTS_INIT;
    request.url = "http://localhost/";
    af_task *task = nullptr;
    af_status status = af_task_new(&task, session, &request, &events, nullptr);
    af_task_release(task);
    af_session_release(session);
    af_join_closed_sessions();

    bool same = std::strcmp(af_version(), AFCORE_VERSION_STRING) == 0;
    return status == AF_OK && same ? 0 : 1;
}
