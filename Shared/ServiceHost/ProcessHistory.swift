import Foundation
package import HTTPTypes
import Metrics

/// The supervisor's record of this process's predecessors, passed in environment variables.
///
/// Only the supervisor `roost up` sets them; otherwise only the start of this process is known.
package struct ProcessHistory: Sendable {
    /// The number of restarts after an exit.
    package let restarts: Int?
    /// The exit of the previous process, such as `signal 11`, and its time (RFC 3339).
    package let lastExit: String?
    package let lastExitAt: String?

    package static let restartsVariable = "SUPERVISED_RESTARTS"
    package static let lastExitVariable = "SUPERVISED_LAST_EXIT"
    package static let lastExitAtVariable = "SUPERVISED_LAST_EXIT_AT"

    package init(environment: [String: String] = ProcessInfo.processInfo.environment) {
        restarts = environment[Self.restartsVariable].flatMap { Int($0) }.flatMap { $0 >= 0 ? $0 : nil }
        lastExit = environment[Self.lastExitVariable]
        lastExitAt = environment[Self.lastExitAtVariable]
    }

    /// The header fields of `/health` and `/ready`, from which the gateway builds `/status`.
    package var fields: [(HTTPField.Name, String)] {
        let values = [
            ("x-roost-restarts", restarts.map { "\($0)" }), ("x-roost-last-exit", lastExit),
            ("x-roost-last-exit-at", lastExitAt),
        ]
        return values.compactMap { name, value in
            guard let name = HTTPField.Name(name), let value else { return nil }
            // The value may be the text of an error, but a header field allows only one line of ASCII.
            let plain = value.unicodeScalars.filter { 0x20...0x7E ~= $0.value }.prefix(200)
            return (name, String(plain.map(Character.init)))
        }
    }

    func export() {
        Counter(label: "roost_process_starts_total").increment(by: (restarts ?? 0) + 1)
        Gauge(label: "roost_process_start_time_seconds").record(Date().timeIntervalSince1970)
    }
}
