struct Finding: Sendable {
    enum Severity: String, Sendable {
        case ok = "ok"
        /// Works, but only for some time or for some users.
        case warning = "warning"
        case failure = "FAILURE"
    }

    let severity: Severity
    let text: String
    let remedy: String?

    static func ok(_ text: String) -> Finding { Finding(severity: .ok, text: text, remedy: nil) }

    static func warning(_ text: String, _ remedy: String) -> Finding {
        Finding(severity: .warning, text: text, remedy: remedy)
    }

    static func failure(_ text: String, _ remedy: String) -> Finding {
        Finding(severity: .failure, text: text, remedy: remedy)
    }

    var lines: String {
        let mark = severity.rawValue.padding(toLength: 8)
        return "\(mark) \(text)" + (remedy.map { "\n         → \($0)" } ?? "")
    }
}

extension String {
    fileprivate func padding(toLength length: Int) -> String {
        self + String(repeating: " ", count: max(0, length - count))
    }
}
