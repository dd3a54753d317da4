/// A parser of bytes from outside, which must neither trap nor take more than linear time and memory, whatever they are.
///
/// The result does not matter. Where two readers of the same bytes must agree, a target compares them.
struct FuzzTarget: Sendable {
    let name: String
    let run: @Sendable ([UInt8]) -> Void

    init(_ name: String, _ run: @escaping @Sendable ([UInt8]) -> Void) {
        self.name = name
        self.run = run
    }

    /// By name, as the folders of Fuzz/Corpus.
    static let all: [FuzzTarget] = (files + forms + json + sockets + texts).sorted { $0.name < $1.name }
}
