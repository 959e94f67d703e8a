/// One of the images of a view: a picture has one; a button has an image and a background for each state.
public struct ImageSlot: Sendable, Hashable {
    /// The layer of a view that an image fills.
    public enum Layer: Sendable, Hashable, CaseIterable {
        /// The image in front.
        case image
        /// Behind the content.
        case background
    }

    /// The states in which a control may look different.
    public enum ControlState: Sendable, Hashable, CaseIterable {
        /// None of the other states.
        case normal
        /// The button is pressed.
        case highlighted
        /// The button is selected.
        case selected
        /// The control is disabled and takes no input.
        case disabled
    }

    /// The layer.
    public var layer: Layer
    /// The state in which the image is shown.
    public var state: ControlState

    /// Creates a slot.
    public init(_ layer: Layer, _ state: ControlState = .normal) {
        self.layer = layer
        self.state = state
    }

    /// The slot of a picture, and of a button in its normal state.
    public static let image = ImageSlot(.image)
    /// The background of a button in the same state.
    public static let background = ImageSlot(.background)

    /// The image of a button in a state.
    public static func image(_ state: ControlState) -> ImageSlot { ImageSlot(.image, state) }
    /// The background of a button in a state.
    public static func background(_ state: ControlState) -> ImageSlot { ImageSlot(.background, state) }
}
