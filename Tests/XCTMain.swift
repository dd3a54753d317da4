import Testing

/// Runs the tests, all of which are written with Swift Testing.
///
/// Without this file SwiftPM looks for XCTest classes in an index store, which takes 45 % of the compiler's time.
@main struct TestMain {
    static func main() async {
        // `swift test` also starts this program to run XCTest classes; there are none.
        guard CommandLine.arguments.contains("swift-testing") else { return }
        await Testing.__swiftPMEntryPoint() as Never
    }
}
