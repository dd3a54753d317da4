#define _GNU_SOURCE
#include "CVips.h"

#include <dlfcn.h>
#include <gmodule.h>
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <vips/vips.h>

int cvips_start(void) {
    /* Modules are large external libraries (ImageMagick, Poppler, OpenSlide): none is loaded. */
    g_setenv("VIPSHOME", "/nonexistent", TRUE);
    g_setenv("VIPS_BLOCK_UNTRUSTED", "1", TRUE);
    /* Images that are decoded whole stay in memory, which is limited, because a crash would leave a file behind. */
    g_setenv("VIPS_DISC_THRESHOLD", "1000g", TRUE);
    g_setenv("TMPDIR", "/nonexistent", TRUE);
    if (VIPS_INIT("image-worker") != 0) return -1;
    vips_concurrency_set(1);
    vips_cache_set_max(0);
    vips_operation_block_set("VipsForeignLoad", TRUE);
    vips_operation_block_set("VipsForeignLoadJpeg", FALSE);
    vips_operation_block_set("VipsForeignLoadPng", FALSE);
    vips_operation_block_set("VipsForeignLoadNsgif", FALSE);
    vips_operation_block_set("VipsForeignLoadWebp", FALSE);
    return 0;
}

int cvips_load_heif(void) {
    Dl_info library;
    if (!vips_type_find("VipsForeignLoad", "heifload_source") && dladdr((void *)vips_version, &library)) {
        char path[4096];
        const char *slash = strrchr(library.dli_fname, '/');
        int folder = slash ? (int)(slash - library.dli_fname) : 0;
        int length = snprintf(path, sizeof path, "%.*s/vips-modules-%d.%d/vips-heif.so", folder, library.dli_fname,
                              vips_version(0), vips_version(1));
        if (length > 0 && (size_t)length < sizeof path) g_module_open(path, G_MODULE_BIND_LAZY);
    }
    vips_operation_block_set("VipsForeignLoadHeif", FALSE);
    return vips_type_find("VipsForeignLoad", "heifload_source") ? 0 : -1;
}

char *cvips_take_error(void) {
    char *error = strdup(vips_error_buffer());
    vips_error_clear();
    return error;
}

cvips_source *cvips_open_bytes(const void *bytes, size_t count) { return vips_source_new_from_memory(bytes, count); }
void cvips_close(cvips_source *source) { g_object_unref(source); }
void cvips_release(cvips_image *image) { g_object_unref(image); }
void cvips_trim(void) { malloc_trim(0); }
void cvips_free(void *bytes) { g_free(bytes); }

cvips_image *cvips_header(cvips_source *source, const char *options) {
    return vips_image_new_from_source(source, options, "access", VIPS_ACCESS_SEQUENTIAL, NULL);
}

int cvips_width(cvips_image *image) { return vips_image_get_width(image); }
int cvips_height(cvips_image *image) { return vips_image_get_height(image); }
int cvips_frame_height(cvips_image *image) { return vips_image_get_page_height(image); }
int cvips_has_alpha(cvips_image *image) { return vips_image_hasalpha(image); }
int cvips_is_on_its_side(cvips_image *image) { return vips_image_get_orientation_swap(image); }

int cvips_thumbnail(cvips_source *source, cvips_image **out, int side, const char *options) {
    return vips_thumbnail_source(source, out, side, "height", side, "size", VIPS_SIZE_DOWN, "option_string", options,
                                 "fail_on", VIPS_FAIL_ON_ERROR, NULL);
}

int cvips_shrink(cvips_image *in, cvips_image **out, int side) {
    return vips_thumbnail_image(in, out, side, "height", side, "size", VIPS_SIZE_DOWN, NULL);
}

cvips_image *cvips_in_memory(cvips_image *in) { return vips_image_copy_memory(in); }

/* Whether a field affects how pixels or animations look. With the palette, the GIF writer need not compute one. */
static int is_rendering_field(const char *field) {
    static const char *const names[] = {VIPS_META_ICC_NAME, "page-height", "n-pages", "delay", "loop", "gif-palette"};
    for (size_t i = 0; i < G_N_ELEMENTS(names); i++)
        if (strcmp(field, names[i]) == 0) return 1;
    return 0;
}

/* Keeps a profile that fits the pixels: its colour space is the four letters at offset 16 (ICC.1:2022, section 7.2).
 *
 * The profile is copied: the HEIC reader of libvips 8.14 frees it with the source image while other images use it.
 */
static void keep_fitting_profile(VipsImage *image) {
    const void *profile;
    size_t length;
    const char *space = vips_image_get_bands(image) < 3 ? "GRAY" : "RGB ";
    if (!vips_image_get_typeof(image, VIPS_META_ICC_NAME)) return;
    if (!vips_image_get_blob(image, VIPS_META_ICC_NAME, &profile, &length) && length >= 128 &&
        memcmp((const char *)profile + 16, space, 4) == 0)
        vips_image_set_blob_copy(image, VIPS_META_ICC_NAME, profile, length);
    else
        vips_image_remove(image, VIPS_META_ICC_NAME);
}

int cvips_strip(cvips_image *in, cvips_image **out) {
    if (vips_copy(in, out, "xres", 1.0, "yres", 1.0, NULL)) return -1;
    gchar **fields = vips_image_get_fields(*out);
    for (gchar **field = fields; *field; field++)
        /* This does not remove the fields of the image header, which are not metadata. */
        if (!is_rendering_field(*field)) vips_image_remove(*out, *field);
    g_strfreev(fields);
    keep_fitting_profile(*out);
    return 0;
}

int cvips_drop_idle_alpha(cvips_image *in, cvips_image **out) {
    VipsImage *alpha = NULL;
    double least = 0;
    int colours = vips_image_get_bands(in) - 1;
    if (!vips_image_hasalpha(in)) return vips_copy(in, out, NULL);
    int result = vips_extract_band(in, &alpha, colours, NULL);
    if (!result) result = vips_min(alpha, &least, NULL);
    if (alpha) g_object_unref(alpha);
    if (result) return result;
    return least < 255 ? vips_copy(in, out, NULL) : vips_extract_band(in, out, 0, "n", colours, NULL);
}

/* vips_flatten() treats the last channel as transparency, whatever it is. */
static int flatten_on_white(VipsImage *in, VipsImage **out) {
    double white[] = {255};
    if (!vips_image_hasalpha(in)) return vips_copy(in, out, NULL);
    VipsArrayDouble *background = vips_array_double_new(white, 1);
    int result = vips_flatten(in, out, "background", background, NULL);
    vips_area_unref(VIPS_AREA(background));
    return result;
}

void *cvips_pixels_on_white(cvips_image *in, int *width, int *height) {
    VipsImage *flat = NULL, *colours = NULL, *small = NULL;
    void *pixels = NULL;
    size_t size;
    if (!flatten_on_white(in, &flat) && !vips_colourspace(flat, &colours, VIPS_INTERPRETATION_sRGB, NULL) &&
        !vips_cast_uchar(colours, &small, NULL) && vips_image_get_bands(small) == 3) {
        *width = vips_image_get_width(small);
        *height = vips_image_get_height(small);
        pixels = vips_image_write_to_memory(small, &size);
    }
    if (flat) g_object_unref(flat);
    if (colours) g_object_unref(colours);
    if (small) g_object_unref(small);
    return pixels;
}

int cvips_save_jpeg(cvips_image *in, void **bytes, size_t *count, int quality, int progressive) {
    return vips_jpegsave_buffer(in, bytes, count, "Q", quality, "optimize_coding", TRUE, "interlace", progressive,
                               NULL);
}

int cvips_save_png(cvips_image *in, void **bytes, size_t *count) {
    return vips_pngsave_buffer(in, bytes, count, "compression", 6, NULL);
}

int cvips_save_webp(cvips_image *in, void **bytes, size_t *count, int quality) {
    return vips_webpsave_buffer(in, bytes, count, "Q", quality, "effort", 3, NULL);
}

int cvips_save_gif(cvips_image *in, void **bytes, size_t *count) {
    return vips_gifsave_buffer(in, bytes, count, "effort", 3, "reuse", TRUE, NULL);
}

int cvips_limit_stacks(size_t bytes) {
    pthread_attr_t attributes;
    if (pthread_attr_init(&attributes)) return -1;
    int result = pthread_attr_setstacksize(&attributes, bytes);
    if (!result) result = pthread_setattr_default_np(&attributes);
    pthread_attr_destroy(&attributes);
    return result ? -1 : 0;
}

int cvips_limit(uint64_t memory, uint64_t file, uint64_t descriptors) {
    struct rlimit data = {memory, memory}, size = {file, file}, open = {descriptors, descriptors}, core = {0, 0};
    if (setrlimit(RLIMIT_DATA, &data) || setrlimit(RLIMIT_FSIZE, &size)) return -1;
    if (setrlimit(RLIMIT_NOFILE, &open) || setrlimit(RLIMIT_CORE, &core)) return -1;
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
}

int cvips_limit_memory(uint64_t memory) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_DATA, &limit)) return -1;
    limit.rlim_cur = memory < limit.rlim_max ? memory : limit.rlim_max;
    return setrlimit(RLIMIT_DATA, &limit);
}

int cvips_limit_processor_time(uint64_t seconds) {
    struct rusage used;
    struct rlimit limit;
    if (getrusage(RUSAGE_SELF, &used) || getrlimit(RLIMIT_CPU, &limit)) return -1;
    /* User and system time are truncated to seconds, so each may be up to one second more. */
    limit.rlim_cur = (rlim_t)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) + 2 + seconds;
    return setrlimit(RLIMIT_CPU, &limit);
}
