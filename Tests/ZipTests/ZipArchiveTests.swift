import Foundation
import TestSupport
import Testing
import Zip

/// Archives that an independent reader, Python's `zipfile`, unpacks; it checks every checksum.
@Suite("ZIP archives") struct ZipArchiveTests {
    private static let time = ZipTime(secondsSince1970: 1_700_000_001)

    @Test("Compressed, stored and empty files unpack unchanged")
    func roundTrip() async throws {
        let text = String(repeating: "Zwölf Boxkämpfer jagen Viktor. 🥊\n", count: 20_000)
        var generator = SystemRandomNumberGenerator()
        let noise = (0..<300_000).map { _ in UInt8.random(in: .min ... .max, using: &generator) }

        let bytes = try archive([
            ("notes/zwölf.txt", Array(text.utf8), .deflated), ("pictures/1.jpg", noise, .stored),
            ("empty", [], .deflated),
        ])

        let read = try await Unzipped(bytes)
        #expect(read.problem == nil)
        #expect(read.files["notes/zwölf.txt"] == Data(text.utf8))
        #expect(read.files["pictures/1.jpg"] == Data(noise))
        #expect(read.files["empty"] == Data())
        #expect(read.files.count == 3)
        #expect(read.times == ["2023-11-14 22:13:20"])
        // The text is compressed, and the noise hardly grows.
        #expect(bytes.count < 320_000)
        #expect(bytes.count > 300_000)
    }

    @Test("An archive without files is valid")
    func emptyArchive() async throws {
        let read = try await Unzipped(try archive([]))
        #expect(read.problem == nil)
        #expect(read.files.isEmpty)
    }

    /// The directory of more than 65,534 files uses the ZIP64 format.
    @Test("An archive of 65,600 files is valid")
    func zip64() async throws {
        let read = try await Unzipped(try archive((0..<65_600).map { ("\($0)", [], .stored) }))
        #expect(read.problem == nil)
        #expect(read.files.count == 65_600)
    }

    @Test("An archive without its directory is detected as damaged")
    func truncatedArchive() async throws {
        var archive = ZipArchive()
        var bytes = try archive.begin("a", modified: Self.time)
        bytes += try archive.write("hello".utf8)
        bytes += try archive.end()
        let read = try await Unzipped(bytes)
        #expect(read.problem?.contains("BadZipFile") == true)
    }

    @Test(
        "A file name that could leave the folder, or is not portable, is rejected",
        arguments: [
            "", "/etc/passwd", "../up", "a/../b", "a//b", "./a", "a/", "a\\b", "C:a", "a\nb",
            String(repeating: "x", count: 1_025),
        ]
    )
    func unusableNames(name: String) throws {
        var archive = ZipArchive()
        #expect(throws: ZipArchive.Failure.unusableName(name)) { try archive.begin(name, modified: Self.time) }
    }

    @Test("A second file with the same name is rejected")
    func duplicateName() throws {
        var archive = ZipArchive()
        _ = try archive.begin("a", modified: Self.time)
        _ = try archive.end()
        #expect(throws: ZipArchive.Failure.unusableName("a")) { try archive.begin("a", modified: Self.time) }
    }

    @Test("Calls in the wrong order throw an error")
    func wrongState() throws {
        var archive = ZipArchive()
        #expect(throws: ZipArchive.Failure.wrongState) { try archive.write([1]) }
        #expect(throws: ZipArchive.Failure.wrongState) { try archive.end() }
        _ = try archive.begin("a", modified: Self.time)
        #expect(throws: ZipArchive.Failure.wrongState) { try archive.begin("b", modified: Self.time) }
    }

    @Test(
        "A modification time is kept to two seconds within the format's years",
        arguments: [
            (0, "1980-01-01 00:00:00"), (951_782_399, "2000-02-28 23:59:58"), (951_782_400, "2000-02-29 00:00:00"),
            (4_107_542_400, "2100-03-01 00:00:00"), (9_999_999_999, "2107-12-31 23:59:58"),
        ]
    )
    func times(seconds: Int64, expected: String) async throws {
        var archive = ZipArchive()
        var bytes = try archive.begin("a", modified: ZipTime(secondsSince1970: seconds))
        bytes += try archive.end()
        bytes += try archive.finish()
        #expect(try await Unzipped(bytes).times == [expected])
    }

    private func archive(_ files: [(String, [UInt8], ZipArchive.Compression)]) throws -> [UInt8] {
        var archive = ZipArchive()
        var bytes: [UInt8] = []
        for (name, content, packing) in files {
            bytes += try archive.begin(name, modified: Self.time, packing: packing)
            // The content arrives in pieces.
            for start in stride(from: 0, to: content.count, by: 10_007) {
                bytes += try archive.write(content[start..<min(start + 10_007, content.count)])
            }
            bytes += try archive.end()
        }
        bytes += try archive.finish()
        return bytes
    }
}
