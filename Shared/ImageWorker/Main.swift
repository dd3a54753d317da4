import CVips
import Glibc
import ImageWork

/// Makes pictures of files, one order after another from standard input, until that ends.
///
/// Headers and pixels of strangers' files are read here and in no other process. What a damaged or hostile file does to a
/// reader is limited: memory, processor time and the size of what is written have limits, the kernel refuses files, networks
/// and other processes, and the parent ends a worker that takes too long.
@main
enum ImageWorker {
    /// A picture of 1,280 pixels a side has at most a few megabytes.
    private static let maximumFileSize = 128_000_000
    /// Of a thread: what libvips asks for where less is usual, since the usual 8 MB each would be most of a worker's memory.
    private static let stackSize = 2 << 20

    static func main() {
        let arguments = CommandLine.arguments
        guard (2...3).contains(arguments.count), let memory = UInt64(arguments[1]),
            arguments.count == 2 || arguments[2] == "check"
        else {
            printError("usage: image-worker BYTES [check]")
            printError("Started by a program that wants pictures made: see Shared/Images.")
            exit(64)
        }
        // Answers go where nothing that a library prints can get between them.
        let responses = dup(1)
        let devNull = open("/dev/null", O_WRONLY | O_CLOEXEC)
        guard responses >= 0, devNull >= 0, dup2(devNull, 1) == 1 else {
            exit(71)
        }
        guard cvips_limit_stacks(stackSize) == 0, cvips_start() == 0,
            cvips_limit(memory, UInt64(maximumFileSize), 64) == 0
        else {
            printError("image-worker: libvips or a limit cannot be set up")
            exit(71)
        }
        // Nothing can be loaded once the process is confined.
        let readsHEIC = cvips_load_heif() == 0
        let confinement = Int(cvips_confine())
        dup2(devNull, 2)
        if arguments.count == 3 {
            exit(ConfinementCheck.run(writingTo: responses) ? 0 : 1)
        }
        let parts = [(CVIPS_LANDLOCK, "Landlock"), (CVIPS_SECCOMP, "seccomp")]
        send(.ready(missing: parts.filter { confinement & $0.0 == 0 }.map(\.1)), to: responses)
        while let (request, files) = nextRequest() {
            guard cvips_limit_processor_time(UInt64(clamping: request.processorSeconds)) == 0,
                cvips_limit_memory(UInt64(clamping: request.memory)) == 0
            else {
                exit(71)
            }
            let response = execute(request, files, readsHEIC: readsHEIC)
            for descriptor in [files.source, files.full, files.thumbnail] {
                close(descriptor)
            }
            // What the allocator keeps for the next file would count as this worker's, which is looked at once it answers.
            cvips_trim()
            send(response, to: responses)
        }
    }

    private static func nextRequest() -> (RenderRequest, RequestFiles)? {
        var descriptors: [Int32] = []
        guard let length = read(4, &descriptors) else { return nil }
        let count = length.enumerated().reduce(0) { $0 | Int($1.element) << ($1.offset * 8) }
        guard count <= Frames.maximumLength, let content = read(count, &descriptors),
            descriptors.count == RenderRequest.descriptors, let request = RenderRequest(encoded: content)
        else { return nil }
        return (request, RequestFiles(source: descriptors[0], full: descriptors[1], thumbnail: descriptors[2]))
    }

    /// Exactly so many bytes of standard input; nil where it ends.
    private static func read(_ count: Int, _ descriptors: inout [Int32]) -> [UInt8]? {
        var bytes: [UInt8] = []
        while bytes.count < count {
            var piece = [UInt8](repeating: 0, count: count - bytes.count)
            var received = [Int32](repeating: -1, count: RenderRequest.descriptors)
            var number = Int32(received.count)
            let got = cvips_receive(0, &piece, piece.count, &received, &number)
            guard got > 0 || (got < 0 && errno == EINTR) else { return nil }
            bytes += piece.prefix(max(0, got))
            descriptors += received.prefix(Int(number))
        }
        return bytes
    }

    private static func send(_ response: RenderResponse, to descriptor: Int32) {
        if !writeAll(Frames.frame(response.encoded), to: descriptor) {
            exit(74)
        }
    }

    private static func printError(_ text: String) { _ = writeAll(Array((text + "\n").utf8), to: 2) }
}

/// The descriptors that travel with an order.
struct RequestFiles {
    let source: Int32
    let full: Int32
    let thumbnail: Int32
}

/// Whether all of it was written; if not, `errno` says why.
func writeAll(_ bytes: [UInt8], to descriptor: Int32) -> Bool {
    var written = 0
    while written < bytes.count {
        let count = bytes.withUnsafeBytes {
            write(descriptor, $0.baseAddress.map { $0 + written }, bytes.count - written)
        }
        guard count > 0 || errno == EINTR else { return false }
        written += max(0, count)
    }
    return true
}
