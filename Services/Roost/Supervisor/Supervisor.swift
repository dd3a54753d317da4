import ChildProcesses
import Foundation

/// Keeps several processes running, in an order: the first is stopped last.
actor Supervisor {
    let console: Console
    let notes: ProcessNotes
    private var supervised: [(process: Supervised, loop: Task<Void, Never>)] = []
    private var isStopping = false

    init(console: Console, notes: ProcessNotes) {
        self.console = console
        self.notes = notes
    }

    /// Starts a process and keeps it running from now on.
    func keep(_ charge: Supervised.Charge) -> Supervised {
        let process = Supervised(charge, console: console, notes: notes)
        if !isStopping {
            supervised.append((process, Task { await process.run() }))
        }
        return process
    }

    /// Stops everything in the reverse order and returns when nothing is left.
    func stop() async {
        isStopping = true
        for (process, loop) in supervised.reversed() {
            await process.stop()
            await loop.value
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
