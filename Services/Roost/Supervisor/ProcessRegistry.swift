import ChildProcesses
import Foundation
import Glibc
import Locks

/// The processes of a run, recorded for the next run.
final class ProcessRegistry: Sendable {
    struct Record: Codable {
        let name: String
        let process: ProcessIdentity
    }

    static let postgresql = "postgresql"

    private let path: String
    private let records = Lock<[String: ProcessIdentity]>([:])

    init(path: String) {
        self.path = path
    }

    /// Returns the processes of an earlier run that are still running.
    func leftovers() -> [Record] {
        // Failures are ignored: a missing or incomplete file lists no process.
        guard let data = try? Data(contentsOf: URL(filePath: path)),
            let records = try? JSONDecoder().decode([Record].self, from: data)
        else {
            return []
        }
        return records.filter(\.process.isAlive)
    }

    /// Stops the services of an earlier run.
    ///
    /// They are about to stop by themselves, because no process holds their input any longer. They may use PostgreSQL
    /// until then, so this method does not stop it.
    func stopLeftovers(within limit: Duration, reporting report: (String) -> Void) async throws {
        for record in leftovers() where record.name != Self.postgresql {
            report("\(record.name) (process \(record.process.pid)) of an earlier run still runs; stopping it")
            record.process.signal(SIGTERM)
            if await record.process.hasEnded(within: limit) {
                continue
            }
            record.process.signal(SIGKILL)
            guard await record.process.hasEnded(within: .seconds(5)) else {
                throw Workspace.Problem(
                    "\(record.name) (process \(record.process.pid)) of an earlier run does not stop"
                )
            }
        }
    }

    func began(_ name: String, _ process: ProcessIdentity?) {
        records.withLock { records in
            records[name] = process
            let list = records.map { Record(name: $0.key, process: $0.value) }
            // A failure is ignored: the records only help the next run to clean up.
            try? JSONEncoder().encode(list).write(to: URL(filePath: path), options: .atomic)
        }
    }
}
