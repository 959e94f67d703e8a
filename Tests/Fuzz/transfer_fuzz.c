/* A request, then what may happen to it, in any order: lines, bytes, ends of hops, questions of a proxy, wakes, suspends,
   cancels. Whatever it is: every event comes in its turn, one completion, limits hold, and nothing of one origin is
   said to another. */
#include "base/alloc.h"
#include "base/failure.h"
#include "input.h"
#include "transfer/auth.h"
#include "transfer/transfer.h"
#include "transfer/transfer_internal.h"

enum { MOST_STEPS = 2000, LARGEST_BODY = 4096, HEAD_BYTES = 8192, HEAD_COUNT = 64 };

typedef struct run {
    input input;
    af__transfer transfer;
    af__proxy proxy;
    bool has_proxy, is_shared, may_ask;
    size_t body_at;
    af_slice held;  /* Was not taken yet. */
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
    if (choice == 1) return AF_READ_AGAIN;
    if (choice == 2) return AF_READ_FAILED;
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

static void check_head(const af_head *head) {
    require(head->header_count <= HEAD_COUNT);
    for (size_t i = 0; i < head->header_count; i++) {
        require(af__is_token(head->headers[i].name) && af__is_field_value(head->headers[i].value));
    }
}

static af_redirect_answer on_redirect(void *context, af_redirect *redirect) {
    run *run = context;
    static const af_header fields[] = {{{"X-Edited", 8}, {"1", 1}, 0}};
    require(run->heads == 0 && redirect->count >= 1 && redirect->count <= 3);
    check_head(redirect->head);
    if (redirect->crosses_origin) {
        for (size_t i = 0; i < redirect->header_count; i++) {
            require(!af__same_name(redirect->headers[i].name, "Authorization"));
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
    return choice < 3 ? (af_redirect_answer)choice : AF_REDIRECT_FOLLOW;
}

static void on_informational(void *context, const af_head *head) {
    const run *run = context;
    require(run->heads == 0 && head->status >= 100 && head->status < 200);
    check_head(head);
}

static af_status on_head(void *context, af_response *response) {
    run *run = context;
    require(++run->heads == 1 && response->head->status >= 200);
    check_head(response->head);
    return take_octet(&run->input) == 1 ? AF_ECANCELED : AF_OK;
}

static af_status on_body(void *context, af_slice chunk) {
    run *run = context;
    require(run->heads == 1 && chunk.size > 0);
    unsigned choice = take_octet(&run->input);
    if (choice == 1) return AF_EAGAIN;
    return choice == 2 ? AF_ECANCELED : AF_OK;
}

static void on_progress(void *context, const af_progress *progress) {
    const run *run = context;
    require(run->dones == 0 && progress->sent >= 0 && progress->received >= 0);
}

static af_challenge_answer on_challenge(void *context, const af_challenge *challenge,
                                        af_credentials *credentials) {
    run *run = context;
    require(run->heads == 0 && (challenge->scheme & ~challenge->offered) == 0);
    unsigned choice = take_octet(&run->input);
    *credentials = (af_credentials)AF_CREDENTIALS_INIT;
    credentials->user = choice % 2 == 0 ? "asked" : NULL;
    credentials->password = "secret";
    credentials->token = choice % 3 == 0 ? "token" : NULL;
    return (af_challenge_answer)(choice % 5);
}

static void on_done(void *context, af_result *result) {
    run *run = context;
    require(++run->dones == 1);
    size_t hops;
    const af_hop *hop = af_result_get_hops(result, &hops);
    for (size_t i = 0; i < hops; i++) require(hop[i].url != NULL);
    const af_head *head = af_result_get_head(result);
    require((head != NULL) == (run->heads == 1));
    if (head != NULL) check_head(head);
    require(af_result_get_body_size(result) <= LARGEST_BODY);
    af_result_free(result);
}

/* ---- Who carries it ------------------------------------------------------------------------ */

static void finish(run *run) {
    run->is_over = true;
    run->is_in_hop = false;
}

static void begin_hop(run *run) {
    af__transfer *transfer = &run->transfer;
    require(++run->hops < 400);
    run->held = (af_slice){NULL, 0};
    if (!af__transfer_begin_hop(transfer)) {
        finish(run);
        return;
    }
    transfer->hop.proxy = run->has_proxy ? &run->proxy : NULL;
    transfer->hop.shares_connection = run->is_shared;
    if (!af__transfer_prepare_proxy_auth(transfer)) {
        finish(run);
        return;
    }
    const char *field = af__transfer_authorization(transfer);
    require(field == NULL || af__may_be_sent(af_slice_of(field)));
    require(transfer->hop.cookies == NULL || af__may_be_sent(af_slice_of(transfer->hop.cookies)));
    run->is_in_hop = true;
}

static void take_next(run *run, af__next next) {
    run->is_in_hop = false;
    if (next == AF__NEXT_HOP || next == AF__NEXT_WAIT) begin_hop(run);
    if (next == AF__NEXT_FINISH) finish(run);
}

static void end_hop(run *run, af_status status, bool was_reused) {
    af__outcome outcome = {.hop = {.is_reused = was_reused}};
    if (status != AF_OK) af__fail(&outcome.failure, status, "%s", af_status_text(status));
    take_next(run, af__transfer_end_hop(&run->transfer, &outcome));
}

static void take_line_of_head(run *run, bool is_of_tunnel) {
    af_slice line = take_line(&run->input);
    if (line.size == 0) return;
    bool goes_on = is_of_tunnel ? af__transfer_on_connect_line(&run->transfer, line)
                                : af__transfer_on_line(&run->transfer, line);
    if (!goes_on) end_hop(run, AF_OK, false);
}

/** What was decoded and kept goes before what comes. false: it has to wait longer, or the hop has ended. */
static bool deliver_kept(run *run) {
    af__flow flow = AF__CONSUMED;
    while (flow == AF__CONSUMED && af__transfer_has_kept(&run->transfer)) {
        flow = af__transfer_deliver(&run->transfer);
    }
    if (flow == AF__STOP) end_hop(run, AF_OK, false);
    return flow == AF__CONSUMED;
}

static void take_body(run *run) {
    if (!deliver_kept(run)) return;
    af_slice bytes = run->held;
    if (bytes.size == 0) bytes = take_bytes(&run->input, 1 + 16 * take_octet(&run->input));
    if (bytes.size == 0) return;
    af__flow flow = af__transfer_on_body(&run->transfer, bytes, (int64_t)bytes.size);
    run->held = flow == AF__PAUSED ? bytes : (af_slice){NULL, 0};
    if (flow == AF__STOP) end_hop(run, AF_OK, false);
}

/** libcurl is made to pass on what it has decoded of bytes that have to wait. */
static void keep_body(run *run) {
    if (run->held.size == 0 || !af__hop_is_decoded(&run->transfer)) return;
    bool keeps = take_octet(&run->input) % 4 != 0;
    af__flow flow = af__transfer_keep(&run->transfer, run->held, (int64_t)run->held.size, keeps);
    if (flow == AF__CONSUMED) run->held = (af_slice){NULL, 0};
    if (flow == AF__STOP) end_hop(run, AF_OK, false);
}

static void read_body(run *run) {
    char piece[64];
    if (!run->transfer.request.sends_body) return;
    ptrdiff_t count = af__transfer_read_body(&run->transfer, piece,
                                             1 + take_octet(&run->input) % 64);
    require(count <= (ptrdiff_t)sizeof piece);
    if (count == AF_READ_FAILED) end_hop(run, AF_OK, false);
}

static void answer_challenge(run *run) {
    unsigned choice = take_octet(&run->input);
    af__identity *identity = NULL;
    af_credentials credentials = AF_CREDENTIALS_INIT;
    credentials.user = "later";
    credentials.password = "secret";
    af_challenge_answer answer = (af_challenge_answer)(choice % 4);
    uint32_t number = atomic_load(&run->transfer.awaited);
    if (choice >= 128) number++;
    if (answer == AF_CHALLENGE_USE &&
        af__identity_new(&identity, &credentials, NULL, NULL) != AF_OK) {
        return;
    }
    bool is_taken = af__transfer_on_answer(&run->transfer, number, answer, identity);
    if (!is_taken) return;
    bool has_failed = run->transfer.result->failure.status != AF_OK;
    if (run->is_in_hop) {
        if (has_failed) end_hop(run, AF_OK, false);
    } else if (has_failed) {
        finish(run);
    } else {
        take_next(run, af__transfer_resume_hop(&run->transfer));
    }
}

/** While a challenge waits for its answer behind the end of its hop, nothing else can happen but its end. */
static void step(run *run) {
    static const af_status ends[] = {AF_OK,   AF_ELOST,    AF_ELOST, AF_ECONNECT,
                                     AF_EDNS, AF_ETIMEOUT, AF_EAUTH, AF_EPROTOCOL};
    af__transfer *transfer = &run->transfer;
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
        (void)af__transfer_expects_unsent_body(transfer);
        if (transfer->request.sends_body && !af__transfer_rewind_body(transfer))
            end_hop(run, AF_OK, false);
        break;
    case 'w':
        af__transfer_wake(transfer);
        break;
    case 's':
        atomic_store(&transfer->is_suspended, !atomic_load(&transfer->is_suspended));
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
        if (transfer->request.sends_body && !af__transfer_begin_body(transfer))
            end_hop(run, AF_OK, false);
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

static bool to_ascii(char *out, size_t size, af_slice host) {
    if (host.size >= size) return false;
    memcpy(out, host.bytes, host.size);
    out[host.size] = '\0';
    return true;
}

static void make_body(run *run, af_request *request, unsigned choice) {
    if (choice == 1) {
        request->body.kind = AF_BODY_BYTES;
        request->body.bytes = af_slice_of(upload);
    } else if (choice >= 2) {
        request->body.kind = AF_BODY_READER;
        request->body.reader.context = run;
        request->body.reader.read = read_upload;
        request->body.reader.rewind = choice == 3 ? rewind_upload : NULL;
        request->body.length = AF_LENGTH_UNKNOWN;
    }
}

static af_status make_transfer(run *run, const af__store *store) {
    static const char *const methods[] = {"GET", "HEAD", "POST", "PUT"};
    static atomic_uint_fast64_t events_counted;
    static const af_header fields[] = {{{"Authorization", 13}, {"Basic x", 7}, AF_HEADER_SECRET}};
    static const af_credentials user = {"u", "p", NULL, 0, false};
    static const af_credentials eager = {"u", "p", "t", 0, true};
    unsigned first = take_octet(&run->input), second = take_octet(&run->input);
    af_request request = AF_REQUEST_INIT;
    af_task_events events = AF_TASK_EVENTS_INIT;
    request.method = methods[first & 3];
    make_body(run, &request, first >> 2 & 3);
    request.sink.kind = (first & 16) != 0 ? AF_SINK_CALLBACK : AF_SINK_MEMORY;
    request.expect = (first & 32) != 0 ? AF_EXPECT_ALWAYS : AF_EXPECT_AUTOMATIC;
    request.wait_for_network = (first & 64) != 0;
    request.allow_downgrade = (first & 128) != 0;
    request.url = (second & 1) != 0 ? "https://a.test/b?c" : "http://a.test/b?c";
    if ((second & 6) == 2) request.credentials = &user;
    if ((second & 6) == 4) request.credentials = &eager;
    if ((second & 6) == 6) {
        request.headers = fields;
        request.header_count = 1;
    }
    request.limits = (af_limits){LARGEST_BODY, HEAD_BYTES, HEAD_COUNT, 3, 5, 3};
    request.progress_ms = 1;
    events.context = run;
    events.on_redirect = on_redirect;
    events.on_informational = on_informational;
    events.on_head = on_head;
    events.on_progress = on_progress;
    events.on_done = on_done;
    if (request.sink.kind == AF_SINK_CALLBACK) events.on_body = on_body;
    if ((second & 8) != 0) events.on_challenge = on_challenge;
    run->has_proxy = (second & 16) != 0;
    run->is_shared = (second & 32) != 0 && request.sink.kind == AF_SINK_MEMORY;
    af_status status = af__transfer_init(&run->transfer, &request, &events, &events_counted, NULL);
    if (status != AF_OK) return status;
    if ((second & 64) != 0) run->transfer.store = store;
    status = af__transfer_allow_schemes(&run->transfer, AF_AUTH_NTLM | AF_AUTH_NEGOTIATE, NULL);
    if (status != AF_OK) af__transfer_clear(&run->transfer);
    return status;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static run run;
    static const char proxy[] = "http://u:p@proxy.test:8080";
    af__store store = {.cookie_policy = AF_COOKIES_ALWAYS, .to_ascii = to_ascii};
    run = (struct run){.input = {data, size}};
    if (af__proxy_parse(&run.proxy, af_slice_of(proxy), NULL) == AF_OK &&
        af_cookie_jar_new(&store.cookies, NULL, NULL) == AF_OK &&
        af_hsts_new(&store.hsts, NULL, NULL) == AF_OK && make_transfer(&run, &store) == AF_OK) {
        begin_hop(&run);
        for (int i = 0; i < MOST_STEPS && run.input.size > 0 && !run.is_over; i++) step(&run);
        /* At most one more hop for every event that is still possible without a byte. */
        for (int i = 0; i < 4 && run.is_in_hop; i++) end_hop(&run, AF_ELOST, false);
        af__transfer_finish(&run.transfer);
        require(run.dones == 1);
    }
    af__proxy_clear(&run.proxy);
    af_cookie_jar_release(store.cookies);
    af_hsts_release(store.hsts);
    return 0;
}
