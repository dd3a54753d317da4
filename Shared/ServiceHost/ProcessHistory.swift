import Foundation
package import HTTPTypes
import Metrics

/// What the supervisor knows of the processes before this one, handed over by the environment.
///
/// Another supervisor than `roost up` hands nothing over; then only the start of this process is known.
package struct ProcessHistory: Sendable {
    /// How often the process was started again because it had ended.
    package let restarts: Int?
    /// How the one before ended, as `signal 11`, and when (RFC 3339).
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

    /// Header fields of `/health` and `/ready`, from which the gateway takes what `/status` says.
    package var fields: [(HTTPField.Name, String)] {
        let values = [
            ("x-roost-restarts", restarts.map { "\($0)" }), ("x-roost-last-exit", lastExit),
            ("x-roost-last-exit-at", lastExitAt),
        ]
        return values.compactMap { name, value in
            guard let name = HTTPField.Name(name), let value else { return nil }
            // The reason may be the text of an error; a field has one line of ASCII.
            let plain = value.unicodeScalars.filter { 0x20...0x7E ~= $0.value }.prefix(200)
            return (name, String(plain.map(Character.init)))
        }
    }

    func export() {
        Counter(label: "roost_process_starts_total").increment(by: (restarts ?? 0) + 1)
        Gauge(label: "roost_process_start_time_seconds").record(Date().timeIntervalSince1970)
    }
}
