#include "http/head.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

static bool is_blank(char c) {
    return c == ' ' || c == '\t';
}

/** Ends a line at its LF, and at a CR before that. Returns the start of the next line. */
static char *cut_line(char *line, const char *end, size_t *size) {
    char *newline = memchr(line, '\n', (size_t)(end - line));
    if (newline == NULL) {
        *size = (size_t)(end - line);
        return line + *size;
    }
    *size = (size_t)(newline - line);
    if (*size > 0 && line[*size - 1] == '\r') (*size)--;
    line[*size] = 0;
    return newline + 1;
}

/** Whether all bytes may be in a token (RFC 9110 5.6.2), of which there is at least one. */
static bool is_token(const char *text, size_t size) {
    for (size_t i = 0; i < size; i++) {
        unsigned char c = (unsigned char)text[i];
        bool is_letter = (c | 0x20) >= 'a' && (c | 0x20) <= 'z';
        bool is_digit = c >= '0' && c <= '9';
        if (!is_letter && !is_digit && (c == 0 || strchr("!#$%&'*+-.^_`|~", c) == NULL))
            return false;
    }
    return size > 0;
}

/** Whether all bytes may be in a request target: neither blanks, controls nor a fragment (RFC 9112 3.2). */
static bool is_target(const char *text, size_t size) {
    for (size_t i = 0; i < size; i++) {
        unsigned char c = (unsigned char)text[i];
        if (c <= ' ' || c == 0x7f || c == '#') return false;
    }
    return size > 0;
}

/** "HTTP/" and two digits with a dot (RFC 9112 2.3). */
static bool is_version(const char *text, size_t size) {
    return size == 8 && strncmp(text, "HTTP/", 5) == 0 && text[5] >= '0' && text[5] <= '9' &&
           text[6] == '.' && text[7] >= '0' && text[7] <= '9';
}

static afts_status parse_request_line(char *line, size_t size, afts_request *seen) {
    char *target = memchr(line, ' ', size);
    char *end = line + size;
    char *version = target != NULL ? memchr(target + 1, ' ', (size_t)(end - target - 1)) : NULL;
    if (version == NULL || !is_token(line, (size_t)(target - line)) ||
        !is_target(target + 1, (size_t)(version - target - 1)) ||
        !is_version(version + 1, (size_t)(end - version - 1))) {
        return AFTS_EINVAL;
    }
    *target = 0;
    *version = 0;
    seen->method = line;
    seen->target = target + 1;
    seen->version = version + 1;
    return AFTS_OK;
}

/** Whether a value has a control character other than TAB: a CR, too, which some servers take for an end of line. */
static bool has_control(const char *text, size_t size) {
    for (size_t i = 0; i < size; i++) {
        unsigned char c = (unsigned char)text[i];
        if ((c < ' ' && c != '\t') || c == 0x7f) return true;
    }
    return false;
}

/** Why a line is no field; NULL if it is one. */
static const char *fault_of_field(const char *line, size_t size) {
    const char *colon = memchr(line, ':', size);
    /* A server that took one of these for a field could miss a Content-Length that the client meant, and read the
       body as the next request (RFC 9112 5.1, 5.2). */
    if (is_blank(line[0])) return "a folded header field";
    if (colon == NULL) return "a header line without a colon";
    if (!is_token(line, (size_t)(colon - line))) return "an invalid name of a header field";
    if (has_control(colon, size - (size_t)(colon - line))) {
        return "a header field with a control character";
    }
    return NULL;
}

/** Cuts a line without a fault. */
static afts_header parse_field(char *line, size_t size) {
    char *colon = memchr(line, ':', size);
    *colon = 0;
    char *value = colon + 1;
    char *end = line + size;
    while (value < end && is_blank(*value)) {
        value++;
    }
    while (end > value && is_blank(end[-1])) {
        end--;
    }
    *end = 0;
    return (afts_header){.name = line,
                         .name_size = (size_t)(colon - line),
                         .value = value,
                         .value_size = (size_t)(end - value)};
}

static size_t count_lines(const afts__buffer *head) {
    size_t lines = 0;
    for (size_t i = 0; i < head->size; i++) {
        lines += head->bytes[i] == '\n';
    }
    return lines;
}

afts_status afts__parse_head(afts__request_record *request, const char **why) {
    request->text = afts__copy(request->head.bytes, request->head.size);
    request->headers = calloc(count_lines(&request->head) + 1, sizeof *request->headers);
    if (request->text == NULL || request->headers == NULL) return AFTS_ENOMEM;
    const char *end = request->text + request->head.size;
    size_t size;
    char *line = request->text;
    char *next = cut_line(line, end, &size);
    *why = "an invalid request line";
    if (parse_request_line(line, size, &request->seen) != AFTS_OK) return AFTS_EINVAL;
    for (line = next; line < end; line = next) {
        next = cut_line(line, end, &size);
        if (size == 0) continue;
        *why = fault_of_field(line, size);
        if (*why != NULL) return AFTS_EINVAL;
        request->headers[request->seen.header_count++] = parse_field(line, size);
    }
    request->seen.headers = request->headers;
    request->seen.head = request->head.bytes;
    request->seen.head_size = request->head.size;
    return AFTS_OK;
}

bool afts__parse_number(const char *digits, size_t size, unsigned base, uint64_t *number) {
    uint64_t value = 0;
    for (size_t i = 0; i < size; i++) {
        unsigned digit = digits[i] >= '0' && digits[i] <= '9'   ? (unsigned)(digits[i] - '0')
                         : digits[i] >= 'a' && digits[i] <= 'f' ? (unsigned)(digits[i] - 'a') + 10
                         : digits[i] >= 'A' && digits[i] <= 'F' ? (unsigned)(digits[i] - 'A') + 10
                                                                : base;
        if (digit >= base || value > (UINT64_MAX - digit) / base) return false;
        value = value * base + digit;
    }
    *number = value;
    return size > 0;
}

bool afts__has_token(const char *value, size_t size, const char *token) {
    size_t token_size = strlen(token);
    const char *end = value + size;
    while (value < end) {
        while (value < end && (is_blank(*value) || *value == ',')) {
            value++;
        }
        const char *stop = value;
        while (stop < end && *stop != ',' && *stop != ';' && !is_blank(*stop)) {
            stop++;
        }
        if ((size_t)(stop - value) == token_size && strncasecmp(value, token, token_size) == 0) {
            return true;
        }
        value = stop;
        while (value < end && *value != ',') {
            value++;
        }
    }
    return false;
}

static bool any_field_has_token(const afts_request *request, const char *name, const char *token) {
    for (size_t i = 0; i < request->header_count; i++) {
        const afts_header *header = &request->headers[i];
        if (strcasecmp(header->name, name) == 0 &&
            afts__has_token(header->value, header->value_size, token)) {
            return true;
        }
    }
    return false;
}

static size_t count_fields(const afts_request *request, const char *name) {
    size_t count = 0;
    for (size_t i = 0; i < request->header_count; i++) {
        count += strcasecmp(request->headers[i].name, name) == 0;
    }
    return count;
}

const char *afts__fault_of_hosts(const afts_request *request) {
    size_t count = count_fields(request, "Host");
    if (count > 1) return "more than one Host field";
    bool needs_host = strcmp(request->version, "HTTP/1.0") != 0;
    return count == 0 && needs_host ? "a request without a Host field" : NULL;
}

/** Whether the last coding is "chunked", and no other one is. */
static bool ends_in_chunked(const afts_request *request) {
    static const char chunked[] = "chunked";
    size_t count = 0;
    bool is_last = false;
    for (size_t i = 0; i < request->header_count; i++) {
        const afts_header *header = &request->headers[i];
        if (strcasecmp(header->name, "Transfer-Encoding") != 0) continue;
        for (const char *at = header->value; *at != 0;) {
            at += strspn(at, ", \t");
            size_t size = strcspn(at, ", \t");
            if (size == 0) break;
            is_last = size == sizeof chunked - 1 && strncasecmp(at, chunked, size) == 0;
            count += is_last;
            at += size;
        }
    }
    return is_last && count == 1;
}

/*
 * A server that framed one of these differently than the client would read its body as the next request (RFC 9112 6.3).
 */
static const char *fault_of_encoding(const afts_request *request) {
    if (strcmp(request->version, "HTTP/1.0") == 0) return "a Transfer-Encoding in HTTP/1.0";
    if (count_fields(request, "Content-Length") != 0) {
        return "a Transfer-Encoding beside a Content-Length";
    }
    return ends_in_chunked(request) ? NULL : "a Transfer-Encoding that doesn't end in chunked";
}

afts_status afts__parse_framing(const afts_request *request, afts__framing *framing,
                                uint64_t *length, const char **why) {
    *framing = AFTS__NO_BODY;
    *length = 0;
    if (count_fields(request, "Transfer-Encoding") != 0) {
        *framing = AFTS__BY_CHUNKS;
        *why = fault_of_encoding(request);
        return *why == NULL ? AFTS_OK : AFTS_EINVAL;
    }
    *why = "an invalid Content-Length";
    for (size_t i = 0; i < request->header_count; i++) {
        const afts_header *header = &request->headers[i];
        if (strcasecmp(header->name, "Content-Length") != 0) continue;
        uint64_t value;
        if (!afts__parse_number(header->value, header->value_size, 10, &value) ||
            (*framing == AFTS__BY_LENGTH && value != *length)) {
            return AFTS_EINVAL;
        }
        *framing = AFTS__BY_LENGTH;
        *length = value;
    }
    return AFTS_OK;
}

bool afts__keeps_alive(const afts_request *request) {
    if (any_field_has_token(request, "Connection", "close")) return false;
    return strcmp(request->version, "HTTP/1.0") != 0 ||
           any_field_has_token(request, "Connection", "keep-alive");
}

const char *afts_request_header(const afts_request *request, const char *name) {
    for (size_t i = 0; i < request->header_count; i++) {
        if (strcasecmp(request->headers[i].name, name) == 0) return request->headers[i].value;
    }
    return NULL;
}
