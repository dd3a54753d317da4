import ChildProcesses
import Foundation
import Images
import Synchronization
import Testing

/// A workshop with workers of its own, and a folder that goes with the test.
struct ImageFixture: Sendable {
    let imageProcessor: ImageProcessor
    let folder: String
    /// Of its workers, in bytes: no other scene's have the same, so that a test can tell them from others'.
    let memory: Int

    /// Prepares a sample, in a folder of its own within the scene's.
    func prepare(_ sample: String, limits: ImageLimits = ImageLimits()) async throws -> PreparedImage {
        try await prepare(path: Oracle.sample(sample), limits: limits)
    }

    func prepare(path: String, limits: ImageLimits = ImageLimits()) async throws -> PreparedImage {
        try await imageProcessor.prepare(path, into: newFolder(), limits: limits)
    }

    func newFolder() throws -> String {
        let path = "\(folder)/\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        return path
    }

    /// Bytes as a file of the scene's.
    func file(_ bytes: some Sequence<UInt8>) throws -> String {
        let path = "\(folder)/\(UUID().uuidString).upload"
        try Data(bytes).write(to: URL(filePath: path))
        return path
    }

    /// The processes that run this scene's worker as children of this one.
    func workers() throws -> [Int32] {
        let own = getpid()
        return try FileManager.default.contentsOfDirectory(atPath: "/proc").compactMap(Int32.init).filter { pid in
            // Silence: processes come and go.
            guard let stat = try? String(contentsOfFile: "/proc/\(pid)/stat", encoding: .utf8),
                let identity = ProcessIdentity(pid: pid), let end = stat.lastIndex(of: ")"),
                identity.commandLine.hasSuffix(" \(memory)")
            else { return false }
            return stat[end...].split(separator: " ")[2] == "\(own)"
        }
    }

    /// Expects that nothing is made of a file and nothing of it left behind, and answers why.
    func rejection(of path: String, limits: ImageLimits = ImageLimits()) async throws -> ImageError? {
        let own = try newFolder()
        let error = await #expect(throws: ImageError.self) {
            try await imageProcessor.prepare(path, into: own, limits: limits)
        }
        #expect(try FileManager.default.contentsOfDirectory(atPath: own) == [])
        return error
    }
}

/// Runs a test beside a workshop; its workers and its files are gone afterwards.
func withImages(
    _ configure: (inout ImageProcessorConfiguration) throws -> Void = { _ in },
    _ body: (ImageFixture) async throws -> Void
) async throws {
    let folder = "\(NSTemporaryDirectory())/roost-images-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    // Beside other tests on few cores nothing may be quick: who tests a deadline sets one.
    var configuration = ImageProcessorConfiguration(worker: try worker(), deadline: .seconds(120), processorSeconds: 60)
    try configure(&configuration)
    configuration.memory += fixtureCount.add(1, ordering: .relaxed).newValue
    let imageProcessor = ImageProcessor(configuration)
    do {
        try await body(ImageFixture(imageProcessor: imageProcessor, folder: folder, memory: configuration.memory))
    } catch {
        await imageProcessor.close()
        try? FileManager.default.removeItem(atPath: folder)
        throw error
    }
    await imageProcessor.close()
    try FileManager.default.removeItem(atPath: folder)
}

private let fixtureCount = Atomic(0)

/// The worker that was built with the tests.
func worker() throws -> String {
    if let folder = ProcessInfo.processInfo.environment["ROOST_BINARIES"] { return "\(folder)image-worker" }
    return try ImageProcessorConfiguration.workerNextToExecutable()
}
