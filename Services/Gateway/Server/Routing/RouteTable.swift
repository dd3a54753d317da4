/// All public routes, found by a path's bytes without a copy.
///
/// The table contains the templates of the OpenAPI document and nothing else. Undocumented paths such as `/internal`
/// are therefore unreachable in every spelling. A literal segment takes precedence over a parameter.
struct RouteTable: Sendable {
    private struct Node: Sendable {
        var words: [(word: [UInt8], node: Int)] = []
        var parameter: Int?
        var route: Route?
    }

    private var nodes = [Node()]
    private(set) var routes: [Route] = []

    init(document: OpenAPIDocument, services: [UpstreamService]) {
        var paths = document.paths
        for page in GatewayPage.allCases where !paths.contains(where: { $0.template == page.rawValue }) {
            paths.append(.init(template: page.rawValue, methods: [.get, .head], open: [.get, .head]))
        }
        for path in paths {
            let owner: Route.Owner =
                if let page = GatewayPage(rawValue: path.template) {
                    .gateway(page)
                } else if let service = Self.owner(of: path.template, among: services) {
                    .service(service)
                } else {
                    .unassigned
                }
            insert(
                Route(
                    template: path.template,
                    number: routes.count,
                    owner: owner,
                    methods: path.methods,
                    open: path.open,
                    streams: path.streams
                )
            )
        }
    }

    /// Returns the service with the longest prefix of `template`.
    private static func owner(of template: String, among services: [UpstreamService]) -> Int? {
        let claims = services.indices.compactMap { index in
            services[index].claim(on: template).map { (index, length: $0) }
        }
        return claims.max { $0.length < $1.length }?.0
    }

    private mutating func insert(_ route: Route) {
        var node = 0
        for segment in route.template.dropFirst().split(separator: "/", omittingEmptySubsequences: false) {
            if segment.hasPrefix("{") {
                node = nodes[node].parameter ?? append { $0[node].parameter = $1 }
            } else {
                let word = Array(segment.utf8)
                node =
                    nodes[node].words.first { $0.word == word }?.node
                    ?? append { $0[node].words.append((word, $1)) }
            }
        }
        nodes[node].route = route
        routes.append(route)
    }

    private mutating func append(_ link: (inout [Node], Int) -> Void) -> Int {
        nodes.append(Node())
        link(&nodes, nodes.count - 1)
        return nodes.count - 1
    }

    /// Returns the route of a path that `RequestTarget` found clean.
    func route(of path: UnsafeBufferPointer<UInt8>) -> Route? {
        guard !path.isEmpty else { return nil }
        return find(path, from: 1, in: 0)
    }

    private func find(_ path: UnsafeBufferPointer<UInt8>, from start: Int, in number: Int) -> Route? {
        var end = start
        var isEscaped = false
        while end < path.count, path[end] != UInt8(ascii: "/") {
            if path[end] == UInt8(ascii: "%") { isEscaped = true }
            end += 1
        }
        let segment = UnsafeBufferPointer(rebasing: path[start..<end])
        if let next = child(of: number, named: segment, isEscaped: isEscaped),
            let route = route(at: next, end: end, of: path)
        {
            return route
        }
        guard let next = nodes[number].parameter, !segment.isEmpty else { return nil }
        return route(at: next, end: end, of: path)
    }

    private func route(at node: Int, end: Int, of path: UnsafeBufferPointer<UInt8>) -> Route? {
        end == path.count ? nodes[node].route : find(path, from: end + 1, in: node)
    }

    private func child(of number: Int, named segment: UnsafeBufferPointer<UInt8>, isEscaped: Bool) -> Int? {
        guard isEscaped else {
            return nodes[number].words.first { $0.word.elementsEqual(segment) }?.node
        }
        var decoded: [UInt8] = []
        var index = 0
        while index < segment.count {
            if let byte = segment[index] == UInt8(ascii: "%") ? RequestTarget.escape(in: segment, at: index) : nil {
                decoded.append(byte)
                index += 3
            } else {
                decoded.append(segment[index])
                index += 1
            }
        }
        return nodes[number].words.first { $0.word == decoded }?.node
    }
}
