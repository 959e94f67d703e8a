#include "trust/names_text.h"

#include <openssl/err.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum {
    MAX_HOST = 64,
    MAX_NAME = 48,
    /* Space that is reserved for " and N more". */
    COUNT_SIZE = 24
};

/* ---- One name ------------------------------------------------------------------------------ */

void afc__hex_print(BIO *bio, const unsigned char *bytes, int size) {
    for (int i = 0; i < size; i++) BIO_printf(bio, "%02x", bytes[i]);
}

/** Writes a name, which may contain any bytes, and escapes those that could be mistaken for its end. */
static void write_escaped(BIO *bio, const ASN1_STRING *name) {
    const unsigned char *bytes = ASN1_STRING_get0_data(name);
    for (int i = 0; i < ASN1_STRING_length(name); i++) {
        bool is_plain = bytes[i] > ' ' && bytes[i] < 127 && bytes[i] != '\\';
        BIO_printf(bio, is_plain ? "%c" : "\\x%02x", bytes[i]);
    }
}

static void write_address(BIO *bio, const ASN1_OCTET_STRING *address) {
    const unsigned char *bytes = ASN1_STRING_get0_data(address);
    int size = ASN1_STRING_length(address);
    if (size == 4) {
        BIO_printf(bio, "%d.%d.%d.%d", bytes[0], bytes[1], bytes[2], bytes[3]);
    } else if (size == 16) {
        for (int i = 0; i < 16; i += 2) {
            BIO_printf(bio, "%s%x", i > 0 ? ":" : "", (unsigned)bytes[i] << 8 | bytes[i + 1]);
        }
    } else {
        afc__hex_print(bio, bytes, size);
    }
}

void afc__general_name_write(BIO *bio, GENERAL_NAME *name) {
    switch (name->type) {
    case GEN_DNS:
        write_escaped(bio, name->d.dNSName);
        break;
    case GEN_IPADD:
        write_address(bio, name->d.iPAddress);
        break;
    default:
        GENERAL_NAME_print(bio, name);
    }
}

/* ---- A certificate for another host ---------------------------------------------------------- */

/** A text in a buffer; what doesn't fit is cut off. */
typedef struct cut_text {
    char *bytes;
    size_t size, used;
} cut_text;

__attribute__((format(printf, 2, 3))) static void add(cut_text *text, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(text->bytes + text->used, text->size - text->used, format, arguments);
    va_end(arguments);
    if (length > 0) text->used += (size_t)length;
    if (text->used >= text->size) text->used = text->size - 1;
}

static void add_shortened(cut_text *text, const char *bytes, size_t size, size_t longest) {
    bool is_long = size > longest;
    add(text, "%.*s%s", (int)(is_long ? longest - 3 : size), bytes, is_long ? "..." : "");
}

static bool is_host(const GENERAL_NAME *name) {
    return name->type == GEN_DNS || name->type == GEN_IPADD;
}

/**
 * Returns whether a DNS name is an address. An address counts only as an iPAddress (RFC 9110 4.3.5), so the text must
 * show which of the two it is.
 */
static bool is_misplaced_address(const GENERAL_NAME *name) {
    /* Size of the longest address. */
    char text[46] = "";
    if (name->type != GEN_DNS) return false;
    size_t size = (size_t)ASN1_STRING_length(name->d.dNSName);
    if (size >= sizeof text) return false;
    memcpy(text, ASN1_STRING_get0_data(name->d.dNSName), size);
    /* A name with a NUL byte isn't an address. */
    ASN1_OCTET_STRING *address = strlen(text) == size ? a2i_IPADDRESS(text) : NULL;
    bool is_address = address != NULL;
    ASN1_OCTET_STRING_free(address);
    return is_address;
}

/** Adds a name. Returns false if it doesn't fit. */
static bool add_name(cut_text *text, BIO *bio, GENERAL_NAME *name, bool is_first) {
    char *bytes;
    BIO_reset(bio);
    afc__general_name_write(bio, name);
    long written = BIO_get_mem_data(bio, &bytes);
    size_t size = written > 0 ? (size_t)written : 0;
    size_t shown = size > MAX_NAME ? MAX_NAME : size;
    const char *kind = is_misplaced_address(name) ? "the DNS name " : "";
    if (text->used + strlen(kind) + shown + COUNT_SIZE > text->size) return false;
    add(text, "%s%s", is_first ? "" : ", ", kind);
    add_shortened(text, bytes, size, MAX_NAME);
    return true;
}

static void add_names(cut_text *text, BIO *bio, GENERAL_NAMES *names) {
    size_t shown = 0, left_off = 0;
    int count = names != NULL ? sk_GENERAL_NAME_num(names) : 0;
    for (int i = 0; i < count; i++) {
        GENERAL_NAME *name = sk_GENERAL_NAME_value(names, i);
        if (!is_host(name)) continue;
        if (shown + left_off == 0) add(text, ", only for ");
        if (left_off == 0 && add_name(text, bio, name, shown == 0)) {
            shown++;
        } else {
            left_off++;
        }
    }
    if (shown + left_off == 0) {
        add(text, ": it names no host");
    } else if (left_off > 0) {
        add(text, "%s%zu more", shown > 0 ? " and " : "", left_off);
    }
}

void afc__wrong_host_write(char *out, size_t size, const char *host, X509 *leaf) {
    cut_text text = {out, size, 0};
    GENERAL_NAMES *names = X509_get_ext_d2i(leaf, NID_subject_alt_name, NULL, NULL);
    BIO *bio = BIO_new(BIO_s_mem());
    add(&text, "the certificate isn't valid for ");
    add_shortened(&text, host, strlen(host), MAX_HOST);
    if (bio != NULL) add_names(&text, bio, names);
    BIO_free(bio);
    GENERAL_NAMES_free(names);
    ERR_clear_error();
}
