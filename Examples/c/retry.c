/*
 * retry URL TRIES: sends a GET up to TRIES times with exponential backoff; obeys Retry-After.
 */
#include <afcore/afcore.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static bool transient(afc_status status, const afc_result *result) {
    int code = status == AFC_OK ? afc_result_get_head(result)->status : 0;
    return code == 408 || code == 425 || code == 429 || code == 500 || code == 502 || code == 503 ||
           code == 504 || status == AFC_ECONNECT || status == AFC_ELOST ||
           status == AFC_ETRUNCATED || status == AFC_ETIMEOUT;
}

/** Retry-After: seconds, or a date (RFC 9110 10.2.3). In milliseconds; -1: none, or not valid. */
static int64_t retry_after_ms(const afc_result *result) {
    const afc_head *head = result != NULL ? afc_result_get_head(result) : NULL;
    const afc_header *field = head != NULL ? afc_head_find(head, "Retry-After") : NULL;
    int64_t now = time(NULL), date;
    char seconds[16], *end;
    if (field == NULL) return -1;
    if (afc_date_parse(field->value, now, &date)) return date > now ? (date - now) * 1000 : 0;
    snprintf(seconds, sizeof seconds, "%.*s", (int)field->value.size, field->value.bytes);
    int64_t number = strtoll(seconds, &end, 10);
    return end != seconds && *end == '\0' ? number * 1000 : -1;
}

int main(int argc, char **argv) {
    afc_session *session;
    afc_result *result = NULL;
    afc_failure failure;
    int64_t wait_ms = 250;
    if (argc != 3 || afc_session_new(&session, NULL, &failure) != AFC_OK) return 2;
    afc_request request = AFC_REQUEST_INIT;
    request.url = argv[1];
    request.timeouts.total_ms = 30000;
    srand((unsigned)getpid());
    afc_status status = afc_perform(&result, session, &request, &failure);
    for (long left = strtol(argv[2], NULL, 10) - 1; left > 0 && transient(status, result); left--) {
        /* A random part, so that clients that failed together don't retry together. */
        int64_t asked = retry_after_ms(result);
        int64_t wait = (asked > 0 ? asked : wait_ms / 2) + rand() % (wait_ms / 2);
        if (wait > 60000) break;
        fprintf(stderr, "retrying in %lld ms\n", (long long)wait);
        poll(NULL, 0, (int)wait); /* A program with a loop sets a timer instead. */
        wait_ms = wait_ms < 16000 ? 2 * wait_ms : wait_ms;
        afc_result_free(result);
        status = afc_perform(&result, session, &request, &failure);
    }
    int code = status != AFC_OK || transient(status, result) ? 1 : 0;
    if (status == AFC_OK) printf("status %d\n", afc_result_get_head(result)->status);
    if (status != AFC_OK) fprintf(stderr, "%s\n", failure.text);
    afc_result_free(result);
    afc_session_release(session);
    return code;
}
