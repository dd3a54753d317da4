import NIOCore

/// How much is read from a client at a time: little, unless it sends much, so that who only waits holds nearly nothing.
///
/// NIO keeps a channel's first buffer for ever. That one is small; each later one lives as long as what was read.
struct AdaptiveReadAllocator: RecvByteBufferAllocator {
    private static let first = 256
    private static let least = 4_096
    private static let most = 65_536

    private var size = AdaptiveReadAllocator.first

    /// Sets it, where the channel is one that reads from a socket.
    static func use(on channel: any Channel) {
        // Channels without these options are those of tests; they have no buffers either.
        guard let options = channel.syncOptions else { return }
        try? options.setOption(.recvAllocator, value: AdaptiveReadAllocator())
        // One read an event: a loop's tick then has what all had to say.
        try? options.setOption(.maxMessagesPerRead, value: 1)
    }

    func buffer(allocator: ByteBufferAllocator) -> ByteBuffer {
        allocator.buffer(capacity: size)
    }

    /// Nil keeps NIO from reusing a buffer, and with it from keeping a large one.
    func nextBufferSize() -> Int? { nil }

    mutating func record(actualReadBytes: Int) -> Bool {
        size = actualReadBytes >= size ? min(max(size * 4, Self.least), Self.most) : Self.least
        return true
    }
}
