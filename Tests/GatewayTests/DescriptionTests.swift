import Testing

@testable import GatewayServer

@Suite("Descriptions in /docs") struct DescriptionTests {
    @Test("A Markdown table becomes an HTML table")
    func table() {
        let text = """
            Events:

            | event | data |
            | --- | :-: |
            | `ready` | `{}`: **all** is told |
            | `deleted` | `{"postId"}` |

            Each has an id.
            """
        let html = Markup.blocks(text)
        #expect(
            html == "<p>Events:</p><table><thead><tr><th>event</th><th>data</th></tr></thead><tbody>"
                + "<tr><td><code>ready</code></td><td><code>{}</code>: <strong>all</strong> is told</td></tr>"
                + "<tr><td><code>deleted</code></td><td><code>{&quot;postId&quot;}</code></td></tr>"
                + "</tbody></table><p>Each has an id.</p>"
        )
    }

    @Test("A cell is escaped, and keeps a pipe in code or after a backslash")
    func cells() {
        let html = Markup.blocks("| a |\n| - |\n| <b>`x|y`</b> |\n| 1 \\| 2 |\n| c:\\d")
        #expect(html.contains("<td>&lt;b&gt;<code>x|y</code>&lt;/b&gt;</td>"))
        #expect(html.contains("<td>1 | 2</td>"))
        #expect(html.contains("<td>c:\\d</td>"))
        #expect(!html.contains("<b>"))
    }

    @Test("Lines with pipes but without a separator stay text")
    func noTable() {
        #expect(Markup.blocks("| a | b |\n| c | d |") == "<p>| a | b | | c | d |</p>")
        #expect(Markup.blocks("|") == "<p>|</p>")
    }

    @Test("A table ends at a list, a heading or text")
    func ends() {
        let table = "<table><thead><tr><th>a</th></tr></thead><tbody></tbody></table>"
        #expect(Markup.blocks("| a |\n| - |\n- b") == "\(table)<ul><li>b</li></ul>")
        #expect(Markup.blocks("| a |\n| - |\n# b") == "\(table)<h3>b</h3>")
        #expect(Markup.blocks("| a |\n| - |\nb") == "\(table)<p>b</p>")
        #expect(Markup.blocks("b\n| a |\n| - |") == "<p>b</p>\(table)")
    }
}
