import Foundation
import PushAPI
import Wire

enum PushOutput {
    static func queue(_ report: QueueReport, at now: Date) -> String {
        let queues = report.queues.filter { $0.waiting > 0 || $0.circuit?.isOpen == true }
        let rows = queues.map { queue in
            [
                queue.applicationId, queue.service, "\(queue.waiting)",
                queue.oldest.map { age(of: $0, at: now) } ?? "-",
                queue.circuit?.isOpen == true ? "paused: \(queue.circuit?.reason ?? "failures")" : "",
            ]
        }
        let heads = [["APPLICATION", "SERVICE", "WAITING", "OLDEST", "STATE"]]
        return (queues.isEmpty ? "no queued notifications\n" : TextTable.lines(heads + rows)) + """
            undecided: \(report.undecided)
            held by quiet hours: \(report.held)
            failures: \(report.failures)\(report.failures > 0 ? " (roost push failures)" : "")

            """
    }

    static func circuits(_ report: QueueReport) -> String {
        let rows = report.queues.compactMap { queue -> [String]? in
            guard let circuit = queue.circuit else { return nil }
            return [
                queue.applicationId, queue.service, circuit.isOpen ? "open" : "closed", circuit.reason ?? "-",
                "\(circuit.failures)", circuit.openedAt.map { Timestamp.string(from: $0) } ?? "-",
                circuit.isOpen ? circuit.retryAt.map { Timestamp.string(from: $0) } ?? "-" : "-",
            ]
        }
        guard !rows.isEmpty else { return "no push service has failed\n" }
        return TextTable.lines(
            [["APPLICATION", "SERVICE", "CIRCUIT", "REASON", "FAILURES", "OPENED", "NEXT ATTEMPT"]] + rows
        )
    }

    static func failures(_ failures: [PushFailure]) -> String {
        guard !failures.isEmpty else { return "no failures\n" }
        let rows = failures.map { failure in
            [
                "\(failure.id)", Timestamp.string(from: failure.failedAt), failure.applicationId, failure.userId,
                failure.service, failure.kind.rawValue, failure.reason ?? "-",
            ]
        }
        return TextTable.lines([["NUMBER", "FAILED", "APPLICATION", "USER", "SERVICE", "KIND", "REASON"]] + rows)
    }

    private static func age(of date: Date, at now: Date) -> String {
        let seconds = max(0, Int(now.timeIntervalSince(date)))
        switch seconds {
        case ..<120: return "\(seconds) s"
        case ..<7_200: return "\(seconds / 60) min"
        default: return "\(seconds / 3_600) h"
        }
    }
}
