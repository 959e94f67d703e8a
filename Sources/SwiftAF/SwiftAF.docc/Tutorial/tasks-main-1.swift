let client = TaskClient(baseURL: "https://api.example.org/v1/", token: "secret")

for item in try await client.items() {
    print(item.isDone ? "done:" : "to do:", item.title)
}
