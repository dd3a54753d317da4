import Foundation

/// Wycheproof's test vectors (https://github.com/C2SP/wycheproof), in the clone that `WYCHEPROOF` names.
///
/// `make vectors` names the version.
package enum Wycheproof {
    package enum Expectation: String, Decodable, Sendable {
        case valid, invalid
        /// Libraries may accept or reject the signature.
        case acceptable
    }

    package static let folder = ProcessInfo.processInfo.environment["WYCHEPROOF"]

    private struct File<Group: Decodable>: Decodable {
        let testGroups: [Group]
    }

    /// Returns the test groups of a file, each with one key.
    package static func groups<Group: Decodable>(_ name: String, as type: Group.Type = Group.self) throws -> [Group] {
        let file = URL(filePath: folder ?? "").appending(path: "testvectors_v1/\(name)_test.json")
        return try JSONDecoder().decode(File<Group>.self, from: Data(contentsOf: file)).testGroups
    }
}
