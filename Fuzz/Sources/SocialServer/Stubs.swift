/// What EventStreamReader throws, without the HTTP client that the real type knows.
struct NetworkError: Error {
    enum Class { case transient }

    init(_ kind: Class, _ reason: String) {}
}
