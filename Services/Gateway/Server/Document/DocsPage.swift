/// placeholder
struct DocsPage {
    let page: StaticPage
    init(document: OpenAPIDocument) { page = StaticPage(text: "", contentType: "text/html; charset=utf-8") }
}
