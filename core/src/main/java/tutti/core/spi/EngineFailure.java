package tutti.core.spi;

/**
 * What an engine says when it cannot do something.
 *
 * @param sqlState five characters, as the SQL standard and PostgreSQL define them
 * @param message for the person who reads it
 * @param kind what it says of another attempt
 */
public record EngineFailure(String sqlState, String message, Kind kind) {
    /** What a failure says of another attempt. */
    public enum Kind {
        /** None is of use: it is the result of what was asked for. */
        LASTING,
        /** The same thing may work (deadlock, serialization failure, lost connection); if it never does, it is the reason itself. */
        PASSING,
        /**
         * The database is in trouble, which what was asked for proves nothing about (a full disk, no connection): the same thing works when
         * that is over.
         */
        TROUBLE,
        /** The node is to keep rows that its database does not have: the copy of another node's has them. */
        NEEDS_COPY
    }

    /** @param transientFailure whether it is {@link Kind#PASSING}, otherwise {@link Kind#LASTING} */
    public EngineFailure(String sqlState, String message, boolean transientFailure) {
        this(sqlState, message, transientFailure ? Kind.PASSING : Kind.LASTING);
    }

    /** Whether the same thing may work if it is tried again. */
    public boolean transientFailure() {
        return kind == Kind.PASSING || kind == Kind.TROUBLE;
    }

    /** Whether the node gets further with the copy of another node's database only. */
    public boolean needsCopy() {
        return kind == Kind.NEEDS_COPY;
    }

    /** Whether it says nothing of what was asked for, only of the database. */
    public boolean isTrouble() {
        return kind == Kind.TROUBLE;
    }
}
