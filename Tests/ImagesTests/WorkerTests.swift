import ChildProcesses
import Foundation
@testable import Images
import TestSupport
import Testing

/// What becomes of workers, and of those who wait for them.
@Suite struct WorkerTests {
    @Test func workersAreFewAndUsedAgain() async throws {
        try await withImages { scene in
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<20 {
                    group.addTask { _ = try await scene.prepare("small.jpg") }
                }
                try await group.waitForAll()
            }
            #expect((1...2).contains(try scene.workers().count))
        }
    }

    @Test func aWorkerHasNothingOfThisProcessButItsLimits() async throws {
        try await withImages { scene in
            _ = try await scene.prepare("small.jpg")
            let pid = try #require(try scene.workers().first)
            let limits = try String(contentsOfFile: "/proc/\(pid)/limits", encoding: .utf8)
            let data = try #require(limits.split(separator: "\n").first { $0.hasPrefix("Max data size") })
            #expect(data.split(separator: " ").contains("\(scene.memory)"))
            let environment = try Data(contentsOf: URL(filePath: "/proc/\(pid)/environ")).split(separator: 0)
            let allowed: Set<Substring> = [
                "MALLOC_ARENA_MAX", "SWIFT_BACKTRACE", "VIPS_BLOCK_UNTRUSTED", "LD_LIBRARY_PATH",
            ]
            let names = environment.map { String(decoding: $0, as: UTF8.self).split(separator: "=")[0] }
            #expect(Set(names).isSubset(of: allowed))
            #expect(try FileManager.default.contentsOfDirectory(atPath: "/proc/\(pid)/fd").count < 10)
        }
    }

    @Test func memoryBeyondTheLimitEndsTheFileAndNotTheService() async throws {
        // The stacks of a few threads take half of it, and 20 megapixels of a progressive JPEG do not fit into the rest.
        try await withImages {
            $0.memory = 80_000_000
        } _: { scene in
            guard case .broken = try await scene.refusal(of: Oracle.sample("heavy.jpg")) else {
                Issue.record("memory has no limit")
                return
            }
            #expect(try await scene.prepare("small.jpg").width == 40)
        }
    }

    @Test func aWorkerThatKeepsTooMuchIsReplaced() async throws {
        try await withImages {
            ($0.workers, $0.keptMemory) = (1, 0)
        } _: { scene in
            _ = try await scene.prepare("small.jpg")
            #expect(try scene.workers() == [])
            _ = try await scene.prepare("small.jpg")
        }
    }

    @Test func aWorkerKilledBetweenFilesIsNoticed() async throws {
        try await withImages { scene in
            _ = try await scene.prepare("small.jpg")
            let pid = try #require(try scene.workers().first)
            kill(pid, SIGKILL)
            #expect(try await scene.prepare("small.jpg").width == 40)
        }
    }

    @Test func aWorkerThatDoesNotEndIsKilled() async throws {
        // Ready, and then it heeds nothing.
        var configuration = ImageWorkshopConfiguration(worker: try await Self.script("exec sleep 600"))
        configuration.workers = 1
        let worker = try await WorkerProcess.start(configuration)
        await worker.end(now: false)
        #expect(worker.hasEnded)
    }

    @Test func anIdleWorkerEnds() async throws {
        try await withImages {
            $0.idleTime = .milliseconds(50)
        } _: { scene in
            _ = try await scene.prepare("small.jpg")
            try await eventually { try scene.workers() == [] }
            _ = try await scene.prepare("small.jpg")
        }
    }

    @Test func aWorkerThatHangsIsKilled() async throws {
        let script = try await Self.script("cat >/dev/null")
        try await withImages {
            ($0.worker, $0.deadline) = (script, .milliseconds(300))
        } _: { scene in
            let reason = try await scene.refusal(of: Oracle.sample("small.jpg"))
            #expect(reason == .broken(reason: "takes longer to decode than an image may"))
            #expect(try scene.workers() == [])
        }
    }

    @Test func theDeadlineHoldsForWhoeverHasGone() async throws {
        let script = try await Self.script("cat >/dev/null")
        try await withImages {
            // Long enough to be seen at work.
            ($0.workers, $0.worker, $0.deadline) = (1, script, .seconds(10))
        } _: { scene in
            let path = try await Oracle.sample("small.jpg")
            let working = Task { try await scene.prepare(path: path) }
            try await eventually { try scene.workers().count == 1 }
            working.cancel()
            await #expect(throws: ImageError.self) { try await working.value }
            #expect(try scene.workers() == [])
        }
    }

    @Test(arguments: ["kill -SEGV $$", "exit 0", "head -c 100000 /dev/zero | tr '\\0' x", "printf '\\4\\0\\0\\0abcd'"])
    func whateverAWorkerDoesTheServiceGoesOn(_ deed: String) async throws {
        let script = try await Self.script("head -c 20 >/dev/null; \(deed)")
        try await withImages {
            $0.worker = script
        } _: { scene in
            let reason = try await scene.refusal(of: Oracle.sample("small.jpg"))
            #expect(reason == .broken(reason: "makes its decoder crash"))
        }
    }

    @Test func aWorkerThatCannotRunIsNoFaultOfTheFile() async throws {
        for program in ["/bin/false", "/nonexistent/image-worker"] {
            try await withImages {
                $0.worker = program
            } _: { scene in
                guard case .failed = try await scene.refusal(of: Oracle.sample("small.jpg")) else {
                    Issue.record("\(program) was taken for a worker")
                    return
                }
            }
        }
    }

    @Test func beyondTheLineNobodyWaits() async throws {
        let script = try await Self.script("cat >/dev/null")
        try await withImages {
            ($0.workers, $0.waiting, $0.worker) = (1, 2, script)
        } _: { scene in
            let path = try await Oracle.sample("small.jpg")
            await withTaskGroup(of: ImageError?.self) { group in
                for _ in 0..<10 {
                    group.addTask {
                        await #expect(throws: ImageError.self) { try await scene.prepare(path: path) }
                    }
                }
                // One has its turn until the workshop is closed, and two wait as long.
                for _ in 0..<7 {
                    #expect(await group.next() == .busy)
                }
                await scene.workshop.close()
                var last: [ImageError?] = []
                for await error in group {
                    last.append(error)
                }
                #expect(last.count { $0 == .cancelled } >= 2)
            }
            await #expect(throws: ImageError.cancelled) { try await scene.prepare(path: path) }
        }
    }

    @Test func whoGivesUpWaitingLeavesTheLine() async throws {
        let script = try await Self.script("cat >/dev/null")
        try await withImages {
            ($0.workers, $0.waiting, $0.worker) = (1, 1, script)
        } _: { scene in
            let path = try await Oracle.sample("small.jpg")
            let working = Task { try await scene.prepare(path: path) }
            try await eventually { try scene.workers().count == 1 }
            for _ in 0..<3 {
                let waiting = Task { try await scene.prepare(path: path) }
                waiting.cancel()
                await #expect(throws: ImageError.cancelled) { try await waiting.value }
            }
            await scene.workshop.close()
            await #expect(throws: ImageError.self) { try await working.value }
        }
    }

    @Test(.enabled(if: SmallDisk.isPossible)) func aFullDiskIsSaidToBeFull() async throws {
        try await SmallDisk.with { folder in
            let disk = URL(filePath: folder).deletingLastPathComponent().path(percentEncoded: false)
            let (own, filler) = ("\(disk)own", "\(disk)filler")
            try FileManager.default.createDirectory(atPath: own, withIntermediateDirectories: true)
            try Data(count: 900_000).write(to: URL(filePath: filler))
            try await withImages { scene in
                let path = try await Oracle.sample("plain.png")
                await #expect(throws: ImageError.noSpace) { try await scene.workshop.prepare(path, into: own) }
                #expect(try FileManager.default.contentsOfDirectory(atPath: own) == [])
                try FileManager.default.removeItem(atPath: filler)
                _ = try await scene.workshop.prepare(try await Oracle.sample("tagged.jpg"), into: own)
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
