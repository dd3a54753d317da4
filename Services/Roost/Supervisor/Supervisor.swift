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

    func supervise(_ configuration: SupervisedProcess.Configuration) -> SupervisedProcess {
        let process = SupervisedProcess(configuration, console: console, registry: registry, exitLog: exitLog)
        if !isStopping {
            supervised.append((process, Task { await process.run() }))
        }
        return process
    }

    /// Stops all processes, stage by stage, and returns when they have exited.
    ///
    /// A service waits for a while for requests of other services, so the services of a stage stop at the same time.
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

    /// Kills all processes at once.
    func force() {
        isStopping = true
        for (process, _) in supervised.reversed() {
            process.force()
        }
    }
}
