#include "internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static bool is_blank(char c) {
    return c == ' ' || c == '\t';
}

// Ends a line at its LF, and at a CR before that. Returns the start of the next line.
static char *cut_line(char *line, const char *end, size_t *len) {
    char *newline = memchr(line, '\n', (size_t)(end - line));
    if (!newline) {
        *len = (size_t)(end - line);
        return line + *len;
    }
    *len = (size_t)(newline - line);
    if (*len > 0 && line[*len - 1] == '\r') {
        (*len)--;
    }
    line[*len] = 0;
    return newline + 1;
}

static int parse_request_line(char *line, afts_request *seen) {
    char *target = strchr(line, ' ');
    char *version = target ? strchr(target + 1, ' ') : NULL;
    if (!version || target == line || version == target + 1 ||
        strncmp(version + 1, "HTTP/", 5) != 0) {
        return -EINVAL;
    }
    *target = 0;
    *version = 0;
    seen->method = line;
    seen->target = target + 1;
    seen->version = version + 1;
    return 0;
}

static afts_header parse_field(char *line, size_t len) {
    char *colon = memchr(line, ':', len);
    if (!colon) {
        return (afts_header){.name = line, .name_len = len, .value = line + len};
    }
    *colon = 0;
    char *value = colon + 1;
    char *end = line + len;
    while (value < end && is_blank(*value)) {
        value++;
    }
    while (end > value && is_blank(end[-1])) {
        end--;
    }
    *end = 0;
    return (afts_header){.name = line,
                         .name_len = (size_t)(colon - line),
                         .value = value,
                         .value_len = (size_t)(end - value)};
}

static size_t count_lines(const afts__buf *head) {
    size_t lines = 0;
    for (size_t i = 0; i < head->len; i++) {
        lines += head->data[i] == '\n';
    }
    return lines;
}

int afts__parse_head(afts__request *request) {
    request->text = afts__copy(request->head.data, request->head.len);
    request->headers = calloc(count_lines(&request->head) + 1, sizeof *request->headers);
    if (!request->text || !request->headers) {
        return -ENOMEM;
    }
    const char *end = request->text + request->head.len;
    size_t len;
    char *line = request->text;
    char *next = cut_line(line, end, &len);
    if (parse_request_line(line, &request->seen) != 0) {
        return -EINVAL;
    }
    for (line = next; line < end; line = next) {
        next = cut_line(line, end, &len);
        if (len > 0) {
            request->headers[request->seen.header_count++] = parse_field(line, len);
        }
    }
    request->seen.headers = request->headers;
    request->seen.head = request->head.data;
    request->seen.head_len = request->head.len;
    return 0;
}

bool afts__parse_number(const char *digits, size_t len, unsigned base, uint64_t *number) {
    uint64_t value = 0;
    for (size_t i = 0; i < len; i++) {
        unsigned digit = digits[i] >= '0' && digits[i] <= '9'   ? (unsigned)(digits[i] - '0')
                         : digits[i] >= 'a' && digits[i] <= 'f' ? (unsigned)(digits[i] - 'a') + 10
                         : digits[i] >= 'A' && digits[i] <= 'F' ? (unsigned)(digits[i] - 'A') + 10
                                                                : base;
        if (digit >= base || value > (UINT64_MAX - digit) / base) {
            return false;
        }
        value = value * base + digit;
    }
    *number = value;
    return len > 0;
}

bool afts__has_token(const char *value, size_t len, const char *token) {
    size_t token_len = strlen(token);
    const char *end = value + len;
    while (value < end) {
        while (value < end && (is_blank(*value) || *value == ',')) {
            value++;
        }
        const char *stop = value;
        while (stop < end && *stop != ',' && *stop != ';' && !is_blank(*stop)) {
            stop++;
        }
        if ((size_t)(stop - value) == token_len && strncasecmp(value, token, token_len) == 0) {
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
            afts__has_token(header->value, header->value_len, token)) {
            return true;
        }
    }
    return false;
}

int afts__parse_framing(const afts_request *request, afts__framing *framing, uint64_t *length) {
    *framing = AFTS__NO_BODY;
    *length = 0;
    if (any_field_has_token(request, "Transfer-Encoding", "chunked")) {
        *framing = AFTS__BY_CHUNKS;
        return 0;
    }
    for (size_t i = 0; i < request->header_count; i++) {
        const afts_header *header = &request->headers[i];
        if (strcasecmp(header->name, "Content-Length") != 0) {
            continue;
        }
        uint64_t value;
        if (!afts__parse_number(header->value, header->value_len, 10, &value) ||
            (*framing == AFTS__BY_LENGTH && value != *length)) {
            return -EINVAL;
        }
        *framing = AFTS__BY_LENGTH;
        *length = value;
    }
    return 0;
}

bool afts__keeps_alive(const afts_request *request) {
    if (any_field_has_token(request, "Connection", "close")) {
        return false;
    }
    return strcmp(request->version, "HTTP/1.0") != 0 ||
           any_field_has_token(request, "Connection", "keep-alive");
}

const char *afts_request_header(const afts_request *request, const char *name) {
    for (size_t i = 0; i < request->header_count; i++) {
        if (strcasecmp(request->headers[i].name, name) == 0) {
            return request->headers[i].value;
        }
    }
    return NULL;
}
