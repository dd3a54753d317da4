import Foundation
import Glibc
import LocalPostgres

/// The database folder of one checkout under `/var/lib/roost`, where root's checkouts have theirs.
struct CheckoutData: Sendable {
    enum State: String, Sendable {
        /// `roost` or its PostgreSQL uses the folder.
        case running
        case exists
        case deleted
        /// The folder does not say which checkout it belongs to.
        case unknown
    }

    static let root = "/var/lib/roost"

    /// The folder's name, made of the checkout's path.
    let name: String
    let path: String
    /// The checkout that last used the folder.
    let checkout: String?
    let state: State
    /// The sizes of all files in the folder.
    let bytes: Int

    /// Returns nil when `name` is not the name of such a folder, or when the folder does not exist.
    init?(_ name: String, in root: String = root) {
        let isName = (1...16).contains(name.utf8.count) && name.utf8.allSatisfy { "0123456789abcdef".utf8.contains($0) }
        // The attributes are those of a link itself; a folder that cannot be read is not listed.
        let attributes = try? FileManager.default.attributesOfItem(atPath: "\(root)/\(name)")
        guard isName, attributes?[.type] as? FileAttributeType == .typeDirectory else { return nil }
        self.name = name
        path = "\(root)/\(name)"
        checkout = Self.recorded(in: path)
        state = Self.state(of: path, checkout: checkout)
        bytes = Self.size(path)
    }

    static func list(in root: String = root) throws -> [CheckoutData] {
        guard FileManager.default.fileExists(atPath: root) else { return [] }
        do {
            let names = try FileManager.default.contentsOfDirectory(atPath: root)
            return names.sorted().compactMap { CheckoutData($0, in: root) }
        } catch {
            throw Workspace.Problem("cannot read \(root); run the command as root")
        }
    }

    /// Removes the folder.
    ///
    /// - Throws: `Workspace.Problem` when the folder is in use, or when its checkout exists or is unknown and
    ///   `isForced` is false.
    func remove(isForced: Bool) throws {
        switch state {
        case .running:
            throw Workspace.Problem("\(path) is in use; stop `roost up` in \(checkout ?? "its checkout") first")
        case .exists where !isForced:
            throw Workspace.Problem("the checkout \(checkout ?? "") exists; use --force to remove its data")
        case .unknown where !isForced:
            throw Workspace.Problem(
                "\(path) does not say which checkout it belongs to; use --force to remove it"
            )
        case .exists, .deleted, .unknown: try FileManager.default.removeItem(atPath: path)
        }
    }

    static func record(_ checkout: String, in folder: String) throws {
        let (file, new) = ("\(folder)/checkout", "\(folder)/checkout.new")
        unlink(new)
        // The folder belongs to the account of PostgreSQL, so root must not follow a link in it.
        let descriptor = open(new, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o644)
        guard descriptor >= 0 else {
            throw Workspace.Problem("cannot write \(new): \(String(cString: strerror(errno)))")
        }
        let handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        try handle.write(contentsOf: Data("\(checkout)\n".utf8))
        try handle.close()
        guard rename(new, file) == 0 else {
            throw Workspace.Problem("cannot write \(file): \(String(cString: strerror(errno)))")
        }
    }

    private static func recorded(in folder: String) -> String? {
        // The file is missing when the folder is from an older release, or when a start failed early.
        guard let text = try? String(contentsOfFile: "\(folder)/checkout", encoding: .utf8) else { return nil }
        let line = text.prefix { $0 != "\n" }
        // The text goes to a terminal.
        let isPlain = line.unicodeScalars.allSatisfy { $0.properties.generalCategory != .control }
        return line.hasPrefix("/") && isPlain ? String(line) : nil
    }

    private static func state(of folder: String, checkout: String?) -> State {
        if PostgresServer.isRunning(in: folder) { return .running }
        guard let checkout else { return .unknown }
        // A checkout that cannot be resolved was deleted.
        guard let workspace = try? Workspace(root: checkout) else { return .deleted }
        return workspace.holder == nil ? .exists : .running
    }

    private static func size(_ folder: String) -> Int {
        let files = FileManager.default
        guard let names = files.enumerator(atPath: folder) else { return 0 }
        var bytes = 0
        for case let name as String in names {
            // A running server removes files at any time.
            guard let attributes = try? files.attributesOfItem(atPath: "\(folder)/\(name)"),
                attributes[.type] as? FileAttributeType == .typeRegular
            else { continue }
            bytes += attributes[.size] as? Int ?? 0
        }
        return bytes
    }
}
