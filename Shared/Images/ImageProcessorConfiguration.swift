import Foundation

public struct ImageProcessorConfiguration: Sendable {
    public var worker: String
    /// The number of files decoded at once, each in a separate process: 2.
    public var workers: Int
    /// The maximum number of waiting files: 32.
    public var waiting: Int
    /// The time after which a worker that still processes a file is killed: 30 s.
    public var deadline: Duration
    /// The maximum processor time of one file, in seconds: 20.
    public var processorSeconds: Int
    /// The maximum memory of all workers together, without shared libraries, in bytes: 640 MB.
    ///
    /// A file waits until the memory that it may need is free, and its worker is limited to that amount. An image of 50
    /// megapixels takes up to 500 MB, a typical camera JPEG 100 MB.
    public var memory: Int
    /// A worker that still holds more memory than this after a file is replaced, in bytes: 60 MB.
    public var keptMemory: Int
    /// The time after which an idle worker ends: one minute.
    public var idleTime: Duration
    public var output: ImageOutput
    /// Called once with the names of the missing mechanisms if the kernel does not fully confine workers.
    public var reportMissingConfinement: @Sendable ([String]) -> Void = { _ in }

    public init(
        worker: String,
        workers: Int = 2,
        waiting: Int = 32,
        deadline: Duration = .seconds(30),
        processorSeconds: Int = 20,
        memory: Int = 640_000_000,
        keptMemory: Int = 60_000_000,
        idleTime: Duration = .seconds(60),
        output: ImageOutput = ImageOutput()
    ) {
        self.worker = worker
        self.workers = workers
        self.waiting = waiting
        self.deadline = deadline
        self.processorSeconds = processorSeconds
        self.memory = memory
        self.keptMemory = keptMemory
        self.idleTime = idleTime
        self.output = output
    }

    /// Returns the path of the worker next to the running executable, as in a build folder and in the container image.
    public static func workerNextToExecutable() throws -> String {
        let own = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        return URL(filePath: own).deletingLastPathComponent().appending(path: "image-worker").path(
            percentEncoded: false
        )
    }
}
