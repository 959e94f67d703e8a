#include "message/fields.h"

#include "base/alloc.h"
#include "base/failure.h"
#include "base/text.h"

enum { SMALLEST_CAPACITY = 16 };

/* ---- Fields that were received ------------------------------------------------------------- */

void afc__fields_init(afc__fields *fields, uint64_t limit) {
    *fields = (afc__fields){0};
    afc__buffer_init(&fields->text, limit);
}

void afc__fields_use_storage(afc__fields *fields, afc__storage text, afc_header *headers,
                             size_t count) {
    afc__buffer_use_storage(&fields->text, text);
    fields->headers = fields->header_storage = headers;
    fields->capacity = count;
}

static bool uses_storage(const afc__fields *fields) {
    return fields->headers != NULL && fields->headers == fields->header_storage;
}

void afc__fields_clear(afc__fields *fields) {
    afc__buffer_clear(&fields->text);
    if (!uses_storage(fields)) afc_free(fields->headers);
    fields->headers = fields->header_storage = NULL;
    fields->count = fields->capacity = 0;
}

void afc__fields_restart(afc__fields *fields) {
    fields->text.size = 0;
    fields->count = 0;
}

/** Makes room for `count` more fields. */
static afc_status ensure_capacity(afc__fields *fields, size_t count) {
    if (count <= fields->capacity - fields->count) return AFC_OK;
    size_t most = SIZE_MAX / 2 / sizeof *fields->headers;
    if (fields->capacity > most || count > most - fields->count) return AFC_ENOMEM;
    size_t capacity = fields->capacity != 0 ? fields->capacity * 2 : SMALLEST_CAPACITY;
    if (capacity < fields->count + count) capacity = fields->count + count;
    bool moves_out = uses_storage(fields);
    afc_header *headers = moves_out ? afc__alloc(capacity * sizeof *headers)
                                    : afc__realloc(fields->headers, capacity * sizeof *headers);
    if (headers == NULL) return AFC_ENOMEM;
    if (moves_out) memcpy(headers, fields->headers, fields->count * sizeof *headers);
    fields->headers = headers;
    fields->capacity = capacity;
    return AFC_OK;
}

afc_status afc__fields_add(afc__fields *fields, afc_slice name, afc_slice value) {
    char *at;
    afc_status status = ensure_capacity(fields, 1);
    if (status != AFC_OK) return status;
    if (name.size > SIZE_MAX - value.size) return AFC_ETOOBIG;
    status = afc__buffer_extend(&fields->text, name.size + value.size, &at);
    if (status != AFC_OK) return status;
    if (name.size != 0) memcpy(at, name.bytes, name.size);
    if (value.size != 0) memcpy(at + name.size, value.bytes, value.size);
    fields->headers[fields->count++] = (afc_header){{NULL, name.size}, {NULL, value.size}, 0};
    return AFC_OK;
}

afc_status afc__fields_add_all(afc__fields *fields, const afc_header *headers, size_t count) {
    size_t size = 0;
    char *at;
    for (size_t i = 0; i < count; i++) size += headers[i].name.size + headers[i].value.size;
    afc_status status = ensure_capacity(fields, count);
    if (status == AFC_OK) status = afc__buffer_extend(&fields->text, size, &at);
    if (status != AFC_OK) return status;
    for (size_t i = 0; i < count; i++) {
        afc_slice name = headers[i].name, value = headers[i].value;
        /* In heads from the HTTP cache, name and value follow each other, so that one copy does. */
        bool is_one_text = name.size != 0 && value.bytes == name.bytes + name.size;
        if (name.size != 0) memcpy(at, name.bytes, name.size + (is_one_text ? value.size : 0));
        at += name.size;
        if (value.size != 0 && !is_one_text) memcpy(at, value.bytes, value.size);
        at += value.size;
        fields->headers[fields->count++] = (afc_header){{NULL, name.size}, {NULL, value.size}, 0};
    }
    return AFC_OK;
}

afc_status afc__fields_fold(afc__fields *fields, afc_slice more) {
    if (more.size == 0) return AFC_OK;
    afc_header *last = &fields->headers[fields->count - 1];
    size_t before = fields->text.size;
    afc_status status = AFC_OK;
    if (last->value.size != 0) status = afc__buffer_append(&fields->text, " ", 1);
    if (status == AFC_OK) status = afc__buffer_append(&fields->text, more.bytes, more.size);
    if (status != AFC_OK) {
        fields->text.size = before;
        return status;
    }
    last->value.size += fields->text.size - before;
    return AFC_OK;
}

void afc__fields_bind(afc__fields *fields, size_t start) {
    const char *at = fields->text.bytes;
    if (at == NULL) return;
    at += start;
    for (size_t i = 0; i < fields->count; i++) {
        afc_header *header = &fields->headers[i];
        header->name.bytes = at;
        header->value.bytes = at + header->name.size;
        at = header->value.bytes + header->value.size;
    }
}

const afc_header *afc_head_find(const afc_head *head, const char *name) {
    return afc_head_find_next(head, name, NULL);
}

const afc_header *afc_head_find_next(const afc_head *head, const char *name,
                                     const afc_header *previous) {
    size_t first = previous != NULL ? (size_t)(previous - head->headers) + 1 : 0;
    for (size_t i = first; i < head->header_count; i++) {
        if (afc__same_name(head->headers[i].name, name)) return &head->headers[i];
    }
    return NULL;
}

afc__found afc__find_one(const afc_head *head, const char *name, const afc_header **out) {
    *out = NULL;
    for (size_t i = 0; i < head->header_count; i++) {
        const afc_header *field = &head->headers[i];
        if (!afc__same_name(field->name, name)) continue;
        if (*out != NULL && !afc__is_same((*out)->value, field->value)) return AFC__FOUND_DIFFERENT;
        if (*out == NULL) *out = field;
    }
    return *out != NULL ? AFC__FOUND_ONE : AFC__FOUND_NONE;
}

/* ---- Fields that refer to others ----------------------------------------------------------- */

afc_status afc__field_list_init(afc__field_list *list, size_t most) {
    list->count = 0;
    list->headers = list->storage;
    if (most <= AFC__FIELD_LIST_SIZE) return AFC_OK;
    if (most > SIZE_MAX / sizeof *list->headers) return AFC_ENOMEM;
    list->headers = afc__alloc(most * sizeof *list->headers);
    return list->headers != NULL ? AFC_OK : AFC_ENOMEM;
}

void afc__field_list_clear(afc__field_list *list) {
    if (list->headers != list->storage) afc_free(list->headers);
    list->headers = NULL;
}

/* ---- Parts of fields ----------------------------------------------------------------------- */

bool afc__split(afc_slice text, char mark, afc_slice *before, afc_slice *after) {
    size_t size = afc__span_until(text, mark);
    if (size == text.size) return false;
    *before = (afc_slice){text.bytes, size};
    *after = (afc_slice){text.bytes + size + 1, text.size - size - 1};
    return true;
}

bool afc__next_member(afc_slice *list, afc_slice *member) {
    if (list->bytes == NULL) return false;
    const char *comma = memchr(list->bytes, ',', list->size);
    size_t size = comma != NULL ? (size_t)(comma - list->bytes) : list->size;
    *member = afc__trim((afc_slice){list->bytes, size});
    /* The part after the last comma may be empty, so the end is marked by `bytes` and not by `size`. */
    *list = comma != NULL ? (afc_slice){comma + 1, list->size - size - 1} : (afc_slice){NULL, 0};
    return true;
}

size_t afc__quoted_size(afc_slice text) {
    for (size_t i = 1; i < text.size; i++) {
        if (text.bytes[i] == '"') return i + 1;
        if (text.bytes[i] == '\\') i++;
    }
    return 0;
}

afc_slice afc__without_quotes(afc_slice text) {
    bool is_quoted = text.size >= 2 && text.bytes[0] == '"' && text.bytes[text.size - 1] == '"';
    return is_quoted ? (afc_slice){text.bytes + 1, text.size - 2} : text;
}

size_t afc__find_unquoted(afc_slice text, char mark, bool *is_open) {
    size_t at = 0;
    *is_open = false;
    while (at < text.size && text.bytes[at] != mark) {
        size_t size = 1;
        if (text.bytes[at] == '"') {
            size = afc__quoted_size((afc_slice){text.bytes + at, text.size - at});
        }
        *is_open = size == 0;
        if (*is_open) return text.size;
        at += size;
    }
    return at;
}

bool afc__parse_number(afc_slice text, uint64_t largest, uint64_t *out) {
    uint64_t number = 0;
    for (size_t i = 0; i < text.size; i++) {
        if (!afc__is_digit(text.bytes[i])) return false;
        unsigned digit = (unsigned)(text.bytes[i] - '0');
        if (digit > largest || number > (largest - digit) / 10) return false;
        number = number * 10 + digit;
    }
    *out = number;
    return text.size != 0;
}

bool afc__parse_clamped(afc_slice text, int64_t largest, int64_t *out) {
    int64_t number = 0;
    for (size_t i = 0; i < text.size; i++) {
        if (!afc__is_digit(text.bytes[i])) return false;
        number = number * 10 + (text.bytes[i] - '0');
        if (number > largest) number = largest;
    }
    *out = number;
    return text.size != 0;
}

bool afc__parse_length(afc_slice text, int64_t *out) {
    uint64_t number;
    if (!afc__parse_number(text, INT64_MAX, &number)) return false;
    *out = (int64_t)number;
    return true;
}

// clang-format off
/** Octets of a token (RFC 9110 5.6.2): letters, digits and "!#$%&'*+-.^_`|~". */
static const bool is_token_octet[256] = {
    ['!'] = true, ['#'] = true, ['$'] = true, ['%'] = true, ['&'] = true, ['\''] = true,
    ['*'] = true, ['+'] = true, ['-'] = true, ['.'] = true, ['^'] = true, ['_'] = true,
    ['`'] = true, ['|'] = true, ['~'] = true,
    ['0'] = true, ['1'] = true, ['2'] = true, ['3'] = true, ['4'] = true,
    ['5'] = true, ['6'] = true, ['7'] = true, ['8'] = true, ['9'] = true,
    ['A'] = true, ['B'] = true, ['C'] = true, ['D'] = true, ['E'] = true, ['F'] = true,
    ['G'] = true, ['H'] = true, ['I'] = true, ['J'] = true, ['K'] = true, ['L'] = true,
    ['M'] = true, ['N'] = true, ['O'] = true, ['P'] = true, ['Q'] = true, ['R'] = true,
    ['S'] = true, ['T'] = true, ['U'] = true, ['V'] = true, ['W'] = true, ['X'] = true,
    ['Y'] = true, ['Z'] = true,
    ['a'] = true, ['b'] = true, ['c'] = true, ['d'] = true, ['e'] = true, ['f'] = true,
    ['g'] = true, ['h'] = true, ['i'] = true, ['j'] = true, ['k'] = true, ['l'] = true,
    ['m'] = true, ['n'] = true, ['o'] = true, ['p'] = true, ['q'] = true, ['r'] = true,
    ['s'] = true, ['t'] = true, ['u'] = true, ['v'] = true, ['w'] = true, ['x'] = true,
    ['y'] = true, ['z'] = true,
};
// clang-format on

size_t afc_token_size(afc_slice text) {
    size_t size = 0;
    while (size < text.size && is_token_octet[(unsigned char)text.bytes[size]]) size++;
    return size;
}

bool afc__is_token(afc_slice text) {
    return text.size != 0 && afc_token_size(text) == text.size;
}

static bool is_one_of(afc_slice name, const char *const *names) {
    for (; *names != NULL; names++) {
        if (afc__same_name(name, *names)) return true;
    }
    return false;
}

/** Returns whether the name ends with one of these. */
static bool has_end(afc_slice name, const char *const *ends) {
    for (; *ends != NULL; ends++) {
        size_t size = strlen(*ends);
        if (size > name.size) continue;
        if (afc__same_name((afc_slice){name.bytes + name.size - size, size}, *ends)) return true;
    }
    return false;
}

bool afc__header_is_key(afc_slice name) {
    /* Each API has a name of its own, such as X-Goog-Api-Key, X-Vault-Token or Ocp-Apim-Subscription-Key. */
    static const char *const ends[] = {
        "Token",      "Secret",           "Password", "Api-Key",       "ApiKey",
        "Access-Key", "Application-Key",  "Auth-Key", "Functions-Key", "Master-Key",
        "Secret-Key", "Subscription-Key", NULL};
    static const char *const names[] = {"Fastly-Key", "X-Authorization", NULL};
    return has_end(name, ends) || is_one_of(name, names);
}

bool afc_header_is_credential(afc_slice name) {
    static const char *const names[] = {
        "Authorization", "Proxy-Authorization", "Cookie", "Set-Cookie",
        "Cookie2",       "Set-Cookie2",         NULL};
    return is_one_of(name, names) || afc__header_is_key(name);
}

static bool has_forbidden(const char *bytes, size_t size) {
    for (size_t i = 0; i < size; i++) {
        if (bytes[i] == '\r' || bytes[i] == '\n' || bytes[i] == '\0') return true;
    }
    return false;
}

/** Returns whether one of eight bytes is below 16, as CR, LF and NUL are. In practice only tabs are found. */
static bool has_low_byte(uint64_t bytes) {
    const uint64_t each = UINT64_C(0x0101010101010101);
    return ((bytes - each * 16) & ~bytes & each * 0x80) != 0;
}

/*
 * Called for every line of every head, so it tests eight bytes at a time: in row small_64 of Benchmarks/run this saves
 * some 1,000 of 76,000 instructions (callgrind).
 */
bool afc__is_field_value(afc_slice text) {
    return !afc__has_any(text, has_low_byte, has_forbidden);
}

/*
 * Called for every field of every request, by Swift and by the core. Most have no tab, so afc__has_control() answers:
 * in row small_64 of Benchmarks/run this saves some 900 of 109,000 instructions of a request in Swift (callgrind).
 */
bool afc__may_be_sent(afc_slice text) {
    if (!afc__has_control(text)) return true;
    for (size_t i = 0; i < text.size; i++) {
        unsigned char c = (unsigned char)text.bytes[i];
        if ((c < 0x20 && c != '\t') || c == 0x7f) return false;
    }
    return true;
}

bool afc__is_continue_expectation(const afc_header *header) {
    return (header->flags & AFC_HEADER_REMOVE) == 0 && afc__same_name(header->name, "Expect") &&
           afc__same_name(afc__trim(header->value), "100-continue");
}

/* ---- Fields to send ------------------------------------------------------------------------ */

afc_status afc__check_header_pointers(const afc_header *headers, size_t count,
                                      afc_failure *failure) {
    if (headers == NULL && count > 0) {
        return afc__fail(failure, AFC_EINVAL, "header_count is set but headers is NULL");
    }
    for (size_t i = 0; i < count; i++) {
        bool lacks_name = afc__lacks_bytes(headers[i].name);
        if (!lacks_name && !afc__lacks_bytes(headers[i].value)) continue;
        return afc__fail(failure, AFC_EINVAL, "the %s of header field %zu has a size but no bytes",
                         lacks_name ? "name" : "value", i + 1);
    }
    return AFC_OK;
}

static afc_status check_header(const afc_header *header, afc_failure *failure) {
    afc_slice name = header->name;
    if (afc__lacks_bytes(name) || afc__lacks_bytes(header->value)) {
        return afc__fail(failure, AFC_EINVAL, "the %s of a header field has a size but no bytes",
                         afc__lacks_bytes(name) ? "name" : "value");
    }
    /* The name isn't shown: it may be a whole "Name: value" with a secret. */
    if (!afc__is_token(name)) {
        return afc__fail(failure, AFC_EINVAL, "the name of a header field is not a token");
    }
    int shown = name.size < 64 ? (int)name.size : 64;
    if (afc__same_name(name, "Content-Length") || afc__same_name(name, "Transfer-Encoding")) {
        return afc__fail(failure, AFC_EINVAL,
                         "header %.*s can't be set: it is computed from the body", shown,
                         name.bytes);
    }
    if ((header->flags & ~(unsigned)(AFC_HEADER_SECRET | AFC_HEADER_REMOVE)) != 0) {
        return afc__fail(failure, AFC_EINVAL, "unknown flags for header %.*s: %#x", shown,
                         name.bytes, header->flags);
    }
    if ((header->flags & AFC_HEADER_REMOVE) != 0 || afc__may_be_sent(header->value)) return AFC_OK;
    return afc__fail(failure, AFC_EINVAL, "the value of header %.*s contains a control character",
                     shown, name.bytes);
}

afc_status afc_header_check(const afc_header *header, afc_failure *failure) {
    afc__clear_failure(failure);
    return check_header(header, failure);
}

/**
 * Returns whether this is a Host field. Servers refuse a second one (RFC 9112 3.2), and libcurl would send only the
 * first.
 */
static bool is_host(const afc_header *header) {
    return (header->flags & AFC_HEADER_REMOVE) == 0 && afc__same_name(header->name, "Host");
}

afc_status afc__check_request_headers(const afc_header *headers, size_t count,
                                      afc_failure *failure) {
    afc_status status = afc__check_header_pointers(headers, count, failure);
    if (status != AFC_OK) return status;
    size_t hosts = 0;
    for (size_t i = 0; i < count; i++) {
        status = check_header(&headers[i], failure);
        if (status == AFC_OK) {
            hosts += is_host(&headers[i]);
            continue;
        }
        if (afc__is_token(headers[i].name)) return status;
        return afc__fail(failure, status, "the name of header field %zu isn't a token", i + 1);
    }
    if (hosts < 2) return AFC_OK;
    return afc__fail(failure, AFC_EINVAL, "the request has %zu Host fields: expected at most one",
                     hosts);
}
