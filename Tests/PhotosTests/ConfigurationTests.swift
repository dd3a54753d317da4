import Configuration
import Foundation
import ServiceHost
import Testing

@testable import PhotosServer

@Suite("Settings of photos") struct ConfigurationTests {
    @Test("Masked words are read from the setting or from a file")
    func maskedWords() throws {
        let path = NSTemporaryDirectory() + "words-\(UUID().uuidString)"
        try Data("darn\n heck ,gosh\n\n".utf8).write(to: URL(filePath: path))
        defer { try? FileManager.default.removeItem(atPath: path) }

        let listed = try read(["PHOTOS_MASK_WORDS": "darn, heck,,gosh"])
        let filed = try read(["PHOTOS_MASK_WORDS": path])

        #expect(listed.maskedWords == ["darn", "heck", "gosh"])
        #expect(filed.maskedWords == listed.maskedWords)
        #expect(try read([:]).maskedWords == [])
        #expect(try !read([:]).masksShouting)
        #expect(try read(["PHOTOS_MASK_SHOUTING": "1"]).masksShouting)
    }

    @Test("An invalid setting is reported by name")
    func invalidSettings() {
        for (name, value) in [("PHOTOS_MASK_WORDS", "/nowhere/words"), ("PHOTOS_MASK_SHOUTING", "loud")] {
            #expect { try read([name: value]) } throws: { "\($0)".hasPrefix(name) }
        }
    }

    private func read(_ settings: [String: String]) throws -> PhotosConfiguration {
        try PhotosConfiguration(
            ConfigReader(provider: EnvironmentVariablesProvider(environmentVariables: settings))
        )
    }
}
