#include "body/sink.h"

#include "base/alloc.h"
#include "base/failure.h"
#include "body/sink_write.h"

#include <string.h>
#include <time.h>

#define DEFAULT_MEMORY_LIMIT (64u * 1024u * 1024u)
/* Maximum of the memory that is reserved because of Content-Length; more is allocated as bytes arrive. */
#define MAX_RESERVE (256u * 1024u * 1024u)
#define EVERY_FLAG                                                                                 \
    (AFC_FILE_KEEP_PARTIAL | AFC_FILE_RESUME | AFC_FILE_SYNC | AFC_FILE_NO_REPLACE |               \
     AFC_FILE_MAKE_FOLDERS | AFC_FILE_FOLLOW_LINKS | AFC_FILE_KEEP_MODE)

/* ---- Creating ------------------------------------------------------------------------------ */

void afc__sink_zero(afc__sink *sink) {
    *sink = (afc__sink){.end = AFC_LENGTH_UNKNOWN, .total = AFC_LENGTH_UNKNOWN};
    sink->file = AFC__FILE_INIT;
    sink->output = AFC__OUTPUT_CLOSED;
}

/** Sets the kind and resets the buffer. `default_limit` applies if the sink has no limit of its own. */
static void set_kind(afc__sink *sink, afc_sink_kind kind, uint64_t default_limit) {
    static const uint64_t stages[] = {[AFC_SINK_FILE] = AFC__SINK_STAGE,
                                      [AFC_SINK_CALLBACK] = 0,
                                      [AFC_SINK_FD] = AFC__SINK_STAGE};
    sink->kind = kind;
    sink->limit = sink->asked_limit != 0 ? sink->asked_limit : default_limit;
    afc__buffer_clear(&sink->memory);
    afc__buffer_init(&sink->memory, kind == AFC_SINK_MEMORY ? sink->limit : stages[kind]);
}

static afc_status set_flags(afc__sink *sink, unsigned flags, afc_failure *failure) {
    if ((flags & ~EVERY_FLAG) != 0) {
        return afc__fail(failure, AFC_EINVAL, "unknown flags for the sink: %#x", flags);
    }
    /* Resuming implies keeping: otherwise a second failure would lose the bytes of the first attempt. */
    if ((flags & AFC_FILE_RESUME) != 0) flags |= AFC_FILE_KEEP_PARTIAL;
    sink->flags = flags;
    return AFC_OK;
}

static afc_status read_token(afc__sink *sink, const afc_sink *options, afc_failure *failure) {
    if (options->resume_token == NULL) return AFC_OK;
    if ((options->flags & AFC_FILE_RESUME) == 0 || options->path == NULL) {
        return afc__fail(failure, AFC_EINVAL,
                         "a resume token requires AFC_FILE_RESUME and a file path");
    }
    sink->given = afc__zalloc(sizeof *sink->given);
    if (sink->given == NULL) return afc__fail_memory(failure);
    return afc__resume_read(sink->given, afc_slice_of(options->resume_token), failure);
}

static afc_status read_digest(afc__sink *sink, const afc_sink *options, afc_failure *failure) {
    if (options->digest == NULL) return AFC_OK;
    sink->expects_digest = true;
    bool is_strong = afc__digest_read(afc_slice_of(options->digest), &sink->digest) &&
                     sink->digest.kind > AFC__DIGEST_MD5;
    if (is_strong && options->kind == AFC_SINK_FILE) return AFC_OK;
    return afc__fail(
        failure, AFC_EINVAL,
        "invalid digest of the sink: expected sha-256=BASE64 or sha-512=BASE64, and a FILE sink");
}

static afc_status init_descriptor(afc__sink *sink, const afc_sink *options, afc_failure *failure) {
    if (options->flags != 0) {
        return afc__fail(failure, AFC_EINVAL, "an FD sink takes no flags: %#x", options->flags);
    }
    return afc__output_open(&sink->output, options->descriptor, failure);
}

afc_status afc__sink_init(afc__sink *sink, const afc__sink_config *config, afc_failure *failure) {
    const afc_sink *options = config->options;
    afc__sink_zero(sink);
    if (options->kind < AFC_SINK_MEMORY || options->kind > AFC_SINK_FD) {
        return afc__fail(failure, AFC_EINVAL, "invalid kind of sink: %d", (int)options->kind);
    }
    if (options->path != NULL && options->kind != AFC_SINK_FILE) {
        return afc__fail(failure, AFC_EINVAL,
                         "sink.path is set but sink.kind isn't AFC_SINK_FILE: set it to that");
    }
    sink->may_resume = config->may_resume;
    sink->asked_limit = config->limit;
    uint64_t memory_limit = config->memory_limit != 0 ? config->memory_limit : DEFAULT_MEMORY_LIMIT;
    set_kind(sink, options->kind, options->kind == AFC_SINK_MEMORY ? memory_limit : UINT64_MAX);
    if (read_digest(sink, options, failure) != AFC_OK) return AFC_EINVAL;
    if (options->kind == AFC_SINK_FD) return init_descriptor(sink, options, failure);
    afc_status status = set_flags(sink, options->flags, failure);
    if (status != AFC_OK || options->kind != AFC_SINK_FILE) return status;
    bool has_path = options->path != NULL && options->path[0] != '\0';
    if (!has_path && !config->is_named_late) {
        return afc__fail(failure, AFC_EINVAL, "a FILE sink requires a path");
    }
    status = read_token(sink, options, failure);
    if (status == AFC_OK && has_path) {
        status = afc__sink_set_path(sink, options->path, options->flags, failure);
    }
    if (status != AFC_OK) afc__sink_clear(sink);
    return status;
}

afc_status afc__sink_set_path(afc__sink *sink, const char *path, unsigned flags,
                              afc_failure *failure) {
    afc_status status = set_flags(sink, flags, failure);
    if (status != AFC_OK) return status;
    afc__file_clear(&sink->file);
    afc__output_close(&sink->output);
    if (sink->kind != AFC_SINK_FILE) set_kind(sink, AFC_SINK_FILE, UINT64_MAX);
    return afc__file_init(&sink->file, path, sink->flags, afc__sink_is_resumable(sink), failure);
}

afc_status afc__sink_check_partial(afc__sink *sink, afc_slice url, afc_failure *failure) {
    bool may_replace = !afc__sink_is_resumable(sink) || (sink->flags & AFC_FILE_NO_REPLACE) == 0;
    return may_replace ? AFC_OK : afc__file_check_partial(&sink->file, url, failure);
}

afc_status afc__sink_set_descriptor(afc__sink *sink, int descriptor) {
    /* A digest is checked at the end, and bytes written to a descriptor can't be taken back. */
    if (sink->expects_digest) return AFC_EINVAL;
    afc__output output = AFC__OUTPUT_CLOSED;
    afc_status status = afc__output_open(&output, descriptor, NULL);
    if (status != AFC_OK) return status;
    afc__file_clear(&sink->file);
    afc__output_close(&sink->output);
    sink->output = output;
    sink->flags = 0;
    set_kind(sink, AFC_SINK_FD, UINT64_MAX);
    return AFC_OK;
}

void afc__sink_clear(afc__sink *sink) {
    afc__file_clear(&sink->file);
    afc__output_close(&sink->output);
    if (sink->given != NULL) afc__resume_clear(sink->given);
    afc_free(sink->given);
    if (afc__hasher_is_active(&sink->hasher)) afc__hasher_clear(&sink->hasher);
    afc__sink_detach_writer(sink);
    afc__buffer_clear(&sink->memory);
    afc__sink_zero(sink);
}

/** Where the size of a body in an error text is from. */
typedef enum size_kind { ANNOUNCED, RECEIVED_SO_FAR } size_kind;

static afc_status too_big(const afc__sink *sink, uint64_t size, size_kind kind,
                          afc_failure *failure) {
    return afc__give_reason(
        failure, AFC_REASON_BODY_LIMIT,
        afc__fail(failure, AFC_ETOOBIG,
                  "the response body exceeds the limit of %llu bytes: it has %s%llu",
                  (unsigned long long)sink->limit, kind == ANNOUNCED ? "" : "at least ",
                  (unsigned long long)size));
}

/* ---- Opening ------------------------------------------------------------------------------- */

afc_status afc__sink_find_partial(afc__sink *sink, afc_slice url, afc_failure *failure) {
    bool continues = afc__sink_is_resumable(sink) && (sink->flags & AFC_FILE_RESUME) != 0;
    if (!continues || sink->file.path == NULL) return AFC_OK;
    return afc__file_find(&sink->file, url, sink->given, failure);
}

static afc_status open_memory(afc__sink *sink, uint64_t expected, bool is_encoded,
                              afc_failure *failure) {
    uint64_t reserve = expected < MAX_RESERVE ? expected : MAX_RESERVE;
    if (reserve == 0 || is_encoded) return AFC_OK;
    if (afc__buffer_reserve(&sink->memory, reserve) == AFC_OK) return AFC_OK;
    return afc__fail(failure, AFC_ENOMEM, "out of memory for a body of %llu bytes",
                     (unsigned long long)expected);
}

/** How much of the file a response contains. */
typedef enum file_part { WHOLE_FILE, REST_OF_FILE } file_part;

/**
 * Returns the digest that the server has declared, or that of the token if that is stronger. It is for the bytes on the
 * wire, so a decoded body can't be checked against it.
 */
static afc__digest declared_digest(afc__sink *sink, const afc__sink_start *start, file_part part) {
    bool is_checked = afc__sink_is_resumable(sink) && !sink->file.is_device && !start->is_encoded;
    if (!is_checked) return (afc__digest){0};
    afc__digest declared = afc__declared_digest(start->head, part == WHOLE_FILE);
    /* A later response may declare no digest, or a weaker one. */
    afc__resume_token *token = &sink->file.token;
    if (declared.kind < token->digest.kind) return token->digest;
    if (afc__resume_exists(token)) token->digest = declared;
    return declared;
}

/** Starts to hash the file, if the caller expects a digest, or else the server declares one. */
static afc_status begin_digest(afc__sink *sink, const afc__sink_start *start, file_part part,
                               afc_failure *failure) {
    afc__digest declared = declared_digest(sink, start, part);
    if (!sink->expects_digest) sink->digest = declared;
    if (sink->digest.kind == AFC__DIGEST_NONE) return AFC_OK;
    if (afc__hasher_begin(&sink->hasher, sink->digest.kind)) return AFC_OK;
    if (sink->expects_digest) {
        return afc__fail(failure, AFC_EUNSUPPORTED, "OpenSSL can't compute the digest %s",
                         afc__digest_name(sink->digest.kind));
    }
    sink->digest = (afc__digest){0};
    return AFC_OK;
}

static afc_status open_new(afc__sink *sink, const afc__sink_start *start, afc_failure *failure) {
    if (sink->file.path == NULL) {
        return afc__fail(failure, AFC_EINVAL, "the FILE sink has no path, and on_head set none");
    }
    /* RFC 9110 15.3.7: 206 is only valid as the response to a range request. */
    if (start->head->status == 206 && !start->asks_for_range) {
        return afc__fail(failure, AFC_EPROTOCOL,
                         "unexpected 206: the request asked for the whole file");
    }
    afc_status status = afc__file_create(&sink->file, failure);
    if (status != AFC_OK) return status;
    if (!afc__sink_is_resumable(sink) || sink->file.is_device)
        return begin_digest(sink, start, WHOLE_FILE, failure);
    afc__resume_token token;
    const char *obstacle;
    status = afc__resume_make(&token, start->url, start->head, start->framing, (int64_t)time(NULL),
                              &obstacle);
    if (obstacle != NULL) sink->reason = obstacle;
    if (status != AFC_OK) return afc__fail_memory(failure);
    status = afc__file_write_token(&sink->file, &token, failure);
    afc__resume_clear(&token);
    if (status != AFC_OK) return status;
    bool has_length = start->framing->kind == AFC__FRAMING_LENGTH && !start->is_encoded;
    if (has_length) sink->end = sink->total = start->length;
    status = begin_digest(sink, start, WHOLE_FILE, failure);
    if (status != AFC_OK || !has_length) return status;
    return afc__file_check_space(&sink->file, start->length, failure);
}

static afc_status open_behind(afc__sink *sink, const afc__sink_start *start, afc_failure *failure) {
    sink->resumption = AFC_RESUMPTION_RESUMED;
    sink->offset = sink->file.size;
    sink->end = start->decision->end;
    sink->total = start->decision->total;
    if ((uint64_t)sink->end > sink->limit)
        return too_big(sink, (uint64_t)sink->end, ANNOUNCED, failure);
    afc_status status = afc__file_resume(&sink->file, failure);
    if (status != AFC_OK) return status;
    sink->file.token.total = sink->total;
    status = begin_digest(sink, start, REST_OF_FILE, failure);
    if (status != AFC_OK) return status;
    status = afc__file_write_token(&sink->file, &sink->file.token, failure);
    if (status != AFC_OK) return status;
    return afc__file_check_space(&sink->file, sink->end - sink->offset, failure);
}

static afc_status open_complete(afc__sink *sink, const afc__sink_start *start,
                                afc_failure *failure) {
    sink->resumption = AFC_RESUMPTION_COMPLETE;
    sink->target = AFC__SINK_TO_NOTHING;
    sink->offset = sink->end = sink->total = sink->file.size;
    if ((uint64_t)sink->end > sink->limit)
        return too_big(sink, (uint64_t)sink->end, ANNOUNCED, failure);
    afc_status status = begin_digest(sink, start, REST_OF_FILE, failure);
    if (status == AFC_OK) status = afc__file_resume(&sink->file, failure);
    return status == AFC_OK ? afc__file_write_token(&sink->file, &sink->file.token, failure)
                            : status;
}

static void divert(afc__sink *sink) {
    sink->target = AFC__SINK_TO_MEMORY;
    afc__buffer_clear(&sink->memory);
    afc__buffer_init(&sink->memory, AFC_ERROR_BODY_LIMIT);
}

static afc_status open_file(afc__sink *sink, const afc__sink_start *start, afc_failure *failure) {
    bool is_success = start->head->status >= 200 && start->head->status <= 299;
    if (start->decision == NULL) {
        if (is_success && !start->is_head) {
            if (sink->file.has_damaged_token) {
                sink->resumption = AFC_RESUMPTION_RESTARTED;
                sink->reason = "the resume token is damaged";
            }
            return open_new(sink, start, failure);
        }
        divert(sink);
        return AFC_OK;
    }
    if (sink->reason == NULL) sink->reason = start->decision->reason;
    switch (start->decision->verdict) {
    case AFC__RESUME_APPEND:
        return open_behind(sink, start, failure);
    case AFC__RESUME_COMPLETE:
        return open_complete(sink, start, failure);
    case AFC__RESUME_RESTART:
    case AFC__RESUME_REFUSE:
        sink->resumption = AFC_RESUMPTION_RESTARTED;
        return open_new(sink, start, failure);
    case AFC__RESUME_FAIL:
        return afc__fail(failure, AFC_EPROTOCOL,
                         "cannot resume the download: a response with status %d doesn't contain "
                         "the file",
                         start->head->status);
    case AFC__RESUME_GONE:
        afc__file_discard(&sink->file);
        break;
    case AFC__RESUME_KEEP:
        break;
    }
    divert(sink);
    return AFC_OK;
}

afc_status afc__sink_open(afc__sink *sink, const afc__sink_start *start, afc_failure *failure) {
    uint64_t expected = start->length > 0 ? (uint64_t)start->length : 0;
    sink->can_wait = start->can_wait;
    if (!start->is_encoded && expected > sink->limit)
        return too_big(sink, expected, ANNOUNCED, failure);
    switch (sink->kind) {
    case AFC_SINK_MEMORY:
        return open_memory(sink, expected, start->is_encoded, failure);
    case AFC_SINK_FILE: {
        afc_status status = open_file(sink, start, failure);
        return status == AFC_OK ? afc__sink_attach_writer(sink, expected, failure) : status;
    }
    case AFC_SINK_FD:
        return afc__sink_attach_writer(sink, expected, failure);
    case AFC_SINK_CALLBACK:
        break;
    }
    return AFC_OK;
}

/* ---- Writing ------------------------------------------------------------------------------- */

afc_status afc__sink_admit(afc__sink *sink, size_t size, afc_failure *failure) {
    uint64_t before = sink->written, limit = sink->limit;
    if (sink->target == AFC__SINK_TO_NOTHING) {
        /*
         * The limit is for the file, which is complete: the body of this response is discarded, and has a limit of its
         * own.
         */
        if (limit < AFC_ERROR_BODY_LIMIT) limit = AFC_ERROR_BODY_LIMIT;
    } else {
        before += (uint64_t)sink->offset;
    }
    if (size > limit - before) return too_big(sink, before + size, RECEIVED_SO_FAR, failure);
    return AFC_OK;
}

static afc_status write_memory(afc__sink *sink, afc_slice bytes, afc_failure *failure) {
    afc_status status = afc__buffer_append(&sink->memory, bytes.bytes, bytes.size);
    if (status == AFC_OK) return AFC_OK;
    if (status == AFC_ENOMEM) {
        return afc__fail(failure, status, "out of memory for a body of more than %zu bytes",
                         sink->memory.size);
    }
    return too_big(sink, (uint64_t)sink->memory.size + bytes.size, RECEIVED_SO_FAR, failure);
}

afc_status afc__sink_write(afc__sink *sink, afc_slice bytes, afc_failure *failure) {
    afc_status status = afc__sink_admit(sink, bytes.size, failure);
    if (status != AFC_OK) return status;
    size_t size = bytes.size;
    if (sink->target != AFC__SINK_TO_KIND) {
        /* The rest of an error body is discarded. */
        bool is_kept = sink->target == AFC__SINK_TO_MEMORY;
        size_t available = is_kept ? AFC_ERROR_BODY_LIMIT - sink->memory.size : 0;
        if (bytes.size > available) bytes.size = available;
    }
    if (afc__sink_is_polled(sink)) {
        status = afc__sink_write_polled(sink, bytes, failure);
    } else if (sink->kind == AFC_SINK_FD ||
               (sink->kind == AFC_SINK_FILE && sink->target == AFC__SINK_TO_KIND)) {
        status = afc__sink_write_file(sink, bytes, failure);
    } else {
        status = write_memory(sink, bytes, failure);
    }
    if (status == AFC_OK) sink->written += size;
    return status;
}

/* ---- Ending -------------------------------------------------------------------------------- */

char *afc__sink_copy_token(const afc__sink *sink) {
    if (!afc__resume_exists(&sink->file.token)) return NULL;
    afc__buffer text;
    afc__buffer_init(&text, AFC__RESUME_MAX + 1);
    afc_status status = afc__resume_write(&sink->file.token, &text);
    if (status == AFC_OK) status = afc__buffer_append(&text, "", 1);
    if (status != AFC_OK) {
        afc__buffer_clear(&text);
        return NULL;
    }
    return afc__buffer_take(&text).bytes;
}
