#include "echo.h"

#include <errno.h>
#include <openssl/evp.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

enum { HEAD_MAX = 14, CONTROL = 8, CLOSE = 8, SMALL = 512 };

struct echo {
    int socket;
    unsigned char *bytes; /* A frame, from its first byte. An idle socket has none. */
    size_t size, capacity;
};

static bool send_all(int socket, const void *bytes, size_t size) {
    for (const char *at = bytes; size > 0;) {
        ssize_t count = send(socket, at, size, MSG_NOSIGNAL);
        if (count < 0 && errno == EAGAIN) {
            struct pollfd polled = {.fd = socket, .events = POLLOUT};
            poll(&polled, 1, -1);
        } else if (count < 0) {
            return false;
        } else {
            at += count;
            size -= (size_t)count;
        }
    }
    return true;
}

echo *echo_new(int socket, const char *head) {
    static const char field[] = "\r\nSec-WebSocket-Key:";
    unsigned char digest[EVP_MAX_MD_SIZE], accept[64];
    char text[128], answer[256];
    unsigned digest_size = 0;
    const char *key = strcasestr(head, field);
    if (key == NULL) return NULL;
    key += strlen(field);
    while (*key == ' ') key++;
    snprintf(text, sizeof text, "%.24s258EAFA5-E914-47DA-95CA-C5AB0DC85B11", key);
    EVP_Digest(text, strlen(text), digest, &digest_size, EVP_sha1(), NULL);
    EVP_EncodeBlock(accept, digest, (int)digest_size);
    snprintf(answer, sizeof answer,
             "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
             "Sec-WebSocket-Accept: %s\r\n\r\n",
             accept);
    echo *self = calloc(1, sizeof *self);
    if (self == NULL) return NULL;
    self->socket = socket;
    if (send_all(socket, answer, strlen(answer))) return self;
    free(self);
    return NULL;
}

void echo_free(echo *self) {
    if (self != NULL) free(self->bytes);
    free(self);
}

static bool reserve(echo *self, size_t capacity) {
    if (capacity <= self->capacity) return true;
    unsigned char *bytes = realloc(self->bytes, capacity);
    if (bytes == NULL) return false;
    self->bytes = bytes;
    self->capacity = capacity;
    return true;
}

/* The sizes of the frame at the start; 0: not yet known. */
static size_t frame_size(const echo *self, size_t *head) {
    if (self->size < 2) return 0;
    size_t length = self->bytes[1] & 0x7f;
    size_t extra = length == 126 ? 2 : length == 127 ? 8 : 0;
    *head = 2 + extra + 4;
    if (self->size < *head) return 0;
    if (extra > 0) length = 0;
    for (size_t i = 0; i < extra; i++) length = length << 8 | self->bytes[2 + i];
    return *head + length;
}

/* Unmasks the frame in place, and sends it with a head that lies in front of its payload. */
static bool answer(echo *self, size_t head, size_t size) {
    unsigned char *mask = self->bytes + head - 4, *payload = self->bytes + head;
    unsigned char opcode = self->bytes[0] & 0x0f;
    size_t length = size - head, reply = head - 4;
    uint64_t wide;
    uint32_t key;
    memcpy(&key, mask, sizeof key);
    wide = (uint64_t)key << 32 | key;
    for (size_t i = 0; i + 8 <= length; i += 8) {
        uint64_t word;
        memcpy(&word, payload + i, sizeof word);
        word ^= wide;
        memcpy(payload + i, &word, sizeof word);
    }
    for (size_t i = length & ~(size_t)7; i < length; i++) payload[i] ^= mask[i % 4];
    self->bytes[1] &= 0x7f;
    memmove(payload - reply, self->bytes, reply);
    return send_all(self->socket, payload - reply, reply + length) && opcode != CLOSE;
}

bool echo_read(echo *self) {
    size_t head = 0, size = frame_size(self, &head);
    if (!reserve(self, size > SMALL ? size : SMALL)) return false;
    ssize_t count = recv(self->socket, self->bytes + self->size, self->capacity - self->size, 0);
    if (count < 0 && errno == EAGAIN) return true;
    if (count <= 0) return false;
    self->size += (size_t)count;
    while ((size = frame_size(self, &head)) > 0 && self->size >= size) {
        if (!answer(self, head, size)) return false;
        self->size -= size;
        memmove(self->bytes, self->bytes + size, self->size);
    }
    return true;
}
