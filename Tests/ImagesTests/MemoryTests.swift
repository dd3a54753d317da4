import Foundation
import ImageWork
import Testing

@testable import Images

@Suite("Memory of image workers") struct MemoryTests {
    @Test("A large JPEG needs at most 60 MB")
    func largeJPEG() async throws {
        try await withImages { fixture in
            #expect(try await fixture.prepare("large.jpg").width == 8_000)
            let pid = try #require(try fixture.workers().first)
            let peak = try Self.peak(of: pid)
            #expect((10_000_000...60_000_000).contains(peak))
        }
    }

    @Test("All workers together stay within the memory limit")
    func totalLimit() async throws {
        try await withImages {
            // The limit suffices for two of these files at once.
            ($0.workers, $0.memory) = (4, 380_000_000)
        } _: { fixture in
            let path = try await Oracle.sample("heavy.jpg")
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<6 {
                    group.addTask { _ = try await fixture.prepare(path: path) }
                }
                let watch = Task {
                    var most = 0
                    while !Task.isCancelled {
                        most = max(most, try fixture.workers().map(Self.ownMemory).reduce(0, +))
                        // The error is ignored: cancellation means that all files are prepared.
                        try? await Task.sleep(for: .milliseconds(2))
                    }
                    return most
                }
                try await group.waitForAll()
                watch.cancel()
                #expect(try await (10_000_000...380_000_000).contains(watch.value))
            }
        }
    }

    @Test("A request that has too little memory fails, and one that has enough succeeds")
    func memoryOfRequest() async throws {
        try await withImages { fixture in
            let path = try await Oracle.sample("heavy.jpg")
            let folder = try fixture.newFolder()
            for (memory, isEnough) in [(40_000_000, false), (160_000_000, true)] {
                let worker = try await WorkerProcess.start(ImageProcessorConfiguration(worker: worker()))
                let files = try ImageFiles(source: path, folder: folder)
                let outcome = await worker.execute(Self.request(memory: memory), on: files, within: .seconds(120))
                await worker.end(now: true)
                guard case .response(.rendered) = outcome else {
                    #expect(!isEnough, "\(outcome)")
                    continue
                }
                #expect(isEnough)
            }
        }
    }

    @Test("The memory estimate follows from the format and the number of frames")
    func memoryEstimate() async throws {
        let bytesHeld = [
            "tagged.jpg": 0, "grey.jpg": 0, "cmyk.jpg": 0, "progressive.jpg": 4, "heavy.jpg": 4, "plain.png": 0,
            "onebit.png": 0, "alpha.png": 6, "palette.png": 6, "grey16.png": 4, "still.gif": 10, "still.webp": 9,
            "moving.webp": 15, "photo.heic": 14,
        ]
        for (name, bytes) in bytesHeld {
            let header = try ImageFiles.header(of: try await Oracle.sample(name))
            #expect(header.bytesHeldPerPixel == bytes, "\(name)")
        }
        let moving = try ImageFiles.header(of: try await Oracle.sample("sixty.gif"))
        #expect(moving.memory(animationPixels: 20_000_000) == 100_000_000 + 60 * 40 * 10 + 100_000_000)
    }

    /// Returns the peak resident memory of a process in bytes, including shared libraries.
    private static func peak(of pid: Int32) throws -> Int {
        let status = try String(contentsOfFile: "/proc/\(pid)/status", encoding: .utf8)
        let line = try #require(status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") })
        return try #require(line.split(whereSeparator: \.isWhitespace).compactMap { Int($0) }.first) * 1_024
    }

    /// Returns the private resident memory of a process in bytes, or 0 when it has ended.
    private static func ownMemory(of pid: Int32) -> Int {
        // The error is ignored: the process may end at any moment.
        let status = (try? String(contentsOfFile: "/proc/\(pid)/status", encoding: .utf8)) ?? ""
        let line = status.split(separator: "\n").first { $0.hasPrefix("RssAnon:") } ?? ""
        return (line.split(whereSeparator: \.isWhitespace).compactMap { Int($0) }.first ?? 0) * 1_024
    }

    private static func request(memory: Int) -> RenderRequest {
        RenderRequest(
            maximumPixels: 50_000_000,
            maximumFrames: 60,
            fullSide: 1_280,
            thumbnailSide: 640,
            animationPixels: 20_000_000,
            quality: 82,
            thumbnailQuality: 78,
            isProgressive: false,
            processorSeconds: 60,
            memory: memory,
            // Equal to `memory`, so the worker cannot ask for more.
            maximumMemory: memory
        )
    }
}
