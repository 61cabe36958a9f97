package tutti.workload.listappend;

/** One operation that a list-append transaction is to do. */
public sealed interface ListAppendStep {
    /** The list concerned. */
    long key();

    /** Put a value at the end of a list. */
    record Append(long key, int value) implements ListAppendStep {}

    /** Read a whole list. */
    record Read(long key) implements ListAppendStep {}
}
