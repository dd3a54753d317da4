import HTTPTypes
import NIOCore
import NIOPosix
import Synchronization

/// Requests that send their head and a little of a large body, and then wait: what a slow or malicious client does.
package struct SlowUploads: Sendable {
    /// Those that were answered before their body was there, by status.
    package let answered: [Int: Int]
    /// Those that are neither answered nor closed: their bodies have a place in the service's memory.
    package let held: Int

    /// Opens so many of the same request, and waits until no more than `most` are held.
    ///
    /// A body declares `length`, or comes in chunks without it; `start` is its first bytes, all of them where it
    /// `isWhole`. Where it `isDripping`, a space follows each second. `meanwhile` runs while the requests are open.
    ///
    /// - Throws: `TestSupportError` where more are held for a minute.
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
        for channel in channels { try? await channel.close().get() }  // Closed already is closed.
    }

    private final class StatusRecorder: Sendable {
        /// 0 where a connection ended without an answer.
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
    /// Sends slow bodies of JSON, of almost a megabyte each, to every route.
    ///
    /// - Parameters:
    ///   - routes: those of the service.
    ///   - token: of the one user who sends them all.
    ///   - most: how many may be held of each route.
    /// - Throws: `TestSupportError` for a route that goes on to hold more.
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
