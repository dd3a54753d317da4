/// The error that `EventStreamReader` throws.
///
/// The real type depends on the HTTP client, which the fuzzer does not build.
struct NetworkError: Error {
    enum Class { case transient }

    init(_ kind: Class, _ reason: String) {}
}
