import NIOCore

/// Takes an instance out of turn for a while that fails where others do not, and for longer each time.
struct Ejection {
    private let rules: HealthRules
    private(set) var failuresInRow = 0
    private(set) var until: NIODeadline?
    /// When it was last ejected.
    private(set) var since = NIODeadline.uptimeNanoseconds(0)
    private var count = 0
    private var lastEnd: NIODeadline?

    init(rules: HealthRules) {
        self.rules = rules
    }

    /// Answers when the ejection was over, if it is now.
    mutating func advance(_ now: NIODeadline) -> NIODeadline? {
        guard let end = until, now >= end else { return nil }
        until = nil
        failuresInRow = 0
        return end
    }

    mutating func succeeded() {
        failuresInRow = 0
    }

    mutating func failed(isInTurn: Bool, _ now: NIODeadline) {
        failuresInRow += 1
        guard failuresInRow >= rules.failuresToEject, isInTurn else { return }
        // Who behaved for long enough begins anew.
        if let lastEnd, now - lastEnd > rules.longestEjection { count = 0 }
        count += 1
        let end = now + HealthRules.grown(rules.ejection, times: count, longest: rules.longestEjection)
        until = end
        lastEnd = end
        since = now
    }
}
