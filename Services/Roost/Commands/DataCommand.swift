import ArgumentParser
import Glibc

struct DataCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "data",
        abstract: "Shows and removes the databases of root's checkouts.",
        discussion: """
            PostgreSQL does not run as root, so root's checkouts have their databases in \(CheckoutData.root). The \
            databases remain when a checkout is deleted. Other users have the database in .roost/postgres of the \
            checkout.
            """,
        subcommands: [ListDataCommand.self, RemoveDataCommand.self]
    )

    static func lines(_ folders: [CheckoutData]) -> String {
        let rows = folders.map { folder in
            [folder.name, folder.state.rawValue, size(folder.bytes), folder.checkout ?? "-"]
        }
        return rows.isEmpty ? "no databases\n" : TextTable.lines([["NAME", "STATE", "SIZE", "CHECKOUT"]] + rows)
    }

    static func size(_ bytes: Int) -> String {
        bytes < 1_048_576 ? "\(bytes / 1_024) kB" : "\(bytes / 1_048_576) MB"
    }
}

struct ListDataCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "Shows each database folder, its checkout and its size.",
        discussion: "The state is running, exists or deleted (the checkout), or unknown if no checkout is recorded."
    )

    func run() throws {
        print(DataCommand.lines(try CheckoutData.list()), terminator: "")
    }
}

struct RemoveDataCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "remove",
        abstract: "Removes database folders for good.",
        discussion: """
            A folder in use is never removed. A folder whose checkout exists or is unknown is removed only with \
            --force.
            """
    )

    @Argument(help: "The names of the folders, as `roost data list` shows them.") var names: [String]
    @Flag(help: "Removes the folders; without this they are only shown.") var yes = false
    @Flag(help: "Also removes a folder whose checkout exists or is unknown.") var force = false

    func run() throws {
        let folders = try names.map { name in
            guard let folder = CheckoutData(name) else {
                throw ValidationError("\(CheckoutData.root) has no folder \(name); `roost data list` shows the names")
            }
            return folder
        }
        guard yes else {
            print(DataCommand.lines(folders), terminator: "")
            print("nothing was removed; use --yes to remove \(folders.count == 1 ? "this folder" : "these folders")")
            throw ExitCode.failure
        }
        for folder in folders {
            try folder.remove(isForced: force)
            print("removed \(folder.path) (\(DataCommand.size(folder.bytes)))")
        }
    }
}
