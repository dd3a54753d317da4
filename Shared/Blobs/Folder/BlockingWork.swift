import NIOPosix

/// Runs what blocks on the threads of a pool.
///
/// Work that was begun is never left half done because the task that asked for it was cancelled.
struct BlockingWork: Sendable {
    let pool: NIOThreadPool

    func callAsFunction<Value: Sendable>(_ work: @escaping @Sendable () throws -> Value) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            pool.submit { _ in continuation.resume(with: Result { try work() }) }
        }
    }

    /// For what cannot fail.
    func uncancellable(_ work: @escaping @Sendable () -> Void) async {
        await withCheckedContinuation { continuation in
            pool.submit { _ in
                work()
                continuation.resume()
            }
        }
    }
}
