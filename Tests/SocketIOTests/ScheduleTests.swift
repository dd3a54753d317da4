import Foundation
import Testing

@Suite("Schedule of event loops") struct ScheduleTests {
    /// `SCHEDULE_SEED=n` runs only the history with seed n.
    @Test("Every history of sockets and rooms keeps order, membership and single callbacks")
    func histories() async {
        let only = ProcessInfo.processInfo.environment["SCHEDULE_SEED"].flatMap { UInt64($0) }
        for seed in only.map({ $0...$0 }) ?? 1...10_000 {
            let problems = Schedule(seed: seed).run()
            guard problems.isEmpty else {
                Issue.record("seed \(seed): \(problems.joined(separator: "; "))")
                return
            }
            // Other tests share this thread.
            if seed.isMultiple(of: 100) { await Task.yield() }
        }
    }
}
