import ChildProcesses
import Foundation
import ImageWork
import Testing

@testable import Images

@Suite("Confinement of image workers") struct ConfinementTests {
    /// What the kernel of this machine confines a worker by.
    private static func missing() async throws -> [String] {
        let worker = try await WorkerProcess.start(ImageProcessorConfiguration(worker: worker()))
        await worker.end(now: false)
        return worker.missingConfinement
    }

    @Test("A worker reaches no file, network or other process")
    func attempts() async throws {
        let command = ProcessCommand(try worker(), ["640000000", "check"], environment: [:])
        let (status, output) = try await command.run(within: .seconds(60))
        #expect(status.isSuccess, "\(output)")
        let refused = output.split(separator: "\n").filter { !$0.hasSuffix(": allowed") }
        #expect(refused.count == 10, "\(output)")
    }

    @Test("Every thread of a worker is under the filter")
    func threads() async throws {
        try await withImages { fixture in
            _ = try await fixture.prepare("photo.heic")
            let pid = try #require(try fixture.workers().first)
            for thread in try FileManager.default.contentsOfDirectory(atPath: "/proc/\(pid)/task") {
                let status = try String(contentsOfFile: "/proc/\(pid)/task/\(thread)/status", encoding: .utf8)
                #expect(status.contains("Seccomp:\t2"))
                #expect(status.contains("NoNewPrivs:\t1"))
            }
        }
    }

    @Test("This machine's kernel confines workers by all that there is")
    func kernel() async throws {
        #expect(try await Self.missing() == [])
    }

    @Test(
        "A confined worker makes pictures of every format",
        arguments: ["tagged.jpg", "cmyk.jpg", "alpha.png", "moving.gif", "moving.webp", "photo.heic"]
    )
    func formats(_ name: String) async throws {
        try await withImages { fixture in
            let image = try await fixture.prepare(name)
            #expect(try await Oracle.inspect(image.full.path, image.thumbnail.path).count == 2)
        }
    }

    @Test("Boxes nested 131,072 deep are refused, and the worker goes on")
    func nestedBoxes() async throws {
        try await withImages { fixture in
            var bytes = Array("\0\0\0\u{10}ftypheic\0\0\0\0".utf8)
            let depth = 131_072
            func append(_ name: String, _ length: Int) {
                bytes += (0..<4).reversed().map { UInt8(truncatingIfNeeded: length >> ($0 * 8)) }
                bytes += Array(name.utf8)
            }
            append("meta", 12 + depth * 8)
            bytes += [0, 0, 0, 0]
            for level in 0..<depth {
                append(level == 0 ? "iprp" : "ipco", (depth - level) * 8)
            }
            let reason = try await fixture.rejection(of: fixture.file(bytes))
            #expect(reason == .broken(reason: "does not contain its size"))
            let pid = try #require(try fixture.workers().first)
            #expect(try await fixture.prepare("photo.heic").width == 1_600)
            #expect(try fixture.workers().contains(pid))
        }
    }

    @Test(
        "More parts than an image may have are refused",
        arguments: [
            ("RIFF\u{8C}\u{38}\u{1}\0WEBP", "abcd\0\0\0\0", 10_001),
            ("\0\0\0\u{10}ftypheic\0\0\0\0", "\0\0\0\u{8}free", 10_001),
        ]
    )
    func parts(_ head: String, _ part: String, _ count: Int) async throws {
        func latin(_ text: String) -> [UInt8] { text.unicodeScalars.map { UInt8(truncatingIfNeeded: $0.value) } }
        try await withImages { fixture in
            let bytes = latin(head) + Array(repeating: latin(part), count: count).joined()
            let reason = try await fixture.rejection(of: fixture.file(bytes))
            #expect(reason == .broken(reason: "has more parts than allowed"))
        }
    }
}
