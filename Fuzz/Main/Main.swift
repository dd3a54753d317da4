import CFuzzer
@testable import FuzzTargets
import Glibc

/// Runs one target under libFuzzer, as in `FUZZ_TARGET=json fuzz -max_total_time=60 corpus`.
///
/// Without `FUZZ_TARGET`, prints the names of all targets.
@main
enum Fuzz {
    /// The target to run.
    ///
    /// It is global because libFuzzer's callback is a C function without a context pointer.
    nonisolated(unsafe) private static var target: FuzzTarget?

    static func main() {
        let name = getenv("FUZZ_TARGET").map { String(cString: $0) }
        target = FuzzTarget.all.first { $0.name == name }
        guard target != nil else {
            print(FuzzTarget.all.map(\.name).joined(separator: "\n"))
            exit(name == nil ? 0 : 64)
        }
        var count = CommandLine.argc
        var arguments: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>? = CommandLine.unsafeArgv
        let status = LLVMFuzzerRunDriver(&count, &arguments) { bytes, count in
            Fuzz.target?.run(Array(UnsafeBufferPointer(start: bytes, count: count)))
            return 0
        }
        exit(status)
    }
}
