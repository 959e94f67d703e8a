let client = TaskClient(baseURL: "https://api.example.org/v1/", token: "secret")

do {
    let item = try await client.add(Item(title: "Read the guides"))
    print("added:", item.title)
    for item in try await client.items() {
        print(item.isDone ? "done:" : "to do:", item.title)
    }
} catch {
    print("failed:", error)
}
