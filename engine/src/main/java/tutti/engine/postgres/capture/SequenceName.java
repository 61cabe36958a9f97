package tutti.engine.postgres.capture;

/**
 * A sequence of which a node wants values.
 *
 * @param shares how many shares at once, at least 1
 */
public record SequenceName(String schema, String name, int shares) {
    /** So many shares of it. */
    public SequenceName times(int factor) {
        return new SequenceName(schema, name, factor);
    }
}
