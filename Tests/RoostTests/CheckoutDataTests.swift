import Foundation
import Testing

@testable import roost

@Suite("Data of checkouts") struct CheckoutDataTests {
    /// A folder in place of /var/lib/roost with one database folder, and a checkout.
    private func withData(_ body: (_ root: String, _ folder: String, _ checkout: String) throws -> Void) throws {
        let files = FileManager.default
        let base = "\(NSTemporaryDirectory())/checkout-data-\(UUID().uuidString)"
        let (root, checkout) = ("\(base)/data", "\(base)/checkout")
        try files.createDirectory(atPath: "\(root)/a1b2c3/data", withIntermediateDirectories: true)
        try files.createDirectory(atPath: "\(root)/sandbox", withIntermediateDirectories: true)
        try files.createDirectory(atPath: "\(checkout)/.roost", withIntermediateDirectories: true)
        // A temporary folder may stay behind.
        defer { try? files.removeItem(atPath: base) }
        try Data(count: 300_000).write(to: URL(filePath: "\(root)/a1b2c3/data/table"))
        try body(root, "\(root)/a1b2c3", checkout)
    }

    @Test("A database folder shows its checkout, its size and whether the checkout exists")
    func list() throws {
        try withData { root, folder, checkout in
            try CheckoutData.record(checkout, in: folder)
            let folders = try CheckoutData.list(in: root)
            #expect(folders.map(\.name) == ["a1b2c3"])
            #expect(folders.first?.checkout == checkout)
            #expect(folders.first?.state == .exists)
            #expect((300_000..<400_000).contains(folders.first?.bytes ?? 0))
            try FileManager.default.removeItem(atPath: checkout)
            #expect(try CheckoutData.list(in: root).first?.state == .deleted)
        }
    }

    @Test("A recorded checkout can be replaced, and a file with control characters is not a record")
    func record() throws {
        try withData { root, folder, checkout in
            #expect(CheckoutData("a1b2c3", in: root)?.state == .unknown)
            try CheckoutData.record("/before", in: folder)
            try CheckoutData.record(checkout, in: folder)
            #expect(CheckoutData("a1b2c3", in: root)?.checkout == checkout)
            try Data("/tmp/\u{1b}[2J\n".utf8).write(to: URL(filePath: "\(folder)/checkout"))
            #expect(CheckoutData("a1b2c3", in: root)?.state == .unknown)
        }
    }

    @Test("Without force, only the data of a deleted checkout is removed")
    func remove() throws {
        try withData { root, folder, checkout in
            let unknown = try #require(CheckoutData("a1b2c3", in: root))
            #expect(throws: Workspace.Problem.self) { try unknown.remove(isForced: false) }
            try CheckoutData.record(checkout, in: folder)
            let existing = try #require(CheckoutData("a1b2c3", in: root))
            #expect(throws: Workspace.Problem.self) { try existing.remove(isForced: false) }
            #expect(FileManager.default.fileExists(atPath: folder))
            try FileManager.default.removeItem(atPath: checkout)
            try #require(CheckoutData("a1b2c3", in: root)).remove(isForced: false)
            #expect(!FileManager.default.fileExists(atPath: folder))
        }
    }

    @Test("Data of a checkout that `roost` holds is not removed, not even by force")
    func running() throws {
        try withData { root, folder, checkout in
            try CheckoutData.record(checkout, in: folder)
            // The lock belongs to an open file, so another open of the file in this process finds it taken.
            try Workspace(root: checkout).lock()
            let running = try #require(CheckoutData("a1b2c3", in: root))
            #expect(running.state == .running)
            #expect(throws: Workspace.Problem.self) { try running.remove(isForced: true) }
        }
    }

    @Test("Only names of database folders are accepted", arguments: ["", "..", "sandbox", "A1B2C3", "a1b2c3/data"])
    func names(name: String) throws {
        try withData { root, _, _ in
            #expect(CheckoutData(name, in: root) == nil)
        }
    }

    @Test("The list of data is a table")
    func lines() throws {
        try withData { root, folder, checkout in
            try CheckoutData.record(checkout, in: folder)
            let lines = DataCommand.lines(try CheckoutData.list(in: root)).split(separator: "\n")
            #expect(lines.first?.hasPrefix("NAME    STATE   SIZE") == true)
            #expect(lines.last?.hasPrefix("a1b2c3  exists  ") == true)
            #expect(lines.last?.hasSuffix(checkout) == true)
            #expect(DataCommand.lines([]) == "no databases\n")
            #expect(DataCommand.size(3_500_000) == "3 MB")
        }
    }
}
