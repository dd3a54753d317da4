// libpq, and the Linux calls that Glibc's Swift module leaves out.
#include <libpq-fe.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
