import Foundation
import PushAPI
import Testing

@testable import roost

@Suite("Output of roost push") struct PushOutputTests {
    private static let now = Date(timeIntervalSince1970: 1_795_262_400)

    private static let circuit = QueueReport.Circuit(
        isOpen: true,
        reason: "no_credentials",
        failures: 0,
        openedAt: now,
        retryAt: now.addingTimeInterval(60)
    )

    private static let report = QueueReport(
        queues: [
            .init(
                applicationId: "acme",
                service: "apns-production",
                waiting: 1_200,
                oldest: now.addingTimeInterval(-600),
                circuit: circuit
            ),
            .init(applicationId: "roost", service: "fcm", waiting: 0, oldest: nil, circuit: nil),
        ],
        undecided: 1,
        held: 2,
        failures: 3
    )

    @Test("The queues are a table with their circuits, followed by totals")
    func queueTable() {
        let lines = PushOutput.queue(Self.report, at: Self.now).split(separator: "\n")

        #expect(
            lines == [
                "APPLICATION  SERVICE          WAITING  OLDEST  STATE",
                "acme         apns-production  1200     10 min  paused: no_credentials",
                "undecided: 1",
                "held by quiet hours: 2",
                "failures: 3 (roost push failures)",
            ]
        )
    }

    @Test("Empty reports say so")
    func emptyReports() {
        let report = QueueReport(queues: [], undecided: 0, held: 0, failures: 0)

        #expect(PushOutput.queue(report, at: Self.now).hasPrefix("no queued notifications\n"))
        #expect(PushOutput.circuits(report) == "no push service has failed\n")
        #expect(PushOutput.failures([]) == "no failures\n")
    }

    @Test("Open circuits are a table with the time of the next attempt")
    func circuitTable() {
        let lines = PushOutput.circuits(Self.report).split(separator: "\n")

        #expect(lines.count == 2)
        #expect(lines[1].hasSuffix("2026-11-21T12:01:00.000Z"))
        #expect(lines[1].contains("open"))
    }
}
