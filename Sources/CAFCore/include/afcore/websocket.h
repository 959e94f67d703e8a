/**
 * WebSockets (RFC 6455), with message compression (RFC 7692) by a codec that the caller supplies.
 *
 * A WebSocket begins as an ordinary request of its session, an afc_request: names, proxies, Unix sockets, TLS, pins,
 * client certificates, cookies, redirects, credentials and metrics are those of every task. Only the handshake is
 * different: it always uses HTTP/1.1, and a connection of its own, through an HTTP proxy always with CONNECT. Until it
 * has ended, the socket counts as one connection of its host; see afc_session_options.max_connections_per_host.
 */
#ifndef AFCORE_WEBSOCKET_H
#define AFCORE_WEBSOCKET_H

#include <afcore/base.h>
#include <afcore/error.h>
#include <afcore/message.h>
#include <afcore/session.h>
#include <afcore/task.h>

AFC_BEGIN_DECLS

/** A WebSocket, with a reference count. */
typedef struct afc_websocket afc_websocket;

/** The kind of a message. */
typedef enum afc_websocket_kind {
    AFC_WEBSOCKET_TEXT = 1, /**< UTF-8. */
    AFC_WEBSOCKET_BINARY = 2
} afc_websocket_kind;

/** Close codes (RFC 6455 7.4.1). Others are defined by applications: 3000 to 4999. */
typedef enum AFC_OPEN_ENUM afc_websocket_code {
    AFC_WEBSOCKET_NORMAL = 1000,
    AFC_WEBSOCKET_GOING_AWAY = 1001,
    AFC_WEBSOCKET_PROTOCOL_ERROR = 1002,
    AFC_WEBSOCKET_UNSUPPORTED_DATA = 1003,
    AFC_WEBSOCKET_NO_CODE = 1005,  /**< Never sent: the peer's close frame had no code. */
    AFC_WEBSOCKET_ABNORMAL = 1006, /**< Never sent: there was no close frame. */
    AFC_WEBSOCKET_INVALID_PAYLOAD = 1007,
    AFC_WEBSOCKET_POLICY_VIOLATION = 1008,
    AFC_WEBSOCKET_MESSAGE_TOO_BIG = 1009,
    AFC_WEBSOCKET_MISSING_EXTENSION = 1010,
    AFC_WEBSOCKET_INTERNAL_ERROR = 1011
} afc_websocket_code;

enum {
    /** Maximum size in bytes of a ping's or pong's payload, and, with the code's two bytes, of a close frame's. */
    AFC_WEBSOCKET_CONTROL_MAX = 125,
    /** Maximum size in bytes of the reason of a close frame. */
    AFC_WEBSOCKET_REASON_MAX = 123,
    /** Maximum size in bytes of the body that is kept of a response that refuses the handshake. */
    AFC_WEBSOCKET_REFUSAL_MAX = 64 * 1024
};

/** A flag of afc_websocket_send(): the message isn't complete, the next call continues it. */
enum { AFC_WEBSOCKET_MORE = 1u << 0 };

/**
 * Compresses or decompresses raw DEFLATE (RFC 1951), such as zlib with negative window bits. Streams for decoding are
 * used on the loop thread, those for encoding on the threads that send, one at a time.
 */
typedef struct afc_websocket_codec {
    /**
     * Passed to `open`. Must be valid until every socket with this codec has ended, and no call of
     * afc_websocket_send() for one runs.
     */
    void *context;
    /**
     * Makes a stream with a window of 1 << `window_bits` bytes; `window_bits` is 8 to 15. Returns NULL if out of
     * memory, or if the size isn't supported. A socket that can't encode sends messages as they are; one that can't
     * decode isn't opened.
     */
    void *(*open)(void *context, bool encodes, int window_bits);
    /**
     * Converts as many bytes of `*input` as fit into `output`, sets `*input` to the rest and `*size`, which is the
     * space in `output`, to the number of bytes written. At the end of the input everything must be written
     * (Z_SYNC_FLUSH): if a call writes fewer bytes than there is space for, it has converted all input. A decoder
     * doesn't stop at a final block (RFC 7692 7.2.3.4; zlib's Z_STREAM_END): it keeps its window, and the next block
     * follows. Fails with AFC_EPROTOCOL (invalid input) or AFC_ENOMEM.
     */
    afc_status (*convert)(void *stream, afc_slice *input, char *output, size_t *size);
    /** Resets a stream, as if it had converted nothing (no context takeover, RFC 7692 7.1.1). */
    void (*reset)(void *stream);
    /** Frees a stream. */
    void (*close)(void *stream);
} afc_websocket_codec;

/** Size limits. 0 means the default given here. */
typedef struct afc_websocket_limits {
    /** Bytes of a received message, after decoding. More ends the socket with 1009. Default: 16 MiB. */
    uint64_t message_bytes;
    /** Bytes of a received frame, before decoding. Default: as `message_bytes`. */
    uint64_t frame_bytes;
    uint32_t fragments; /**< Frames of a received message. Default: 16384. */
    /** Ratio of decoded to received bytes of a message, checked after its first decoded MiB. Default: 250. */
    uint32_t decoding_ratio;
    /**
     * Bytes that wait to be sent, including frame headers. A call that would exceed the limit fails with AFC_EAGAIN. A
     * message that exceeds it only because compression made it longer, or because others were queued while it was
     * compressed, is accepted. Default: 16 MiB.
     */
    uint64_t queue_bytes;
    uint32_t reserved[4]; /**< 0. */
} afc_websocket_limits;

#define AFC_WEBSOCKET_LIMITS_INIT                                                                  \
    {                                                                                              \
        0, 0, 0, 0, 0, {                                                                           \
            0                                                                                      \
        }                                                                                          \
    }

/** Options of a WebSocket. Start from AFC_WEBSOCKET_OPTIONS_INIT. All are copied. */
typedef struct afc_websocket_options {
    size_t size; /**< sizeof(afc_websocket_options). */
    /** Subprotocols to offer, in the order of preference: tokens, without duplicates. */
    const char *const *protocols;
    size_t protocol_count;
    afc_websocket_limits limits;
    /** Time limit for the whole handshake, redirects included. Default: 30000; 0 means no limit. */
    uint32_t open_timeout_ms;
    /**
     * Time from sending a close frame, or receiving one, to the end of the connection. While messages are sent before
     * our close frame, this time is allowed for each 64 KiB of them, or part of that, and between two of their bytes.
     * Also the time, within open_timeout_ms, for the body of a response that refuses the handshake. Default:
     * 5000. Not 0.
     */
    uint32_t close_timeout_ms;
    uint32_t ping_interval_ms; /**< Time between automatic pings. Default: 0, none. */
    /**
     * With automatic pings: the time limit from a ping to its pong; if it is exceeded, the socket ends with
     * AFC_ETIMEOUT. A pong also counts for earlier pings. Time isn't counted while on_message has returned AFC_EAGAIN,
     * while a longer frame is being received, or while one is being sent before the ping. Default: 20000. Not 0.
     */
    uint32_t pong_timeout_ms;
    /** Pass on messages in pieces as they arrive, so that none is collected in memory. */
    bool deliver_in_pieces;
    /**
     * Codec for compression, which is then offered. Messages are compressed if they are sent after on_open has been
     * called. NULL means that compression isn't offered.
     */
    const afc_websocket_codec *codec;
    /** With a codec: the largest windows, 8 to 15; 0 means 15. Smaller ones use less memory and compress less. */
    uint8_t server_window_bits, client_window_bits;
    /** With a codec: compress each message by itself. */
    bool server_no_context_takeover, client_no_context_takeover;
    /** With a codec: shorter messages aren't compressed. Default: 64 bytes. */
    size_t compression_threshold;
} afc_websocket_options;

#define AFC_WEBSOCKET_OPTIONS_INIT                                                                 \
    {                                                                                              \
        sizeof(afc_websocket_options), NULL, 0, AFC_WEBSOCKET_LIMITS_INIT, 30000, 5000, 0, 20000,  \
            false, NULL, 0, 0, false, false, 64                                                    \
    }

/** A received message, or a piece of one. Valid until on_message returns. */
typedef struct afc_websocket_message {
    afc_websocket_kind kind;
    /** A text is valid UTF-8; a piece may end inside a character. May be empty. */
    afc_slice bytes;
    bool is_first; /**< Without `deliver_in_pieces` always true. */
    bool is_last;  /**< Without `deliver_in_pieces` always true. */
} afc_websocket_message;

/** The opened socket. Valid until on_open returns. */
typedef struct afc_websocket_opening {
    const afc_head *head; /**< Head of the 101 response. */
    const char *url;      /**< URL of the response, http or https, without userinfo and fragment. */
    afc_slice protocol;   /**< The subprotocol that the server chose; empty if none. */
    bool is_compressed;   /**< Messages may be compressed. */
} afc_websocket_opening;

/** The end of a socket. Valid until on_closed returns. */
typedef struct afc_websocket_end {
    /**
     * Its status is AFC_OK if the peer sent a close frame. Otherwise it is the failure of the handshake's task, which
     * is AFC_EAUTH for a 401 or 407 and AFC_EPROTOCOL for any other refusal, whether or not its body was received; or
     * AFC_EPROTOCOL or AFC_ETOOBIG (the peer broke a rule or a limit), AFC_ETIMEOUT, AFC_ELOST (no close frame),
     * AFC_ECANCELED, or the status with which afc_websocket_send() failed to compress a later piece of a message.
     */
    afc_failure failure;
    /** The code of the peer's close frame, or AFC_WEBSOCKET_NO_CODE or AFC_WEBSOCKET_ABNORMAL. */
    uint16_t code;
    afc_slice reason; /**< Reason in the peer's close frame; UTF-8. */
    /**
     * Hops, head and trust of the handshake. If the server refused it with a status other than 101, also the body of
     * that response, decoded, up to AFC_WEBSOCKET_REFUSAL_MAX bytes. afc_result_get_failure() then concerns the body
     * only: AFC_OK if it is complete, AFC_ETOOBIG if it is longer, AFC_ETIMEOUT, AFC_ELOST or another status if it was
     * cut.
     */
    const afc_result *result;
} afc_websocket_end;

/**
 * Callbacks of a socket. Each may be NULL. All are called on the loop thread, and may call any function of this
 * library. They must not block. A returned number that isn't one of the callback's type ends the socket with
 * AFC_EINVAL. In a forked child a socket of the parent does nothing, and none of these is called. Order:
 * (on_informational* (on_redirect | on_challenge? on_challenge_accepted?))* on_open? (on_message | on_sent |
 * on_pong)* on_sent* on_closed release, with on_trace anywhere before on_closed.
 */
typedef struct afc_websocket_events {
    size_t size;   /**< sizeof(afc_websocket_events). */
    void *context; /**< Passed to the callbacks. */
    /** Called when the handshake has succeeded. */
    void (*on_open)(void *context, const afc_websocket_opening *opening);
    /**
     * Called with each message, or piece of one. Return AFC_OK if it was consumed. Return AFC_EAGAIN to hold it:
     * nothing is read until afc_websocket_resume(), and then it is passed again, perhaps at another address. Any other
     * status ends the socket with it.
     */
    afc_status (*on_message)(void *context, const afc_websocket_message *message);
    /**
     * Called once for each afc_websocket_send() that returned AFC_OK, in the order of the calls, with its
     * `message_context`. `status` is AFC_OK if libcurl has taken all bytes of the message; otherwise, some may not have
     * been sent.
     */
    void (*on_sent)(void *context, void *message_context, afc_status status);
    /**
     * Called when a pong was received. `round_trip_us` is the time in microseconds since the afc_websocket_ping() with
     * this payload; -1 if there was none. Not called for the pong of an automatic ping, unless it is the first pong
     * after a ping of the caller: that ping counts as answered, too (RFC 6455 5.5.3), and `payload` is the caller's.
     */
    void (*on_pong)(void *context, afc_slice payload, int64_t round_trip_us);
    /** Called exactly once for each socket. */
    void (*on_closed)(void *context, const afc_websocket_end *end);
    /** Called exactly once, last. */
    void (*release)(void *context);
    /* Callbacks of the handshake, as in afc_task_events. */
    /**
     * Called when the handshake is about to be redirected. STOP refuses that: the socket ends, and its result has the
     * 3xx. The proposed headers include those of the handshake. NULL means AFC_REDIRECT_FOLLOW.
     */
    afc_redirect_decision (*on_redirect)(void *context, afc_redirect *redirect);
    /** Called for each 1xx response other than 101. */
    void (*on_informational)(void *context, const afc_head *head);
    /**
     * Called when a 401 or 407 was received in response to the handshake or to CONNECT. With LATER the handshake waits
     * for afc_websocket_answer_challenge(), and open_timeout_ms continues to count. NULL means AFC_CHALLENGE_DEFAULT.
     */
    afc_challenge_decision (*on_challenge)(void *context, const afc_challenge *challenge,
                                           afc_credentials *credentials);
    /** Called when the handshake is sent again with credentials. */
    void (*on_challenge_accepted)(void *context, const afc_challenge *challenge);
    /** Reports connections, and the heads that are sent and received. Frames aren't reported. NULL costs nothing. */
    void (*on_trace)(void *context, const afc_trace *trace);
    /**
     * Called on the loop thread once after a group of calls of on_message, on_sent and on_pong, when nothing else is
     * ready. A program can collect messages in those and pass them to other threads here, which then wake up once.
     * Not called after on_closed, which ends a group, too: pass on there what was collected before it.
     */
    void (*on_batch_end)(void *context);
} afc_websocket_events;

#define AFC_WEBSOCKET_EVENTS_INIT                                                                  \
    {                                                                                              \
        sizeof(afc_websocket_events), NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,  \
            NULL, NULL, NULL                                                                       \
    }

/**
 * Opens a socket. `request` describes the handshake: its URL is ws, wss, http or https; method, body, sink, version,
 * expect, encoding, rates and timeouts.total_ms must have their defaults, and flags none but AFC_REQUEST_MERGE_COOKIES;
 * timeouts.idle_ms and limits.body_bytes are ignored. Its headers must not include Connection, Upgrade or a field that
 * begins with Sec-WebSocket-. An http URL of a host with HSTS becomes https. NTLM and Negotiate aren't supported.
 * `options`, `events` and `failure` may be NULL. `*out` is set before the first callback.
 *
 * Thread: any.    Owns: `*out` is yours, afc_websocket_release(). Takes `events->context`; on failure `release` is
 * called before this function returns.
 * Fails: AFC_EINVAL (`failure` says why), AFC_EUNSUPPORTED, AFC_ECLOSED, AFC_ENOMEM, AFC_EINTERNAL (the system has no
 * random bytes); `*out` is then NULL. Failures of the network are reported by on_closed.
 */
AFC_API afc_status afc_websocket_open(afc_websocket **out, afc_session *session,
                                      const afc_request *request,
                                      const afc_websocket_options *options,
                                      const afc_websocket_events *events, afc_failure *failure);

/**
 * Answers a challenge for which on_challenge returns AFC_CHALLENGE_LATER; see afc_task_answer_challenge().
 *
 * Thread: any.    Owns: nothing; `credentials` are copied.
 * Fails: AFC_EINVAL (no challenge of that number is waiting, `answer` is LATER, invalid credentials), AFC_ENOMEM.
 */
AFC_API afc_status afc_websocket_answer_challenge(afc_websocket *socket, uint32_t number,
                                                  afc_challenge_decision answer,
                                                  const afc_credentials *credentials);

/**
 * Sends a message, or with AFC_WEBSOCKET_MORE a piece of one. `bytes` are copied. The kind of all pieces must be the
 * same, and texts must be UTF-8, which is checked. Before the socket is open, messages wait, and aren't compressed,
 * because it isn't known yet whether the server accepts compression. No other message may be sent between the pieces of
 * one.
 *
 * Messages are checked, compressed and masked on the calling thread, one at a time: other threads that send wait. A
 * callback on the loop thread doesn't wait: its message is sent before the other one, and isn't compressed. A callback
 * does wait if it sends pieces (AFC_WEBSOCKET_MORE), up to the last piece of that message. If the socket is closed or
 * cancelled meanwhile, the message isn't sent: AFC_ECLOSED.
 *
 * Thread: any.    Owns: nothing; `message_context` is passed to on_sent.
 * Fails: AFC_EAGAIN (the queue is full: wait for on_sent), AFC_ETOOBIG (larger than the whole queue may be), AFC_EINVAL
 * (invalid UTF-8, an unknown kind or another one than that of the previous piece, unknown flags), AFC_ECLOSED (closing,
 * closed or cancelled), AFC_ENOMEM, AFC_EINTERNAL (the codec failed, or the system has no random bytes). on_sent is then
 * not called.
 */
AFC_API afc_status afc_websocket_send(afc_websocket *socket, afc_websocket_kind kind,
                                      afc_slice bytes, unsigned flags, void *message_context);

/**
 * Sends a ping with a payload of at most AFC_WEBSOCKET_CONTROL_MAX bytes, ahead of messages that wait.
 *
 * Thread: any.    Owns: nothing.
 * Fails: AFC_EINVAL (payload too long), AFC_EAGAIN (8 pings are unanswered), AFC_ECLOSED (not open, or cancelled).
 */
AFC_API afc_status afc_websocket_ping(afc_websocket *socket, afc_slice payload);

/**
 * Closes: sends the messages that wait, then a close frame, and waits for the peer's. on_message is called until that
 * arrives. Before the socket is open, cancels it. Further calls have no effect.
 *
 * Thread: any.    Owns: nothing.
 * Fails: AFC_EINVAL (a code other than 0, 1000 to 1003, 1007 to 1014, 3000 to 4999; a reason that isn't UTF-8 or is
 * longer than AFC_WEBSOCKET_REASON_MAX, or has no code). With code 0 the close frame is empty.
 */
AFC_API afc_status afc_websocket_close(afc_websocket *socket, uint16_t code, afc_slice reason);

/**
 * Ends the socket at once, without a close frame: on_closed is called with AFC_ECANCELED, unless it has ended already.
 * Messages that were sent before may be lost, or still be written. After this function has returned nothing more can be
 * sent: afc_websocket_send() and afc_websocket_ping() return AFC_ECLOSED, and afc_websocket_close() has no effect.
 * Inside a callback: no message or pong follows.
 *
 * Thread: any.    Owns: nothing.    Fails: never.
 */
AFC_API void afc_websocket_cancel(afc_websocket *socket);

/**
 * Resumes reading after on_message returned AFC_EAGAIN.
 *
 * Thread: any.    Owns: nothing.    Fails: never.
 */
AFC_API void afc_websocket_resume(afc_websocket *socket);

/**
 * Returns the number of bytes that wait to be sent, including frame headers.
 *
 * Thread: any.    Owns: nothing.    Fails: never.
 */
AFC_API uint64_t afc_websocket_get_queued(const afc_websocket *socket);

/**
 * Adds a reference.
 *
 * Thread: any.    Owns: the returned reference is yours.    Fails: never.
 */
AFC_API afc_websocket *afc_websocket_retain(afc_websocket *socket);

/**
 * Releases a reference. A socket continues without references until it ends. NULL is allowed.
 *
 * Thread: any.    Owns: takes `socket`.    Fails: never.
 */
AFC_API void afc_websocket_release(afc_websocket *socket);

AFC_END_DECLS

#endif
