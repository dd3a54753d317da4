package import Foundation
import NIOCore
package import ServiceClient
package import ServiceHost
package import Wire

/// A service's part of an export, as the one that asked for it has it.
package struct ExportedFiles: Sendable {
    /// In their order.
    package private(set) var names: [String] = []
    /// Those that are not pressed further.
    package private(set) var packed: [String] = []
    package private(set) var contents: [String: Data] = [:]

    package init() {}

    /// Everything that a service has of somebody, asked as auth asks.
    package init(of user: User.ID, from service: ServiceClient) async throws {
        var files = ExportedFiles()
        try await service.export(of: user) { files.take($0) }
        self = files
    }

    package mutating func take(_ part: ExportReader.Part) {
        switch part {
        case .begin(let name, let isPacked):
            names.append(name)
            if isPacked { packed.append(name) }
            contents[name] = Data()
        case .bytes(let bytes):
            guard let name = names.last else { return }
            contents[name]?.append(contentsOf: bytes.readableBytesView)
        }
    }

    /// The text of a file; nil where there is none of that name.
    package func text(_ name: String) -> String? { contents[name].map { String(decoding: $0, as: UTF8.self) } }

    /// The JSON of a file; null where there is none of that name, or it is none.
    package func json(_ name: String) -> JSONValue {
        (try? JSONParser.parse(contents[name] ?? Data())) ?? .null
    }

    /// All that is written in them.
    package var text: String { contents.values.map { String(decoding: $0, as: UTF8.self) }.joined(separator: "\n") }
}
