/*
 * login URL USER PASSWORD COOKIES: logs in with Digest or Basic authentication, and keeps the cookies in a file.
 */
#include <afcore/afcore.h>
#include <stdio.h>

int main(int argc, char **argv) {
    afc_session *session = NULL;
    afc_cookie_jar *jar = NULL;
    afc_cookie_list *cookies = NULL;
    afc_result *result = NULL;
    afc_failure failure;
    if (argc != 5) {
        fprintf(stderr, "usage: %s URL USER PASSWORD COOKIES\n", argv[0]);
        return 2;
    }
    afc_cookie_jar_options jar_options = AFC_COOKIE_JAR_OPTIONS_INIT;
    afc_session_options options = AFC_SESSION_OPTIONS_INIT;
    afc_credentials credentials = AFC_CREDENTIALS_INIT;
    afc_request request = AFC_REQUEST_INIT;
    jar_options.path = argv[4]; /* Loaded now, and saved at the release or at exit(). */
    credentials.user = argv[2];
    credentials.password = argv[3];
    request.url = argv[1];
    request.credentials = &credentials;
    afc_status status = afc_cookie_jar_new(&jar, &jar_options, &failure);
    options.cookies = jar;
    if (status == AFC_OK) status = afc_session_new(&session, &options, &failure);
    if (status == AFC_OK) status = afc_perform(&result, session, &request, &failure);
    if (status == AFC_OK) status = afc_cookie_jar_copy(&cookies, jar, argv[1], &failure);
    if (status == AFC_OK) {
        printf("status %d\n", afc_result_get_head(result)->status);
        for (size_t i = 0; i < cookies->count; i++) printf("cookie %s\n", cookies->cookies[i].name);
    } else {
        fprintf(stderr, "%s: %s\n", afc_status_name(status), failure.text);
    }
    afc_cookie_list_free(cookies);
    afc_result_free(result);
    afc_session_release(session);
    afc_join_closed_sessions(); /* The session has a reference to the jar. */
    afc_cookie_jar_release(jar);
    return status == AFC_OK ? 0 : 1;
}
