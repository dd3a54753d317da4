import ArgumentParser

struct DoctorCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "doctor",
        abstract: "Finds problems and prints their remedies.",
        discussion: "Changes nothing. Exits with 1 if a problem keeps the suite from running."
    )

    @OptionGroup var options: WorkspaceOptions

    func run() async throws {
        let workspace = try options.workspace()
        let settings = try SuiteSettings(workspace: workspace)
        let machine = MachineChecks(workspace: workspace, settings: settings)
        let database = DatabaseChecks(workspace: workspace, settings: settings, logger: RoostCommand.logger())
        let services = ServiceChecks(workspace: workspace, settings: settings)
        let blobs = BlobChecks(workspace: workspace, settings: settings)
        let providers = ProviderChecks(settings: settings)
        let findings =
            await machine.findings() + blobs.findings() + providers.findings() + database.findings()
            + services.findings()
        for finding in findings {
            print(finding.lines)
        }
        let failures = findings.filter { $0.severity == .failure }
        guard failures.isEmpty else {
            print("\(failures.count) of \(findings.count) findings keep Roost from running")
            throw ExitCode.failure
        }
        print("nothing keeps Roost from running")
    }
}
