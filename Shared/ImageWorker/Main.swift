import CVips
import Glibc
import ImageWork

/// The image worker: makes pictures of files, one request after another from standard input, until end of input.
///
/// Untrusted headers and pixels are decoded only in this process. The damage that a hostile file can do is limited.
/// Memory, processor time and output size have limits. The kernel blocks access to files, networks and other processes.
/// The parent kills a worker that takes too long.
@main
enum ImageWorker {
    /// A picture of 1,280 pixels a side has at most a few megabytes.
    private static let maximumFileSize = 128_000_000
    /// The stack size of a thread, which libvips needs where defaults are smaller; the usual 8 MB each would be most of
    /// a worker's memory.
    private static let stackSize = 2 << 20

    static func main() {
        let arguments = CommandLine.arguments
        guard (2...3).contains(arguments.count), let memory = UInt64(arguments[1]),
            arguments.count == 2 || arguments[2] == "check"
        else {
            printError("usage: image-worker BYTES [check]")
            printError("Started by the Images library; see Shared/Images/README.md.")
            exit(64)
        }
        // Responses use a separate descriptor, so that libraries cannot print into them.
        let responses = dup(1)
        let devNull = open("/dev/null", O_WRONLY | O_CLOEXEC)
        guard responses >= 0, devNull >= 0, dup2(devNull, 1) == 1 else {
            exit(71)
        }
        guard cvips_limit_stacks(stackSize) == 0, cvips_start() == 0,
            cvips_limit(memory, UInt64(maximumFileSize), 64) == 0
        else {
            printError("image-worker: cannot initialise libvips or set limits")
            exit(71)
        }
        // HEIC must be loaded before confinement, after which no library can be loaded.
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
            // Memory that the allocator caches would count as held by this worker when the parent checks it after the
            // response.
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

    /// Reads exactly `count` bytes of standard input; returns nil at its end.
    private static func read(_ count: Int, _ descriptors: inout [Int32]) -> [UInt8]? {
        var bytes: [UInt8] = []
        while bytes.count < count {
            var piece = [UInt8](repeating: 0, count: count - bytes.count)
            var received = [Int32](repeating: -1, count: RenderRequest.descriptors)
            var number = Int32(received.count)
            let length = cvips_receive(0, &piece, piece.count, &received, &number)
            guard length > 0 || (length < 0 && errno == EINTR) else { return nil }
            bytes += piece.prefix(max(0, length))
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

struct RequestFiles {
    let source: Int32
    let full: Int32
    let thumbnail: Int32
}

/// Returns whether all bytes were written; if not, `errno` has the reason.
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
