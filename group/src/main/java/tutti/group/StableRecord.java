package tutti.group;

import java.util.List;

/**
 * One change of what a member must not forget. The world writes the records of a member to its stable storage in the
 * order in which it is given them, and acknowledges them in that order; a crash may lose any number of the last ones
 * that were not acknowledged, but none from the middle. {@link MessageLog#apply} folds them to a state to restart from.
 */
public sealed interface StableRecord {
    /** Bytes that it would take in a file: a type, and the fields at their natural sizes. */
    int encodedSize();

    /** The member began a new life. */
    record Started(long incarnation) implements StableRecord {
        @Override
        public int encodedSize() {
            return 1 + 8;
        }
    }

    /** The member takes no part in views below this one any more. */
    record Promised(long view) implements StableRecord {
        @Override
        public int encodedSize() {
            return 1 + 8;
        }
    }

    /** The member's log holds all that this view began with. */
    record Accepted(long view) implements StableRecord {
        @Override
        public int encodedSize() {
            return 1 + 8;
        }
    }

    /** Messages at the end of the log, at least one. */
    record Appended(List<Ordered> messages) implements StableRecord {
        public Appended {
            messages = List.copyOf(messages);
        }

        @Override
        public int encodedSize() {
            int bytes = 1 + 4;
            for (Ordered message : messages) {
                bytes += message.encodedSize();
            }
            return bytes;
        }
    }

    /** The messages after this position are given up: another view decided otherwise before a majority had them. */
    record Cut(long lastKept) implements StableRecord {
        @Override
        public int encodedSize() {
            return 1 + 8;
        }
    }

    /** The messages up to this position are not needed by anybody any more. */
    record Forgotten(long upTo) implements StableRecord {
        @Override
        public int encodedSize() {
            return 1 + 8;
        }
    }
}
