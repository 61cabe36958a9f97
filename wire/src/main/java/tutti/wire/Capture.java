package tutti.wire;

import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.function.IntFunction;
import org.jspecify.annotations.Nullable;
import tutti.core.spi.Completion;
import tutti.core.spi.EngineFailure;
import tutti.core.txn.ConflictClasses;
import tutti.core.txn.KeySet;
import tutti.core.txn.WriteSet;
import tutti.engine.postgres.apply.PlacedTables;
import tutti.engine.postgres.capture.LockedRows;
import tutti.engine.postgres.capture.Promise;
import tutti.engine.postgres.capture.SequenceName;
import tutti.engine.postgres.capture.Statement;
import tutti.pgwire.ErrorFields;
import tutti.pgwire.QueryResult;
import tutti.wire.sql.LockingQuery;
import tutti.wire.sql.StatementClasses;
import tutti.wire.sql.ReadPlan;

/**
 * The front end's view of the engine's capture service, from which a session learns what its transaction has changed. Safe for use
 * from all event loops.
 */
public interface Capture {
    /** What the front end asks of the engine on a session's own connection. */
    Calls calls();

    /**
     * Reads what a transaction changed.
     *
     * @param gathered what {@link Calls#finish} returned
     * @param catalogs what {@link Calls#catalog} returned in the same transaction: before each schema change in the order of
     *            their places, null where it has not been asked, and at the end; empty if it has not been asked at all
     * @throws CaptureException if the transaction cannot be replicated
     * @throws CatalogNeeded if it changed tables that are known only inside the transaction
     */
    Captured close(byte[] gathered, List<@Nullable QueryResult> catalogs) throws CaptureException, CatalogNeeded;

    /**
     * What a piece of SQL reads.
     *
     * @param sql in UTF-8
     * @param standardStrings whether backslashes in plain strings are characters like any other
     */
    default ReadPlan reads(byte[] sql, int from, int to, boolean standardStrings) {
        return ReadPlan.EVERYTHING;
    }

    /**
     * What a transaction may touch.
     *
     * @param classes all that it may touch
     * @param vouched whether they are in part what somebody has declared, and therefore to be checked
     */
    record Classified(ConflictClasses classes, boolean vouched) {
        /** Anything. */
        static final Classified ALL = new Classified(ConflictClasses.ALL, false);
    }

    /**
     * The conflict classes of a piece of SQL in UTF-8: whatever it may touch.
     *
     * @param values bound to its parameters
     */
    default Classified classes(byte[] sql, int from, int to, boolean standardStrings, ReadPlan.Values values) {
        return Classified.ALL;
    }

    /** Whether the schema says of some function where it is to be executed. */
    default boolean declaresModes() {
        return false;
    }

    /** What a client declares that lists tables. */
    default StatementClasses.Declaration declaration(String list) {
        return new StatementClasses.Declaration(ConflictClasses.ALL, List.of(), false);
    }

    /** What a write set touches outside of its classes, for the client's error, or null. */
    default @Nullable String outside(WriteSet writes, ConflictClasses classes) {
        return null;
    }

    /** Which of these relations, by object id, lies outside of the classes, for the client's error, or null. */
    default @Nullable String outside(List<Long> relations, ConflictClasses classes) {
        return null;
    }

    /** Which rows a statement may touch outside of the classes that are declared, for the client's error, or null. */
    default @Nullable String outside(ConflictClasses statement, ConflictClasses declared) {
        return null;
    }

    /** What makes a write of a statement that looks like a read; another object when the schema has changed in that. */
    default HiddenWords hidden() {
        return HiddenWords.NONE;
    }

    /** Whether columns of rows that have not changed may be left out of what is captured: whether all nodes can make such changes. */
    default boolean leavesOut() {
        return true;
    }

    /** Whether a statement that was to tell whole rows would be sent so that it leaves columns out now. */
    default boolean outdated(InBandStatement statement) {
        return false;
    }

    /**
     * What is to be sent for a statement so that it tells the rows that it changes, or null if that cannot be proven of it.
     *
     * @param sql in UTF-8, as long as {@code length}
     */
    default @Nullable InBandStatement inBand(byte[] sql, int length, StatementContext speaker) {
        return null;
    }

    /**
     * What is to be sent for a query so that it tells which rows it locks, or null if it locks none, or that cannot be done.
     *
     * @param sql in UTF-8, as long as {@code length}
     * @param role as which it is executed
     */
    default @Nullable LockingQuery locking(byte[] sql, int length, boolean standardStrings, String role) {
        return null;
    }

    /** Adds rows that such a query has told; see {@link LockedRows#read}. */
    default void locked(byte[] told, boolean exact, LockedRows into) {
        throw new UnsupportedOperationException("this engine's queries do not tell what they lock");
    }

    /** Equals what was answered before as long as {@link #reads} answers the same of the same SQL. */
    default Object schemaVersion() {
        return this;
    }

    /**
     * A change of the schema that is about to be committed at this node.
     *
     * @param alone completed when nothing goes on that was begun with the schema as it is; before that it is not committed
     * @param over run when it has been committed, or not
     */
    record SchemaChange(CompletableFuture<Void> alone, Runnable over) {}

    /**
     * A transaction that changed the schema is about to commit at this node: what is known of the schema holds for no statement, from before
     * anybody sees it otherwise, until the change is over and the schema is known anew.
     */
    default SchemaChange schemaChanges() {
        return new SchemaChange(CompletableFuture.completedFuture(null), () -> {});
    }

    /** A transaction that changed the schema has committed at this node. */
    void schemaChanged();

    /**
     * A statement that every replica executes, in the form that the node and {@link Calls#allow} take.
     *
     * @param place which of its transaction's schema changes it is, from 0
     * @param sql one statement, or several that every replica executes in one transaction, separated by
     *            {@link Statement#SEPARATOR}
     * @param settings the row that {@link Calls#settings} returned
     */
    byte[] statement(int place, String sql, List<@Nullable String> settings);

    /** Likewise, of one that every replica executes outside of a transaction block; sequences that it makes are this node's first. */
    default byte[] orderedStatement(String sql, List<@Nullable String> settings) {
        return statement(0, sql, settings);
    }

    /** What has every replica give this node more values of sequences. */
    default byte[] grant(List<SequenceName> sequences) {
        throw new UnsupportedOperationException("this engine's sequences are not shared");
    }

    /**
     * What is ordered when a transaction is prepared: its keys, and its changes for later.
     *
     * @param row what {@link PreparedTransaction#preparing} returned
     * @param writes what it has changed
     * @throws CaptureException if it has changed what cannot be kept
     */
    default WriteSet prepare(List<@Nullable String> row, WriteSet writes) throws CaptureException {
        throw new UnsupportedOperationException("this engine keeps no prepared transactions");
    }

    /** What is promised to the transaction that has been prepared under an identifier, as far as this node knows; or null. */
    default @Nullable Promise promise(String identifier) {
        return null;
    }

    /** What has every replica end a prepared transaction. */
    default byte[] finish(Promise promise, boolean commits, String role) {
        throw new UnsupportedOperationException("this engine keeps no prepared transactions");
    }

    /** The keys that a {@link #grant} is taken to touch. */
    default KeySet grantKeys(List<SequenceName> sequences) {
        return KeySet.EMPTY;
    }

    /**
     * What in a statement that reads tables, and writes none but the one that it makes or changes, may have another result at another replica; null if
     * nothing may, as far as is known.
     *
     * @param unknownToo whether SQL that cannot be looked into counts
     */
    default @Nullable String varyingRows(byte[] sql, boolean standardStrings, boolean unknownToo) {
        return null;
    }

    /** The statements of a request that every replica is to execute; the texts are in UTF-8. */
    default StatementClasses.Statements statements(byte[] sql, boolean standardStrings) {
        return StatementClasses.Statements.unknown("everything");
    }

    /** Which calls of procedures in Java can be handed in. */
    default JavaRequests java() {
        return JavaRequests.NONE;
    }

    /**
     * A request that every replica executes, in the form that the node takes.
     *
     * @param settings the row that {@link Calls#settings} returned
     * @param declared whether the classes that it is logged by are what somebody says
     * @param number of it among those that are made with this row, from 0: what is fixed at submission is another for each
     * @param drawn values of sequences that were drawn for all of these; null if none were
     * @param more settings that it needs besides, by name
     */
    default byte[] request(List<Statement.Call> calls, List<@Nullable String> settings, boolean declared,
            int number, @Nullable String drawn, Map<String, String> more) {
        throw new UnsupportedOperationException("this engine executes no requests of other nodes");
    }

    /** Whether backslashes in plain strings stand for themselves, by a row of settings. */
    default boolean standardStrings(List<@Nullable String> row) {
        return true;
    }

    /**
     * Whether a session of which {@link Calls#settings} returned this row has nothing that others of its role lack: no temporary
     * relations, and no read-only transactions.
     */
    default boolean likeOthers(List<@Nullable String> settings) {
        return true;
    }

    /** Whether the transaction in which {@link Calls#settings} returned this row may only read. */
    default boolean readsOnly(List<@Nullable String> settings) {
        return false;
    }

    /** The client_min_messages of a session of which {@link Calls#settings} returned this row. */
    default String leastTold(List<@Nullable String> settings) {
        return "notice";
    }

    /**
     * What {@link Calls#settings} would return some time after it has returned a row, if the session's settings are what they were: another time
     * and another random value are fixed at submission. Null if that must be asked.
     *
     * @param laterMicros in microseconds, at least 0
     */
    default @Nullable List<@Nullable String> later(List<@Nullable String> settings, long laterMicros) {
        return null;
    }

    /** Tables that some nodes lack, at this moment. From any thread. */
    default PlacedTables placed() {
        return PlacedTables.NONE;
    }

    /**
     * Finds out up to which position the database has been changed, which may be less than what is visible. From any thread.
     *
     * @param done told from any thread
     */
    default void recorded(Completion<Long> done) {
        done.failed(new EngineFailure("0A000", "nobody says which positions are recorded", false));
    }

    /** The keys that a statement outside of a transaction is taken to touch. */
    KeySet barrierKeys();

    /**
     * What a transaction changed.
     *
     * @param writes not empty
     * @param describe says in words which row a key, by its index, stands for
     * @param schemaChanged whether that is the schema, too
     */
    record Captured(WriteSet writes, IntFunction<String> describe, boolean schemaChanged) {}

    /**
     * Functions by their object ids, which are called with parameters and results in binary form, and statements.
     *
     * @param finish checks deferred constraints, lets the next COMMIT pass the guard, and returns what was changed as one
     *            bytea, or null for nothing; takes the secret and the session's key, a text
     * @param record makes the commit record a position; takes the secret and the position, an int8
     * @param recordInBand the same for a transaction whose rows have been seen in band; takes the secret, the position and their number, an
     *            int8
     * @param allow lets the transaction's next statement change the schema; takes the secret and {@link Capture#statement} as
     *            text
     * @param beforeSetConstraints precedes a SET CONSTRAINTS ... IMMEDIATE in a transaction block; takes the secret
     * @param afterSetConstraints follows it; takes the secret
     * @param secret a bytea; not copied
     * @param settings a statement that returns one row: the role, the settings that the meaning of a statement depends on, and
     *            whether one of the relations named in {@code $1}, a text[], is a temporary one
     * @param catalog a statement that describes the tables
     */
    record Calls(
            int finish,
            int record,
            int recordInBand,
            int allow,
            int beforeSetConstraints,
            int afterSetConstraints,
            byte[] secret,
            String settings,
            String catalog) {
        /** Hides the secret. */
        @Override
        public String toString() {
            return "Calls[" + finish + "]";
        }
    }

    /** The tables as they are inside the transaction have to be looked at. */
    final class CatalogNeeded extends Exception {
        private static final long serialVersionUID = 1;
    }

    /** A transaction's changes cannot be replicated. */
    final class CaptureException extends Exception {
        private static final long serialVersionUID = 1;
        private final transient ErrorFields fields;

        /** Carries what the client is told. */
        public CaptureException(ErrorFields fields) {
            super(fields.toString());
            this.fields = fields;
        }

        /** What the client is told. */
        public ErrorFields fields() {
            return fields;
        }
    }
}
