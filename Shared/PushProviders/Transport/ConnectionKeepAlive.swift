import NIOCore

/// The deadlines of a connection, with one timer for all of them.
struct ConnectionKeepAlive {
    enum Action {
        case nothing
        /// No data arrived for long, so the connection must be tested.
        case ping
        /// The peer did not answer the ping.
        case close
        case retire
    }

    private let settings: PoolSettings
    private(set) var lastRead = NIODeadline.now()
    private var lastUsed = NIODeadline.now()
    private var pingSent: NIODeadline?
    private var timer: Scheduled<Void>?
    private var isTimerShort = false

    init(_ settings: PoolSettings) {
        self.settings = settings
    }

    mutating func recordRead() {
        lastRead = .now()
        pingSent = nil
    }

    mutating func recordPong() {
        pingSent = nil
    }

    /// Schedules the timer, unless a timer that fires early enough is pending.
    mutating func set(on eventLoop: any EventLoop, isBusy: Bool, _ checkDeadlines: @escaping () -> Void) {
        guard timer == nil || (isBusy && !isTimerShort) else { return }
        timer?.cancel()
        isTimerShort = isBusy
        let pause =
            isBusy
            ? settings.checkInterval : max(settings.checkInterval, min(settings.pingInterval, settings.idleTimeout))
        timer = eventLoop.assumeIsolated().scheduleTask(in: pause, checkDeadlines)
    }

    /// Returns the action that is due when the timer fires.
    mutating func next(_ now: NIODeadline, isBusy: Bool) -> Action {
        timer = nil
        if isBusy { lastUsed = now }
        if let pingSent {
            // A ping has the same time limit as a request, because a busy server may be slow to answer it.
            return now - pingSent >= settings.requestTimeout ? .close : .nothing
        }
        if now - lastUsed >= settings.idleTimeout { return .retire }
        guard now - lastRead >= settings.pingInterval else { return .nothing }
        pingSent = now
        return .ping
    }

    mutating func stop() {
        timer?.cancel()
        timer = nil
    }
}
