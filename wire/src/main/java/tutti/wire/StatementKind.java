package tutti.wire;

/** What a statement means to the front end: whether it may change rows, and what it does to the transaction. */
enum StatementKind {
    /** Nothing but comments. */
    EMPTY,
    /** BEGIN, START TRANSACTION. */
    BEGIN,
    /** COMMIT, END. */
    COMMIT,
    /** COMMIT AND CHAIN. */
    COMMIT_CHAIN,
    /** ROLLBACK, ABORT; not to a savepoint. */
    ROLLBACK,
    /** ROLLBACK AND CHAIN, ABORT AND CHAIN. */
    ROLLBACK_CHAIN,
    /** SAVEPOINT, RELEASE, ROLLBACK TO. */
    SAVEPOINT,
    /** Certainly changes no rows and takes no row locks. */
    READ,
    /** May change rows. */
    WRITE,
    /** COPY from the client, which may change rows and takes data. */
    COPY_IN,
    /** Executed by every replica. */
    SCHEMA,
    /** Executed here only, outside of transactions: VACUUM, CHECKPOINT, … */
    LOCAL,
    /** SET, SHOW, RESET and the like. */
    SESSION,
    /** SET CONSTRAINTS ... IMMEDIATE, around which capture has to be told. */
    CONSTRAINTS,
    /** DISCARD and DEALLOCATE, of which some are not possible in a transaction. */
    FORGET,
    /** PREPARE TRANSACTION. */
    PREPARE,
    /** COMMIT PREPARED, ROLLBACK PREPARED. */
    FINISH,
    /** CREATE DATABASE, DROP DATABASE, ALTER DATABASE ... RENAME; in a database that is not replicated ALTER DATABASE. */
    DATABASE,
    /** NOTIFY: those who listen at any node are told when the transaction has committed. */
    NOTIFY,
    /** Not supported. */
    REFUSED;

    /** Whether it ends a transaction block with success, if the block has not failed. */
    boolean commits() {
        return this == COMMIT || this == COMMIT_CHAIN;
    }

    /** Whether it rolls a transaction block back. */
    boolean rollsBack() {
        return this == ROLLBACK || this == ROLLBACK_CHAIN;
    }

    /** Whether it ends a transaction block and begins another. */
    boolean chains() {
        return this == COMMIT_CHAIN || this == ROLLBACK_CHAIN;
    }

    /** Whether it has to run in a transaction that is committed by way of certification. */
    boolean mayWrite() {
        return this == WRITE || this == COPY_IN;
    }

    /** Whether executing it takes a snapshot; of {@link #SESSION}, what is no FETCH or PREPARE does not. */
    boolean looks() {
        return switch (this) {
            case READ, WRITE, COPY_IN, SCHEMA, LOCAL, CONSTRAINTS, NOTIFY -> true;
            case EMPTY, SAVEPOINT, SESSION, FORGET, FINISH, DATABASE, REFUSED, BEGIN, COMMIT, COMMIT_CHAIN, ROLLBACK,
                    ROLLBACK_CHAIN, PREPARE ->
                false;
        };
    }

    /** Whether it ends a transaction block that has failed. */
    boolean ends() {
        return commits() || rollsBack() || this == PREPARE;
    }

    /** Whether the node does not pass it on as it comes, but sends its text to the engine, or to all nodes, in a message of its own. */
    boolean isSentAgain() {
        return switch (this) {
            case SCHEMA, CONSTRAINTS, NOTIFY, PREPARE, FINISH, DATABASE -> true;
            default -> false;
        };
    }

    /** Whether it controls the transaction. */
    boolean controlsTransaction() {
        return this == BEGIN || ends();
    }
}
