/*
 * A request, then what may happen to it, in any order: lines, bytes, ends of hops, questions of a proxy, wakes,
 * suspends, cancels. Whatever it is: every event comes in its turn, one completion, limits hold, and nothing of one
 * origin is said to another.
 */
#include "base/alloc.h"
#include "base/failure.h"
#include "input.h"
#include "transfer/auth.h"
#include "transfer/response_body.h"
#include "transfer/transfer.h"

enum { MOST_STEPS = 2000, LARGEST_BODY = 4096, HEAD_BYTES = 8192, HEAD_COUNT = 64 };

typedef struct run {
    input input;
    afc__transfer transfer;
    afc__proxy proxy;
    bool has_proxy, is_shared, may_ask;
    size_t body_at;
    afc_slice held; /* Was not taken yet. */
    bool is_in_hop; /* Begun, and not ended. */
    bool is_over;   /* It finishes; no hop begins any more. */
    unsigned heads, dones, hops;
    bool has_body_events;
} run;

/* ---- The caller ---------------------------------------------------------------------------- */

static const char upload[] = "the body of a request, which is read piece by piece";

static ptrdiff_t read_upload(void *context, void *buffer, size_t size) {
    run *run = context;
    unsigned choice = take_octet(&run->input);
    if (choice == 1) return AFC_READ_AGAIN;
    if (choice == 2) return AFC_READ_FAILED;
    size_t left = sizeof upload - 1 - run->body_at;
    if (size > left) size = left;
    memcpy(buffer, upload + run->body_at, size);
    run->body_at += size;
    return (ptrdiff_t)size;
}

static bool rewind_upload(void *context) {
    run *run = context;
    run->body_at = 0;
    return take_octet(&run->input) != 1;
}

static void check_head(const afc_head *head) {
    require(head->header_count <= HEAD_COUNT);
    for (size_t i = 0; i < head->header_count; i++) {
        require(afc__is_token(head->headers[i].name) &&
                afc__is_field_value(head->headers[i].value));
    }
}

static afc_redirect_decision on_redirect(void *context, afc_redirect *redirect) {
    run *run = context;
    static const afc_header fields[] = {{{"X-Edited", 8}, {"1", 1}, 0}};
    require(run->heads == 0 && redirect->count >= 1 && redirect->count <= 3);
    check_head(redirect->head);
    if (redirect->crosses_origin) {
        for (size_t i = 0; i < redirect->header_count; i++) {
            require(!afc__same_name(redirect->headers[i].name, "Authorization"));
        }
    }
    unsigned choice = take_octet(&run->input);
    if (choice == 3) redirect->url = "https://edited.test/a";
    if (choice == 4) redirect->url = "gopher://edited.test/";
    if (choice == 5) redirect->method = "PUT";
    if (choice == 6) {
        redirect->headers = fields;
        redirect->header_count = 1;
    }
    return choice < 3 ? (afc_redirect_decision)choice : AFC_REDIRECT_FOLLOW;
}

static void on_informational(void *context, const afc_head *head) {
    const run *run = context;
    require(run->heads == 0 && head->status >= 100 && head->status < 200);
    check_head(head);
}

static afc_status on_head(void *context, afc_response *response) {
    run *run = context;
    require(++run->heads == 1 && response->head->status >= 200);
    check_head(response->head);
    return take_octet(&run->input) == 1 ? AFC_ECANCELED : AFC_OK;
}

static afc_status on_body(void *context, afc_slice chunk) {
    run *run = context;
    require(run->heads == 1 && chunk.size > 0);
    unsigned choice = take_octet(&run->input);
    if (choice == 1) return AFC_EAGAIN;
    return choice == 2 ? AFC_ECANCELED : AFC_OK;
}

static void on_progress(void *context, const afc_progress *progress) {
    const run *run = context;
    require(run->dones == 0 && progress->sent >= 0 && progress->received >= 0);
}

static afc_challenge_decision on_challenge(void *context, const afc_challenge *challenge,
                                           afc_credentials *credentials) {
    run *run = context;
    require(run->heads == 0 && (challenge->scheme & ~challenge->offered) == 0);
    unsigned choice = take_octet(&run->input);
    *credentials = (afc_credentials)AFC_CREDENTIALS_INIT;
    credentials->user = choice % 2 == 0 ? "asked" : NULL;
    credentials->password = "secret";
    credentials->token = choice % 3 == 0 ? "token" : NULL;
    return (afc_challenge_decision)(choice % 5);
}

static void on_done(void *context, afc_result *result) {
    run *run = context;
    require(++run->dones == 1);
    size_t hops;
    const afc_hop *hop = afc_result_get_hops(result, &hops);
    for (size_t i = 0; i < hops; i++) require(hop[i].url != NULL);
    const afc_head *head = afc_result_get_head(result);
    /* A redirect that isn't followed has a head that on_head hasn't seen. */
    bool is_refused = afc_result_get_failure(result)->status == AFC_EREDIRECT;
    require(head != NULL ? run->heads == 1 || is_refused : run->heads == 0);
    if (head != NULL) check_head(head);
    require(afc_result_get_body_size(result) <= LARGEST_BODY);
    afc_result_free(result);
}

/* ---- Who carries it ------------------------------------------------------------------------ */

static void finish(run *run) {
    run->is_over = true;
    run->is_in_hop = false;
}

static void begin_hop(run *run) {
    afc__transfer *transfer = &run->transfer;
    require(++run->hops < 400);
    run->held = (afc_slice){NULL, 0};
    if (!afc__transfer_begin_hop(transfer)) {
        finish(run);
        return;
    }
    transfer->hop.proxy = run->has_proxy ? &run->proxy : NULL;
    transfer->hop.shares_connection = run->is_shared;
    if (!afc__transfer_prepare_proxy_auth(transfer)) {
        finish(run);
        return;
    }
    const char *field = afc__transfer_authorization(transfer);
    require(field == NULL || afc__may_be_sent(afc_slice_of(field)));
    require(transfer->hop.cookies == NULL || afc__may_be_sent(afc_slice_of(transfer->hop.cookies)));
    run->is_in_hop = true;
}

static void take_next(run *run, afc__next next) {
    run->is_in_hop = false;
    if (next == AFC__NEXT_HOP || next == AFC__NEXT_WAIT) begin_hop(run);
    if (next == AFC__NEXT_FINISH) finish(run);
}

static void end_hop(run *run, afc_status status, bool was_reused) {
    afc__outcome outcome = {.hop = {.is_reused = was_reused}};
    if (status != AFC_OK) afc__fail(&outcome.failure, status, "%s", afc_status_text(status));
    take_next(run, afc__transfer_end_hop(&run->transfer, &outcome));
}

static void take_line_of_head(run *run, bool is_of_tunnel) {
    afc_slice line = take_line(&run->input);
    if (line.size == 0) return;
    bool goes_on = is_of_tunnel ? afc__transfer_on_connect_line(&run->transfer, line)
                                : afc__transfer_on_line(&run->transfer, line);
    if (!goes_on) end_hop(run, AFC_OK, false);
}

/** What was decoded and kept goes before what comes. false: it has to wait longer, or the hop has ended. */
static bool deliver_kept(run *run) {
    afc__flow flow = AFC__CONSUMED;
    while (flow == AFC__CONSUMED && afc__transfer_has_kept(&run->transfer)) {
        flow = afc__transfer_deliver(&run->transfer);
    }
    if (flow == AFC__STOP) end_hop(run, AFC_OK, false);
    return flow == AFC__CONSUMED;
}

static void take_body(run *run) {
    if (!deliver_kept(run)) return;
    afc_slice bytes = run->held;
    if (bytes.size == 0) bytes = take_bytes(&run->input, 1 + 16 * take_octet(&run->input));
    if (bytes.size == 0) return;
    afc__flow flow = afc__transfer_on_body(&run->transfer, bytes, (int64_t)bytes.size);
    run->held = flow == AFC__PAUSED ? bytes : (afc_slice){NULL, 0};
    if (flow == AFC__STOP) end_hop(run, AFC_OK, false);
}

/** Keeps bytes that have to wait, as for an upgraded connection. */
static void keep_body(run *run) {
    if (run->held.size == 0) return;
    afc__flow flow = afc__transfer_keep(&run->transfer, run->held, (int64_t)run->held.size);
    if (flow == AFC__CONSUMED) run->held = (afc_slice){NULL, 0};
    if (flow == AFC__STOP) end_hop(run, AFC_OK, false);
}

static void read_body(run *run) {
    char piece[64];
    if (!run->transfer.request.sends_body) return;
    ptrdiff_t count = afc__transfer_read_body(&run->transfer, piece,
                                              1 + take_octet(&run->input) % 64);
    require(count <= (ptrdiff_t)sizeof piece);
    if (count == AFC_READ_FAILED) end_hop(run, AFC_OK, false);
}

static void answer_challenge(run *run) {
    unsigned choice = take_octet(&run->input);
    afc__identity *identity = NULL;
    afc_credentials credentials = AFC_CREDENTIALS_INIT;
    credentials.user = "later";
    credentials.password = "secret";
    afc_challenge_decision answer = (afc_challenge_decision)(choice % 4);
    uint32_t number = atomic_load(&run->transfer.awaited);
    if (choice >= 128) number++;
    if (answer == AFC_CHALLENGE_USE &&
        afc__identity_new(&identity, &credentials, NULL, NULL) != AFC_OK) {
        return;
    }
    bool is_taken = afc__transfer_on_answer(&run->transfer, number, answer, identity);
    if (!is_taken) return;
    bool has_failed = run->transfer.result->failure.status != AFC_OK;
    if (run->is_in_hop) {
        if (has_failed) end_hop(run, AFC_OK, false);
    } else if (has_failed) {
        finish(run);
    } else {
        take_next(run, afc__transfer_resume_hop(&run->transfer));
    }
}

/** While a challenge waits for its answer behind the end of its hop, nothing else can happen but its end. */
static void step(run *run) {
    static const afc_status ends[] = {AFC_OK,   AFC_ELOST,    AFC_ELOST, AFC_ECONNECT,
                                      AFC_EDNS, AFC_ETIMEOUT, AFC_EAUTH, AFC_EPROTOCOL};
    afc__transfer *transfer = &run->transfer;
    unsigned choice = take_octet(&run->input);
    if (!run->is_in_hop) {
        if (choice % 4 == 3)
            finish(run);
        else
            answer_challenge(run);
        return;
    }
    switch (choice) {
    case 'b':
        take_body(run);
        break;
    case 'k':
        keep_body(run);
        break;
    case 'r':
        read_body(run);
        break;
    case 'x':
        (void)afc__transfer_expects_unsent_body(transfer);
        if (transfer->request.sends_body && !afc__transfer_rewind_body(transfer))
            end_hop(run, AFC_OK, false);
        break;
    case 'w':
        afc__transfer_wake(transfer);
        break;
    case 's':
        if (!afc__transfer_resume(transfer)) afc__transfer_suspend(transfer);
        break;
    case 'c':
        atomic_store(&transfer->is_cancelled, true);
        break;
    case 'a':
        answer_challenge(run);
        break;
    case 't':
        take_line_of_head(run, true);
        break;
    case 'g':
        if (transfer->request.sends_body && !afc__transfer_begin_body(transfer))
            end_hop(run, AFC_OK, false);
        break;
    case 'e':
        choice = take_octet(&run->input);
        /* A body of which something waits has not come to its end. */
        if (choice % 8 == 0 && !deliver_kept(run)) break;
        if (choice % 8 == 0 && run->held.size != 0) break;
        end_hop(run, ends[choice % 8], choice >= 128);
        break;
    default:
        take_line_of_head(run, false);
        break;
    }
}

/* ---- The request --------------------------------------------------------------------------- */

static bool to_ascii(char *out, size_t size, afc_slice host) {
    if (host.size >= size) return false;
    memcpy(out, host.bytes, host.size);
    out[host.size] = '\0';
    return true;
}

static void make_body(run *run, afc_request *request, unsigned choice) {
    if (choice == 1) {
        request->body.kind = AFC_BODY_BYTES;
        request->body.bytes = afc_slice_of(upload);
    } else if (choice >= 2) {
        request->body.kind = AFC_BODY_READER;
        request->body.reader.context = run;
        request->body.reader.read = read_upload;
        request->body.reader.rewind = choice == 3 ? rewind_upload : NULL;
        request->body.length = AFC_LENGTH_UNKNOWN;
    }
}

static afc_status make_transfer(run *run, const afc__session_stores *stores) {
    static const char *const methods[] = {"GET", "HEAD", "POST", "PUT"};
    static afc__transfer_counters counters;
    static const afc_header fields[] = {{{"Authorization", 13}, {"Basic x", 7}, AFC_HEADER_SECRET}};
    static const afc_credentials user = {"u", "p", NULL, 0, false, {0}};
    static const afc_credentials eager = {"u", "p", "t", 0, true, {0}};
    unsigned first = take_octet(&run->input), second = take_octet(&run->input);
    afc_request request = AFC_REQUEST_INIT;
    afc_task_events events = AFC_TASK_EVENTS_INIT;
    request.method = methods[first & 3];
    make_body(run, &request, first >> 2 & 3);
    request.sink.kind = (first & 16) != 0 ? AFC_SINK_CALLBACK : AFC_SINK_MEMORY;
    request.expect = (first & 32) != 0 ? AFC_EXPECT_ALWAYS : AFC_EXPECT_AUTOMATIC;
    request.wait_for_network = (first & 64) != 0;
    request.allow_downgrade = (first & 128) != 0;
    request.url = (second & 1) != 0 ? "https://a.test/b?c" : "http://a.test/b?c";
    if ((second & 6) == 2) request.credentials = &user;
    if ((second & 6) == 4) request.credentials = &eager;
    if ((second & 6) == 6) {
        request.headers = fields;
        request.header_count = 1;
    }
    request.limits = (afc_limits){LARGEST_BODY, HEAD_BYTES, HEAD_COUNT, 3, 5, 3, {0}};
    request.progress_ms = 1;
    events.context = run;
    events.on_redirect = on_redirect;
    events.on_informational = on_informational;
    events.on_head = on_head;
    events.on_progress = on_progress;
    events.on_done = on_done;
    if (request.sink.kind == AFC_SINK_CALLBACK) events.on_body = on_body;
    if ((second & 8) != 0) events.on_challenge = on_challenge;
    run->has_proxy = (second & 16) != 0;
    run->is_shared = (second & 32) != 0 && request.sink.kind == AFC_SINK_MEMORY;
    afc_status status = afc__transfer_init(&run->transfer, &request, &events, &counters, NULL);
    if (status != AFC_OK) return status;
    if ((second & 64) != 0) run->transfer.stores = stores;
    status = afc__transfer_allow_schemes(&run->transfer, AFC_AUTH_NTLM | AFC_AUTH_NEGOTIATE, NULL);
    if (status != AFC_OK) afc__transfer_clear(&run->transfer);
    return status;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static run run;
    static const char proxy[] = "http://u:p@proxy.test:8080";
    afc__session_stores stores = {.cookie_policy = AFC_COOKIES_ALWAYS, .to_ascii = to_ascii};
    run = (struct run){.input = {data, size}};
    if (afc__proxy_parse(&run.proxy, afc_slice_of(proxy), NULL) == AFC_OK &&
        afc_cookie_jar_new(&stores.cookies, NULL, NULL) == AFC_OK &&
        afc_hsts_new(&stores.hsts, NULL, NULL) == AFC_OK &&
        make_transfer(&run, &stores) == AFC_OK) {
        begin_hop(&run);
        for (int i = 0; i < MOST_STEPS && run.input.size > 0 && !run.is_over; i++) step(&run);
        /* At most one more hop for every event that is still possible without a byte. */
        for (int i = 0; i < 4 && run.is_in_hop; i++) end_hop(&run, AFC_ELOST, false);
        afc__transfer_finish(&run.transfer);
        require(run.dones == 1);
    }
    afc__proxy_clear(&run.proxy);
    afc_cookie_jar_release(stores.cookies);
    afc_hsts_release(stores.hsts);
    return 0;
}
