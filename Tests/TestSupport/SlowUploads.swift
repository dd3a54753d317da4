import HTTPTypes
import NIOCore
import NIOPosix
import Synchronization

/// The result of requests that send their head and a part of a large body and then wait, as slow or malicious clients
/// do.
package struct SlowUploads: Sendable {
    /// The number of requests that received a response before their body was complete, by status.
    package let answered: [Int: Int]
    /// The number of requests that are neither answered nor closed, whose bodies occupy memory of the service.
    package let held: Int

    /// Opens `count` equal requests, and waits until the service holds at most `most` of them.
    ///
    /// A body declares `length`, or is chunked when `length` is nil. `start` is the beginning of the body, or all of it
    /// with `isWhole`. With `isDripping`, a space follows each second. `meanwhile` runs while the requests are open.
    ///
    /// - Throws: `TestSupportError` when the service holds more for a minute.
    package static func open(
        _ method: String,
        _ path: String,
        at port: Int,
        fields: [String: String],
        length: Int?,
        start: String,
        count: Int,
        holdingAtMost most: Int,
        isWhole: Bool = false,
        isDripping: Bool = false,
        meanwhile: () async throws -> Void = {}
    ) async throws -> SlowUploads {
        var head = "\(method) \(path) HTTP/1.1\r\nhost: localhost\r\n"
        for (name, value) in fields { head += "\(name): \(value)\r\n" }
        if let length {
            head += "content-length: \(length)\r\n\r\n\(start)"
        } else {
            head += "transfer-encoding: chunked\r\n\r\n\(String(start.utf8.count, radix: 16))\r\n\(start)\r\n"
            if isWhole { head += "0\r\n\r\n" }
        }
        let recorder = StatusRecorder()
        var channels: [any Channel] = []
        for _ in 0..<count {
            let channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
                .channelInitializer { channel in
                    channel.eventLoop.makeCompletedFuture {
                        try channel.pipeline.syncOperations.addHandler(StatusReader(recorder))
                    }
                }
                .connect(host: "127.0.0.1", port: port).get()
            try await channel.writeAndFlush(ByteBuffer(string: head)).get()
            channels.append(channel)
            guard isDripping else { continue }
            let drop = length == nil ? "1\r\n \r\n" : " "
            channel.eventLoop.scheduleRepeatedTask(initialDelay: .seconds(1), delay: .seconds(1)) { task in
                guard channel.isActive else { return task.cancel() }
                channel.writeAndFlush(ByteBuffer(string: drop), promise: nil)
            }
        }
        do {
            try await meanwhile()
            try await eventually("held for at most \(most): \(method) \(path)") { recorder.count >= count - most }
        } catch {
            await close(channels)
            throw error
        }
        let statuses = recorder.statuses.withLock { $0 }
        await close(channels)
        return SlowUploads(
            answered: Dictionary(statuses.map { ($0, 1) }, uniquingKeysWith: +),
            held: count - statuses.count
        )
    }

    private static func close(_ channels: [any Channel]) async {
        // Closing fails only when the channel is already closed.
        for channel in channels { try? await channel.close().get() }
    }

    private final class StatusRecorder: Sendable {
        /// The status of each response; 0 for a connection that ended without a response.
        let statuses = Mutex<[Int]>([])

        var count: Int { statuses.withLock { $0.count } }
    }

    private final class StatusReader: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer

        private let recorder: StatusRecorder
        private var text = ""
        private var isDone = false

        init(_ recorder: StatusRecorder) { self.recorder = recorder }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            guard !isDone else { return }
            text += String(buffer: unwrapInboundIn(data))
            guard text.contains("\r\n") else { return }
            let words = text.prefix { $0 != "\r\n" }.split(separator: " ")
            finish(words.count > 1 ? Int(words[1]) ?? 0 : 0)
        }

        func channelInactive(context: ChannelHandlerContext) {
            if !isDone { finish(0) }
            context.fireChannelInactive()
        }

        private func finish(_ status: Int) {
            isDone = true
            recorder.statuses.withLock { $0.append(status) }
        }
    }
}

extension TestService {
    /// Sends slow JSON bodies of almost a megabyte to every route.
    ///
    /// - Parameters:
    ///   - routes: the routes of the service.
    ///   - token: the token of the user who sends all requests.
    ///   - most: how many requests the service may hold per route.
    /// - Throws: `TestSupportError` for a route on which the service continues to hold more.
    package func sendSlowBodies(to routes: [PublicRoute], token: String, holdingAtMost most: Int = 9) async throws {
        try await served { port in
            for route in routes.sorted(by: { $0.description < $1.description }) {
                for length in [1_000_000, nil] {
                    _ = try await SlowUploads.open(
                        route.method.rawValue,
                        route.path,
                        at: port,
                        fields: ["authorization": "Bearer \(token)", "content-type": "application/json"],
                        length: length,
                        start: "{",
                        count: most + 3,
                        holdingAtMost: most
                    )
                }
            }
        }
    }
}
