#include "body/sink_internal.h"

#include "base/alloc.h"
#include "base/failure.h"

#include <string.h>
#include <time.h>

#define DEFAULT_MEMORY_LIMIT (64u * 1024u * 1024u)
/* The limit of memory reserved because of Content-Length; more is allocated as bytes arrive. */
#define RESERVE_LIMIT (256u * 1024u * 1024u)
#define EVERY_FLAG                                                                                 \
    (AF_SINK_KEEP_PARTIAL | AF_SINK_RESUME | AF_SINK_SYNC | AF_SINK_NO_REPLACE |                   \
     AF_SINK_MAKE_FOLDERS | AF_SINK_FOLLOW_LINKS | AF_SINK_KEEP_MODE)

/* ---- Making -------------------------------------------------------------------------------- */

void af__sink_zero(af__sink *sink) {
    *sink = (af__sink){.end = AF_LENGTH_UNKNOWN, .total = AF_LENGTH_UNKNOWN};
    sink->file = AF__FILE_NONE;
}

static void set_kind(af__sink *sink, af_sink_kind kind) {
    static const uint64_t stages[] = {[AF_SINK_FILE] = AF__SINK_STAGE, [AF_SINK_CALLBACK] = 0};
    sink->kind = kind;
    sink->limit = sink->asked_limit;
    if (sink->limit == 0) {
        sink->limit = kind == AF_SINK_MEMORY ? DEFAULT_MEMORY_LIMIT : UINT64_MAX;
    }
    af__buffer_clear(&sink->memory);
    af__buffer_init(&sink->memory, kind == AF_SINK_MEMORY ? sink->limit : stages[kind]);
}

static af_status set_flags(af__sink *sink, unsigned flags, af_failure *failure) {
    if ((flags & ~EVERY_FLAG) != 0) {
        return af__fail(failure, AF_EINVAL, "unknown flags for the sink: %#x", flags);
    }
    sink->flags = flags;
    sink->is_resumable = sink->may_resume && (flags & (AF_SINK_KEEP_PARTIAL | AF_SINK_RESUME)) != 0;
    return AF_OK;
}

static af_status read_token(af__sink *sink, const af_sink *options, af_failure *failure) {
    if (options->resume_token == NULL) return AF_OK;
    if ((options->flags & AF_SINK_RESUME) == 0 || options->path == NULL) {
        return af__fail(failure, AF_EINVAL,
                        "a resume token requires AF_SINK_RESUME and a file path");
    }
    sink->given = af__zalloc(sizeof *sink->given);
    if (sink->given == NULL) return af__fail_memory(failure);
    return af__resume_read(sink->given, af_slice_of(options->resume_token), failure);
}

af_status af__sink_init(af__sink *sink, const af__sink_config *config, af_failure *failure) {
    const af_sink *options = config->options;
    af__sink_zero(sink);
    if (options->kind < AF_SINK_MEMORY || options->kind > AF_SINK_CALLBACK) {
        return af__fail(failure, AF_EINVAL, "invalid kind of sink: %d", (int)options->kind);
    }
    sink->may_resume = config->may_resume;
    sink->asked_limit = config->limit;
    set_kind(sink, options->kind);
    af_status status = set_flags(sink, options->flags, failure);
    if (status != AF_OK || options->kind != AF_SINK_FILE) return status;
    bool has_path = options->path != NULL && options->path[0] != '\0';
    if (!has_path && !config->is_named_late) {
        return af__fail(failure, AF_EINVAL, "a FILE sink requires a path");
    }
    status = read_token(sink, options, failure);
    if (status == AF_OK && has_path) {
        status = af__sink_set_path(sink, options->path, options->flags, failure);
    }
    if (status != AF_OK) af__sink_clear(sink);
    return status;
}

af_status af__sink_set_path(af__sink *sink, const char *path, unsigned flags, af_failure *failure) {
    af_status status = set_flags(sink, flags, failure);
    if (status != AF_OK) return status;
    af__file_clear(&sink->file);
    if (sink->kind != AF_SINK_FILE) set_kind(sink, AF_SINK_FILE);
    return af__file_init(&sink->file, path, sink->flags, sink->is_resumable, failure);
}

void af__sink_clear(af__sink *sink) {
    af__file_clear(&sink->file);
    if (sink->given != NULL) af__resume_clear(sink->given);
    af_free(sink->given);
    if (af__hasher_is_active(&sink->hasher)) af__hasher_clear(&sink->hasher);
    af__sink_detach_writer(sink);
    af__buffer_clear(&sink->memory);
    af__sink_zero(sink);
}

static af_status too_big(const af__sink *sink, af_failure *failure) {
    return af__fail(failure, AF_ETOOBIG, "the response body exceeds the limit of %llu bytes",
                    (unsigned long long)sink->limit);
}

/* ---- Opening ------------------------------------------------------------------------------- */

af_status af__sink_find_partial(af__sink *sink, af_slice url, af_failure *failure) {
    bool continues = sink->is_resumable && (sink->flags & AF_SINK_RESUME) != 0;
    if (!continues || sink->file.path == NULL) return AF_OK;
    return af__file_find(&sink->file, url, sink->given, failure);
}

static af_status open_memory(af__sink *sink, uint64_t expected, bool is_encoded,
                             af_failure *failure) {
    uint64_t reserve = expected < RESERVE_LIMIT ? expected : RESERVE_LIMIT;
    if (reserve == 0 || is_encoded) return AF_OK;
    if (af__buffer_reserve(&sink->memory, reserve) == AF_OK) return AF_OK;
    return af__fail(failure, AF_ENOMEM, "out of memory for a body of %llu bytes",
                    (unsigned long long)expected);
}

/** Starts digests. They are for the bytes on the wire, so a decoded body can't be checked. */
static void begin_digest(af__sink *sink, const af__sink_start *start, bool is_whole) {
    if (start->is_encoded) return;
    sink->digest = af__digest_promised(start->head, is_whole);
    if (sink->file.token.digest.kind > sink->digest.kind) sink->digest = sink->file.token.digest;
    if (sink->digest.kind == AF__DIGEST_NONE) return;
    if (!af__hasher_begin(&sink->hasher, sink->digest.kind)) sink->digest = (af__digest){0};
}

static af_status open_new(af__sink *sink, const af__sink_start *start, af_failure *failure) {
    if (sink->file.path == NULL) {
        return af__fail(failure, AF_EINVAL, "the FILE sink has no path, and on_head set none");
    }
    /* RFC 9110 15.3.7: 206 is only valid as the response to a range request. */
    if (start->head->status == 206 && !start->asks_for_range) {
        return af__fail(failure, AF_EPROTOCOL,
                        "unexpected 206: the request asked for the whole file");
    }
    af_status status = af__file_create(&sink->file, failure);
    if (status != AF_OK || !sink->is_resumable || sink->file.is_device) return status;
    af__resume_token token;
    const char *obstacle;
    status = af__resume_make(&token, start->url, start->head, start->framing, (int64_t)time(NULL),
                             &obstacle);
    if (obstacle != NULL) sink->reason = obstacle;
    if (status != AF_OK) return af__fail(failure, status, "out of memory");
    status = af__file_note(&sink->file, &token, failure);
    af__resume_clear(&token);
    if (status != AF_OK) return status;
    bool has_length = start->framing->kind == AF__FRAMING_LENGTH && !start->is_encoded;
    if (has_length) sink->end = sink->total = start->length;
    begin_digest(sink, start, true);
    return has_length ? af__file_check_room(&sink->file, start->length, failure) : AF_OK;
}

static af_status open_behind(af__sink *sink, const af__sink_start *start, af_failure *failure) {
    sink->resumption = AF_RESUMPTION_RESUMED;
    sink->offset = sink->file.size;
    sink->end = start->answer->end;
    sink->total = start->answer->total;
    if ((uint64_t)sink->end > sink->limit) return too_big(sink, failure);
    af_status status = af__file_resume(&sink->file, failure);
    if (status != AF_OK) return status;
    sink->file.token.total = sink->total;
    begin_digest(sink, start, false);
    if (af__hasher_is_active(&sink->hasher)) sink->file.token.digest = sink->digest;
    status = af__file_note(&sink->file, &sink->file.token, failure);
    if (status != AF_OK) return status;
    return af__file_check_room(&sink->file, sink->end - sink->offset, failure);
}

static af_status open_complete(af__sink *sink, const af__sink_start *start, af_failure *failure) {
    sink->resumption = AF_RESUMPTION_COMPLETE;
    sink->is_complete = true;
    sink->offset = sink->end = sink->total = sink->file.size;
    if ((uint64_t)sink->end > sink->limit) return too_big(sink, failure);
    begin_digest(sink, start, false);
    af_status status = af__file_resume(&sink->file, failure);
    return status == AF_OK ? af__file_note(&sink->file, &sink->file.token, failure) : status;
}

static void divert(af__sink *sink) {
    sink->is_error_body = true;
    af__buffer_clear(&sink->memory);
    af__buffer_init(&sink->memory, AF__ERROR_BODY_LIMIT);
}

static af_status open_file(af__sink *sink, const af__sink_start *start, af_failure *failure) {
    bool is_success = start->head->status >= 200 && start->head->status <= 299;
    if (start->answer == NULL) {
        if (is_success) return open_new(sink, start, failure);
        divert(sink);
        return AF_OK;
    }
    if (sink->reason == NULL) sink->reason = start->answer->reason;
    switch (start->answer->verdict) {
    case AF__RESUME_APPEND:
        return open_behind(sink, start, failure);
    case AF__RESUME_COMPLETE:
        return open_complete(sink, start, failure);
    case AF__RESUME_RESTART:
    case AF__RESUME_REFUSE:
        sink->resumption = AF_RESUMPTION_RESTARTED;
        return open_new(sink, start, failure);
    case AF__RESUME_GONE:
        af__file_discard(&sink->file);
        break;
    case AF__RESUME_KEEP:
        break;
    }
    divert(sink);
    return AF_OK;
}

af_status af__sink_open(af__sink *sink, const af__sink_start *start, af_failure *failure) {
    uint64_t expected = start->length > 0 ? (uint64_t)start->length : 0;
    sink->can_wait = start->can_wait;
    if (!start->is_encoded && expected > sink->limit) return too_big(sink, failure);
    switch (sink->kind) {
    case AF_SINK_MEMORY:
        return open_memory(sink, expected, start->is_encoded, failure);
    case AF_SINK_FILE: {
        af_status status = open_file(sink, start, failure);
        return status == AF_OK ? af__sink_attach_writer(sink, expected, failure) : status;
    }
    case AF_SINK_CALLBACK:
        break;
    }
    return AF_OK;
}

/* ---- Writing ------------------------------------------------------------------------------- */

af_status af__sink_admit(af__sink *sink, size_t size, af_failure *failure) {
    if (sink->is_complete) return AF_OK;
    if (size > sink->limit - (uint64_t)sink->offset - sink->written) return too_big(sink, failure);
    return AF_OK;
}

static af_status write_memory(af__sink *sink, af_slice bytes, af_failure *failure) {
    af_status status = af__buffer_append(&sink->memory, bytes.bytes, bytes.size);
    if (status == AF_OK) return AF_OK;
    if (status == AF_ENOMEM) {
        return af__fail(failure, status, "out of memory for a body of more than %zu bytes",
                        sink->memory.size);
    }
    return too_big(sink, failure);
}

af_status af__sink_write(af__sink *sink, af_slice bytes, af_failure *failure) {
    if (sink->is_complete) return AF_OK;
    af_status status = af__sink_admit(sink, bytes.size, failure);
    if (status != AF_OK) return status;
    if (sink->is_error_body) {
        /* The rest of an error body is discarded. */
        size_t room = AF__ERROR_BODY_LIMIT - sink->memory.size;
        if (bytes.size > room) bytes.size = room;
    }
    if (sink->kind == AF_SINK_FILE && !sink->is_error_body) {
        status = af__sink_write_file(sink, bytes, failure);
    } else {
        status = write_memory(sink, bytes, failure);
    }
    if (status == AF_OK) sink->written += bytes.size;
    return status;
}

/* ---- Ending -------------------------------------------------------------------------------- */

char *af__sink_copy_token(const af__sink *sink) {
    if (!af__resume_exists(&sink->file.token)) return NULL;
    af__buffer text;
    af__buffer_init(&text, AF__RESUME_LONGEST + 1);
    af_status status = af__resume_write(&sink->file.token, &text);
    if (status == AF_OK) status = af__buffer_append(&text, "", 1);
    if (status != AF_OK) {
        af__buffer_clear(&text);
        return NULL;
    }
    return af__buffer_take(&text).bytes;
}
