import ChildProcesses
import Foundation

/// Keeps several processes running, and stops them in stages.
actor Supervisor {
    let console: Console
    let notes: ProcessNotes
    let journal: ExitJournal
    private var supervised: [(process: Supervised, loop: Task<Void, Never>)] = []
    private var isStopping = false

    init(console: Console, notes: ProcessNotes, journal: ExitJournal) {
        self.console = console
        self.notes = notes
        self.journal = journal
    }

    /// Starts a process and keeps it running from now on.
    func keep(_ charge: Supervised.Charge) -> Supervised {
        let process = Supervised(charge, console: console, notes: notes, journal: journal)
        if !isStopping {
            supervised.append((process, Task { await process.run() }))
        }
        return process
    }

    /// Stops everything, stage by stage, and returns when nothing is left.
    ///
    /// A service waits a while for others that ask it still; at once they wait together.
    func stop() async {
        isStopping = true
        for stage in Supervised.Charge.Stage.allCases {
            await withTaskGroup(of: Void.self) { tasks in
                for (process, loop) in supervised where process.charge.stage == stage {
                    tasks.addTask {
                        await process.stop()
                        await loop.value
                    }
                }
            }
        }
    }

    /// Ends everything now.
    func force() {
        isStopping = true
        for (process, _) in supervised.reversed() {
            process.force()
        }
    }
}
