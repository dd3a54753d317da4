import Foundation

/// How a workshop works, and what it may take.
public struct ImageProcessorConfiguration: Sendable {
    /// The path of the executable `image-worker`.
    public var worker: String
    /// How many files are decoded at once, each by a process of its own: 2.
    public var workers: Int
    /// How many more may wait for their turn: 32.
    public var waiting: Int
    /// How long one file may take its worker before that is killed: 30 s.
    public var deadline: Duration
    /// How long one file may have the processor, in seconds: 20.
    public var processorSeconds: Int
    /// The most memory of their own that all workers may have together, in bytes: 640 MB.
    ///
    /// A file waits until what such a file can need is left, and its worker gets that and no more. An image of 50 megapixels
    /// takes 500 MB at worst, a JPEG as cameras make them 100.
    public var memory: Int
    /// A worker that holds on to more after a file is replaced, in bytes: 60 MB.
    public var keptMemory: Int
    /// How long a worker with nothing to do is kept: a minute.
    public var idleTime: Duration
    public var output: ImageOutput
    /// Called once where the kernel does not confine workers by all that there is: with the names of what is missing.
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

    /// The worker that lies beside the running executable, as it does after a build and in the container's image.
    public static func workerNextToExecutable() throws -> String {
        let own = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        return URL(filePath: own).deletingLastPathComponent().appending(path: "image-worker").path(
            percentEncoded: false
        )
    }
}
