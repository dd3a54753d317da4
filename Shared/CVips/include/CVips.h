/* libvips as Swift can call it: with a fixed number of arguments, and none of the headers of GLib.
 *
 * What answers an int answers 0 if it was done; why not says cvips_error(). Images are given back with cvips_release().
 */
#ifndef ROOST_CVIPS_H
#define ROOST_CVIPS_H

#include <stddef.h>
#include <stdint.h>

typedef struct _VipsImage cvips_image;
typedef struct _VipsSource cvips_source;

/* Starts the library: one thread, no caches, none of its modules, only the readers of JPEG, PNG, GIF and WebP. */
int cvips_start(void);
/* Loads the reader of HEIC, as a module beside the library or in it: 0 where the system has one. Before cvips_confine(). */
int cvips_load_heif(void);
/* What went wrong since the last call, in lines; whoever asks frees it. */
char *cvips_take_error(void);

/* The bytes must stay where they are until whatever was read from them is released. */
cvips_source *cvips_open_bytes(const void *bytes, size_t count);
void cvips_close(cvips_source *source);
void cvips_release(cvips_image *image);
/* Gives memory that was freed back to the system, which the allocator would keep. */
void cvips_trim(void);
/* Frees what the functions that save have handed out. */
void cvips_free(void *bytes);

/* The image with its header read and nothing decoded; NULL where it cannot be. */
cvips_image *cvips_header(cvips_source *source, const char *options);
int cvips_width(cvips_image *image);
int cvips_height(cvips_image *image);
/* Of one frame, where frames lie one below another. */
int cvips_frame_height(cvips_image *image);
int cvips_has_alpha(cvips_image *image);
/* Whether width and height change places when the image is turned the right way up. */
int cvips_is_on_its_side(cvips_image *image);

/* Fits an image into a square, never enlarging it, turned the right way up; decoded when pixels are asked for. */
int cvips_thumbnail(cvips_source *source, cvips_image **out, int side, const char *options);
int cvips_shrink(cvips_image *in, cvips_image **out, int side);
/* Decodes into memory. */
cvips_image *cvips_in_memory(cvips_image *in);
/* Takes everything off an image that does not say how its pixels look, and a colour profile that is not of its kind. */
int cvips_strip(cvips_image *in, cvips_image **out);
/* The same without a transparency that nothing makes use of; needs an image in memory. */
int cvips_drop_idle_alpha(cvips_image *in, cvips_image **out);
/* The pixels on white: red, green and blue, eight bits each, row by row. */
void *cvips_pixels_on_white(cvips_image *in, int *width, int *height);

int cvips_save_jpeg(cvips_image *in, void **bytes, size_t *count, int quality, int progressive);
int cvips_save_png(cvips_image *in, void **bytes, size_t *count);
int cvips_save_webp(cvips_image *in, void **bytes, size_t *count, int quality);
int cvips_save_gif(cvips_image *in, void **bytes, size_t *count);

/* Gives each thread that is started from now on so much for its stack; what is set aside counts as memory. */
int cvips_limit_stacks(size_t bytes);
/* Limits this process for good: bytes of memory of its own, bytes of a file, open descriptors, and no core. */
int cvips_limit(uint64_t memory, uint64_t file, uint64_t descriptors);
/* Holds this process to less memory of its own than its limit for good, or to more again, up to that. */
int cvips_limit_memory(uint64_t memory);
/* Ends this process by SIGXCPU once it has worked for so many seconds more. */
int cvips_limit_processor_time(uint64_t seconds);

/* Takes from this process and its threads, for good, every system call but those that decoding needs (seccomp), and every
 * file, network and other process (Landlock). Answers what of these the kernel has taken.
 *
 * A call that is not allowed fails with EPERM.
 */
int cvips_confine(void);
enum { CVIPS_LANDLOCK = 1, CVIPS_SECCOMP = 2 };

/* Reads from a Unix socket, with the descriptors that travel with the bytes: at most *received of them, and then how many. */
long cvips_receive(int socket, void *bytes, size_t count, int *descriptors, int *received);
/* Tries to attach to a process: the error, or 0. */
int cvips_try_ptrace(int process);

#endif
