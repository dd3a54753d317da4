import ArgumentParser

/// Where a command works: what several commands share.
struct WorkspaceOptions: ParsableArguments {
    @Option(help: "The checkout whose .roost/ is meant.")
    var directory = "."

    func workspace() throws -> Workspace { try Workspace(root: directory) }
}
