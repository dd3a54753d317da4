/* What Swift's Glibc module leaves out: these need _GNU_SOURCE, which a module's user cannot define. glibc >= 2.34. */
#include <spawn.h>

extern int posix_spawn_file_actions_addchdir_np(posix_spawn_file_actions_t *actions, const char *path);
extern int posix_spawn_file_actions_addclosefrom_np(posix_spawn_file_actions_t *actions, int from);
extern int pipe2(int descriptors[2], int flags);
