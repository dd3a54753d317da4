#if DEBUG
import Glibc
import Synchronization

/// The locks that are created at one source location.
struct LockKind: Hashable, Sendable, CustomStringConvertible {
    private let file: Int
    private let line: UInt
    private let name: StaticString

    init(file: StaticString, line: UInt) {
        name = file
        // File names are compared by their pointers, which is fast. Code that is inlined into several modules has a
        // pointer in each module. Its locks therefore count as several kinds.
        self.file = file.hasPointerRepresentation ? Int(bitPattern: file.utf8Start) : 0
        self.line = line
    }

    var description: String { "\(name):\(line)" }

    static func == (left: LockKind, right: LockKind) -> Bool { left.file == right.file && left.line == right.line }

    func hash(into hasher: inout Hasher) {
        hasher.combine(file)
        hasher.combine(line)
    }
}

/// The locks that a thread holds, and the orders in which any thread has acquired locks of two kinds.
final class HeldLocks {
    private var kinds: [LockKind] = []

    /// For each kind, the kinds that were acquired while a lock of the first kind was held.
    private static let orders = Mutex<[LockKind: Set<LockKind>]>([:])

    private static let key: pthread_key_t = {
        var key = pthread_key_t()
        let problem = pthread_key_create(&key) { pointer in
            if let pointer { Unmanaged<HeldLocks>.fromOpaque(pointer).release() }
        }
        guard problem == 0 else { fatalError("pthread_key_create failed with status \(problem)") }
        return key
    }()

    /// The list of the calling thread.
    static var current: HeldLocks {
        if let pointer = pthread_getspecific(key) {
            return Unmanaged<HeldLocks>.fromOpaque(pointer).takeUnretainedValue()
        }
        let made = HeldLocks()
        pthread_setspecific(key, Unmanaged.passRetained(made).toOpaque())
        return made
    }

    /// Stops the process if acquiring a lock of this kind now could ever lead to a deadlock.
    func check(_ kind: LockKind) {
        guard !kinds.isEmpty else { return }
        for held in kinds where held == kind {
            fatalError("lock \(kind) was acquired while a lock of the same kind was held: \(self)")
        }
        let held = kinds
        let opposite = Self.orders.withLock { orders -> LockKind? in
            for held in held where orders[held, default: []].insert(kind).inserted {
                if Self.leads(from: kind, to: held, in: orders) { return held }
            }
            return nil
        }
        if let opposite {
            fatalError("lock \(kind) was acquired under \(opposite), elsewhere \(opposite) under \(kind): \(self)")
        }
    }

    /// Returns whether a lock of kind `to` was ever acquired, directly or indirectly, while one of kind `from` was
    /// held.
    private static func leads(from: LockKind, to: LockKind, in orders: [LockKind: Set<LockKind>]) -> Bool {
        var seen: Set<LockKind> = [from]
        var next = [from]
        while let kind = next.popLast() {
            if kind == to { return true }
            for inner in orders[kind] ?? [] where seen.insert(inner).inserted { next.append(inner) }
        }
        return false
    }

    func push(_ kind: LockKind) { kinds.append(kind) }

    func pop(_ kind: LockKind) {
        guard kinds.popLast() == kind else { fatalError("lock \(kind) is not the most recently acquired one: \(self)") }
    }

    func assertEmpty(_ action: StaticString) {
        guard kinds.isEmpty else { fatalError("about to \(action) while locks are held: \(self)") }
    }
}

extension HeldLocks: CustomStringConvertible {
    var description: String { kinds.map(\.description).joined(separator: ", ") }
}
#endif
