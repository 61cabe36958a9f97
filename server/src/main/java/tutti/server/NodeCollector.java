package tutti.server;

/**
 * Which collector the virtual machine of a node has, however the node is started: who starts it asks here, or, if that is a script, by
 * {@code tutti node --java-options} (docs/decisions/0206).
 */
public final class NodeCollector {
    /** It takes the least processor time, and stops the node for as long as it looks through the whole heap. */
    private static final String SERIAL = "-XX:+UseSerialGC";
    /** It looks through the heap beside the node's threads. */
    private static final String BESIDE = "-XX:+UseG1GC";

    private NodeCollector() {}

    /**
     * The option of the virtual machine.
     *
     * @param inProcess whether the node's database is in its process: with rows and indexes on the heap, looking through it takes seconds
     */
    public static String option(boolean inProcess) {
        return inProcess ? BESIDE : SERIAL;
    }
}
