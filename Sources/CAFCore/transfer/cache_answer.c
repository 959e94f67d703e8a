/* A stored response instead of a hop: its head and its body go the way of those that libcurl passes on. */
#include "transfer/cached.h"
#include "transfer/transfer_internal.h"

enum {
    /* What is passed on before others have their turn, in bytes. */
    TURN = 1024 * 1024,
    PIECE = 16 * 1024
};

static void count_use(const afc__cached *cached) {
    switch (cached->use) {
    case AFC_CACHE_HIT:
        afc__cache_count(cached->cache, AFC__CACHE_HIT);
        break;
    case AFC_CACHE_STALE:
        afc__cache_count(cached->cache, AFC__CACHE_HIT);
        afc__cache_count(cached->cache, AFC__CACHE_STALE);
        break;
    case AFC_CACHE_VALIDATED:
        afc__cache_count(cached->cache, AFC__CACHE_REVALIDATED);
        break;
    case AFC_CACHE_UNUSED:
    case AFC_CACHE_MISSING:
        break;
    }
}

/** A response that the request may receive isn't refused for what the cache adds. */
static void extend_limits(afc__head_limits *limits) {
    if (limits->count <= UINT32_MAX - AFC__ANSWER_MORE_FIELDS) {
        limits->count += AFC__ANSWER_MORE_FIELDS;
    }
    if (limits->bytes <= UINT32_MAX - AFC__ANSWER_MORE_BYTES) {
        limits->bytes += AFC__ANSWER_MORE_BYTES;
    }
}

static bool pass_head(afc__transfer *transfer) {
    afc__cached *cached = transfer->cached;
    afc__answer_head answer;
    extend_limits(&transfer->hop.reader->limits);
    cached->has_head = true;
    count_use(cached);
    if (afc__answer_make_head(&answer, &cached->answer) != AFC_OK) {
        return afc__transfer_fail_memory(transfer);
    }
    bool goes_on = afc__transfer_on_head(transfer, &answer.head);
    afc__answer_clear_head(&answer);
    return goes_on;
}

/** The next piece, at most as long as what is left. */
static afc__cache_step next_piece(afc__cached *cached) {
    if (cached->left == 0) return AFC__CACHE_END;
    if (cached->piece.size == 0 && !cached->has_end) {
        afc__cache_step step = afc__cache_read(cached->reader, &cached->piece);
        if (step != AFC__CACHE_READY) return step;
    }
    return cached->piece.size == 0 ? AFC__CACHE_END : AFC__CACHE_READY;
}

static afc__flow pass_piece(afc__transfer *transfer) {
    afc__cached *cached = transfer->cached;
    afc_slice piece = cached->piece;
    if (piece.size > PIECE) piece.size = PIECE;
    if ((int64_t)piece.size > cached->left) piece.size = (size_t)cached->left;
    afc__flow flow = afc__transfer_on_body(transfer, piece, cached->passed + (int64_t)piece.size);
    if (flow != AFC__CONSUMED) return flow;
    cached->piece = (afc_slice){cached->piece.bytes + piece.size, cached->piece.size - piece.size};
    cached->left -= (int64_t)piece.size;
    cached->passed += (int64_t)piece.size;
    return flow;
}

/** The body of a redirect goes nowhere. */
static bool wants_body(const afc__transfer *transfer) {
    return transfer->hop.phase == AFC__PHASE_BODY;
}

afc__replay afc__transfer_replay(afc__transfer *transfer) {
    afc__cached *cached = transfer->cached;
    if (!cached->has_head && !pass_head(transfer)) return AFC__REPLAY_DONE;
    int64_t end = cached->passed + TURN;
    while (wants_body(transfer) && cached->passed < end) {
        afc__cache_step step = next_piece(cached);
        if (step == AFC__CACHE_END && cached->left > 0) step = AFC__CACHE_BROKEN;
        if (step == AFC__CACHE_END) return AFC__REPLAY_DONE;
        if (step == AFC__CACHE_PENDING) return AFC__REPLAY_PENDING;
        if (step == AFC__CACHE_BROKEN) {
            afc__transfer_fail_text(transfer, AFC_ETRUNCATED, "the cached body is damaged");
            return AFC__REPLAY_DONE;
        }
        afc__flow flow = pass_piece(transfer);
        if (flow == AFC__PAUSED) return AFC__REPLAY_PAUSED;
        if (flow == AFC__STOP) return AFC__REPLAY_DONE;
        if (afc__sink_has_block(&transfer->sink)) return AFC__REPLAY_MORE;
    }
    return wants_body(transfer) ? AFC__REPLAY_MORE : AFC__REPLAY_DONE;
}
