import CVips
import Glibc
import ImageWork

/// Makes pictures of files, one order after another from standard input, until that ends.
///
/// It is a process of its own so that what a damaged or hostile file does to a decoder it does here: memory, processor time,
/// descriptors and what may be written are limited, and who started it ends it when it takes too long.
@main
enum ImageWorker {
    /// A picture of 1,280 pixels a side has at most a few megabytes.
    private static let largestFile = 128_000_000
    /// Of a thread: what libvips asks for where less is usual, since the usual 8 MB each would be most of a worker's memory.
    private static let stack = 2 << 20

    static func main() {
        guard CommandLine.arguments.count == 2, let memory = UInt64(CommandLine.arguments[1]) else {
            complain("usage: image-worker BYTES\nStarted by a program that wants pictures made: see Shared/Images.")
            exit(64)
        }
        // Answers go where nothing that a library prints can get between them.
        let answers = dup(1)
        let silence = open("/dev/null", O_WRONLY | O_CLOEXEC)
        guard answers >= 0, silence >= 0, dup2(silence, 1) == 1 else {
            exit(71)
        }
        guard cvips_limit_stacks(stack) == 0, cvips_start() == 0, cvips_limit(memory, UInt64(largestFile), 64) == 0
        else {
            complain("image-worker: libvips or a limit cannot be set up")
            exit(71)
        }
        dup2(silence, 2)
        say(.ready, to: answers)
        while let order = nextOrder() {
            guard cvips_limit_processor_time(UInt64(clamping: order.processorSeconds)) == 0,
                cvips_limit_memory(UInt64(clamping: order.memory)) == 0
            else {
                exit(71)
            }
            let answer = render(order)
            // What the allocator keeps for the next file would count as this worker's, which is looked at once it answers.
            cvips_trim()
            say(answer, to: answers)
        }
    }

    private static func nextOrder() -> RenderingOrder? {
        guard let length = read(4) else { return nil }
        let count = length.enumerated().reduce(0) { $0 | Int($1.element) << ($1.offset * 8) }
        guard count <= Frames.maximumLength, let content = read(count) else { return nil }
        return RenderingOrder(encoded: content)
    }

    /// Exactly so many bytes of standard input; nil where it ends.
    private static func read(_ count: Int) -> [UInt8]? {
        var bytes: [UInt8] = []
        while bytes.count < count {
            var piece = [UInt8](repeating: 0, count: count - bytes.count)
            let got = Glibc.read(0, &piece, piece.count)
            guard got > 0 || (got < 0 && errno == EINTR) else { return nil }
            bytes += piece.prefix(max(0, got))
        }
        return bytes
    }

    private static func say(_ answer: RenderingAnswer, to descriptor: Int32) {
        if !writeAll(Frames.frame(answer.encoded), to: descriptor) {
            exit(74)
        }
    }

    private static func complain(_ text: String) { _ = writeAll(Array((text + "\n").utf8), to: 2) }
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
