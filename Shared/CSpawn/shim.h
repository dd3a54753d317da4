/* Functions that Swift's Glibc module omits because they need _GNU_SOURCE, which a module's user cannot define.
   They require glibc 2.34 or later. */
#include <spawn.h>

extern int posix_spawn_file_actions_addchdir_np(posix_spawn_file_actions_t *actions, const char *path);
extern int posix_spawn_file_actions_addclosefrom_np(posix_spawn_file_actions_t *actions, int from);
extern int pipe2(int descriptors[2], int flags);

#include <string.h>
#include <sys/socket.h>

enum { cspawn_most_descriptors = 8 };

/* Sends bytes and descriptors over a Unix socket without blocking. Its macros are not available in Swift. */
static inline ssize_t cspawn_send(int socket, const void *bytes, size_t count, const int *descriptors, size_t number) {
    union {
        struct cmsghdr header;
        char space[CMSG_SPACE(cspawn_most_descriptors * sizeof(int))];
    } control;
    struct iovec piece = {(void *)bytes, count};
    struct msghdr message;
    memset(&message, 0, sizeof message);
    message.msg_iov = &piece;
    message.msg_iovlen = 1;
    if (number > cspawn_most_descriptors) return -1;
    if (number > 0) {
        memset(&control, 0, sizeof control);
        message.msg_control = &control;
        message.msg_controllen = CMSG_SPACE(number * sizeof(int));
        control.header.cmsg_level = SOL_SOCKET;
        control.header.cmsg_type = SCM_RIGHTS;
        control.header.cmsg_len = CMSG_LEN(number * sizeof(int));
        memcpy(CMSG_DATA(&control.header), descriptors, number * sizeof(int));
    }
    return sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
}
