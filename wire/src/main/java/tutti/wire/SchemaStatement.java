package tutti.wire;

import java.util.List;
import tutti.wire.sql.SqlTokens;

/**
 * Judges a statement that changes the schema: whether it is refused, or makes a temporary object, and so is of this session
 * alone; whether it makes a table from a query; and what relation it is about. Reused, with the {@link Classifier} that has
 * read its first word.
 */
final class SchemaStatement {
    private static final long RULE = SqlTokens.key("rule");
    private static final long RECURSIVE = SqlTokens.key("recursive");
    private static final long AS = SqlTokens.key("as");
    private static final long TABLE = SqlTokens.key("table");
    private static final long COLUMN = SqlTokens.key("column");
    private static final long PG_TEMP = SqlTokens.key("pg_temp");
    private static final long ATOMIC = SqlTokens.key("atomic");
    private static final long BEGIN = SqlTokens.key("begin");
    private static final long CASE = SqlTokens.key("case");
    private static final long END = SqlTokens.key("end");
    private static final long SCHEMA = SqlTokens.key("schema");
    private static final long ON = SqlTokens.key("on");
    static final long OWN_SCHEMA = SqlTokens.key("tutti");
    /** What in it roles may be given rights to. */
    private static final long FOR_CLIENTS = SqlTokens.key("declared_sequences");
    /** What the name of one of our triggers may follow, and what may stand in between. */
    private static final long[] TRIGGER_FOLLOWS = SqlCursor.keys("trigger constraint");
    private static final long[] BEFORE_TRIGGER = SqlCursor.keys("if not exists");
    /** What the name of a role follows that rights or an object are given to, or taken from. */
    private static final long[] ROLE_FOLLOWS = SqlCursor.keys("to from");
    /** What the name of a variable follows, which may be one of ours. */
    private static final long[] VARIABLE_FOLLOWS = SqlCursor.keys("set reset");
    private static final long[] CREATE_PREFIX = SqlCursor.keys("or replace global local unlogged");
    /** What may be temporary, before whose name only {@link #BEFORE_NAME} stands. */
    private static final long[] RELATIONS = SqlCursor.keys("table index view sequence on");
    private static final long[] BEFORE_NAME = SqlCursor
            .keys("table index view sequence on if not exists only concurrently"
                    + " function procedure routine aggregate type domain collation statistics recursive");
    /** What may be made, changed and dropped in pg_temp besides. */
    private static final long[] OBJECTS = SqlCursor
            .keys("function procedure routine aggregate type domain collation statistics");
    /** What stands on a relation that is named after ON. */
    private static final long[] ON_RELATION = SqlCursor.keys("unique index trigger constraint rule policy");
    private static final long[] PER_SERVER = SqlCursor.keys("database tablespace subscription system");
    private static final String OF_A_SERVER = "tablespaces, subscriptions and server settings belong to one server and are not"
            + " replicated: make such changes on every node's PostgreSQL while the cluster is stopped";
    private static final long DATABASE = SqlTokens.key("database");
    private static final long FROM = SqlTokens.key("from");
    private static final String FROM_CURRENT = "ALTER DATABASE ... SET takes a value, not FROM CURRENT";

    /** Where the name of a relation is expected. */
    private enum Target {
        NONE, AFTER_ON, AFTER_TO, NEXT, CREATED, NAME, DOT
    }

    private final SqlCursor sql;
    private final AlterDatabase alteredDatabase;
    private final SessionWords session = new SessionWords();
    private final boolean serializable;
    private String refusal = "";
    private static final long UNTIL = SqlTokens.key("until");
    private static final List<String> MOMENTS = List.of("now", "today", "tomorrow", "yesterday");
    private static final String NO_MOMENT = "VALID UNTIL takes a plain string with a date and time that is the same at all nodes: each would take now,"
            + " today, tomorrow or yesterday for the moment at which it executes the statement";
    /** Whether it makes a temporary object. */
    private boolean temporary;
    private boolean fromQuery;
    private int targetStart;
    private int targetEnd;
    private int concurrentlyStart;
    private Target target = Target.NONE;
    /** Whether it grants or revokes something. */
    private boolean granted;
    /** Whether it alters a database. */
    private boolean ofDatabase;

    /** @param sql at which the {@link Classifier} reads, too */
    SchemaStatement(SqlCursor sql, boolean serializable) {
        this.sql = sql;
        this.alteredDatabase = new AlterDatabase(sql);
        this.serializable = serializable;
    }

    /** Another piece of SQL begins. */
    void forget() {
        targetStart = 0;
        targetEnd = 0;
        concurrentlyStart = 0;
    }

    /** Why the statement judged last is refused. */
    String refusal() {
        return refusal;
    }

    /** Whether the statement judged last makes a table from a query. */
    boolean isFromQuery() {
        return fromQuery;
    }

    /** Whether the statement judged last alters a database, which can be done from any. */
    boolean isOfDatabase() {
        return ofDatabase;
    }

    /** See {@link Classifier#targetStart}. */
    int targetStart() {
        return targetStart;
    }

    /** See {@link Classifier#targetEnd}. */
    int targetEnd() {
        return targetEnd;
    }

    /** See {@link Classifier#concurrentlyStart}. */
    int concurrentlyStart() {
        return concurrentlyStart;
    }

    private StatementKind refuse(String reason) {
        refusal = reason;
        return StatementKind.REFUSED;
    }

    /**
     * Judges what stands behind the first word.
     *
     * @param refresh whether that is REFRESH
     * @param create whether it is CREATE
     * @param changes whether it is ALTER, DROP, GRANT or REVOKE
     * @param grants whether it is one of the latter two
     */
    StatementKind judge(boolean refresh, boolean create, boolean changes, boolean grants) {
        temporary = false;
        fromQuery = false;
        while (create && sql.atAny(CREATE_PREFIX)) {
            sql.advance();
        }
        ofDatabase = changes && !grants && sql.atWord(DATABASE);
        if (ofDatabase) {
            StatementKind kind = alteredDatabase.judge();
            if (kind != StatementKind.SCHEMA) {
                return kind == StatementKind.REFUSED ? refuse(alteredDatabase.refusal()) : kind;
            }
        } else if (sql.atAny(PER_SERVER)) {
            return refuse(OF_A_SERVER);
        }
        if (create && (sql.atWord(Classifier.TEMP) || sql.atWord(Classifier.TEMPORARY))) {
            return StatementKind.WRITE;
        }
        boolean table = create && sql.atWord(TABLE);
        granted = grants;
        target = grants ? Target.AFTER_ON : Target.NONE;
        if (!grants && sql.atWord()) {
            target = sql.atAny(RELATIONS)
                    ? create ? sql.atAny(ON_RELATION) ? Target.AFTER_ON : Target.CREATED : Target.NEXT
                    : sql.atAny(ON_RELATION)
                            ? sql.atWord(RULE) && create ? Target.AFTER_TO : Target.AFTER_ON
                            : sql.atAny(OBJECTS) || sql.atWord(RECURSIVE)
                                    ? Target.CREATED
                                    : Target.NONE;
        }
        int depth = 0;
        int concurrent = 0;
        int atomicDepth = 0;
        boolean begin = false;
        // a function body in SQL-standard form contains semicolons, and so do the actions of a rule, in parentheses
        boolean isolation = false;
        boolean schema = false;
        boolean own = false;
        boolean variable = false;
        boolean trigger = false;
        boolean until = false;
        session.begin();
        while (!sql.atEnd() && (!sql.at(';') || atomicDepth > 0 || depth > 0)) {
            own = (changes && !variable && !sql.atString() && sql.named(OWN_SCHEMA)) || (own && sql.at('.'));
            variable = sql.atAny(VARIABLE_FOLLOWS);
            if (sql.atAnyPrefix(Classifier.RESERVED_PREFIXES)) {
                return refuse(Classifier.RESERVED);
            }
            boolean inOwn = own && sql.at('.');
            if (inOwn && grants) {
                sql.advance();
                inOwn = !sql.named(FOR_CLIENTS);
            }
            if (inOwn || (own && schema)) {
                return refuse(Classifier.RESERVED_SCHEMA);
            }
            if (trigger && sql.atAnyPrefix(Classifier.RESERVED_TRIGGERS)) {
                return refuse(Classifier.RESERVED_TRIGGER);
            }
            trigger = sql.atAny(TRIGGER_FOLLOWS) || (trigger && sql.atAny(BEFORE_TRIGGER));
            schema &= !sql.atAny(ROLE_FOLLOWS);
            schema |= sql.atWord(SCHEMA);
            if (sql.named(Classifier.REPLICATION_ROLE)) {
                return refuse(Classifier.NO_REPLICATION_ROLE);
            }
            if (session.found(sql)) {
                return refuse(SessionWords.REFUSAL);
            }
            if (until && sql.atString() && (!sql.isPlainString() || sql.containsAny(MOMENTS))) {
                return refuse(NO_MOMENT);
            }
            until = sql.atWord(UNTIL);
            if (ofDatabase && sql.atWord(FROM)) {
                return refuse(FROM_CURRENT);
            }
            isolation |= sql.named(Classifier.ISOLATION);
            if (isolation && !serializable && sql.named(Classifier.SERIALIZABLE)) {
                return refuse(Classifier.NOT_SERIALIZABLE);
            }
            seeTarget();
            if (temporary) {
                return StatementKind.WRITE;
            }
            depth += sql.at('(') ? 1 : sql.at(')') ? -1 : 0;
            fromQuery |= table && depth == 0 && sql.atWord(AS);
            if (depth == 0 && sql.atWord(Classifier.CONCURRENTLY)) {
                concurrent = sql.start();
            }
            if ((begin && sql.atWord(ATOMIC)) || (atomicDepth > 0 && sql.atWord(CASE))) {
                atomicDepth++;
            } else if (atomicDepth > 0 && sql.atWord(END)) {
                atomicDepth--;
            }
            begin = sql.atWord(BEGIN);
            sql.advance();
        }
        concurrentlyStart = refresh ? 0 : concurrent;
        return StatementKind.SCHEMA;
    }

    /** Looks at a token of a schema change for the name of the relation that it is about. */
    private void seeTarget() {
        switch (target) {
            case AFTER_TO -> {
                if (sql.atWord(Classifier.TO)) {
                    target = Target.NEXT;
                }
            }
            case AFTER_ON -> {
                if (sql.atWord(ON)) {
                    target = Target.NEXT;
                }
            }
            case NEXT, CREATED -> {
                if (sql.atWord(COLUMN) || (granted && sql.atAny(OBJECTS))) {
                    target = Target.NONE;
                } else if (sql.atQuoted() || (sql.atWord() && !sql.atAny(BEFORE_NAME))) {
                    if (target == Target.CREATED) {
                        temporary = sql.atWord(PG_TEMP);
                        target = Target.NONE;
                    } else {
                        targetStart = sql.start();
                        targetEnd = sql.position();
                        target = Target.NAME;
                    }
                }
            }
            case NAME -> target = sql.at('.') ? Target.DOT : Target.NONE;
            case DOT -> {
                targetEnd = sql.position();
                target = Target.NAME;
            }
            case NONE -> {
                // found, or there is none
            }
        }
    }
}
