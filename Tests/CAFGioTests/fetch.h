/** A request of a test, sent in a main context of its own. */
#ifndef AFGIO_TESTS_FETCH_H
#define AFGIO_TESTS_FETCH_H

#include "support/fixture.h"

#include <afcore-gio/afcore-gio.h>

typedef struct fetch {
    GMainContext *context;
    AfgioSession *session;
    AfgioRequest *request;
    AfgioResponse *response; /**< NULL: `error` says why. */
    GError *error;
    GThread *thread;        /**< Where the callback was called. */
    unsigned callbacks;     /**< How often it was called. */
    unsigned progress;      /**< How often progress was reported, if it is watched. */
    unsigned late_progress; /**< The same, after the callback. */
    unsigned misplaced;     /**< Callbacks on another thread than the one that made the fetch. */
    gint64 sent, sent_total, received, received_total; /**< The last numbers. */
} fetch;

/** Makes a fetch, not sent, with a reference to the session. */
fetch *fetch_new(AfgioSession *session, const char *method, const char *url);

/** Counts the progress of the request. */
void fetch_watch(fetch *fetch);

/** Sends it asynchronously. */
void fetch_send(fetch *fetch, GCancellable *cancellable);

/** Runs the main context until the callback was called. */
void fetch_wait(fetch *fetch);

/** Makes a GET, sends it and waits for its end. */
fetch *fetch_url(AfgioSession *session, const char *url);

/** Checks that the callback was called once on the thread of the test, and frees everything. */
void fetch_free(fetch *fetch);

/** Checks the status and the body of the response. */
void check_response(const fetch *fetch, unsigned status, const char *body);

/** Checks that there is an error and no response. */
void check_error(const fetch *fetch, GQuark domain, int code);

/** Removes a folder with all that is in it. */
void remove_tree(const char *path);

#endif
