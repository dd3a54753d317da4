import ChildProcesses
import Foundation
import Glibc
import Locks

/// Which processes a run has started, noted for the run after it.
final class ProcessRegistry: Sendable {
    struct Record: Codable {
        let name: String
        let process: ProcessIdentity
    }

    /// What PostgreSQL's server is noted as.
    static let postgresql = "postgresql"

    private let path: String
    private let records = Lock<[String: ProcessIdentity]>([:])

    init(path: String) {
        self.path = path
    }

    /// What an earlier run has left running.
    func leftovers() -> [Record] {
        // Silence: no notes, or half a note of a run that was cut off, name nobody.
        guard let data = try? Data(contentsOf: URL(filePath: path)),
            let records = try? JSONDecoder().decode([Record].self, from: data)
        else {
            return []
        }
        return records.filter(\.process.isAlive)
    }

    /// Stops the services that an earlier run has left.
    ///
    /// They are about to stop by themselves, as nobody holds their input. PostgreSQL, which they may be using until
    /// then, is left to who starts it anew.
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
            // Silence: notes help the next run to tidy up; this one goes on without.
            try? JSONEncoder().encode(list).write(to: URL(filePath: path), options: .atomic)
        }
    }
}
