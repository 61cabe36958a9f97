package tutti.workload.listappend;

import java.util.Arrays;

/** One operation of a list-append transaction, with what the client was answered. */
public sealed interface ListAppendOperation {
    /** The list concerned. */
    long key();

    /**
     * A value was put at the end of a list. To a transaction that did not come so far it means that it was tried.
     *
     * @param value that no other append to the same key uses
     */
    record Append(long key, int value) implements ListAppendOperation {
        @Override
        public String toString() {
            return "append(" + key + ", " + value + ")";
        }
    }

    /**
     * A whole list was read.
     *
     * @param values in their order; must not be modified
     */
    record Read(long key, int[] values) implements ListAppendOperation {
        @Override
        public boolean equals(Object other) {
            return other instanceof Read read && read.key == key && Arrays.equals(read.values, values);
        }

        @Override
        public int hashCode() {
            return 31 * Long.hashCode(key) + Arrays.hashCode(values);
        }

        @Override
        public String toString() {
            return "read(" + key + ") = " + Arrays.toString(values);
        }
    }
}
