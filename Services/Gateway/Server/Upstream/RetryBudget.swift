/// How many requests may be sent a second time: a tenth of those sent, so that a service in trouble is not given twice
/// the work.
struct RetryBudget {
    private static let earned = 0.1
    private static let most = 10.0

    private var credit = most

    mutating func earn() {
        credit = min(credit + Self.earned, Self.most)
    }

    mutating func spend() -> Bool {
        guard credit >= 1 else { return false }
        credit -= 1
        return true
    }
}
