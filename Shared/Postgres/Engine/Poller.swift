import CLibpq
import Glibc

/// Which sockets can be read or written, and a bell that other threads may ring: epoll and an eventfd.
final class Poller: @unchecked Sendable {
    // Unchecked: two file descriptors that never change; the kernel does the locking.

    /// A socket that something happened on.
    struct Event {
        let id: UInt64
        let isReadable: Bool
        let isWritable: Bool
    }

    private static let wakeID: UInt64 = 0
    private static let capacity: Int32 = 64
    private let epoll: Int32
    private let eventfd: Int32
    private let buffer: UnsafeMutablePointer<epoll_event>

    init() {
        epoll = epoll_create1(Int32(EPOLL_CLOEXEC))
        eventfd = CLibpq.eventfd(0, Int32(EFD_CLOEXEC | EFD_NONBLOCK))
        precondition(epoll >= 0 && eventfd >= 0, "no file descriptors left for a PostgreSQL pool")
        buffer = .allocate(capacity: Int(Self.capacity))
        watch(eventfd, id: Self.wakeID, reading: true, writing: false)
    }

    deinit {
        buffer.deallocate()
        close(eventfd)
        close(epoll)
    }

    /// Ends a ``wait(milliseconds:_:)`` of another thread.
    func wake() {
        var one: UInt64 = 1
        _ = write(eventfd, &one, 8)
    }

    /// Watches a socket, whether or not it was watched before.
    func watch(_ socket: Int32, id: UInt64, reading: Bool, writing: Bool) {
        var event = epoll_event()
        event.events = (reading ? EPOLLIN.rawValue : 0) | (writing ? EPOLLOUT.rawValue : 0)
        event.data.u64 = id
        if epoll_ctl(epoll, EPOLL_CTL_MOD, socket, &event) != 0 {
            // libpq closes and reopens sockets while it connects; the kernel forgets the closed ones by itself
            epoll_ctl(epoll, EPOLL_CTL_ADD, socket, &event)
        }
    }

    /// Stops watching a socket that is about to be closed.
    func unwatch(_ socket: Int32) {
        var event = epoll_event()
        epoll_ctl(epoll, EPOLL_CTL_DEL, socket, &event)
    }

    /// Sleeps until something happens or the time is over (-1: never).
    func wait(milliseconds: Int32, _ body: (Event) -> Void) {
        let count = epoll_wait(epoll, buffer, Self.capacity, milliseconds)
        guard count > 0 else { return }
        for index in 0..<Int(count) {
            let event = buffer[index]
            guard event.data.u64 != Self.wakeID else {
                var wakeCount: UInt64 = 0
                _ = read(eventfd, &wakeCount, 8)
                continue
            }
            // An error or a hang-up is for libpq to find out: it reads and says so.
            let failed = event.events & (EPOLLERR.rawValue | EPOLLHUP.rawValue) != 0
            body(
                Event(
                    id: event.data.u64,
                    isReadable: failed || event.events & EPOLLIN.rawValue != 0,
                    isWritable: failed || event.events & EPOLLOUT.rawValue != 0
                )
            )
        }
    }
}
