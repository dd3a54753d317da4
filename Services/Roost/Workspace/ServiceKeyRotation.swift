import Credentials

/// Replaces the keys by which services authenticate each other, in three steps.
///
/// All processes restart after each step. Every process accepts two keys of each other process, so no call fails in
/// between.
struct ServiceKeyRotation {
    enum Step: String, CaseIterable {
        /// Adds a new key; every process accepts it after its restart.
        case introduce
        /// Signs with the new key; the old one is still accepted.
        case `switch`
        /// Removes the old key.
        case retire
    }

    let file: EnvironmentFile

    /// Changes the keys in the file.
    ///
    /// - Throws: `Workspace.Problem` when the file has no service keys, or when another step is next.
    func perform(_ step: Step) throws {
        let values = try file.read()
        let present = ServiceKeys.names.filter { values[ServiceKeys.setting(of: $0)] != nil }
        guard !present.isEmpty else {
            throw Workspace.Problem("\(file.path) has no service keys, such as AUTH_SERVICE_KEY")
        }
        var changed: [String: String] = [:]
        for name in present {
            let setting = ServiceKeys.setting(of: name)
            let keys = (values[setting] ?? "").split(separator: ",").map(String.init)
            let expected = step == .introduce ? 1 : 2
            guard keys.count == expected else {
                throw Workspace.Problem(
                    """
                    \(setting) has \(keys.count) key(s), and the step "\(step.rawValue)" needs \(expected). The steps are \
                    introduce, switch and retire, in this order.
                    """
                )
            }
            let next =
                switch step {
                case .introduce: [keys[0], ServiceKeys.generate()]
                case .switch: [keys[1], keys[0]]
                case .retire: [keys[0]]
                }
            changed[setting] = next.joined(separator: ",")
        }
        if values["SERVICE_PUBLIC_KEYS"] != nil {
            let keys = present.map { ($0, changed[ServiceKeys.setting(of: $0)] ?? "") }
            do {
                changed["SERVICE_PUBLIC_KEYS"] = try ServiceKeys.publicKeys(of: Dictionary(uniqueKeysWithValues: keys))
            } catch {
                throw Workspace.Problem("a service key in \(file.path) is malformed: \(error)")
            }
        }
        try file.replace(changed)
    }
}
