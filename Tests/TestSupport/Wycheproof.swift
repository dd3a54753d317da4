import Foundation

/// Wycheproof's vectors (https://github.com/C2SP/wycheproof), in the clone that `WYCHEPROOF` names; `make vectors` says which.
package enum Wycheproof {
    /// What a key should make of a signature.
    package enum Expectation: String, Decodable, Sendable {
        case valid, invalid
        /// A matter of taste.
        case acceptable
    }

    package static let folder = ProcessInfo.processInfo.environment["WYCHEPROOF"]

    private struct File<Group: Decodable>: Decodable {
        let testGroups: [Group]
    }

    /// The groups of a file, each with one key.
    package static func groups<Group: Decodable>(_ name: String, as type: Group.Type = Group.self) throws -> [Group] {
        let file = URL(filePath: folder ?? "").appending(path: "testvectors_v1/\(name)_test.json")
        return try JSONDecoder().decode(File<Group>.self, from: Data(contentsOf: file)).testGroups
    }
}
