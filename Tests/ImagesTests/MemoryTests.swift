import Foundation
import ImageWork
import Testing

@testable import Images

/// How much memory workers take, each and together.
@Suite struct MemoryTests {
    @Test func aJPEGTakesSixtyMegabytesHoweverLargeItIs() async throws {
        try await withImages { scene in
            #expect(try await scene.prepare("large.jpg").width == 8_000)
            let pid = try #require(try scene.workers().first)
            let peak = try Self.peak(of: pid)
            #expect((10_000_000...60_000_000).contains(peak))
        }
    }

    @Test func workersTogetherTakeNoMoreThanTheyMay() async throws {
        try await withImages {
            // Of these files it is enough for two at once.
            ($0.workers, $0.memory) = (4, 380_000_000)
        } _: { scene in
            let path = try await Oracle.sample("heavy.jpg")
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<6 {
                    group.addTask { _ = try await scene.prepare(path: path) }
                }
                try await group.waitForAll()
            }
            // One is started only if all there are have work.
            let workers = try scene.workers()
            #expect((1...2).contains(workers.count))
            let together = try workers.map(Self.peak).reduce(0, +)
            #expect(together <= 380_000_000)
        }
    }

    @Test func aWorkerHasTheMemoryOfItsOrder() async throws {
        try await withImages { scene in
            let path = try await Oracle.sample("heavy.jpg")
            let folder = try scene.newFolder()
            for (memory, isEnough) in [(40_000_000, false), (160_000_000, true)] {
                let worker = try await WorkerProcess.start(ImageWorkshopConfiguration(worker: worker()))
                let outcome = await worker.carryOut(Self.order(path, folder, memory: memory), within: .seconds(120))
                await worker.end(now: true)
                guard case .answer(.made) = outcome else {
                    #expect(!isEnough, "\(outcome)")
                    continue
                }
                #expect(isEnough)
            }
        }
    }

    @Test func whatAFileCanNeedIsKnownBefore() async throws {
        let bytesHeld = [
            "tagged.jpg": 0, "grey.jpg": 0, "cmyk.jpg": 0, "progressive.jpg": 4, "heavy.jpg": 4, "plain.png": 0,
            "onebit.png": 0, "alpha.png": 6, "palette.png": 6, "grey16.png": 4, "still.gif": 10, "still.webp": 9,
            "moving.webp": 15, "photo.heic": 14,
        ]
        for (name, bytes) in bytesHeld {
            let header = try ImageHeader.read(try await Oracle.sample(name), limits: ImageLimits())
            #expect(header.bytesHeldPerPixel == bytes, "\(name)")
        }
        let moving = try ImageHeader.read(try await Oracle.sample("sixty.gif"), limits: ImageLimits())
        #expect(moving.memory(animationPixels: 20_000_000) == 100_000_000 + 60 * 40 * 10 + 100_000_000)
    }

    /// The most memory that a process ever had at once, libraries that it shares with others included, in bytes.
    private static func peak(of pid: Int32) throws -> Int {
        let status = try String(contentsOfFile: "/proc/\(pid)/status", encoding: .utf8)
        let line = try #require(status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") })
        return try #require(line.split(whereSeparator: \.isWhitespace).compactMap { Int($0) }.first) * 1_024
    }

    private static func order(_ path: String, _ folder: String, memory: Int) -> RenderingOrder {
        RenderingOrder(
            source: path,
            full: "\(folder)/full",
            thumbnail: "\(folder)/thumbnail",
            format: .jpeg,
            isAnimated: false,
            maximumPixels: 50_000_000,
            fullSide: 1_280,
            thumbnailSide: 640,
            animationPixels: 20_000_000,
            quality: 82,
            thumbnailQuality: 78,
            isProgressive: false,
            processorSeconds: 60,
            memory: memory
        )
    }
}
