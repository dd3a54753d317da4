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
            if let existing = namespaces[name] { return existing }
            let created = Namespace(name: name, core: core, index: namespaces.count)
            namespaces[name] = created
            return created
        }
    }
}
