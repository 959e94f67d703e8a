#include "job.h"

#include "support/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const afc_credentials password = {"user", "password", NULL, 0, false, {0}};

/* ---- Random choices ------------------------------------------------------------------------ */

static uint64_t roll(uint64_t *random, uint64_t sides) {
    return (next_random(random) >> 16) % sides;
}

static size_t random_size(uint64_t *random, size_t most) {
    /* Mostly small, sometimes more than the buffers of libcurl and of the sockets hold. */
    switch (roll(random, 8)) {
    case 0:
        return roll(random, 2);
    case 1:
        return roll(random, most);
    default:
        return roll(random, 4096);
    }
}

static operation random_operation(uint64_t *random) {
    return roll(random, 3) == 0 ? (operation)roll(random, OPERATION_COUNT) : DO_NOTHING;
}

static bool sends_too_much(behaviour behaviour) {
    return behaviour == SENDS_SECOND_RESPONSE || behaviour == SENDS_GARBAGE_AFTER;
}

static void choose_plan(job *job, uint32_t id) {
    enum { H1_MOST = 300000, H2_MOST = 60000 };
    soak_plan *plan = &job->plan;
    plan->id = id;
    job->protocol = (protocol)roll(&job->random, PROTOCOL_COUNT);
    if (job->protocol == PROTOCOL_H2) {
        /* The request's body carries the plan. */
        plan->behaviour = (behaviour)(H2_RESPONDS + roll(&job->random, H2_COUNT));
        plan->response_size = (uint32_t)random_size(&job->random, H2_MOST);
        plan->request_size = (uint32_t)random_size(&job->random, H2_MOST);
        job->upload = (upload)(UPLOAD_COPIED + roll(&job->random, 4));
        return;
    }
    /* Half of the responses are ordinary ones: connections must also be reused. */
    plan->behaviour = roll(&job->random, 2) == 0 ? (behaviour)roll(&job->random, SENDS_SLOWLY)
                                                 : (behaviour)roll(&job->random, H1_COUNT);
    plan->response_size = (uint32_t)random_size(&job->random, H1_MOST);
    if (sends_too_much(plan->behaviour)) plan->response_size %= TOO_MUCH_MOST;
    if (roll(&job->random, 3) == 0) {
        plan->request_size = 1 + (uint32_t)random_size(&job->random, H1_MOST);
        job->upload = (upload)(UPLOAD_COPIED + roll(&job->random, 4));
    }
}

/** The whole request body, on HTTP/2 with the plan in front. */
static void write_request_body(job *job) {
    size_t room = job->plan.request_size + PLAN_TEXT_SIZE + 1, size = 0;
    char *body = malloc(room);
    if (body == NULL) give_up("out of memory");
    if (job->protocol == PROTOCOL_H2) {
        plan_write(&job->plan, body);
        size = strlen(body);
        body[size++] = '\n';
    }
    fill_body(body + size, request_body_id(&job->plan), 0, job->plan.request_size);
    job->request_body = body;
    job->request_body_size = size + job->plan.request_size;
}

static void write_upload_file(const job *job) {
    FILE *file = fopen(job->upload_path, "wbe");
    if (file == NULL ||
        fwrite(job->request_body, 1, job->request_body_size, file) != job->request_body_size ||
        fclose(file) != 0) {
        give_up("an upload can't be written");
    }
}

void job_init(job *job, uint64_t random, uint32_t id, const char *folder, const servers *servers,
              session_slot *slot) {
    *job = (struct job){.random = random, .slot = slot};
    pthread_mutex_init(&job->lock, NULL);
    choose_plan(job, id);
    job->destination = (destination)roll(&job->random, 3);
    job->has_time_limit = job->plan.behaviour == STALLS || roll(&job->random, 32) == 0;
    job->is_started = roll(&job->random, 16) != 0;
    job->at_head = random_operation(&job->random);
    job->at_body = random_operation(&job->random);
    job->at_done = random_operation(&job->random);
    servers_url(servers, job->protocol, &job->plan, job->url, sizeof job->url);
    snprintf(job->path, sizeof job->path, "%s/%x", folder, id);
    snprintf(job->upload_path, sizeof job->upload_path, "%s/%x.sent", folder, id);
    if (job->upload != UPLOAD_NONE) write_request_body(job);
    if (job->upload == UPLOAD_FILE) write_upload_file(job);
}

/* ---- Operations ---------------------------------------------------------------------------- */

static void suspend(job *job) {
    pthread_mutex_lock(&job->lock);
    if (!job->is_ending) afc_task_suspend(job->task);
    pthread_mutex_unlock(&job->lock);
}

static bool is_ending(job *job) {
    pthread_mutex_lock(&job->lock);
    bool is_ending = job->is_ending;
    pthread_mutex_unlock(&job->lock);
    return is_ending;
}

static void operate(job *job, operation operation) {
    switch (operation) {
    case CANCEL:
        atomic_store(&job->is_cancelled, true);
        afc_task_cancel(job->task);
        break;
    case SUSPEND:
        suspend(job);
        break;
    case SUSPEND_AND_RESUME:
        suspend(job);
        afc_task_resume(job->task);
        break;
    case WAKE:
        afc_task_wake(job->task);
        break;
    case RETAIN_AND_RELEASE:
        afc_task_release(afc_task_retain(job->task));
        break;
    default:
        break;
    }
}

void job_disturb(job *job, uint64_t *random) {
    operate(job, random_operation(random));
}

/* ---- The request's body -------------------------------------------------------------------- */

static void on_release(void *context) {
    job *job = context;
    atomic_fetch_add(&job->released, 1);
}

static ptrdiff_t read_body(void *context, void *buffer, size_t size) {
    job *job = context;
    if (roll(&job->random, 4) == 0 && !is_ending(job)) return AFC_READ_AGAIN;
    size_t left = job->request_body_size - job->read_at;
    size_t count = left < size ? left : size;
    if (count > 1 && roll(&job->random, 2) == 0) count /= 2;
    memcpy(buffer, job->request_body + job->read_at, count);
    job->read_at += count;
    return (ptrdiff_t)count;
}

static bool rewind_body(void *context) {
    job *job = context;
    job->read_at = 0;
    return true;
}

static void set_upload(job *job, afc_request *request) {
    afc_body *body = &request->body;
    if (job->upload == UPLOAD_NONE) return;
    request->method = "POST";
    switch (job->upload) {
    case UPLOAD_FILE:
        body->kind = AFC_BODY_FILE;
        body->path = job->upload_path;
        break;
    case UPLOAD_READER:
        body->kind = AFC_BODY_READER;
        body->reader = (afc_reader){job, read_body, rewind_body, on_release};
        body->length = job->plan.id % 2 == 0 ? (int64_t)job->request_body_size : AFC_LENGTH_UNKNOWN;
        break;
    default:
        body->kind = AFC_BODY_BYTES;
        body->bytes = (afc_slice){job->request_body, job->request_body_size};
        if (job->upload == UPLOAD_BORROWED) {
            body->release = on_release;
            body->context = job;
        }
        break;
    }
}

/* ---- Callbacks ----------------------------------------------------------------------------- */

static afc_status on_head(void *context, afc_response *response) {
    job *job = context;
    (void)response;
    operate(job, job->at_head);
    return AFC_OK;
}

static afc_status on_body(void *context, afc_slice chunk) {
    job *job = context;
    operate(job, job->at_body);
    job->at_body = random_operation(&job->random);
    if (roll(&job->random, 4) == 0 && !is_ending(job)) return AFC_EAGAIN;
    if (!is_body(chunk.bytes, job->plan.id, job->body_at, chunk.size)) job->is_body_wrong = true;
    job->body_at += chunk.size;
    return AFC_OK;
}

static void on_done(void *context, afc_result *result) {
    job *job = context;
    if (atomic_load(&job->dropped) != 0) atomic_store(&job->is_done_after_drop, true);
    operate(job, job->at_done);
    job->result = result;
    atomic_fetch_add(&job->done, 1);
}

static void on_task_release(void *context) {
    job *job = context;
    atomic_fetch_add(&job->dropped, 1);
    job->on_drop(job->context);
}

/* ---- The task ------------------------------------------------------------------------------ */

static void set_request(job *job, afc_request *request) {
    request->url = job->url;
    request->credentials = job->plan.behaviour == ASKS_FOR_PASSWORD ? &password : NULL;
    request->timeouts = (afc_timeouts){0, 0, 0, {0}};
    if (job->has_time_limit) request->timeouts.total_ms = 1 + (uint32_t)roll(&job->random, 40);
    request->limits.redirects = 3;
    set_upload(job, request);
    if (job->destination == TO_EVENTS) request->sink.kind = AFC_SINK_CALLBACK;
    if (job->destination == TO_FILE) {
        request->sink.kind = AFC_SINK_FILE;
        request->sink.path = job->path;
        if (roll(&job->random, 2) == 0) request->sink.flags = AFC_FILE_KEEP_PARTIAL;
    }
}

void job_begin(job *job) {
    afc_request request = AFC_REQUEST_INIT;
    afc_task_events events = AFC_TASK_EVENTS_INIT;
    afc_failure failure;
    events.context = job;
    events.on_head = on_head;
    events.on_body = on_body;
    events.on_done = on_done;
    events.release = on_task_release;
    set_request(job, &request);
    pthread_mutex_lock(&job->slot->lock);
    job->session = afc_session_retain(job->slot->session);
    pthread_mutex_unlock(&job->slot->lock);
    job->cancellations = atomic_load(&job->slot->cancellations);
    if (afc_task_new(&job->task, job->session, &request, &events, &failure) != AFC_OK) {
        fprintf(stderr, "soak: %s\n", failure.text);
        give_up("a task was refused");
    }
    operate(job, random_operation(&job->random));
    if (job->is_started) afc_task_start(job->task);
}

void job_end(job *job) {
    pthread_mutex_lock(&job->lock);
    job->is_ending = true;
    pthread_mutex_unlock(&job->lock);
    afc_task_resume(job->task);
    afc_task_wake(job->task);
    afc_task_release(job->task);
    afc_session_release(job->session);
}

/* ---- Checks -------------------------------------------------------------------------------- */

static const char *const upload_names[] = {"no upload", "copied upload", "borrowed upload",
                                           "upload from a reader", "upload from a file"};
static const char *const destination_names[] = {"to memory", "to a file", "to events"};
static const char *const protocol_names[] = {"HTTP/1.1", "HTTP/1.1 over TLS", "HTTP/2"};

void job_print(const job *job) {
    fprintf(stderr, "  %s, \"%s\", %u bytes %s, %s of %u bytes%s%s%s, completed %u, dropped %u\n",
            protocol_names[job->protocol], behaviour_name(job->plan.behaviour),
            job->plan.response_size, destination_names[job->destination], upload_names[job->upload],
            job->plan.request_size, job->has_time_limit ? ", with a time limit" : "",
            atomic_load(&job->is_cancelled) ? ", cancelled" : "",
            job->is_started ? "" : ", not started", atomic_load(&job->done),
            atomic_load(&job->dropped));
    if (atomic_load(&job->dropped) == 0 || job->result == NULL) return;
    size_t count;
    const afc_failure *failure = afc_result_get_failure(job->result);
    const afc_hop *hops = afc_result_get_hops(job->result, &count);
    fprintf(stderr, "  ended with %s: %s; %llu bytes of body\n", afc_status_name(failure->status),
            failure->text, (unsigned long long)afc_result_get_body_size(job->result));
    for (size_t i = 0; i < count; i++) {
        fprintf(stderr, "  hop %zu: status %d%s%s\n", i, hops[i].status,
                hops[i].is_reused ? ", reused connection" : "",
                hops[i].is_retried ? ", retried" : "");
    }
}

static bool complain(const job *job, const char *what) {
    fprintf(stderr, "soak: wrong: %s\n", what);
    job_print(job);
    return false;
}

static bool may_be_cancelled(const job *job) {
    unsigned now = atomic_load(&job->slot->cancellations);
    return atomic_load(&job->is_cancelled) || now != job->cancellations ||
           job->cancellations % 2 == 1;
}

static bool check_file(const job *job, bool is_there, size_t size) {
    FILE *file = fopen(job->path, "rbe");
    if (file == NULL) return is_there ? complain(job, "the file is missing") : true;
    bool is_right = is_there;
    if (is_right) {
        char *bytes = malloc(size + 1);
        if (bytes == NULL) give_up("out of memory");
        is_right = fread(bytes, 1, size + 1, file) == size && is_body(bytes, job->plan.id, 0, size);
        free(bytes);
    }
    fclose(file);
    return is_right ? true
                    : complain(job, "the file has other content, or is there after a failure");
}

static bool check_success(const job *job, const expectation *expected) {
    const afc_head *head = afc_result_get_head(job->result);
    size_t size = expected->has_body ? job->plan.response_size : 0;
    afc_slice body = afc_result_get_body(job->result);
    if (expected->outcome == MUST_FAIL) return complain(job, "it must not succeed");
    if (head == NULL || head->status != expected->http_status) {
        return complain(job, "another HTTP status");
    }
    if (afc_result_get_body_size(job->result) != size) return complain(job, "another body size");
    switch (job->destination) {
    case TO_EVENTS:
        return job->body_at == size ? true : complain(job, "not all of the body was reported");
    case TO_FILE:
        return check_file(job, true, size);
    default:
        if (body.size == size && is_body(body.bytes, job->plan.id, 0, size)) return true;
        return complain(job, "another body");
    }
}

static bool check_failure(const job *job, const expectation *expected, afc_status status) {
    if (job->destination == TO_FILE && !check_file(job, false, 0)) return false;
    if (status == AFC_ECANCELED && may_be_cancelled(job)) return true;
    if (status == AFC_ETIMEOUT && job->has_time_limit) return true;
    if (expected->outcome == MUST_SUCCEED) return complain(job, "it must succeed");
    if ((expected->statuses & STATUS_BIT(status)) != 0) return true;
    return complain(job, "another failure than this behaviour leads to");
}

bool job_check(job *job) {
    expectation expected = plan_expectation(&job->plan);
    bool owns = job->upload == UPLOAD_BORROWED || job->upload == UPLOAD_READER;
    if (atomic_load(&job->done) != (job->is_started ? 1 : 0)) {
        return complain(job, "it must complete exactly once, if it was started");
    }
    if (atomic_load(&job->dropped) != 1 || atomic_load(&job->is_done_after_drop)) {
        return complain(job, "it must be dropped once, after its completion");
    }
    if (owns && atomic_load(&job->released) != 1) {
        return complain(job, "the request's body must be released once");
    }
    if (job->is_body_wrong) return complain(job, "on_body was given bytes of another body");
    if (job->result == NULL) return true;
    afc_status status = afc_result_get_failure(job->result)->status;
    return status == AFC_OK ? check_success(job, &expected) : check_failure(job, &expected, status);
}

static void remove_file(const char *path, const char *suffix) {
    char name[128];
    snprintf(name, sizeof name, "%s%s", path, suffix);
    unlink(name);
}

void job_clear(job *job) {
    if (job->destination == TO_FILE) {
        remove_file(job->path, "");
        remove_file(job->path, ".part");
        remove_file(job->path, ".part.resume");
    }
    if (job->upload == UPLOAD_FILE) unlink(job->upload_path);
    afc_result_free(job->result);
    free(job->request_body);
    pthread_mutex_destroy(&job->lock);
}
