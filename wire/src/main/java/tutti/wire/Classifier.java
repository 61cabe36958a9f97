package tutti.wire;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import tutti.engine.postgres.apply.PlacedTables;
import tutti.wire.sql.SqlTokens;

/**
 * Tells what kinds of statements a piece of SQL consists of. Splits it at its top-level semicolons and judges each by its
 * words. Errs on the side of {@link StatementKind#WRITE}: what is called {@link StatementKind#READ} consists of known
 * harmless words and functions. (A view or operator may still hide a function that writes; the capture's guard then
 * refuses the commit.) Reused; results are valid until the next call.
 */
final class Classifier {
    private static final long CHAIN = SqlTokens.key("chain");
    private static final long NO = SqlTokens.key("no");
    static final long TO = SqlTokens.key("to");
    private static final long TRUNCATE = SqlTokens.key("truncate");
    private static final long LOCK = SqlTokens.key("lock");
    private static final long WITH = SqlTokens.key("with");
    private static final long HOLD = SqlTokens.key("hold");
    private static final long PREPARED = SqlTokens.key("prepared");
    private static final long TRANSACTION = SqlTokens.key("transaction");
    private static final long SET = SqlTokens.key("set");
    private static final long SNAPSHOT = SqlTokens.key("snapshot");
    private static final String ALONE = "SET TRANSACTION SNAPSHOT is supported as a query of its own: send it by itself, behind BEGIN";
    static final long CONCURRENTLY = SqlTokens.key("concurrently");
    private static final long[] ANALYZE = SqlCursor.keys("analyze analyse");
    private static final long AS = SqlTokens.key("as");
    /** What stands before the name of a table that is this session's alone. */
    private static final long[] SESSION_TABLE = SqlCursor.keys("temp temporary");
    private static final String EXPLAINED = "EXPLAIN ANALYZE would make the table at this node only: explain the query by itself, or leave ANALYZE out";
    private static final long INTO = SqlTokens.key("into");
    private static final long CONSTRAINTS = SqlTokens.key("constraints");
    private static final long IMMEDIATE = SqlTokens.key("immediate");
    private static final long NEXTVAL = SqlTokens.key("nextval");
    private static final long INSERT = SqlTokens.key("insert");
    private static final long MERGE = SqlTokens.key("merge");
    private static final long FOR = SqlTokens.key("for");
    static final long TEMP = SqlTokens.key("temp");
    static final long TEMPORARY = SqlTokens.key("temporary");
    private static final long REFRESH = SqlTokens.key("refresh");
    private static final long DATABASE = SqlTokens.key("database");
    private static final long DROP = SqlTokens.key("drop");
    private static final long UPDATE = SqlTokens.key("update");
    private static final long DELETE = SqlTokens.key("delete");
    private static final long CREATE = SqlTokens.key("create");
    private static final long PG_CATALOG = SqlTokens.key("pg_catalog");
    private static final long READ = SqlTokens.key("read");
    private static final long ONLY = SqlTokens.key("only");
    static final long SERIALIZABLE = SqlTokens.key("serializable");
    static final long REPLICATION_ROLE = SqlTokens.key("session_replication_role");
    /** Why SERIALIZABLE is refused under a protocol that does not guarantee it. */
    static final String NOT_SERIALIZABLE = "the cluster's protocol guarantees snapshot isolation, not SERIALIZABLE:"
            + " use REPEATABLE READ, or a cluster whose protocol is si or dbsm";
    /** Why a statement or a start-up option is refused. */
    static final String NO_REPLICATION_ROLE = "session_replication_role cannot be set: it would switch replication off";
    /** Why a statement that names one of the node's own roles is refused. */
    static final String RESERVED = "roles whose names begin with tutti_node, tutti_applier_ or tutti_executor_ are the node's own:"
            + " give yours another name";
    /** What the names of the node's own roles begin with. */
    static final List<String> RESERVED_PREFIXES = List.of("tutti_node", "tutti_applier_", "tutti_executor_");
    /** Why a statement that changes what is in the node's own schema is refused. */
    static final String RESERVED_SCHEMA = "what is in the schema tutti is the node's own";
    /** What the names of the node's own triggers begin with. */
    static final List<String> RESERVED_TRIGGERS = List.of("tutti_");
    /** Why a statement that makes or changes one of those is refused. */
    static final String RESERVED_TRIGGER = "triggers whose names begin with tutti_ are the node's own";
    private static final long[] CHANGES_OBJECTS = SqlCursor.keys("alter drop");
    private static final long[] GRANTS = SqlCursor.keys("grant revoke");
    private static final long[] TABLE_WRITES = SqlCursor.keys("insert update delete merge truncate");
    private static final long SET_CONFIG = SqlTokens.key("set_config");
    private static final long WRITE = SqlTokens.key("write");
    private static final long[] READ_ONLY = SqlCursor.keys("transaction_read_only default_transaction_read_only");
    static final long[] ISOLATION = SqlCursor.keys("isolation transaction_isolation default_transaction_isolation");
    private static final long[] LOCK_STRENGTH = SqlCursor.keys("update share no key");
    private static final long[] CHANGES = SqlCursor.keys("insert update delete merge call do execute");
    private static final String PLAIN_NOTIFY = "NOTIFY takes the name of a channel and one literal here: use pg_notify()";
    private static final String PLAIN_IDENTIFIER = "the identifier of a prepared transaction must be one literal here";
    private static final long[] QUESTIONS = SqlCursor.keys("tutti_outcome tutti_position tutti_wait");
    private final SqlCursor sql = new SqlCursor();
    private final SchemaStatement schema;
    private final CatalogWrites catalog = new CatalogWrites(sql);
    private final CopyStatement copy;
    private final boolean serializable;
    private final @Nullable String elsewhere;
    private int count;
    private int[] starts = new int[4];
    private int[] ends = new int[4];
    private StatementKind[] kinds = new StatementKind[4];
    private @Nullable String refusal;
    private boolean needsBlock;
    private boolean truncates;
    private boolean readOnly;
    /** Whether what may change something does not just call a function that is not known. */
    private boolean changes;
    /** Whether transactions are asked for that may change something. */
    private boolean readWrite;
    private boolean question;
    /** Which statement has its transaction see what another one sees; -1 if none. */
    private int importing;
    private boolean fills;
    private boolean asksSerializable;
    private int channelStart;
    private int channelEnd;
    private int payloadStart;
    private int payloadEnd;

    /**
     * A classifier. In another database than the replicated one everything is refused that may change something: what is called
     * {@link StatementKind#READ} there may call functions that are not known, which change nothing as long as transactions are read-only.
     *
     * @param serializable whether SERIALIZABLE is guaranteed to who asks for it; otherwise asking for it is refused
     * @param elsewhere the database; null for the replicated one
     * @param placed tables that some nodes lack
     * @param utf8 whether texts are in UTF-8
     */
    Classifier(boolean serializable, @Nullable String elsewhere, Supplier<PlacedTables> placed, BooleanSupplier utf8) {
        this.serializable = serializable;
        this.elsewhere = elsewhere;
        this.schema = new SchemaStatement(sql, serializable);
        this.copy = new CopyStatement(sql, placed, utf8);
    }

    /** Whether a statement is SET TRANSACTION SNAPSHOT. */
    static boolean importsSnapshot(String statement) {
        byte[] bytes = statement.getBytes(StandardCharsets.UTF_8);
        SqlCursor sql = new SqlCursor();
        sql.reset(bytes, 0, bytes.length, true);
        boolean imports = false;
        boolean transaction = false;
        for (boolean set = sql.atWord(SET); set && sql.inStatement(); sql.advance()) {
            imports |= transaction && sql.atWord(SNAPSHOT);
            transaction = sql.atWord(TRANSACTION);
        }
        return imports;
    }

    /** Judges a piece of SQL. Statements without words are left out. */
    void classify(byte[] text, int from, int to, boolean standardConformingStrings) {
        count = 0;
        importing = -1;
        refusal = null;
        readOnly = false;
        question = false;
        fills = false;
        asksSerializable = false;
        schema.forget();
        catalog.forget();
        sql.reset(text, from, to, standardConformingStrings);
        while (!sql.atEnd()) {
            if (sql.at(';')) {
                sql.advance();
                continue;
            }
            int start = sql.start();
            needsBlock = false;
            truncates = false;
            changes = true;
            readWrite = false;
            StatementKind kind = elsewhere == null ? statement() : readOnly(statement());
            while (sql.inStatement()) {
                sql.advance();
            }
            add(start, sql.start(), kind);
        }
        if (importing >= 0 && count > 1) {
            kinds[importing] = refuse(ALONE);
        }
    }

    private StatementKind readOnly(StatementKind kind) {
        return switch (kind) {
            case DATABASE -> kind;
            case EMPTY, BEGIN, COMMIT, COMMIT_CHAIN, ROLLBACK, ROLLBACK_CHAIN, SAVEPOINT, READ, SESSION, FORGET ->
                readWrite ? refuse(notReplicated()) : kind;
            case WRITE -> changes || readWrite ? refuse(notReplicated()) : StatementKind.READ;
            case REFUSED -> kind;
            case COPY_IN, SCHEMA, LOCAL, CONSTRAINTS, PREPARE, FINISH, NOTIFY -> refuse(notReplicated());
        };
    }

    private String notReplicated() {
        return "database " + elsewhere
                + " is not replicated and can only be read: connect to the configured one, or to one that CREATE DATABASE"
                + " has made through a node";
    }

    private void add(int start, int end, StatementKind kind) {
        if (count == kinds.length) {
            starts = Arrays.copyOf(starts, count * 2);
            ends = Arrays.copyOf(ends, count * 2);
            kinds = Arrays.copyOf(kinds, count * 2);
        }
        starts[count] = start;
        ends[count] = end;
        kinds[count++] = kind;
    }

    boolean reads() {
        return elsewhere == null && Arrays.asList(kinds).subList(0, count).contains(StatementKind.READ);
    }

    /** What counts as a read may do more than its words say. */
    void readsMayWrite() {
        Arrays.asList(kinds).subList(0, count)
                .replaceAll(kind -> kind == StatementKind.READ ? StatementKind.WRITE : kind);
    }

    /** How many statements there are. */
    int count() {
        return count;
    }

    /** The only statement's kind; EMPTY if there is none. */
    StatementKind single() {
        return count == 0 ? StatementKind.EMPTY : kinds[0];
    }

    /** A statement's kind. */
    StatementKind kind(int index) {
        return kinds[index];
    }

    /** Where a statement starts. */
    int start(int index) {
        return starts[index];
    }

    /** Where a statement ends, its semicolon not included. */
    int end(int index) {
        return ends[index];
    }

    /** Why the first refused statement is. */
    String refusal() {
        return refusal == null ? "" : refusal;
    }

    /** Whether a BEGIN begins a transaction that only reads. */
    boolean readOnly() {
        return readOnly;
    }

    /** Whether a query may be one of {@link ClusterQuestion}. */
    boolean question() {
        return question;
    }

    /** Whether some statement asks for SERIALIZABLE, for its transaction or later ones. */
    boolean asksSerializable() {
        return asksSerializable;
    }

    boolean truncates() {
        return truncates && count == 1;
    }

    /** Whether a single statement is one that PostgreSQL takes in transaction blocks only, though it may change something. */
    boolean needsBlock() {
        return needsBlock && count == 1;
    }

    /** Whether a schema change makes a table from a query. */
    boolean fills() {
        return fills;
    }

    /** The relation that a single schema change is about, if it may be a temporary one; from here to {@link #targetEnd}. */
    int targetStart() {
        return schema.targetStart();
    }

    /** Where its name ends; 0 if there is none. */
    int targetEnd() {
        return schema.targetEnd();
    }

    /** Where CONCURRENTLY begins in a single schema change that is not to keep others waiting; 0 if it does not say so. */
    int concurrentlyStart() {
        return schema.concurrentlyStart();
    }

    /** Whether a single statement writes a system catalog, as every node does. */
    boolean writesCatalog() {
        return catalog.alike();
    }

    /** As {@link CatalogWrites#nameStart}. */
    int catalogStart() {
        return catalog.nameStart();
    }

    /** Where the name of the channel of a single NOTIFY begins. */
    int channelStart() {
        return channelStart;
    }

    /** Where it ends. */
    int channelEnd() {
        return channelEnd;
    }

    /** Where the payload of a single NOTIFY begins, or the identifier of a single prepared transaction; a literal. */
    int payloadStart() {
        return payloadStart;
    }

    /** Where it ends; 0 if there is none. */
    int payloadEnd() {
        return payloadEnd;
    }

    private StatementKind refuse(String reason) {
        if (refusal == null) {
            refusal = reason;
        }
        return StatementKind.REFUSED;
    }

    private StatementKind statement() {
        while (sql.at('(')) {
            sql.advance();
        }
        if (!sql.atWord()) {
            return StatementKind.WRITE;
        }
        First first = First.of(sql.word());
        if (first == null) {
            return StatementKind.WRITE;
        }
        boolean lock = sql.atWord(LOCK);
        truncates = sql.atWord(TRUNCATE);
        boolean refresh = sql.atWord(REFRESH);
        boolean create = sql.atWord(CREATE);
        boolean drop = sql.atWord(DROP);
        boolean grants = sql.atAny(GRANTS);
        boolean changes = grants || sql.atAny(CHANGES_OBJECTS);
        boolean writes = sql.atAny(TABLE_WRITES);
        boolean updates = sql.atWord(UPDATE);
        boolean deletes = sql.atWord(DELETE);
        sql.advance();
        StatementKind ofCatalog = writes ? catalog.judge(updates, deletes) : null;
        if (ofCatalog != null) {
            return ofCatalog == StatementKind.REFUSED ? refuse(CatalogWrites.REFUSAL) : ofCatalog;
        }
        return switch (first) {
            case SELECT -> query();
            case EXPLAIN -> explain();
            case WRITE -> StatementKind.WRITE;
            case BLOCK -> block(lock);
            case BEGIN -> begin();
            case COMMIT -> commit();
            case ROLLBACK -> rollback();
            case SAVEPOINT -> StatementKind.SAVEPOINT;
            case PREPARE -> {
                if (!sql.atWord(TRANSACTION)) {
                    yield StatementKind.SESSION;
                }
                sql.advance();
                yield prepared(StatementKind.PREPARE);
            }
            case COPY -> copy();
            case SCHEMA -> (create || drop) && sql.atWord(DATABASE)
                    ? StatementKind.DATABASE
                    : schemaChange(refresh, create, changes, grants);
            case LOCAL -> concurrently() ? refuse("CONCURRENTLY is not supported: leave it out") : StatementKind.LOCAL;
            case SESSION -> StatementKind.SESSION;
            case SET -> set();
            case FORGET -> StatementKind.FORGET;
            case NOTIFY -> notification();
        };
    }

    /** LOCK, or DECLARE: a cursor lives without a transaction block only if it says so. */
    private StatementKind block(boolean lock) {
        needsBlock = true;
        boolean with = false;
        while (!lock && sql.inStatement() && !sql.atWord(FOR)) {
            if (with && sql.atWord(HOLD)) {
                needsBlock = false;
            }
            with = sql.atWord(WITH);
            sql.advance();
        }
        return StatementKind.WRITE;
    }

    private boolean grantsSerializable() {
        asksSerializable = true;
        return serializable;
    }

    private StatementKind set() {
        boolean constraints = sql.atWord(CONSTRAINTS);
        boolean isolation = false;
        boolean read = false;
        boolean transaction = false;
        while (sql.inStatement()) {
            importing = transaction && sql.atWord(SNAPSHOT) ? count : importing;
            transaction = sql.atWord(TRANSACTION);
            readWrite |= sql.named(READ_ONLY) || (read && sql.atWord(WRITE));
            read = sql.atWord(READ);
            if (sql.named(REPLICATION_ROLE)) {
                return refuse(NO_REPLICATION_ROLE);
            }
            if (sql.atAnyPrefix(RESERVED_PREFIXES) || sql.atStringOfPrefix(RESERVED_PREFIXES)) {
                return refuse(RESERVED);
            }
            if (constraints && sql.atWord(IMMEDIATE)) {
                return StatementKind.CONSTRAINTS;
            }
            isolation |= sql.named(ISOLATION);
            if (isolation && sql.named(SERIALIZABLE) && !grantsSerializable()) {
                return refuse(NOT_SERIALIZABLE);
            }
            sql.advance();
        }
        return StatementKind.SESSION;
    }

    private StatementKind begin() {
        boolean read = false;
        while (sql.atWord() || sql.at(',') || sql.atQuoted()) {
            readOnly |= read && sql.atWord(ONLY);
            readWrite |= read && sql.atWord(WRITE);
            read = sql.atWord(READ);
            if (sql.atWord(SERIALIZABLE) && !grantsSerializable()) {
                return refuse(NOT_SERIALIZABLE);
            }
            sql.advance();
        }
        return StatementKind.BEGIN;
    }

    /** NOTIFY channel, 'payload'. */
    private StatementKind notification() {
        if (!sql.atWord() && !sql.atQuoted()) {
            return refuse(PLAIN_NOTIFY);
        }
        channelStart = sql.start();
        channelEnd = sql.position();
        payloadEnd = 0;
        sql.advance();
        if (sql.at(',')) {
            sql.advance();
            if (!sql.atString()) {
                return refuse(PLAIN_NOTIFY);
            }
            payloadStart = sql.start();
            payloadEnd = sql.position();
            sql.advance();
        }
        return sql.inStatement() ? refuse(PLAIN_NOTIFY) : StatementKind.NOTIFY;
    }

    private StatementKind commit() {
        boolean no = false;
        while (sql.atWord()) {
            if (sql.atWord(PREPARED)) {
                sql.advance();
                return prepared(StatementKind.FINISH);
            }
            no |= sql.atWord(NO);
            if (sql.atWord(CHAIN)) {
                return no ? StatementKind.COMMIT : StatementKind.COMMIT_CHAIN;
            }
            sql.advance();
        }
        return StatementKind.COMMIT;
    }

    /** The identifier of a prepared transaction, one literal. */
    private StatementKind prepared(StatementKind kind) {
        if (!sql.atString()) {
            return refuse(PLAIN_IDENTIFIER);
        }
        payloadStart = sql.start();
        payloadEnd = sql.position();
        sql.advance();
        return sql.inStatement() ? refuse(PLAIN_IDENTIFIER) : kind;
    }

    private StatementKind rollback() {
        boolean no = false;
        while (sql.atWord()) {
            if (sql.atWord(PREPARED)) {
                sql.advance();
                return prepared(StatementKind.FINISH);
            }
            if (sql.atWord(TO)) {
                return StatementKind.SAVEPOINT;
            }
            no |= sql.atWord(NO);
            if (sql.atWord(CHAIN)) {
                return no ? StatementKind.ROLLBACK : StatementKind.ROLLBACK_CHAIN;
            }
            sql.advance();
        }
        return StatementKind.ROLLBACK;
    }

    /** Planning executes calls whose values it may know. */
    private StatementKind explain() {
        boolean harmless = true;
        boolean executes = false;
        boolean makes = false;
        long previous = 0;
        while (sql.inStatement()) {
            boolean known = sql.atWord() ? sql.atAny(HarmlessFunctions.WORDS) || sql.startsWithPg() : !sql.atQuoted();
            executes |= sql.named(ANALYZE);
            harmless &= !sql.atAny(HarmlessFunctions.EXCEPT);
            boolean target = (sql.atWord(CREATE) || (sql.atWord(INTO) && previous != INSERT && previous != MERGE))
                    && previous != AS;
            previous = sql.atWord() ? sql.word() : 0;
            sql.advance();
            makes |= target && !sql.atAny(SESSION_TABLE);
            harmless &= known || !sql.at('(');
        }
        return executes && makes ? refuse(EXPLAINED) : harmless && !executes ? StatementKind.READ : StatementKind.WRITE;
    }

    /** SELECT, WITH, VALUES, TABLE: a read unless something suspicious is in it. */
    private StatementKind query() {
        boolean harmless = true;
        changes = false;
        boolean qualified = false;
        boolean catalog = false;
        boolean sets = false;
        boolean isolation = false;
        long previous = 0;
        while (sql.inStatement()) {
            sets |= sql.named(SET_CONFIG);
            readWrite |= sets && sql.named(READ_ONLY);
            isolation |= sets && sql.named(ISOLATION);
            if (sets && sql.named(REPLICATION_ROLE)) {
                return refuse(NO_REPLICATION_ROLE);
            }
            if (isolation && sql.named(SERIALIZABLE) && !grantsSerializable()) {
                return refuse(NOT_SERIALIZABLE);
            }
            int kind = sql.token();
            long word = kind == SqlTokens.WORD ? sql.word() : 0;
            boolean pg = kind == SqlTokens.WORD && sql.startsWithPg();
            sql.advance();
            if (kind == SqlTokens.WORD && word == INTO && previous != INSERT && previous != MERGE) {
                changes = true;
                boolean temporary = sql.atWord(TEMP) || sql.atWord(TEMPORARY);
                fills |= !temporary;
                return temporary ? StatementKind.WRITE : StatementKind.SCHEMA;
            }
            if (kind == SqlTokens.QUOTED) {
                harmless &= !sql.at('(');
            } else if (kind == SqlTokens.WORD) {
                if (SqlCursor.among(CHANGES, word)
                        || (word == FOR && sql.atAny(LOCK_STRENGTH))) {
                    changes = true;
                    harmless = false;
                } else if (sql.at('(')) {
                    boolean known = qualified ? catalog : SqlCursor.among(HarmlessFunctions.WORDS, word) || pg;
                    // a node that has no value left gets more, and runs the transaction again
                    harmless &= known && word != NEXTVAL && !SqlCursor.among(HarmlessFunctions.EXCEPT, word);
                    question |= !known && SqlCursor.among(QUESTIONS, word);
                }
            }
            qualified = kind == '.';
            if (kind != '.') {
                catalog = kind == SqlTokens.WORD && word == PG_CATALOG;
                previous = word;
            }
        }
        return harmless ? StatementKind.READ : StatementKind.WRITE;
    }

    private StatementKind copy() {
        StatementKind kind = copy.judge();
        return kind == StatementKind.REFUSED ? refuse(copy.refusal()) : kind;
    }

    private StatementKind schemaChange(boolean refresh, boolean create, boolean changes, boolean grants) {
        StatementKind kind = schema.judge(refresh, create, changes, grants);
        fills |= schema.isFromQuery();
        if (kind == StatementKind.SCHEMA && elsewhere != null && schema.isOfDatabase()) {
            return StatementKind.DATABASE;
        }
        return kind == StatementKind.REFUSED ? refuse(schema.refusal()) : kind;
    }

    private boolean concurrently() {
        while (sql.inStatement()) {
            if (sql.atWord(CONCURRENTLY)) {
                return true;
            }
            sql.advance();
        }
        return false;
    }

    /** What the first word of a statement says. */
    private enum First {
        SELECT("select with values table"),
        EXPLAIN("explain"),
        WRITE("insert update delete merge truncate call do execute"),
        BLOCK("declare lock"),
        BEGIN("begin start"),
        COMMIT("commit end"),
        ROLLBACK("rollback abort"),
        SAVEPOINT("savepoint release"),
        PREPARE("prepare"),
        COPY("copy"),
        SCHEMA("create alter drop grant revoke comment security import reassign refresh"),
        LOCAL("vacuum analyze analyse checkpoint reindex cluster"),
        SESSION("show reset fetch move close load listen unlisten"),
        SET("set"),
        FORGET("discard deallocate"),
        NOTIFY("notify");

        private static final long[] WORDS;
        private static final First[] MEANINGS;
        private final String words;

        static {
            WORDS = SqlCursor.keys(Arrays.stream(values()).map(first -> first.words)
                    .collect(Collectors.joining(" ")));
            MEANINGS = new First[WORDS.length];
            for (First first : values()) {
                for (String word : first.words.split(" ", -1)) {
                    MEANINGS[Arrays.binarySearch(WORDS, SqlTokens.key(word))] = first;
                }
            }
        }

        First(String words) {
            this.words = words;
        }

        static @Nullable First of(long word) {
            int index = Arrays.binarySearch(WORDS, word);
            return index < 0 ? null : MEANINGS[index];
        }
    }
}
