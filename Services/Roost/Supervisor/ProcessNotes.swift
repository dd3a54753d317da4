import ChildProcesses
import Foundation
import Glibc
import Locks

/// Which processes a run has started, noted for the run after it.
final class ProcessNotes: Sendable {
    struct Note: Codable {
        let name: String
        let process: ProcessIdentity
    }

    /// What PostgreSQL's server is noted as.
    static let postgresql = "postgresql"

    private let path: String
    private let notes = Lock<[String: ProcessIdentity]>([:])

    init(path: String) {
        self.path = path
    }

    /// What an earlier run has left running.
    func leftovers() -> [Note] {
        // Silence: no notes, or half a note of a run that was cut off, name nobody.
        guard let data = try? Data(contentsOf: URL(filePath: path)),
            let notes = try? JSONDecoder().decode([Note].self, from: data)
        else {
            return []
        }
        return notes.filter(\.process.isAlive)
    }

    /// Stops the services that an earlier run has left.
    ///
    /// They are about to stop by themselves, as nobody holds their input. PostgreSQL, which they may be using until
    /// then, is left to who starts it anew.
    func endLeftovers(within limit: Duration, telling say: (String) -> Void) async throws {
        for note in leftovers() where note.name != Self.postgresql {
            say("\(note.name) (process \(note.process.pid)) of an earlier run still runs; stopping it")
            note.process.signal(SIGTERM)
            if await note.process.hasEnded(within: limit) {
                continue
            }
            note.process.signal(SIGKILL)
            guard await note.process.hasEnded(within: .seconds(5)) else {
                throw Workspace.Problem("\(note.name) (process \(note.process.pid)) of an earlier run does not stop")
            }
        }
    }

    func began(_ name: String, _ process: ProcessIdentity?) {
        notes.withLock { notes in
            notes[name] = process
            let list = notes.map { Note(name: $0.key, process: $0.value) }
            // Silence: notes help the next run to tidy up; this one goes on without.
            try? JSONEncoder().encode(list).write(to: URL(filePath: path), options: .atomic)
        }
    }
}
