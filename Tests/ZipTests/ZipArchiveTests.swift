import Foundation
import TestSupport
import Testing
import Zip

/// What is written is read by a program that nobody here wrote: Python's `zipfile`, which checks every checksum.
@Suite struct ZipArchiveTests {
    private static let time = ZipTime(secondsSince1970: 1_700_000_001)

    @Test func roundTrip() async throws {
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
        // Text is pressed, and noise hardly grows.
        #expect(bytes.count < 320_000 && bytes.count > 300_000)
    }

    @Test func emptyArchive() async throws {
        let read = try await Unzipped(try archive([]))
        #expect(read.problem == nil && read.files.isEmpty)
    }

    /// The directory of more than 65,534 files is in ZIP64's form.
    @Test func zip64() async throws {
        let read = try await Unzipped(try archive((0..<65_600).map { ("\($0)", [], .stored) }))
        #expect(read.problem == nil && read.files.count == 65_600)
    }

    @Test func truncatedArchive() async throws {
        var archive = ZipArchive()
        var bytes = try archive.begin("a", modified: Self.time)
        bytes += try archive.write("hello".utf8)
        bytes += try archive.end()
        let read = try await Unzipped(bytes)
        #expect(read.problem?.contains("BadZipFile") == true)
    }

    @Test(arguments: [
        "", "/etc/passwd", "../up", "a/../b", "a//b", "./a", "a/", "a\\b", "C:a", "a\nb",
        String(repeating: "x", count: 1_025),
    ])
    func pathTraversal(name: String) throws {
        var archive = ZipArchive()
        #expect(throws: ZipArchive.Failure.unusableName(name)) { try archive.begin(name, modified: Self.time) }
    }

    @Test func aNameIsUsedOnce() throws {
        var archive = ZipArchive()
        _ = try archive.begin("a", modified: Self.time)
        _ = try archive.end()
        #expect(throws: ZipArchive.Failure.unusableName("a")) { try archive.begin("a", modified: Self.time) }
    }

    @Test func wrongState() throws {
        var archive = ZipArchive()
        #expect(throws: ZipArchive.Failure.wrongState) { try archive.write([1]) }
        #expect(throws: ZipArchive.Failure.wrongState) { try archive.end() }
        _ = try archive.begin("a", modified: Self.time)
        #expect(throws: ZipArchive.Failure.wrongState) { try archive.begin("b", modified: Self.time) }
    }

    @Test(arguments: [
        (0, "1980-01-01 00:00:00"), (951_782_399, "2000-02-28 23:59:58"), (951_782_400, "2000-02-29 00:00:00"),
        (4_107_542_400, "2100-03-01 00:00:00"), (9_999_999_999, "2107-12-31 23:59:58"),
    ])
    func timesAreThoseOfTheCalendar(seconds: Int64, expected: String) async throws {
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
            // In pieces, as they come.
            for start in stride(from: 0, to: content.count, by: 10_007) {
                bytes += try archive.write(content[start..<min(start + 10_007, content.count)])
            }
            bytes += try archive.end()
        }
        bytes += try archive.finish()
        return bytes
    }
}
