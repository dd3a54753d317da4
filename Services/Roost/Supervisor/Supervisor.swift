import ChildProcesses
import Foundation

/// Keeps several processes running, and stops them in stages.
actor Supervisor {
    let console: Console
    let registry: ProcessRegistry
    let exitLog: ExitLog
    private var supervised: [(process: SupervisedProcess, loop: Task<Void, Never>)] = []
    private var isStopping = false

    init(console: Console, registry: ProcessRegistry, exitLog: ExitLog) {
        self.console = console
        self.registry = registry
        self.exitLog = exitLog
    }

    /// Starts a process and keeps it running from now on.
    func supervise(_ configuration: SupervisedProcess.Configuration) -> SupervisedProcess {
        let process = SupervisedProcess(configuration, console: console, registry: registry, exitLog: exitLog)
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
        for stage in SupervisedProcess.Configuration.Stage.allCases {
            await withTaskGroup(of: Void.self) { tasks in
                for (process, loop) in supervised where process.configuration.stage == stage {
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
