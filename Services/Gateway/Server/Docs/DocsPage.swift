import Crypto
import Foundation
import Yams

/// The page `/docs`: the OpenAPI document as HTML, rendered at startup, without scripts or external resources.
struct DocsPage {
    private static let methods = ["get", "post", "put", "patch", "delete"]

    let page: StaticPage

    init(document: OpenAPIDocument, isCompressed: Bool) {
        page = Self.page(Self.html(document), isCompressed: isCompressed)
    }

    /// Returns an HTML page in the style of `/docs` that may not load resources or run scripts.
    static func page(_ html: String, isCompressed: Bool) -> StaticPage {
        let hash = Data(SHA256.hash(data: Data(style.utf8))).base64EncodedString()
        return StaticPage(
            text: html,
            contentType: "text/html; charset=utf-8",
            isCompressed: isCompressed,
            extra: [
                (
                    "content-security-policy",
                    "default-src 'none'; style-src 'sha256-\(hash)'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
                ),
                ("referrer-policy", "no-referrer"),
            ]
        )
    }

    private static func html(_ document: OpenAPIDocument) -> String {
        let info = document.root["info"]
        let title = Markup.escaped(info?["title"]?.string ?? "API")
        let version = Markup.escaped(info?["version"]?.string ?? "")
        let groups = groups(document)
        let schemas = document.root["components"]?["schemas"]?.mapping.map(Array.init) ?? []
        var html = "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\">"
        html += "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">"
        html += "<title>\(title)</title><style>\(style)</style></head><body>"
        html += "<nav><h1>\(title) <small>\(version)</small></h1>"
        // On phones, a checkbox shows and hides the contents without a script.
        html += "<input type=\"checkbox\" id=\"menu\"><label for=\"menu\">Contents</label>"
        html += "<div>\(contents(groups, schemas))</div></nav><main>"
        html += "<header><p class=\"lead\">\(Markup.inline(info?["summary"]?.string ?? ""))</p>"
        html += "\(Markup.blocks(info?["description"]?.string ?? ""))"
        html += "<p>Machine-readable: <a href=\"/openapi.yaml\">openapi.yaml</a>. "
        html += "Real-time: <a href=\"\(GatewayPage.socketEvents.rawValue)\">Socket.IO events</a></p></header>"
        for group in groups {
            html += "<section><h2 id=\"tag-\(Markup.escaped(group.tag))\">\(Markup.escaped(group.tag))</h2>"
            html += "<p>\(Markup.inline(group.description))</p>\(group.operations.map(\.html).joined())</section>"
        }
        let shapes = SchemaMarkup(document: document)
        html += "<section><h2 id=\"schemas\">schemas</h2>"
        for (key, schema) in schemas {
            let name = Markup.escaped(key.string ?? "")
            html += "<article id=\"schema-\(name)\"><h3><code>\(name)</code></h3>"
            html += "<p>\(Markup.inline(schema["description"]?.string ?? ""))</p>"
            html += schema["properties"] == nil ? "<p>\(shapes.summary(schema))</p>" : shapes.table(schema)
            html += "\(shapes.example(schema))</article>"
        }
        return html + "</section></main></body></html>\n"
    }

    private struct Group {
        var tag: String
        var description: String
        var operations: [(method: String, template: String, html: String)] = []
    }

    private static func groups(_ document: OpenAPIDocument) -> [Group] {
        var groups = (document.root["tags"]?.sequence ?? []).map { tag in
            Group(tag: tag["name"]?.string ?? "", description: tag["description"]?.string ?? "")
        }
        let markup = OperationMarkup(document: document)
        for (path, item) in document.root["paths"]?.mapping ?? [:] {
            let template = path.string ?? ""
            for method in methods {
                guard let operation = item[method] else { continue }
                let tag = operation["tags"]?.sequence?.first?.string ?? "other"
                let html = markup.html(method: method, template: template, item: item, operation: operation)
                if !groups.contains(where: { $0.tag == tag }) { groups.append(Group(tag: tag, description: "")) }
                guard let groupIndex = groups.firstIndex(where: { $0.tag == tag }) else { continue }
                groups[groupIndex].operations.append((method, template, html))
            }
        }
        return groups.filter { !$0.operations.isEmpty }
    }

    private static func contents(_ groups: [Group], _ schemas: [(key: Node, value: Node)]) -> String {
        groups.map { group in
            let links = group.operations.map { operation in
                "<li><a href=\"#\(OperationMarkup.anchor(operation.method, operation.template))\">"
                    + "<b class=\"\(operation.method)\">\(operation.method.uppercased())</b> "
                    + "<span>\(Markup.path(operation.template))</span></a></li>"
            }
            let tag = Markup.escaped(group.tag)
            return "<h2><a href=\"#tag-\(tag)\">\(tag)</a></h2><ul>\(links.joined())</ul>"
        }.joined() + "<h2><a href=\"#schemas\">schemas</a></h2>"
    }

    static let style = """
        :root{color-scheme:light dark;--ink:#1d2430;--soft:#5d6778;--line:#e3e7ee;--page:#fff;--tint:#f5f7fa;--link:#1a5fb4}
        @media(prefers-color-scheme:dark){:root{--ink:#e4e8ef;--soft:#98a2b3;--line:#2b3340;--page:#12161d;--tint:#1a202a;\
        --link:#7fb2f0}}
        *{box-sizing:border-box}html{scroll-behavior:smooth;scroll-padding-top:1rem}
        body{margin:0;display:grid;grid-template-columns:19rem minmax(0,1fr);background:var(--page);color:var(--ink);\
        font:16px/1.55 system-ui,sans-serif}
        nav{position:sticky;top:0;height:100vh;overflow:auto;padding:1.5rem 1rem;border-right:1px solid var(--line);\
        background:var(--tint);font-size:.82rem}
        nav h1{font-size:1.25rem;margin:0 0 1rem}nav h1 small{color:var(--soft);font-weight:400}
        nav h2{font-size:.78rem;text-transform:uppercase;letter-spacing:.06em;margin:1.2rem 0 .3rem}
        nav ul{list-style:none;margin:0;padding:0}nav li a{display:grid;grid-template-columns:4.6em 1fr;padding:.15rem 0;color:inherit}
        nav li span{margin:0;font-size:inherit;color:inherit;overflow-wrap:anywhere}nav input,nav label{display:none}
        nav b{font-size:.68rem;line-height:1.9}a{color:var(--link);text-decoration:none}
        a:hover{text-decoration:underline}main{padding:2rem 3rem 6rem;max-width:64rem}.lead{font-size:1.1rem}
        section>h2{margin-top:3rem;padding-bottom:.3rem;border-bottom:2px solid var(--line);text-transform:capitalize}
        article{margin:1.5rem 0;padding:1rem 1.25rem;border:1px solid var(--line);border-radius:.6rem}
        article h3{margin:.2rem 0;font-size:1.05rem;overflow-wrap:anywhere}h4{margin:1.1rem 0 .3rem;font-size:.85rem;color:var(--soft)}
        b.get{color:#1f7a4d}b.post{color:#1a5fb4}b.put,b.patch{color:#a66300}b.delete{color:#c01c28}
        code,pre{font:.88em ui-monospace,monospace}p code,td code,li code{background:var(--tint);padding:.1em .3em;border-radius:.25em}
        pre{overflow:auto;padding:.8rem;background:var(--tint);border-radius:.4rem}
        table{width:100%;border-collapse:collapse;font-size:.88rem}
        th{padding:.35rem .6rem .35rem 0;text-align:left;color:var(--soft);font-weight:600}
        td{padding:.35rem .6rem .35rem 0;border-top:1px solid var(--line);vertical-align:top;overflow-wrap:anywhere}
        td:first-child{width:24%}td:nth-child(2){width:30%}tr.s4,tr.s5{color:var(--soft)}
        span{margin-left:.5em;font-size:.75rem;color:var(--soft)}
        @media(max-width:52rem){body{display:block}nav{position:static;height:auto;border:0;padding:1rem}
        nav h1{margin:0}nav label{display:inline-block;margin:.6rem 0 0;color:var(--link);font-size:.95rem;cursor:pointer}
        nav input{display:inline-block;position:absolute;opacity:0}nav input:focus-visible+label{outline:2px solid var(--link)}
        nav label::after{content:" ▾"}nav input:checked+label::after{content:" ▴"}nav div{display:none}
        nav input:checked~div{display:block}main{padding:1rem}article{padding:.8rem 1rem}
        tr{display:grid;grid-template-columns:auto 1fr;column-gap:.8rem;padding:.4rem 0;border-top:1px solid var(--line)}
        td,td:first-child,td:nth-child(2){width:auto;padding:.1rem 0;border:0}td:nth-child(3){grid-column:1/-1}}
        """
}
