package tutti.node;

/** Something that cannot be unless this software, or what it runs on, is wrong. Whoever finds it stops the node. */
final class Defect extends IllegalStateException {
    private static final long serialVersionUID = 1;

    /** Says what was found, and what was expected. */
    Defect(String found) {
        super(found + "; this is a defect of Tutti: start the node again, and report this with its flight recording"
                + " (docs/flight-recorder.md)");
    }
}
