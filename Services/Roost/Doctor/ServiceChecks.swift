import ChildProcesses

/// Checks that the services are ready, or that their ports are free when `roost up` does not run.
struct ServiceChecks: Sendable {
    let workspace: Workspace
    let settings: SuiteSettings

    func findings() async -> [Finding] {
        do {
            let instances = try settings.instances()
            guard let holder = workspace.holder else {
                let ports = try settings.neededPorts(for: instances).map { port -> Finding in
                    port.conflict().map { .failure($0.problem, $0.remedy) }
                        ?? .ok("port \(port.port.number), for \(port.purpose), is free")
                }
                return [.ok("roost up does not run for this checkout")] + ports
            }
            var findings: [Finding] = [.ok("roost up runs (process \(holder))")]
            findings += ExitLog(path: workspace.restartsFile).summaries().map {
                .warning($0, "see \(workspace.restartsFile) and the end of the process's log")
            }
            for instance in instances {
                findings.append(await readiness(of: instance))
            }
            return findings
        } catch {
            return [.failure("\(error)", "correct the setting")]
        }
    }

    private func readiness(of instance: SuiteInstance) async -> Finding {
        switch await Readiness.of(instance.readinessURL) {
        case .ready:
            return .ok("\(instance.name) is ready at \(instance.url)")
        case .notReady(let status, let body):
            return .failure("\(instance.name) responds with \(status): \(body.prefix(300))", "see \(log(of: instance))")
        case .unreachable:
            return .failure("\(instance.name) does not respond at \(instance.readinessURL)", "see \(log(of: instance))")
        }
    }

    private func log(of instance: SuiteInstance) -> String { "\(workspace.logs)/\(instance.name).log" }
}
