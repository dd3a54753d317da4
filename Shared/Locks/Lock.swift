@_exported public import Synchronization

#if !DEBUG
/// A mutual exclusion lock around a value, held for as long as a closure runs.
///
/// Nothing that can call back is called while it is held. Debug builds check that; here it is a `Mutex` and nothing else.
public typealias Lock = Mutex
#else
/// A mutual exclusion lock around a value, held for as long as a closure runs.
///
/// Nothing that can call back is called while it is held. This is the checked one of debug builds. It ends the process
/// where a thread takes a lock that it holds, takes two locks of one kind, or takes two kinds in both orders. A lock's
/// kind is the place in the code that makes it. In release builds `Lock` is `Mutex`.
public struct Lock<Value: ~Copyable>: ~Copyable {
    private let mutex: Mutex<Value>
    private let kind: LockKind

    public init(_ value: consuming sending Value, file: StaticString = #fileID, line: UInt = #line) {
        mutex = Mutex(value)
        kind = LockKind(file: file, line: line)
    }

    /// Runs a closure with the value while no other thread has it.
    public borrowing func withLock<Result: ~Copyable, Failure: Error>(
        _ body: (inout sending Value) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result {
        let held = HeldLocks.current
        held.check(kind)
        held.push(kind)
        defer { held.pop(kind) }
        return try mutex.withLock(body)
    }

    /// Runs a closure with the value, unless another thread has it; then returns nil.
    public borrowing func withLockIfAvailable<Result: ~Copyable, Failure: Error>(
        _ body: (inout sending Value) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result? {
        let held = HeldLocks.current
        held.push(kind)
        defer { held.pop(kind) }
        return try mutex.withLockIfAvailable(body)
    }
}

// Unchecked: what a mutex holds may cross threads by the mutex's own rule.
extension Lock: @unchecked Sendable where Value: ~Copyable {}
#endif

/// The locks that the calling thread holds.
public enum Locks {
    /// Ends a debug build's process where the thread holds a lock, since what it is about to do may call back.
    ///
    /// - Parameter action: what the thread is about to do, for the message: "resume a continuation".
    #if DEBUG
    public static func assertNoneHeld(_ action: StaticString) { HeldLocks.current.assertEmpty(action) }
    #else
    @inlinable @inline(__always)
    public static func assertNoneHeld(_ action: StaticString) {}
    #endif
}
