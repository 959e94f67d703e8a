/**
 * A form from the inside, shared by multipart.c, which fills it, and multipart_read.c.
 */
#ifndef AF_MESSAGE_MULTIPART_H
#define AF_MESSAGE_MULTIPART_H

#include <afcore/multipart.h>

typedef enum af__part_kind { AF__PART_BYTES, AF__PART_FILE, AF__PART_READER } af__part_kind;

/** One part: a text that is ready to be sent, and what comes after it. */
typedef struct af__part {
    af__part_kind kind;
    void *block;    /**< Holds the head, and a copy of bytes or of the path. */
    af_slice head;  /**< Delimiter, header lines, empty line. */
    int64_t length; /**< Of the body; AF_LENGTH_UNKNOWN: until the reader ends. */
    /* BYTES */
    const char *bytes;
    void (*release)(void *context);
    void *context;
    /* FILE */
    const char *path;
    int64_t offset;
    int64_t file_size; /**< AF_LENGTH_UNKNOWN: any that holds the range. */
    /* READER */
    af_reader reader;
    bool has_started; /**< The reader was asked since the last rewind. */
} af__part;

struct af_multipart {
    af__part *parts;
    size_t count, capacity;
    int64_t length;       /**< Of everything but the closing delimiter; AF_LENGTH_UNKNOWN. */
    bool is_own_boundary; /**< The caller's, and looked for in bytes. */
    char boundary[AF_MULTIPART_BOUNDARY_MAX + 1];
    char content_type[AF_MULTIPART_BOUNDARY_MAX + 32];
    char closing[AF_MULTIPART_BOUNDARY_MAX + 16];

    size_t packet_size; /**< 0: no throttle. */
    int64_t delay_us, not_before_us;
    bool was_too_early; /**< The last read said "again" because of the throttle. */

    /* Where reading stands. */
    bool has_started; /**< No more parts. */
    bool is_in_body;  /**< Of parts[at], and not in its head; at == count: in the closing. */
    size_t at;
    int64_t position;   /**< Within that head, body or closing. */
    int descriptor;     /**< Of the file that is being read. */
    af_failure failure; /**< Once something failed. */
};

/** The closing delimiter as it stands behind the parts there are. */
af_slice af__multipart_closing(const af_multipart *form);

/** Close the file that is being read, if there is one. */
void af__multipart_close_file(af_multipart *form);

/** Open a part's file, which must be a regular one. AF_EFILE. */
af_status af__part_open(const af__part *part, int *descriptor, af_failure *failure);

/** Has the open file the size that it must have? `*size` is the one it has. AF_EFILE. */
af_status af__part_check_size(const af__part *part, int descriptor, int64_t *size,
                              af_failure *failure);

#endif
