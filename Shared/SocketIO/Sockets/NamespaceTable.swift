import Locks

/// The namespaces of a server, by name.
final class NamespaceTable: Sendable {
    private let core: EngineCore
    private let namespaces = Lock<[String: Namespace]>([:])

    init(core: EngineCore) {
        self.core = core
    }

    subscript(_ name: String) -> Namespace? {
        namespaces.withLock { $0[name] }
    }

    func make(_ name: String) -> Namespace {
        namespaces.withLock { namespaces in
            if let known = namespaces[name] { return known }
            let made = Namespace(name: name, core: core, index: namespaces.count)
            namespaces[name] = made
            return made
        }
    }
}
