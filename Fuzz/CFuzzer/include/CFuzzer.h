#include <stddef.h>
#include <stdint.h>

/* libFuzzer's entry point for programs that define their own main function. */
int LLVMFuzzerRunDriver(int *count, char ***arguments, int (*test)(const uint8_t *bytes, size_t count));
