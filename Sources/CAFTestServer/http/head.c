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

static afts_status parse_request_line(char *line, afts_request *seen) {
    char *target = strchr(line, ' ');
    char *version = target != NULL ? strchr(target + 1, ' ') : NULL;
    if (version == NULL || target == line || version == target + 1 ||
        strncmp(version + 1, "HTTP/", 5) != 0) {
        return AFTS_EINVAL;
    }
    *target = 0;
    *version = 0;
    seen->method = line;
    seen->target = target + 1;
    seen->version = version + 1;
    return AFTS_OK;
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

/** Why a line is no field; NULL if it is one. */
static const char *fault_of_field(const char *line, size_t size) {
    const char *colon = memchr(line, ':', size);
    /* A server that took one of these for a field could miss a Content-Length that the client meant, and read the
       body as the next request (RFC 9112 5.1, 5.2). */
    if (is_blank(line[0])) return "a folded header field";
    if (colon == NULL) return "a header line without a colon";
    if (!is_token(line, (size_t)(colon - line))) return "an invalid name of a header field";
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
    if (parse_request_line(line, &request->seen) != AFTS_OK) return AFTS_EINVAL;
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

afts_status afts__parse_framing(const afts_request *request, afts__framing *framing,
                                uint64_t *length) {
    *framing = AFTS__NO_BODY;
    *length = 0;
    if (any_field_has_token(request, "Transfer-Encoding", "chunked")) {
        *framing = AFTS__BY_CHUNKS;
        return AFTS_OK;
    }
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
