/* An interface to libvips for Swift: functions with a fixed number of arguments, without the headers of GLib.
 *
 * Functions that return int return 0 on success; cvips_take_error() returns the reason of a failure. Images are
 * released with cvips_release().
 */
#ifndef ROOST_CVIPS_H
#define ROOST_CVIPS_H

#include <stddef.h>
#include <stdint.h>

typedef struct _VipsImage cvips_image;
typedef struct _VipsSource cvips_source;

/* Starts the library: one thread, no caches, no modules, only the readers of JPEG, PNG, GIF and WebP. */
int cvips_start(void);
/* Loads the HEIC reader from a module or the library; call it before cvips_confine(). Returns 0 if there is one. */
int cvips_load_heif(void);
/* Returns the errors since the last call, one per line; the caller frees the text. */
char *cvips_take_error(void);

/* The bytes must stay valid until the images that were read from them are released. */
cvips_source *cvips_open_bytes(const void *bytes, size_t count);
void cvips_close(cvips_source *source);
void cvips_release(cvips_image *image);
/* Returns freed memory, which the allocator caches, to the system. */
void cvips_trim(void);
/* Frees the bytes of cvips_save_*() and cvips_pixels_on_white(). */
void cvips_free(void *bytes);

/* Reads the header of an image and decodes no pixels; NULL on error. */
cvips_image *cvips_header(cvips_source *source, const char *options);
int cvips_width(cvips_image *image);
int cvips_height(cvips_image *image);
/* The height of one frame; frames are stored below each other. */
int cvips_frame_height(cvips_image *image);
int cvips_has_alpha(cvips_image *image);
/* Whether applying the orientation swaps width and height. */
int cvips_is_on_its_side(cvips_image *image);

/* Fits an image into a square without enlarging it, and applies the orientation; pixels are decoded on demand. */
int cvips_thumbnail(cvips_source *source, cvips_image **out, int side, const char *options);
int cvips_shrink(cvips_image *in, cvips_image **out, int side);
/* Decodes into memory. */
cvips_image *cvips_in_memory(cvips_image *in);
/* Removes all metadata that does not affect how pixels look, and a colour profile that does not fit the pixels. */
int cvips_strip(cvips_image *in, cvips_image **out);
/* Removes the alpha channel if all pixels are opaque; the image must be in memory. */
int cvips_drop_idle_alpha(cvips_image *in, cvips_image **out);
/* Returns the pixels on a white background: red, green and blue, eight bits each, row by row. */
void *cvips_pixels_on_white(cvips_image *in, int *width, int *height);

int cvips_save_jpeg(cvips_image *in, void **bytes, size_t *count, int quality, int progressive);
int cvips_save_png(cvips_image *in, void **bytes, size_t *count);
int cvips_save_webp(cvips_image *in, void **bytes, size_t *count, int quality);
int cvips_save_gif(cvips_image *in, void **bytes, size_t *count);

/* Sets the stack size of new threads; the reserved stack counts as memory. */
int cvips_limit_stacks(size_t bytes);
/* Permanently limits this process: bytes of private memory, bytes of a file, open descriptors, and no core dump. */
int cvips_limit(uint64_t memory, uint64_t file, uint64_t descriptors);
/* Sets the current limit of private memory, up to the permanent limit. */
int cvips_limit_memory(uint64_t memory);
/* Ends this process by SIGXCPU after this many more seconds of processor time. */
int cvips_limit_processor_time(uint64_t seconds);

/* Permanently restricts this process and its threads to the system calls that decoding needs (seccomp), and blocks
 * access to files, networks and other processes (Landlock). Returns the mechanisms that the kernel supports.
 *
 * A forbidden call fails with EPERM.
 */
int cvips_confine(void);
enum { CVIPS_LANDLOCK = 1, CVIPS_SECCOMP = 2 };

/* Reads bytes and descriptors from a Unix socket: at most *received descriptors, and sets *received to their number. */
long cvips_receive(int socket, void *bytes, size_t count, int *descriptors, int *received);
/* Tries to attach to a process; returns the error, or 0. */
int cvips_try_ptrace(int process);

#endif
