import NIOCore

/// A read buffer size that starts small and grows with the amount of data, so that idle clients use little memory.
///
/// NIO retains a channel's first buffer for the channel's lifetime, so it has 256 bytes. Later buffers are released
/// with the data.
struct AdaptiveReadAllocator: RecvByteBufferAllocator {
    private static let first = 256
    private static let least = 4_096
    private static let most = 65_536

    private var size = AdaptiveReadAllocator.first

    /// Sets the allocator on a channel that reads from a socket.
    static func use(on channel: any Channel) {
        // Embedded channels of tests lack these options and have no read buffers.
        guard let options = channel.syncOptions else { return }
        try? options.setOption(.recvAllocator, value: AdaptiveReadAllocator())
        // One read per event, so that a tick of the loop covers the data of all clients.
        try? options.setOption(.maxMessagesPerRead, value: 1)
    }

    func buffer(allocator: ByteBufferAllocator) -> ByteBuffer {
        allocator.buffer(capacity: size)
    }

    /// Nil prevents NIO from reusing a buffer, and thereby from retaining a large one.
    func nextBufferSize() -> Int? { nil }

    mutating func record(actualReadBytes: Int) -> Bool {
        size = actualReadBytes >= size ? min(max(size * 4, Self.least), Self.most) : Self.least
        return true
    }
}
