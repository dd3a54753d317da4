// libpq, and Linux headers that Swift's Glibc module omits.
#include <libpq-fe.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
