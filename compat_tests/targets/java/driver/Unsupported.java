package driver;

/** A client that cannot do what it is told to; its simple name is what the test looks for. */
final class Unsupported extends Exception {
    private static final long serialVersionUID = 1;

    Unsupported(String message) {
        super(message);
    }
}
