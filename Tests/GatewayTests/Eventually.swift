import NIOCore
import NIOPosix
import Testing

/// Waits until `condition` holds; the test fails after 30 seconds, which only a slow machine needs.
func eventually(_ condition: () -> Bool, sourceLocation: SourceLocation = #_sourceLocation) async throws {
    for _ in 0..<6_000 {
        if condition() { return }
        try await Task.sleep(for: .milliseconds(5))
    }
    Issue.record("the condition did not hold in time", sourceLocation: sourceLocation)
}

/// Returns the first report that is as expected, or the latest one after 30 seconds.
///
/// A service has one second to respond to the gateway's check, and a slow machine may miss that.
func waitForReport<Report>(_ isExpected: (Report) -> Bool, _ report: () async throws -> Report) async throws -> Report {
    for _ in 0..<300 {
        let latest = try await report()
        if isExpected(latest) { return latest }
        try await Task.sleep(for: .milliseconds(100))
    }
    return try await report()
}

enum Pattern {
    /// Bytes whose pattern does not repeat at common buffer sizes.
    static func bytes(atLeast count: Int) -> [UInt8] {
        let unit = (0..<65_521).map { UInt8(truncatingIfNeeded: $0 &* $0 >> 7) }
        var bytes: [UInt8] = []
        while bytes.count < count { bytes += unit }
        return bytes
    }
}

extension RawConnection {
    func shrinkReceiveBuffer() async throws {
        try await channel.setOption(.socketOption(.so_rcvbuf), value: 65_536).get()
    }

    /// Sends `body` in chunks, with the last empty one.
    func send(chunks body: [UInt8], of size: Int) async throws {
        for start in stride(from: 0, to: body.count, by: size) {
            let chunk = body[start..<min(start + size, body.count)]
            try await send("\(String(chunk.count, radix: 16))\r\n")
            try await send(Array(chunk) + [0x0D, 0x0A])
        }
        try await send("0\r\n\r\n")
    }

    /// Sends `piece` repeatedly until the other side stops reading for a while; returns the number of bytes sent.
    func sendUntilStuck(_ piece: [UInt8], most: Int) async throws -> Int {
        let buffer = ByteBuffer(bytes: piece)
        var sent = 0
        var refused = 0
        while sent < most, refused < 40 {
            // Read on the channel's event loop, where the value is current.
            let isTaken = try await channel.eventLoop.submit { [channel] in
                guard channel.isActive else { throw ChannelError.ioOnClosedChannel }
                guard channel.isWritable else { return false }
                channel.writeAndFlush(buffer, promise: nil)
                return true
            }.get()
            if isTaken {
                refused = 0
                sent += piece.count
            } else {
                refused += 1
                try await Task.sleep(for: .milliseconds(5))
            }
        }
        return sent
    }

    /// Connects, sends `text`, and reads nothing while `body` runs.
    static func openUnread(port: Int, sending text: String, _ body: () async throws -> Void) async throws {
        let channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .channelOption(.autoRead, value: false)
            .channelOption(.socketOption(.so_rcvbuf), value: 65_536)
            .connect(host: "127.0.0.1", port: port)
            .get()
        try await channel.writeAndFlush(ByteBuffer(string: text))
        do {
            try await body()
        } catch {
            try await channel.close()
            throw error
        }
        try await channel.close()
    }
}
