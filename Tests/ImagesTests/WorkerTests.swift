import ChildProcesses
import Foundation
@testable import Images
import TestSupport
import Testing

/// What becomes of workers, and of those who wait for them.
@Suite struct WorkerTests {
    @Test func reuse() async throws {
        try await withImages { fixture in
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<20 {
                    group.addTask { _ = try await fixture.prepare("small.jpg") }
                }
                try await group.waitForAll()
            }
            #expect((1...2).contains(try fixture.workers().count))
        }
    }

    @Test func isolation() async throws {
        try await withImages { fixture in
            _ = try await fixture.prepare("small.jpg")
            let pid = try #require(try fixture.workers().first)
            let limits = try String(contentsOfFile: "/proc/\(pid)/limits", encoding: .utf8)
            let data = try #require(limits.split(separator: "\n").first { $0.hasPrefix("Max data size") })
            #expect(data.split(separator: " ").contains("\(fixture.memory)"))
            let environment = try Data(contentsOf: URL(filePath: "/proc/\(pid)/environ")).split(separator: 0)
            let allowed: Set<Substring> = [
                "MALLOC_ARENA_MAX", "SWIFT_BACKTRACE", "VIPS_BLOCK_UNTRUSTED", "LD_LIBRARY_PATH",
            ]
            let names = environment.map { String(decoding: $0, as: UTF8.self).split(separator: "=")[0] }
            #expect(Set(names).isSubset(of: allowed))
            #expect(try FileManager.default.contentsOfDirectory(atPath: "/proc/\(pid)/fd").count < 10)
        }
    }

    @Test func memoryLimit() async throws {
        // The stacks of a few threads take half of it, and 20 megapixels of a progressive JPEG do not fit into the rest.
        try await withImages {
            $0.memory = 80_000_000
        } _: { fixture in
            guard case .broken = try await fixture.rejection(of: Oracle.sample("heavy.jpg")) else {
                Issue.record("memory has no limit")
                return
            }
            #expect(try await fixture.prepare("small.jpg").width == 40)
        }
    }

    @Test func keptMemory() async throws {
        try await withImages {
            ($0.workers, $0.keptMemory) = (1, 0)
        } _: { fixture in
            _ = try await fixture.prepare("small.jpg")
            #expect(try fixture.workers() == [])
            _ = try await fixture.prepare("small.jpg")
        }
    }

    @Test func killedWhileIdle() async throws {
        try await withImages { fixture in
            _ = try await fixture.prepare("small.jpg")
            let pid = try #require(try fixture.workers().first)
            kill(pid, SIGKILL)
            #expect(try await fixture.prepare("small.jpg").width == 40)
        }
    }

    @Test func forcedEnd() async throws {
        // Ready, and then it heeds nothing.
        var configuration = ImageProcessorConfiguration(worker: try await Self.script("exec sleep 600"))
        configuration.workers = 1
        let worker = try await WorkerProcess.start(configuration)
        await worker.end(now: false)
        #expect(worker.hasEnded)
    }

    @Test func idleTimeout() async throws {
        try await withImages {
            $0.idleTime = .milliseconds(50)
        } _: { fixture in
            _ = try await fixture.prepare("small.jpg")
            try await eventually { try fixture.workers() == [] }
            _ = try await fixture.prepare("small.jpg")
        }
    }

    @Test func deadline() async throws {
        let script = try await Self.script("cat >/dev/null")
        try await withImages {
            ($0.worker, $0.deadline) = (script, .milliseconds(300))
        } _: { fixture in
            let reason = try await fixture.rejection(of: Oracle.sample("small.jpg"))
            #expect(reason == .broken(reason: "takes too long to decode"))
            #expect(try fixture.workers() == [])
        }
    }

    @Test func deadlineAfterCancellation() async throws {
        let script = try await Self.script("cat >/dev/null")
        try await withImages {
            // Long enough to be seen at work.
            ($0.workers, $0.worker, $0.deadline) = (1, script, .seconds(10))
        } _: { fixture in
            let path = try await Oracle.sample("small.jpg")
            let working = Task { try await fixture.prepare(path: path) }
            try await eventually { try fixture.workers().count == 1 }
            working.cancel()
            await #expect(throws: ImageError.self) { try await working.value }
            #expect(try fixture.workers() == [])
        }
    }

    @Test(arguments: ["kill -SEGV $$", "exit 0", "head -c 100000 /dev/zero | tr '\\0' x", "printf '\\4\\0\\0\\0abcd'"])
    func misbehavingWorker(_ behavior: String) async throws {
        let script = try await Self.script("head -c 20 >/dev/null; \(behavior)")
        try await withImages {
            $0.worker = script
        } _: { fixture in
            let reason = try await fixture.rejection(of: Oracle.sample("small.jpg"))
            #expect(reason == .broken(reason: "crashes the decoder"))
        }
    }

    @Test func missingWorker() async throws {
        for program in ["/bin/false", "/nonexistent/image-worker"] {
            try await withImages {
                $0.worker = program
            } _: { fixture in
                guard case .failed = try await fixture.rejection(of: Oracle.sample("small.jpg")) else {
                    Issue.record("\(program) was taken for a worker")
                    return
                }
            }
        }
    }

    @Test func queueLimit() async throws {
        let script = try await Self.script("cat >/dev/null")
        try await withImages {
            ($0.workers, $0.waiting, $0.worker) = (1, 2, script)
        } _: { fixture in
            let path = try await Oracle.sample("small.jpg")
            await withTaskGroup(of: ImageError?.self) { group in
                for _ in 0..<10 {
                    group.addTask {
                        await #expect(throws: ImageError.self) { try await fixture.prepare(path: path) }
                    }
                }
                // One has its turn until the workshop is closed, and two wait as long.
                for _ in 0..<7 {
                    #expect(await group.next() == .busy)
                }
                await fixture.imageProcessor.close()
                var last: [ImageError?] = []
                for await error in group {
                    last.append(error)
                }
                #expect(last.count { $0 == .cancelled } >= 2)
            }
            await #expect(throws: ImageError.cancelled) { try await fixture.prepare(path: path) }
        }
    }

    @Test func cancelledWaiter() async throws {
        let script = try await Self.script("cat >/dev/null")
        try await withImages {
            ($0.workers, $0.waiting, $0.worker) = (1, 1, script)
        } _: { fixture in
            let path = try await Oracle.sample("small.jpg")
            let working = Task { try await fixture.prepare(path: path) }
            try await eventually { try fixture.workers().count == 1 }
            for _ in 0..<3 {
                let waiting = Task { try await fixture.prepare(path: path) }
                waiting.cancel()
                await #expect(throws: ImageError.cancelled) { try await waiting.value }
            }
            await fixture.imageProcessor.close()
            await #expect(throws: ImageError.self) { try await working.value }
        }
    }

    @Test(.enabled(if: SmallDisk.isPossible)) func fullDisk() async throws {
        try await SmallDisk.with { folder in
            let disk = URL(filePath: folder).deletingLastPathComponent().path(percentEncoded: false)
            let (own, filler) = ("\(disk)own", "\(disk)filler")
            try FileManager.default.createDirectory(atPath: own, withIntermediateDirectories: true)
            try Data(count: 900_000).write(to: URL(filePath: filler))
            try await withImages { fixture in
                let path = try await Oracle.sample("plain.png")
                await #expect(throws: ImageError.noSpace) { try await fixture.imageProcessor.prepare(path, into: own) }
                #expect(try FileManager.default.contentsOfDirectory(atPath: own) == [])
                try FileManager.default.removeItem(atPath: filler)
                _ = try await fixture.imageProcessor.prepare(try await Oracle.sample("tagged.jpg"), into: own)
            }
        }
    }

    /// A program that is ready as a worker is, and then does as the script says.
    private static func script(_ text: String) async throws -> String {
        let path = "\(NSTemporaryDirectory())/roost-worker-\(UUID().uuidString)"
        let script = "#!/bin/sh\nrm $0\nprintf '\\11\\0\\0\\0\\5\\0\\0\\0ready'\n\(text)\n"
        // Not written by this process: what it starts meanwhile would hold the file open, and such a file cannot be run.
        let write = ProcessCommand(
            "/bin/sh",
            ["-c", #"printf %s "$1" >"$2" && chmod 700 "$2""#, "sh", script, path],
            environment: ["PATH": "/usr/bin:/bin"]
        )
        try #require(try await write.run(within: .seconds(60)).status.isSuccess)
        return path
    }
}
