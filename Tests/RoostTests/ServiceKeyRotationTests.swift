import Credentials
import Foundation
import Testing

@testable import roost

@Suite("Rotation of service keys") struct ServiceKeyRotationTests {
    @Test("The three steps replace each key and keep every other line of the file")
    func steps() throws {
        try withFile { file in
            let first = try file.read()
            try ServiceKeyRotation(file: file).perform(.introduce)
            let introduced = try file.read()
            for setting in Self.settings {
                let keys = introduced[setting]?.split(separator: ",").map(String.init) ?? []
                #expect(keys.count == 2)
                #expect(keys.first == first[setting])
            }
            let publicKeys = introduced["SERVICE_PUBLIC_KEYS"]?.split(separator: ",").count
            #expect(publicKeys == 2 * Self.settings.count)

            try ServiceKeyRotation(file: file).perform(.switch)
            let switched = try file.read()
            try ServiceKeyRotation(file: file).perform(.retire)
            let retired = try file.read()
            for setting in Self.settings {
                #expect(switched[setting]?.hasSuffix(",\(first[setting] ?? "-")") == true)
                #expect(retired[setting].map { switched[setting]?.hasPrefix("\($0),") } == true)
            }
            #expect(retired["PORT"] == "8080")
            let text = try String(contentsOfFile: file.path, encoding: .utf8)
            #expect(text.hasPrefix("# A comment.\n"))
        }
    }

    @Test("A step in the wrong order is rejected and changes nothing")
    func outOfTurn() throws {
        try withFile { file in
            let before = try String(contentsOfFile: file.path, encoding: .utf8)
            for step in [ServiceKeyRotation.Step.switch, .retire] {
                #expect(throws: Workspace.Problem.self) { try ServiceKeyRotation(file: file).perform(step) }
            }
            #expect(try String(contentsOfFile: file.path, encoding: .utf8) == before)
        }
    }

    @Test("A file without service keys is rejected")
    func noKeys() throws {
        let path = NSTemporaryDirectory() + "service-keys-\(UUID().uuidString)"
        try "PORT=8080\n".write(toFile: path, atomically: true, encoding: .utf8)
        defer { try? FileManager.default.removeItem(atPath: path) }  // a temporary file
        #expect(throws: Workspace.Problem.self) {
            try ServiceKeyRotation(file: EnvironmentFile(path: path)).perform(.introduce)
        }
    }

    private static let settings = ServiceKeys.names.map(ServiceKeys.setting)

    private func withFile(_ body: (EnvironmentFile) throws -> Void) throws {
        let path = NSTemporaryDirectory() + "service-keys-\(UUID().uuidString)"
        let keys = Dictionary(uniqueKeysWithValues: ServiceKeys.names.map { ($0, ServiceKeys.generate()) })
        let lines = keys.map { "\(ServiceKeys.setting(of: $0.key))=\($0.value)" }
        let publicKeys = "SERVICE_PUBLIC_KEYS=\(try ServiceKeys.publicKeys(of: keys))"
        let text = (["# A comment.", "PORT=8080"] + lines + [publicKeys]).joined(separator: "\n") + "\n"
        try text.write(toFile: path, atomically: true, encoding: .utf8)
        defer { try? FileManager.default.removeItem(atPath: path) }  // a temporary file
        try body(EnvironmentFile(path: path))
    }
}
