import Foundation
import NIOCore
import NIOHTTP1
import Synchronization
import Wire

/// Sends notifications to one client as they arrive: in one response (long polling), or as a stream of events.
///
/// It has no queue. It stores the number of the last sent notification, and reads newer ones when some arrive and the
/// client reads. A client that is too slow misses notifications that are no longer stored.
final class NotificationSubscriber {
    typealias Done = (WebResponse?, ChannelHandlerContext) -> Void

    /// The interval of comments that keep an idle stream alive.
    private static let heartbeat = TimeAmount.seconds(15)

    /// A flag that a notifier sets and the reader resets, so that any number of signals causes one read.
    private final class WakeSignal: Sendable {
        private let isSignaled = Atomic<Bool>(false)

        func signal() -> Bool { !isSignaled.exchange(true, ordering: .acquiringAndReleasing) }

        func reset() { isSignaled.store(false, ordering: .releasing) }
    }

    private let limit: Int
    /// How long a single response waits; nil for a stream.
    private let wait: TimeAmount?
    private let received: ReceivedNotifications
    private let request: HTTPRequestHead
    private let wakeSignal = WakeSignal()
    private var number: Int
    private var listener: UInt64?
    private var timer: Scheduled<Void>?
    private var done: Done?

    init(
        after number: Int,
        limit: Int,
        wait: TimeAmount?,
        received: ReceivedNotifications,
        respondingTo request: HTTPRequestHead
    ) {
        self.number = number
        self.limit = limit
        self.wait = wait
        self.received = received
        self.request = request
    }

    /// Starts sending, and calls `done` with the single response, or with nil when there are too many subscribers.
    func start(in context: ChannelHandlerContext, done: @escaping Done) {
        let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
        let eventLoop = context.eventLoop
        listener = received.listen { [wakeSignal] in
            guard wakeSignal.signal() else { return }
            eventLoop.execute {
                let (subscriber, context) = bound.value
                subscriber.sendPending(in: context)
            }
        }
        guard listener != nil else { return done(nil, context) }
        self.done = done
        if wait == nil { begin(in: context) }
        sendPending(in: context)
        schedule(in: context)
    }

    func stop() {
        if let listener { received.stopListening(listener) }
        listener = nil
        timer?.cancel()
        timer = nil
        done = nil
    }

    func sendPending(in context: ChannelHandlerContext) {
        wakeSignal.reset()
        guard listener != nil, context.channel.isActive else { return }
        guard wait == nil else {
            let found = received.after(number, limit: limit)
            return found.isEmpty ? () : finish(with: found, in: context)
        }
        while context.channel.isWritable {
            let found = received.after(number, limit: limit)
            guard let last = found.last else { return }
            number = last.number
            for notification in found { write(event(of: notification), in: context) }
            context.flush()
        }
    }

    // MARK: Long polling

    private func finish(with found: [ReceivedNotification], in context: ChannelHandlerContext) {
        let done = done
        stop()
        let page = NotificationPage(notifications: found.map(NotificationView.init), next: found.last?.number ?? number)
        // Encoding parsed JSON and strings cannot fail.
        done?(try? .json(page), context)
    }

    // MARK: Stream

    private func begin(in context: ChannelHandlerContext) {
        let headers: HTTPHeaders = [
            "content-type": "text/event-stream", "cache-control": "no-store", "x-content-type-options": "nosniff",
        ]
        let head = HTTPResponseHead(version: .http1_1, status: .ok, headers: headers)
        context.write(WebHandler.wrapOutboundOut(.head(head)), promise: nil)
        write("retry: 1000\n\n", in: context)
        context.flush()
    }

    private func event(of notification: ReceivedNotification) -> String {
        // Encoding parsed JSON and strings cannot fail.
        let data = (try? WireJSON.encoder().encode(NotificationView(notification))) ?? Data("{}".utf8)
        return "id: \(notification.number)\nevent: notification\ndata: \(String(decoding: data, as: UTF8.self))\n\n"
    }

    private func write(_ text: String, in context: ChannelHandlerContext) {
        context.write(WebHandler.wrapOutboundOut(.body(.byteBuffer(ByteBuffer(string: text)))), promise: nil)
    }

    // MARK: Timer

    private func schedule(in context: ChannelHandlerContext) {
        guard listener != nil else { return }
        let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
        timer = context.eventLoop.scheduleTask(in: wait ?? Self.heartbeat) {
            let (subscriber, context) = bound.value
            subscriber.timerFired(in: context)
        }
    }

    private func timerFired(in context: ChannelHandlerContext) {
        guard listener != nil else { return }
        guard wait == nil else { return finish(with: [], in: context) }
        if context.channel.isWritable {
            write(":\n\n", in: context)
            context.flush()
        }
        schedule(in: context)
    }
}

package struct NotificationPage: Codable, Sendable {
    package var notifications: [NotificationView]
    /// The value of `after` for the next request.
    package var next: Int
}
