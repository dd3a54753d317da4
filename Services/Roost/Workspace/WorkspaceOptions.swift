import ArgumentParser

struct WorkspaceOptions: ParsableArguments {
    @Option(help: "The checkout whose .roost folder is used.")
    var directory = "."

    func workspace() throws -> Workspace { try Workspace(root: directory) }
}
