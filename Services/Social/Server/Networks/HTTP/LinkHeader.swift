import OAuth1

/// The `Link` header of a list (RFC 8288).
struct LinkHeader {
    private let targets: [String: String]

    init(_ text: String) {
        var targets: [String: String] = [:]
        for link in text.split(separator: ",") {
            guard let open = link.firstIndex(of: "<"), let close = link.firstIndex(of: ">"), open < close else {
                continue
            }
            let parameters = link[close...].split(separator: ";").dropFirst()
                .map { $0.filter { $0 != " " && $0 != "\"" } }
            for parameter in parameters where parameter.hasPrefix("rel=") {
                targets[String(parameter.dropFirst(4))] = String(link[link.index(after: open)..<close])
            }
        }
        self.targets = targets
    }

    subscript(relation: String) -> String? { targets[relation] }

    /// Returns the value of a parameter in the query of a URL.
    static func value(_ name: String, in url: String) -> String? {
        guard let mark = url.firstIndex(of: "?") else { return nil }
        let query = url[url.index(after: mark)...].prefix { $0 != "#" }
        return FormField.parse(query)[name].flatMap { $0.isEmpty ? nil : $0 }
    }
}
