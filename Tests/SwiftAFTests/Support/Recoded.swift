import FoundationEssentials

/// A value after it was coded and decoded.
func recoded<Value: Codable>(_ value: Value) throws -> Value {
    try JSONDecoder().decode(Value.self, from: JSONEncoder().encode(value))
}
