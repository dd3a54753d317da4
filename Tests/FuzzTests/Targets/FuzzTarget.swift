/// A parser of untrusted bytes, which must never trap or take more than linear time and memory.
///
/// The result does not matter. Where two parsers of the same bytes must agree, the target compares them.
struct FuzzTarget: Sendable {
    let name: String
    let run: @Sendable ([UInt8]) -> Void

    init(_ name: String, _ run: @escaping @Sendable ([UInt8]) -> Void) {
        self.name = name
        self.run = run
    }

    /// All targets by name, each of which has a folder in Fuzz/Corpus.
    static let all: [FuzzTarget] = (files + forms + json + sockets + texts).sorted { $0.name < $1.name }
}
