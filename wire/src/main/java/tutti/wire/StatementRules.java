package tutti.wire;

import java.nio.charset.StandardCharsets;
import java.util.Objects;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import tutti.core.txn.ConflictClasses;
import tutti.pgwire.ErrorFields;
import tutti.wire.sql.StatementClasses;
import tutti.wire.sql.ReadPlan;

/**
 * What must hold of a client's statements before they are sent, and what is noted of them: changes are accepted at the moment, and
 * transactions keep to the conflict classes that they have declared. On the session's event loop.
 */
final class StatementRules {
    /** What outlives the transaction if that commits; not SET LOCAL, nor what is about the transaction itself. */
    private static final Pattern LASTS = Pattern.compile(
            "(SET\\s+(?!LOCAL\\b|TRANSACTION\\b|CONSTRAINTS\\b)|RESET\\b|DISCARD\\b|(UN)?LISTEN\\b)",
            Pattern.CASE_INSENSITIVE);
    private static final Pattern FILLS_VIEW = Pattern.compile("(CREATE|REFRESH)\\s+MATERIALIZED\\b",
            Pattern.CASE_INSENSITIVE);
    private final Session session;
    private final TextSettings texts;
    /** By what the unnamed statement was judged. */
    private HiddenWords judged = HiddenWords.NONE;

    StatementRules(Session session, TextSettings texts) {
        this.session = session;
        this.texts = texts;
    }

    // ------------------------------------------------------------------------------------------ changes

    /** Why a statement that may change something is refused, or null. */
    @Nullable
    ErrorFields writeRefusal() {
        boolean byItself = !session.cycle().inBlock() && session.backend().outsideOfTransaction()
                && session.cycle().script() == null;
        if (session.transaction().work().mayHaveChanged() || session.modes().now() != Modes.Mode.ACTIVE
                || session.node().wholeOnly() || byItself) {
            return unavailable();
        }
        return Errors.error(Errors.READ_ONLY, Modes.MODE
                + " is active, but every node can execute a transaction only if it is handed in whole")
                .with('H',
                        "Send all its statements as one query, without BEGIN and COMMIT, or call a function; or SET LOCAL "
                                + Modes.MODE + " = 'passive'.");
    }

    /** Why nothing can be changed at the moment, unless the transaction has begun to; or null. */
    @Nullable
    ErrorFields unavailable() {
        String reason = session.transaction().work().mayHaveChanged() ? null : session.node().refusal();
        return reason == null ? null : Errors.refused(reason);
    }

    // ------------------------------------------------------------------------------------------ what every node executes

    /**
     * Whether a statement outside of a transaction is executed as in a transaction block: here first, and the others get what comes of it. So is one that makes a table from a
     * query that may have another result at each node, or adds a column with such a default, or one that is computed, one that may keep the moment at which it is read, which is refused then, and one
     * that changes a table whose rows some nodes lack, so that they cannot say whether it can be done.
     */
    boolean runsOnce(UtilityStatement statement) {
        boolean fillsColumn = statement.mayFillRows();
        return (!session.node().wholeOnly() && (statement.mayComputeRows() || statement.mayDrawForRows()
                || ((statement.fills() || fillsColumn)
                        && ((fillsColumn && statement.namesTimes()) || varying(statement, statement.fills()) != null))
                || (!statement.concurrently() && statement.mayKeepMoment())))
                || (!statement.concurrently()
                        && statement.targets().stream().anyMatch(session.capture().placed()::mayBe));
    }

    /** Why a change of the schema is not executed by every node, or null. */
    @Nullable
    ErrorFields schemaRefusal(UtilityStatement statement, boolean inTransaction) {
        ErrorFields refusal = inTransaction ? statement.refusedInBlock() : unavailable();
        if (refusal != null
                || (!(statement.fills() && !inTransaction) && !statement.mayRetype())) {
            return refusal;
        }
        String varying = varying(statement, statement.fills());
        return varying == null
                ? null
                : Errors.notSupported(
                        "every node executes this statement, and what it makes of rows may be different at each: "
                                + varying)
                        .with('H',
                                "Add a column, fill it by UPDATE or INSERT, whose rows are replicated, and DROP the one before.");
    }

    /** What a client is told of a materialized view whose rows may be different at each node, or null. */
    @Nullable
    ErrorFields schemaWarning(UtilityStatement statement) {
        String varying = FILLS_VIEW.matcher(UtilityStatement.fromFirstWord(statement.sql())).lookingAt()
                ? varying(statement, false)
                : null;
        return varying == null
                ? null
                : ErrorFields.of("WARNING", "01000",
                        "every node fills the materialized view by itself, with rows that may be different at each: "
                                + varying);
    }

    private @Nullable String varying(UtilityStatement statement, boolean unknownToo) {
        return session.capture().varyingRows(statement.sql().getBytes(StandardCharsets.UTF_8), texts.standardStrings(),
                unknownToo);
    }

    /** Why the open transaction is not prepared for its client, or null. */
    @Nullable
    ErrorFields prepareRefusal() {
        if (!session.node().promises()) {
            return Errors.notSupported("prepared transactions are kept under protocol si only: use COMMIT");
        }
        return session.transaction().work().hasSetSession()
                ? Errors.notSupported(
                        "a transaction that has changed settings of its session, or what it listens to, cannot be prepared:"
                                + " use SET LOCAL, or do so before it begins")
                : unavailable();
    }

    // ------------------------------------------------------------------------------------------ variables

    /** A statement by itself sets a variable. Returns why it is refused, or null. */
    @Nullable
    ErrorFields set(String sql, boolean inTransaction) {
        if (inTransaction) {
            lasts(sql);
        }
        ErrorFields refusal = session.readLevel().statement(sql, inTransaction);
        if (refusal == null) {
            refusal = session.modes().statement(sql, inTransaction);
        }
        return refusal == null ? declare(sql, inTransaction) : refusal;
    }

    /** Notes whether what a statement sets in a transaction block outlives that. */
    void lasts(String sql) {
        if (LASTS.matcher(UtilityStatement.fromFirstWord(sql)).lookingAt()) {
            session.transaction().work().setsSession();
        }
        if (Classifier.importsSnapshot(sql)) {
            session.transaction().work().importsSnapshot();
        }
    }

    private @Nullable ErrorFields declare(String sql, boolean inTransaction) {
        String list = StatementClasses.declared(sql);
        if (list == null || !session.node().needsClasses()) {
            return null;
        }
        OpenTransaction current = session.transaction().orNull();
        if (!inTransaction || current == null || current.handedIn()) {
            return Errors.error("25001", "tutti.classes must be set by the first statement of a transaction block")
                    .with('H', "BEGIN; SET LOCAL tutti.classes = 'one, another'; …");
        }
        StatementClasses.Declaration declaration = session.capture().declaration(list);
        if (!declaration.unknown().isEmpty()) {
            return Errors.error("42P01",
                    "tutti.classes lists what is no table: " + String.join(", ", declaration.unknown()));
        }
        current.declares(declaration);
        return null;
    }

    // ------------------------------------------------------------------------------------------ what is hidden

    /** A statement is judged, perhaps the unnamed one. */
    void judges() {
        judged = session.hidden();
    }

    /** A prepared statement as it is to be taken now: what was a read may have become a write since a view is another one. */
    Prepared now(Prepared prepared, boolean unnamed) {
        if (prepared.kind() != StatementKind.READ || prepared.question() != null) {
            return prepared;
        }
        HiddenWords now = session.hidden();
        StatementAccess access = prepared.access();
        boolean hides = access == null ? now.any() && !(unnamed && now.equals(judged)) : access.hides(now);
        return hides ? prepared.mayWrite() : prepared;
    }

    // ------------------------------------------------------------------------------------------ what is touched

    /** Whether what transactions read is to be noted. */
    boolean notesReads() {
        return session.notedReads().on();
    }

    /** A statement is executed of which nobody looks what it reads. */
    void unnoted() {
        session.transaction().work().readsUnnoted();
    }

    /** Whether it matters what statements touch. */
    boolean looksAtTexts() {
        return notesReads() || limitsStatements();
    }

    /** Whether each statement of the open transaction must show that it touches nothing but what has been declared. */
    boolean limitsStatements() {
        return limits(session.transaction().orNull()) != null;
    }

    private @Nullable ConflictClasses limits(@Nullable OpenTransaction current) {
        StatementClasses.Declaration declared = current == null ? null : current.declared();
        return declared != null && declared.partly() && session.node().classesCoverReads()
                ? declared.classes()
                : null;
    }

    /** Notes what a simple query reads. Returns why it is refused, or null. */
    @Nullable
    ErrorFields touches(byte[] sql) {
        if (sql.length == 0) {
            return null;
        }
        if (notesReads()) {
            (texts.understood(sql)
                    ? session.capture().reads(sql, 0, sql.length, texts.standardStrings())
                    : ReadPlan.EVERYTHING).addTo(session.transaction().work().reading(), ReadPlan.NO_VALUES);
        }
        return limitsStatements() ? outside(classes(sql)) : null;
    }

    /**
     * Notes what a portal reads that is executed.
     *
     * @param portal null if that is not known
     */
    void reads(StatementAccess.@Nullable Bound portal) {
        if (!notesReads()) {
            unnoted();
            return;
        }
        if (portal == null) {
            ReadPlan.EVERYTHING.addTo(session.transaction().work().reading(), ReadPlan.NO_VALUES);
        } else {
            portal.addTo(session.transaction().work().reading());
        }
    }

    /**
     * Why a portal is not executed in the open transaction, or null.
     *
     * @param portal null if it was bound before anything was declared
     */
    @Nullable
    ErrorFields outside(StatementAccess.@Nullable Bound portal) {
        return limitsStatements() ? outside(portal == null ? Capture.Classified.ALL : portal.classes()) : null;
    }

    private @Nullable ErrorFields outside(Capture.Classified statement) {
        ConflictClasses declared = Objects.requireNonNull(limits(session.transaction().orNull()), "asked before");
        String outside = session.capture().outside(statement.classes(), declared);
        return outside == null
                ? null
                : Errors.error(Errors.OUTSIDE_OF_CLASSES, "the statement may touch " + outside
                        + " that its transaction has declared")
                        .with('H', "Give the column that divides the table in the"
                                + " statement's condition or in its values, or list the whole table in tutti.classes.");
    }

    /** What a text may touch; anything if nobody needs to know. */
    Capture.Classified classes(byte[] sql) {
        return session.node().needsClasses() && texts.understood(sql)
                ? session.capture().classes(sql, 0, sql.length, texts.standardStrings(), ReadPlan.NO_VALUES)
                : Capture.Classified.ALL;
    }
}
