package import Foundation
import NIOCore
package import ServiceClient
package import ServiceHost
package import Wire

package struct ExportedFiles: Sendable {
    /// The names in the order of the export.
    package private(set) var names: [String] = []
    /// The names of the files that the archive stores without compression.
    package private(set) var packed: [String] = []
    package private(set) var contents: [String: Data] = [:]

    package init() {}

    /// Requests the export of a user from a service, as auth does.
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

    package func text(_ name: String) -> String? { contents[name].map { String(decoding: $0, as: UTF8.self) } }

    /// Returns the JSON of a file, or null when the export has no such file or it is not JSON.
    package func json(_ name: String) -> JSONValue {
        (try? JSONParser.parse(contents[name] ?? Data())) ?? .null
    }

    package var text: String { contents.values.map { String(decoding: $0, as: UTF8.self) }.joined(separator: "\n") }
}
