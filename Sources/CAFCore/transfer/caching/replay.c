/*
 * Passes on a stored response instead of a hop's: its head and its body take the same way as those that libcurl passes
 * on.
 */
#include "body/sink_write.h"
#include "transfer/caching/hop_cache_internal.h"
#include "transfer/transfer.h"

enum {
    /* How many bytes are passed on in one turn of the loop. */
    SLICE = 1024 * 1024,
    PIECE = 16 * 1024
};

static void count_use(const afc__hop_cache *cache) {
    switch (cache->use) {
    case AFC_CACHE_USE_HIT:
        afc__http_cache_count(cache->http_cache, AFC__HTTP_CACHE_HIT);
        break;
    case AFC_CACHE_USE_STALE:
        afc__http_cache_count(cache->http_cache, AFC__HTTP_CACHE_HIT);
        afc__http_cache_count(cache->http_cache, AFC__HTTP_CACHE_STALE);
        break;
    case AFC_CACHE_USE_VALIDATED:
        afc__http_cache_count(cache->http_cache, AFC__HTTP_CACHE_REVALIDATED);
        break;
    case AFC_CACHE_USE_UNUSED:
    case AFC_CACHE_USE_MISSING:
        break;
    }
}

/** Extends the limits of a head by what the cache adds, so that this never makes the response fail. */
static void extend_limits(afc__head_limits *limits) {
    if (limits->count <= UINT32_MAX - AFC__CACHED_RESPONSE_MORE_FIELDS) {
        limits->count += AFC__CACHED_RESPONSE_MORE_FIELDS;
    }
    if (limits->bytes <= UINT32_MAX - AFC__CACHED_RESPONSE_MORE_BYTES) {
        limits->bytes += AFC__CACHED_RESPONSE_MORE_BYTES;
    }
}

static bool pass_head(afc__transfer *transfer) {
    afc__hop_cache *cache = transfer->hop_cache;
    afc__cached_response_head response;
    extend_limits(&transfer->hop.reader->limits);
    cache->has_head = true;
    count_use(cache);
    if (afc__cached_response_make_head(&response, &cache->response) != AFC_OK) {
        return afc__transfer_fail_memory(transfer);
    }
    bool continues = afc__transfer_on_head(transfer, &response.head);
    afc__cached_response_clear_head(&response);
    return continues;
}

/** Makes `cache->piece` the next piece, unless it has bytes left. */
static afc__http_cache_step next_piece(afc__hop_cache *cache) {
    if (cache->left == 0) return AFC__HTTP_CACHE_END;
    if (cache->piece.size == 0 && !cache->has_end) {
        afc__http_cache_step step = afc__http_cache_read(cache->reader, &cache->piece);
        if (step != AFC__HTTP_CACHE_READY) return step;
    }
    return cache->piece.size == 0 ? AFC__HTTP_CACHE_END : AFC__HTTP_CACHE_READY;
}

static afc__flow pass_piece(afc__transfer *transfer) {
    afc__hop_cache *cache = transfer->hop_cache;
    afc_slice piece = cache->piece;
    if (piece.size > PIECE) piece.size = PIECE;
    if ((int64_t)piece.size > cache->left) piece.size = (size_t)cache->left;
    afc__flow flow = afc__transfer_on_body(transfer, piece, cache->passed + (int64_t)piece.size);
    if (flow != AFC__CONSUMED) return flow;
    cache->piece = (afc_slice){cache->piece.bytes + piece.size, cache->piece.size - piece.size};
    cache->left -= (int64_t)piece.size;
    cache->passed += (int64_t)piece.size;
    return flow;
}

/** Returns whether the body is passed to the sink: that of a redirect isn't. */
static bool wants_body(const afc__transfer *transfer) {
    return transfer->hop.phase == AFC__PHASE_BODY;
}

afc__replay afc__transfer_replay(afc__transfer *transfer) {
    afc__hop_cache *cache = transfer->hop_cache;
    if (!cache->has_head && !pass_head(transfer)) return AFC__REPLAY_DONE;
    int64_t end = cache->passed + SLICE;
    while (wants_body(transfer) && cache->passed < end) {
        afc__http_cache_step step = next_piece(cache);
        if (step == AFC__HTTP_CACHE_END && cache->left > 0) step = AFC__HTTP_CACHE_BROKEN;
        if (step == AFC__HTTP_CACHE_END) return AFC__REPLAY_DONE;
        if (step == AFC__HTTP_CACHE_PENDING) return AFC__REPLAY_PENDING;
        if (step == AFC__HTTP_CACHE_BROKEN) {
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
