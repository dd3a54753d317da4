import ChildProcesses
import Foundation
import Images
import Synchronization
import Testing

/// An image processor with its own workers, and a folder that is removed after the test.
struct ImageFixture: Sendable {
    let imageProcessor: ImageProcessor
    let folder: String
    /// The memory limit of the workers in bytes, which is unique per fixture so that a test can identify its own workers.
    let memory: Int

    /// Prepares a sample in a new folder.
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

    /// Writes the bytes to a new file in the fixture's folder and returns its path.
    func file(_ bytes: some Sequence<UInt8>) throws -> String {
        let path = "\(folder)/\(UUID().uuidString).upload"
        try Data(bytes).write(to: URL(filePath: path))
        return path
    }

    /// Returns the ids of this fixture's worker processes.
    func workers() throws -> [Int32] {
        let own = getpid()
        return try FileManager.default.contentsOfDirectory(atPath: "/proc").compactMap(Int32.init).filter { pid in
            // The error is ignored: a process may end at any moment.
            guard let stat = try? String(contentsOfFile: "/proc/\(pid)/stat", encoding: .utf8),
                let identity = ProcessIdentity(pid: pid), let end = stat.lastIndex(of: ")"),
                identity.commandLine.hasSuffix(" \(memory)")
            else { return false }
            return stat[end...].split(separator: " ")[2] == "\(own)"
        }
    }

    /// Expects that a file is rejected without leftover files, and returns the reason.
    func rejection(of path: String, limits: ImageLimits = ImageLimits()) async throws -> ImageError? {
        let own = try newFolder()
        let error = await #expect(throws: ImageError.self) {
            try await imageProcessor.prepare(path, into: own, limits: limits)
        }
        #expect(try FileManager.default.contentsOfDirectory(atPath: own) == [])
        return error
    }
}

/// Runs a test with an image processor, and removes its workers and files afterwards.
func withImages(
    _ configure: (inout ImageProcessorConfiguration) throws -> Void = { _ in },
    _ body: (ImageFixture) async throws -> Void
) async throws {
    let folder = "\(NSTemporaryDirectory())/roost-images-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    // Other tests may use all cores, so the default limits are long. Tests of deadlines set their own.
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

/// Returns the path of the worker that was built with the tests.
func worker() throws -> String {
    if let folder = ProcessInfo.processInfo.environment["ROOST_BINARIES"] { return "\(folder)image-worker" }
    return try ImageProcessorConfiguration.workerNextToExecutable()
}
