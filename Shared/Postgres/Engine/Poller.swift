import CLibpq
import Glibc

/// Readiness events of sockets (epoll) and a wake-up signal from other threads (eventfd).
final class Poller: @unchecked Sendable {
    // Unchecked: the two file descriptors never change, and the kernel synchronizes access.

    /// The readiness of a socket.
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
        precondition(epoll >= 0 && eventfd >= 0, "cannot create epoll and eventfd descriptors for a PostgreSQL pool")
        buffer = .allocate(capacity: Int(Self.capacity))
        watch(eventfd, id: Self.wakeID, reading: true, writing: false)
    }

    deinit {
        buffer.deallocate()
        close(eventfd)
        close(epoll)
    }

    /// Wakes the thread that is blocked in ``wait(milliseconds:_:)``.
    func wake() {
        var one: UInt64 = 1
        _ = write(eventfd, &one, 8)
    }

    /// Adds a socket or changes the events that it is watched for.
    func watch(_ socket: Int32, id: UInt64, reading: Bool, writing: Bool) {
        var event = epoll_event()
        event.events = (reading ? EPOLLIN.rawValue : 0) | (writing ? EPOLLOUT.rawValue : 0)
        event.data.u64 = id
        if epoll_ctl(epoll, EPOLL_CTL_MOD, socket, &event) != 0 {
            // libpq closes and reopens sockets while connecting; the kernel removes closed sockets from epoll.
            epoll_ctl(epoll, EPOLL_CTL_ADD, socket, &event)
        }
    }

    /// Stops watching a socket that is about to be closed.
    func unwatch(_ socket: Int32) {
        var event = epoll_event()
        epoll_ctl(epoll, EPOLL_CTL_DEL, socket, &event)
    }

    /// Waits for events, at most `milliseconds`; -1 waits without limit.
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
            // libpq reads the socket after an error or hang-up and reports the reason.
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
