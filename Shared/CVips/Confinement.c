#define _GNU_SOURCE
#include "CVips.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
#define ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCHITECTURE AUDIT_ARCH_AARCH64
#endif

/* From linux/landlock.h of Linux 6.12; the header of Debian 12 is older. Kernels accept unknown fields that are 0. */
struct ruleset {
    uint64_t files;
    uint64_t network;
    uint64_t scoped;
};
enum { create_ruleset = 444, restrict_self = 446, version_of_ruleset = 1 };

/* Forbids all accesses that Landlock of this kernel can control: the ruleset has no rule that allows any. */
static int forbid_files(void) {
    static const uint64_t files_by_version[] = {0x1FFF, 0x3FFF, 0x7FFF, 0x7FFF, 0xFFFF};
    struct ruleset rules = {0, 0, 0};
    long version = syscall(create_ruleset, NULL, 0, version_of_ruleset);
    if (version < 1) return -1;
    rules.files = files_by_version[(version < 5 ? version : 5) - 1];
    if (version >= 4) rules.network = 3; /* Binding and connecting TCP sockets. */
    if (version >= 6) rules.scoped = 3;  /* Abstract Unix sockets, and signals to other processes. */
    int descriptor = (int)syscall(create_ruleset, &rules, sizeof rules, 0);
    if (descriptor < 0) return -1;
    long result = syscall(restrict_self, descriptor, 0);
    close(descriptor);
    return result ? -1 : 0;
}

#ifdef ARCHITECTURE

/* The system calls for memory, threads, clocks, open descriptors and the end of the process. */
static const int allowed[] = {
    SYS_read, SYS_readv, SYS_pread64, SYS_write, SYS_writev, SYS_lseek, SYS_recvmsg, SYS_close, SYS_dup, SYS_dup3,
    SYS_fstat, SYS_ftruncate, SYS_fsync, SYS_ppoll,
    SYS_mmap, SYS_munmap, SYS_mremap, SYS_mprotect, SYS_madvise, SYS_brk, SYS_membarrier,
    SYS_futex, SYS_set_robust_list, SYS_set_tid_address, SYS_sched_yield, SYS_sched_getaffinity, SYS_getcpu, SYS_rseq,
    SYS_rt_sigaction, SYS_rt_sigprocmask, SYS_rt_sigreturn, SYS_sigaltstack, SYS_restart_syscall,
    SYS_clock_gettime, SYS_clock_getres, SYS_clock_nanosleep, SYS_nanosleep, SYS_gettimeofday,
    SYS_getpid, SYS_gettid, SYS_getuid, SYS_geteuid, SYS_getgid, SYS_getegid, SYS_getrusage, SYS_getrlimit,
    SYS_setrlimit, SYS_getrandom, SYS_uname, SYS_sysinfo, SYS_exit, SYS_exit_group,
#ifdef SYS_poll
    SYS_poll,
#endif
#ifdef SYS_dup2
    SYS_dup2,
#endif
#ifdef SYS_time
    SYS_time,
#endif
};

/* Calls that are allowed if one argument has a value, or has one of some bits. */
struct conditional_call {
    int call;
    unsigned argument;
    unsigned short comparison;
    uint32_t value;
};

#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)(field))
#define RETURN(action) BPF_STMT(BPF_RET | BPF_K, (action))
/* The lower half of an argument. Both architectures are little-endian. */
#define ARGUMENT(index) (offsetof(struct seccomp_data, args) + 8 * (index))

static int filter_calls(void) {
    const uint32_t own = (uint32_t)getpid();
    const struct conditional_call conditional[] = {
        {SYS_clone, 0, BPF_JSET, CLONE_THREAD}, /* Threads, but no processes. */
        {SYS_tgkill, 0, BPF_JEQ, own},
        {SYS_prlimit64, 0, BPF_JEQ, 0},
        {SYS_prctl, 0, BPF_JEQ, PR_SET_NAME},
        {SYS_fcntl, 1, BPF_JEQ, F_GETFD},
        {SYS_fcntl, 1, BPF_JEQ, F_SETFD},
        {SYS_fcntl, 1, BPF_JEQ, F_GETFL},
        {SYS_fcntl, 1, BPF_JEQ, F_SETFL},
        {SYS_fcntl, 1, BPF_JEQ, F_DUPFD},
        {SYS_fcntl, 1, BPF_JEQ, F_DUPFD_CLOEXEC},
        {SYS_newfstatat, 3, BPF_JSET, AT_EMPTY_PATH}, /* fstat() of glibc. */
    };
    enum { plain = sizeof allowed / sizeof *allowed, special = sizeof conditional / sizeof *conditional };
    struct sock_filter program[6 + 2 * plain + 5 * special + 1];
    unsigned short length = 0;
#define ADD(...) program[length++] = (struct sock_filter)__VA_ARGS__
    ADD(LOAD(offsetof(struct seccomp_data, arch)));
    ADD(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCHITECTURE, 1, 0));
    ADD(RETURN(SECCOMP_RET_KILL_PROCESS));
    ADD(LOAD(offsetof(struct seccomp_data, nr)));
    /* A filter cannot read the arguments of clone3(). Without clone3(), glibc creates threads with clone(). */
    ADD(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone3, 0, 1));
    ADD(RETURN(SECCOMP_RET_ERRNO | ENOSYS));
    for (unsigned i = 0; i < plain; i++) {
        ADD(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)allowed[i], 0, 1));
        ADD(RETURN(SECCOMP_RET_ALLOW));
    }
    for (unsigned i = 0; i < special; i++) {
        ADD(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)conditional[i].call, 0, 4));
        ADD(LOAD(ARGUMENT(conditional[i].argument)));
        ADD(BPF_JUMP(BPF_JMP | conditional[i].comparison | BPF_K, conditional[i].value, 0, 1));
        ADD(RETURN(SECCOMP_RET_ALLOW));
        ADD(LOAD(offsetof(struct seccomp_data, nr)));
    }
    ADD(RETURN(SECCOMP_RET_ERRNO | EPERM));
#undef ADD
    struct sock_fprog filter = {length, program};
    return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &filter) ? -1 : 0;
}

#else

static int filter_calls(void) { return -1; }

#endif

int cvips_confine(void) {
    int confinement = 0;
    /* Landlock comes first, because the filter forbids its system calls. */
    if (!forbid_files()) confinement |= CVIPS_LANDLOCK;
    if (!filter_calls()) confinement |= CVIPS_SECCOMP;
    return confinement;
}

long cvips_receive(int socket, void *bytes, size_t count, int *descriptors, int *received) {
    enum { most = 8 };
    union {
        struct cmsghdr header;
        char space[CMSG_SPACE(most * sizeof(int))];
    } control;
    struct iovec piece = {bytes, count};
    struct msghdr message = {
        .msg_iov = &piece, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
    int capacity = *received;
    *received = 0;
    ssize_t length = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
    if (length < 0) return length;
    for (struct cmsghdr *header = CMSG_FIRSTHDR(&message); header; header = CMSG_NXTHDR(&message, header)) {
        if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
        size_t number = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (size_t i = 0; i < number; i++) {
            int descriptor;
            memcpy(&descriptor, CMSG_DATA(header) + i * sizeof(int), sizeof descriptor);
            if (*received < capacity)
                descriptors[(*received)++] = descriptor;
            else
                close(descriptor);
        }
    }
    return length;
}

int cvips_try_ptrace(int process) { return syscall(SYS_ptrace, 16 /* PTRACE_ATTACH */, process, 0, 0) ? errno : 0; }
