import NIOCore

/// When a connection is looked at, and what a look finds; one timer for all its deadlines.
struct ConnectionKeepAlive {
    enum Action {
        case nothing
        /// Nothing has been heard for long: ask whether there is still somebody.
        case ping
        /// Nobody has answered that.
        case close
        /// Nobody needs it any more.
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

    /// Sets the timer, unless one is set that fires early enough.
    mutating func set(on eventLoop: any EventLoop, isBusy: Bool, _ checkDeadlines: @escaping () -> Void) {
        guard timer == nil || (isBusy && !isTimerShort) else { return }
        timer?.cancel()
        isTimerShort = isBusy
        let pause =
            isBusy
            ? settings.checkInterval : max(settings.checkInterval, min(settings.pingInterval, settings.idleTimeout))
        timer = eventLoop.assumeIsolated().scheduleTask(in: pause, checkDeadlines)
    }

    /// What there is to do now that the timer has fired.
    mutating func next(_ now: NIODeadline, isBusy: Bool) -> Action {
        timer = nil
        if isBusy { lastUsed = now }
        if let pingSent {
            // As long as what is under way may take: a busy server may be slow with this too.
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
