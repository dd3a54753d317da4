import Foundation
import Testing
import Wire

@testable import roost

/// The log of processes that ended unexpectedly.
@Suite("Exit log") struct ExitLogTests {
    @Test("Exits of the last ten minutes are counted by process, and unreadable lines are skipped")
    func summaries() throws {
        let path = "\(NSTemporaryDirectory())/restarts-\(UUID().uuidString).log"
        defer { try? FileManager.default.removeItem(atPath: path) }
        let exitLog = ExitLog(path: path)
        let now = Date(timeIntervalSince1970: 1_795_500_000)
        func add(_ process: String, _ end: String, ago: TimeInterval) {
            let time = Timestamp.string(from: now - ago)
            exitLog.append(ExitRecord(time: time, process: process, end: end, seconds: 3))
        }
        add("photos", "signal 4", ago: 601)
        add("photos", "signal 4", ago: 590)
        add("photos", "signal 11", ago: 20)
        let file = try #require(FileHandle(forWritingAtPath: path))
        try file.seekToEnd()
        try file.write(contentsOf: Data("half a li\n".utf8))
        try file.close()
        add("auth", "exit code 1", ago: 5)

        #expect(
            exitLog.summaries(now: now) == [
                "auth exited once in the last 10 minutes, last with exit code 1",
                "photos exited 2 times in the last 10 minutes, last with signal 11",
            ]
        )
        #expect(exitLog.records().count == 4)
    }

    @Test("A log that does not exist is empty")
    func missing() {
        #expect(ExitLog(path: "/nonexistent/restarts.log").summaries().isEmpty)
    }
}
