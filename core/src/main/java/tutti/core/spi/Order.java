package tutti.core.spi;

/**
 * One node's part in a cluster: a log that gives messages their order, and the group of those who share it. What is made for
 * both at once, as Raft and group communication are, gives both; a log service is joined with a group of its own.
 *
 * <p>
 * Use: {@link Group#join}, {@link DurableLog#start}, and {@link #close} at last.
 */
public interface Order extends AutoCloseable {
    /** The log. */
    DurableLog log();

    /** Those who share it. While deliveries are suspended, the group's events are told all the same. */
    Group group();

    /** Leaves both. No call of reader or listener begins after it returns. */
    @Override
    default void close() {
        log().close();
        group().close();
    }
}
