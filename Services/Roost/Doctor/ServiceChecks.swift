import ChildProcesses

/// Whether the services run, and whether they could.
struct ServiceChecks: Sendable {
    let workspace: Workspace
    let settings: SuiteSettings

    func findings() async -> [Finding] {
        do {
            let instances = try settings.instances()
            guard let holder = workspace.holder else {
                return [.well("roost up does not run for this checkout")] + instances.map { port(of: $0) }
            }
            var findings: [Finding] = [.well("roost up runs (process \(holder))")]
            for instance in instances {
                findings.append(await readiness(of: instance))
            }
            return findings
        } catch {
            return [.failure("\(error)", "correct the setting")]
        }
    }

    private func port(of instance: SuiteInstance) -> Finding {
        let port = LoopbackPort(instance.port)
        guard !port.isFree else {
            return .well("port \(instance.port), for \(instance.name), is free")
        }
        let taker = port.listener.map { "process \($0.pid), \($0.commandLine.prefix(100))" } ?? "another process"
        return .failure(
            "port \(instance.port), for \(instance.name), is taken by \(taker)",
            "stop it, or choose another port"
        )
    }

    private func readiness(of instance: SuiteInstance) async -> Finding {
        switch await Readiness.of(instance.url) {
        case .ready:
            return .well("\(instance.name) is ready at \(instance.url)")
        case .notReady(let status, let body):
            return .failure("\(instance.name) answers \(status): \(body.prefix(300))", "see \(log(of: instance))")
        case .silent:
            return .failure("\(instance.name) does not answer at \(instance.url)", "see \(log(of: instance))")
        }
    }

    private func log(of instance: SuiteInstance) -> String { "\(workspace.logs)/\(instance.name).log" }
}
