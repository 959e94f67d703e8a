#include "message/resume.h"

#include "base/alloc.h"
#include "base/failure.h"
#include "base/text.h"
#include "message/content_range.h"
#include "message/fields.h"
#include "message/strong_validator.h"
#include "message/url.h"

#include <afcore/resume.h>
#include <inttypes.h>
#include <stdio.h>

/* ---- Tokens -------------------------------------------------------------------------------- */

void afc__resume_clear(afc__resume_token *token) {
    afc_free(token->block);
    *token = (afc__resume_token){0};
}

bool afc__resume_exists(const afc__resume_token *token) {
    return token->validator.size != 0;
}

bool afc__refuses_ranges(const afc_head *head) {
    for (size_t i = 0; i < head->header_count; i++) {
        const afc_header *field = &head->headers[i];
        if (afc__same_name(field->name, "Accept-Ranges") && afc__same_name(field->value, "none")) {
            return true;
        }
    }
    return false;
}

static bool is_tag_of_token(afc_slice tag) {
    return tag.size <= AFC__RESUME_VALIDATOR_MAX && afc__is_strong_tag(tag);
}

static bool is_date(const afc_header *validator) {
    return !afc__same_name(validator->name, "ETag");
}

static const char *find_obstacle(const afc_head *head, const afc__framing *framing, int64_t now,
                                 const afc_header **validator) {
    if (head->status != 200) return "the response isn't the whole file";
    if (framing->is_encoded) return "the response is encoded";
    if (afc__refuses_ranges(head)) return "the server accepts no ranges";
    const char *obstacle = afc__find_strong_validator(head, now, validator);
    if (obstacle != NULL) return obstacle;
    bool is_kept = is_date(*validator) || is_tag_of_token((*validator)->value);
    return is_kept ? NULL : "the server's ETag is too long";
}

afc_status afc__resume_make(afc__resume_token *out, afc_slice url, const afc_head *head,
                            const afc__framing *framing, int64_t now, const char **reason) {
    const afc_header *field;
    *out = (afc__resume_token){0};
    *reason = find_obstacle(head, framing, now, &field);
    if (*reason != NULL) return AFC_OK;
    afc_slice validator = field->value;
    char *block = afc__alloc(url.size + validator.size);
    if (block == NULL) return AFC_ENOMEM;
    memcpy(block, url.bytes, url.size);
    memcpy(block + url.size, validator.bytes, validator.size);
    out->block = block;
    out->url = (afc_slice){block, url.size};
    out->validator = (afc_slice){block + url.size, validator.size};
    out->is_date = is_date(field);
    out->total = framing->kind == AFC__FRAMING_LENGTH ? framing->length : AFC_LENGTH_UNKNOWN;
    out->digest = afc__declared_digest(head, true);
    return AFC_OK;
}

/* ---- The text ------------------------------------------------------------------------------ */

/* The beginning of every version. */
static const char mark[] = "afcore-resume ";
static const char first_line[] = "afcore-resume 1";

_Static_assert(sizeof mark == AFC_RESUME_MARK_SIZE + 1, "the public size is that of the mark");

bool afc_resume_is_token(afc_slice text) {
    return afc__begins_with(text, mark);
}

static bool next_line(afc_slice *text, afc_slice *line) {
    const char *end = text->size != 0 ? memchr(text->bytes, '\n', text->size) : NULL;
    if (end == NULL) return false;
    *line = (afc_slice){text->bytes, (size_t)(end - text->bytes)};
    *text = (afc_slice){end + 1, text->size - line->size - 1};
    return !afc__has_control(*line);
}

/** Returns the value of a line if it has this name. */
static bool value_of(afc_slice line, const char *name, afc_slice *value) {
    size_t size = strlen(name);
    if (!afc__begins_with(line, name) || line.size <= size || line.bytes[size] != ' ') return false;
    *value = (afc_slice){line.bytes + size + 1, line.size - size - 1};
    return true;
}

static bool take_value(afc_slice *text, const char *name, afc_slice *value) {
    afc_slice line;
    return next_line(text, &line) && value_of(line, name, value);
}

/** Checks that a URL is normalised, as those of requests are. */
static afc_status check_url(afc_slice text, bool *is_fine) {
    afc__url url = {0};
    afc_status status = afc__url_parse(&url, text, NULL);
    *is_fine = status == AFC_OK && afc__is_same(afc_slice_of(url.text), text);
    afc__url_clear(&url);
    return status == AFC_ENOMEM ? status : AFC_OK;
}

static bool read_validator(afc_slice *text, afc__resume_token *out) {
    afc_slice line;
    int64_t ignored;
    if (!next_line(text, &line)) return false;
    if (value_of(line, "etag", &out->validator)) return is_tag_of_token(out->validator);
    out->is_date = true;
    /* It must be a date. Its century doesn't matter here, so that any time will do. */
    return value_of(line, "modified", &out->validator) &&
           afc_date_parse(out->validator, 0, &ignored);
}

static bool read_lengths(afc_slice *text, afc__resume_token *out) {
    afc_slice value;
    if (!take_value(text, "total", &value)) return false;
    if (afc__is_same(value, afc_slice_of("unknown"))) {
        out->total = AFC_LENGTH_UNKNOWN;
    } else if (!afc__parse_length(value, &out->total)) {
        return false;
    }
    if (!take_value(text, "received", &value) || !afc__parse_length(value, &out->received))
        return false;
    return out->total == AFC_LENGTH_UNKNOWN || out->received <= out->total;
}

static bool take_word(afc_slice *text, uint64_t *out) {
    const char *space = text->size != 0 ? memchr(text->bytes, ' ', text->size) : NULL;
    size_t size = space != NULL ? (size_t)(space - text->bytes) : text->size;
    /* A space must be followed by another word. */
    bool is_read = afc__parse_number((afc_slice){text->bytes, size}, UINT64_MAX, out) &&
                   size + 1 != text->size;
    size_t taken = space != NULL ? size + 1 : size;
    *text = (afc_slice){text->bytes + taken, text->size - taken};
    return is_read;
}

static bool read_file(afc_slice value, afc__resume_token *out) {
    return take_word(&value, &out->device) && take_word(&value, &out->inode) &&
           take_word(&value, &out->birth_time) && value.size == 0;
}

/** Reads the lines after the URL. Returns what is damaged, or NULL. */
static const char *read_rest(afc_slice *text, afc__resume_token *out) {
    afc_slice line, value;
    if (!read_validator(text, out)) return "invalid validator";
    if (!read_lengths(text, out)) return "invalid lengths";
    if (!next_line(text, &line)) return "truncated";
    if (value_of(line, "digest", &value)) {
        if (!afc__digest_read(value, &out->digest)) return "invalid digest";
        if (!next_line(text, &line)) return "truncated";
    }
    if (!value_of(line, "file", &value) || !read_file(value, out)) return "invalid file";
    if (!next_line(text, &line) || !afc__is_same(line, afc_slice_of("end"))) return "truncated";
    return text->size != 0 ? "unexpected text after the end" : NULL;
}

/** Does the work of afc__resume_read(), with slices into `text`. */
static afc_status read_text(afc__resume_token *out, afc_slice text, afc_failure *failure) {
    static const char damaged[] = "the resume token is damaged: %s";
    afc_slice line;
    if (text.size > AFC__RESUME_MAX) {
        return afc__fail(failure, AFC_EINVAL, damaged, "too long");
    }
    if (!next_line(&text, &line) || !afc__is_same(line, afc_slice_of(first_line))) {
        return afc__fail(failure, AFC_EINVAL, damaged, "unknown format");
    }
    bool is_fine = false;
    if (take_value(&text, "url", &out->url) && check_url(out->url, &is_fine) != AFC_OK) {
        return afc__fail_memory(failure);
    }
    if (!is_fine) return afc__fail(failure, AFC_EINVAL, damaged, "invalid URL");
    const char *damage = read_rest(&text, out);
    return damage == NULL ? AFC_OK : afc__fail(failure, AFC_EINVAL, damaged, damage);
}

afc_status afc__resume_read(afc__resume_token *out, afc_slice text, afc_failure *failure) {
    *out = (afc__resume_token){0};
    char *block = text.size <= AFC__RESUME_MAX ? afc__copy_text(text) : NULL;
    if (block == NULL && text.size <= AFC__RESUME_MAX) {
        return afc__fail_memory(failure);
    }
    out->block = block;
    afc_slice copy = {block != NULL ? block : text.bytes, text.size};
    afc_status status = read_text(out, copy, failure);
    if (status != AFC_OK) afc__resume_clear(out);
    return status;
}

afc_status afc_resume_info_read(afc_resume_info *out, afc_slice text, afc_failure *failure) {
    afc__resume_token token = {0};
    *out = (afc_resume_info){.url = {NULL, 0}};
    afc__clear_failure(failure);
    afc_status status = read_text(&token, text, failure);
    if (status == AFC_OK) {
        *out = (afc_resume_info){.url = token.url,
                                 .validator = token.validator,
                                 .received = token.received,
                                 .total = token.total};
    }
    return status;
}

static afc_status add_line(afc__buffer *out, const char *name, afc_slice value) {
    afc_status status = afc__buffer_append_two(out, afc_slice_of(name), afc_slice_of(" "));
    if (status == AFC_OK) status = afc__buffer_append_two(out, value, afc_slice_of("\n"));
    return status;
}

static afc_status add_number(afc__buffer *out, const char *name, int64_t number) {
    char text[24];
    snprintf(text, sizeof text, "%" PRId64, number);
    return add_line(out, name, afc_slice_of(number >= 0 ? text : "unknown"));
}

static afc_status add_digest(afc__buffer *out, const afc__digest *digest) {
    if (digest->kind == AFC__DIGEST_NONE) return AFC_OK;
    afc_status status = afc__buffer_append(out, "digest ", 7);
    if (status == AFC_OK) status = afc__digest_write(digest, out);
    return status == AFC_OK ? afc__buffer_append(out, "\n", 1) : status;
}

afc_status afc__resume_write(const afc__resume_token *token, afc__buffer *out) {
    char file[72];
    snprintf(file, sizeof file, "%" PRIu64 " %" PRIu64 " %" PRIu64, token->device, token->inode,
             token->birth_time);
    afc_status status = afc__buffer_append_two(out, afc_slice_of(first_line), afc_slice_of("\n"));
    if (status == AFC_OK) status = add_line(out, "url", token->url);
    if (status == AFC_OK) {
        status = add_line(out, token->is_date ? "modified" : "etag", token->validator);
    }
    if (status == AFC_OK) status = add_number(out, "total", token->total);
    if (status == AFC_OK) status = add_number(out, "received", token->received);
    if (status == AFC_OK) status = add_digest(out, &token->digest);
    if (status == AFC_OK) status = add_line(out, "file", afc_slice_of(file));
    return status == AFC_OK ? afc__buffer_append(out, "end\n", 4) : status;
}

/* ---- Requests ------------------------------------------------------------------------------ */

void afc__resume_ask(const afc__resume_token *token, int64_t offset,
                     char range[AFC__RESUME_RANGE_SIZE], afc_header out[2]) {
    snprintf(range, AFC__RESUME_RANGE_SIZE, "bytes=%" PRId64 "-", offset);
    out[0] = (afc_header){afc_slice_of("Range"), afc_slice_of(range), 0};
    out[1] = (afc_header){afc_slice_of("If-Range"), token->validator, 0};
}

/* ---- Responses ----------------------------------------------------------------------------- */

/** Returns what is wrong with a Content-Range, or NULL. */
static const char *find_fault(afc__content_range kind) {
    switch (kind) {
    case AFC__CONTENT_RANGE_MISSING:
        return "the server sent no Content-Range";
    case AFC__CONTENT_RANGE_REPEATED:
        return "the server sent several Content-Ranges";
    case AFC__CONTENT_RANGE_OTHER_UNIT:
        return "the server's Content-Range isn't in bytes";
    case AFC__CONTENT_RANGE_INVALID:
        return "the server's Content-Range is invalid";
    case AFC__CONTENT_RANGE_PART:
    case AFC__CONTENT_RANGE_UNSATISFIED:
        break;
    }
    return NULL;
}

/**
 * Returns whether the response is for the same version of the file. A 206 must repeat the ETag (RFC 9110 15.3.7),
 * but not Last-Modified.
 */
static bool is_same_version(const afc__resume_token *token, const afc_head *head,
                            bool requires_validator) {
    const afc_header *field;
    switch (afc__find_one(head, token->is_date ? "Last-Modified" : "ETag", &field)) {
    case AFC__FOUND_NONE:
        return token->is_date || !requires_validator;
    case AFC__FOUND_ONE:
        return afc__is_same(field->value, token->validator);
    case AFC__FOUND_DIFFERENT:
        break;
    }
    return false;
}

bool afc__has_several_ranges(const afc_head *head) {
    static const char type[] = "multipart/byteranges";
    const afc_header *field = afc_head_find(head, "Content-Type");
    if (field == NULL || field->value.size < sizeof type - 1) return false;
    return afc__same_name((afc_slice){field->value.bytes, sizeof type - 1}, type);
}

static afc__resume_decision refuse(const char *reason) {
    return (afc__resume_decision){AFC__RESUME_REFUSE, 0, 0, reason};
}

static afc__resume_decision decide_part(const afc__resume_token *token, int64_t offset,
                                        const afc_head *head, const afc__framing *framing) {
    afc__byte_range range;
    int64_t total;
    if (framing->is_encoded) return refuse("the server encoded the part");
    if (afc__has_several_ranges(head)) return refuse("the server sent several ranges");
    afc__content_range kind = afc__content_range_read(head, &range, &total);
    const char *fault = find_fault(kind);
    if (fault != NULL) return refuse(fault);
    if (kind != AFC__CONTENT_RANGE_PART) return refuse("the server's Content-Range is invalid");
    if (range.first != offset) return refuse("the server sent another range");
    if (total < 0) return refuse("the server didn't send the file's length");
    if (token->total != AFC_LENGTH_UNKNOWN && total != token->total) {
        return refuse("the file's length has changed");
    }
    if (framing->length != AFC_LENGTH_UNKNOWN && framing->length != range.last - range.first + 1) {
        return refuse("the server's Content-Length doesn't match its Content-Range");
    }
    if (!is_same_version(token, head, true)) return refuse("the file has changed");
    return (afc__resume_decision){AFC__RESUME_APPEND, range.last + 1, total, NULL};
}

static afc__resume_decision decide_beyond(const afc__resume_token *token, int64_t offset,
                                          const afc_head *head) {
    afc__byte_range range;
    int64_t total;
    afc__content_range kind = afc__content_range_read(head, &range, &total);
    const char *fault = find_fault(kind);
    if (fault != NULL) return refuse(fault);
    if (kind != AFC__CONTENT_RANGE_UNSATISFIED) {
        return refuse("the server sent 416 with the Content-Range of a part");
    }
    if (total > offset) return refuse("the server refused a range that its file has");
    if (total < offset) return refuse("the file is shorter now");
    if (token->total != AFC_LENGTH_UNKNOWN && token->total != total) {
        return refuse("the file's length has changed");
    }
    if (!is_same_version(token, head, false)) return refuse("the file has changed");
    return (afc__resume_decision){AFC__RESUME_COMPLETE, offset, total, NULL};
}

afc__resume_verdict afc__resume_decide_whole(int status) {
    switch (status) {
    case 200:
    case 203:
        return AFC__RESUME_RESTART;
    case 404:
    case 410:
        return AFC__RESUME_GONE;
    default:
        break;
    }
    return status >= 200 && status <= 299 ? AFC__RESUME_FAIL : AFC__RESUME_KEEP;
}

afc__resume_decision afc__resume_decide(const afc__resume_token *token, int64_t offset,
                                        const afc_head *head, const afc__framing *framing) {
    if (head->status == 206) return decide_part(token, offset, head, framing);
    if (head->status == 416) return decide_beyond(token, offset, head);
    const char *reason = "the response doesn't contain the file";
    afc__resume_verdict verdict = afc__resume_decide_whole(head->status);
    if (verdict == AFC__RESUME_RESTART) reason = "the server sent the whole file";
    if (verdict == AFC__RESUME_GONE) reason = "the file no longer exists";
    return (afc__resume_decision){verdict, 0, 0, reason};
}
