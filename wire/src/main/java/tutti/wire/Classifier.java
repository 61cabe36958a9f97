package tutti.wire;

import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;
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
    private static final long TO = SqlTokens.key("to");
    private static final long RULE = SqlTokens.key("rule");
    private static final long RECURSIVE = SqlTokens.key("recursive");
    private static final long DO = SqlTokens.key("do");
    private static final long LOCK = SqlTokens.key("lock");
    private static final long WITH = SqlTokens.key("with");
    private static final long HOLD = SqlTokens.key("hold");
    private static final long FROM = SqlTokens.key("from");
    private static final long STDIN = SqlTokens.key("stdin");
    private static final long PREPARED = SqlTokens.key("prepared");
    private static final long TRANSACTION = SqlTokens.key("transaction");
    private static final long CONCURRENTLY = SqlTokens.key("concurrently");
    private static final long ANALYZE = SqlTokens.key("analyze");
    private static final long INTO = SqlTokens.key("into");
    private static final long CONSTRAINTS = SqlTokens.key("constraints");
    private static final long IMMEDIATE = SqlTokens.key("immediate");
    private static final long ON = SqlTokens.key("on");
    private static final long AS = SqlTokens.key("as");
    private static final long TABLE = SqlTokens.key("table");
    private static final long COLUMN = SqlTokens.key("column");
    private static final long PG_TEMP = SqlTokens.key("pg_temp");
    private static final long SETVAL = SqlTokens.key("setval");
    private static final long INSERT = SqlTokens.key("insert");
    private static final long MERGE = SqlTokens.key("merge");
    private static final long FOR = SqlTokens.key("for");
    private static final long ATOMIC = SqlTokens.key("atomic");
    private static final long BEGIN = SqlTokens.key("begin");
    private static final long CASE = SqlTokens.key("case");
    private static final long END = SqlTokens.key("end");
    private static final long TEMP = SqlTokens.key("temp");
    private static final long TEMPORARY = SqlTokens.key("temporary");
    private static final long REFRESH = SqlTokens.key("refresh");
    private static final long CREATE = SqlTokens.key("create");
    private static final long PG_CATALOG = SqlTokens.key("pg_catalog");
    private static final long READ = SqlTokens.key("read");
    private static final long ONLY = SqlTokens.key("only");
    private static final long SERIALIZABLE = SqlTokens.key("serializable");
    private static final long REPLICATION_ROLE = SqlTokens.key("session_replication_role");

    /** Why SERIALIZABLE is refused under a protocol that does not guarantee it. */
    static final String NOT_SERIALIZABLE = "the cluster's protocol guarantees snapshot isolation, not SERIALIZABLE:"
            + " use REPEATABLE READ, or a cluster whose protocol is serializable, such as dbsm";

    /** Why a statement or a start-up option is refused. */
    static final String NO_REPLICATION_ROLE = "session_replication_role cannot be set: it would switch replication off";
    /** Why a statement that names one of the node's own roles is refused. */
    static final String RESERVED = "roles whose names begin with tutti_node, tutti_applier_ or tutti_executor_ are the node's own:"
            + " give yours another name";
    /** What the names of the node's own roles begin with. */
    static final List<String> RESERVED_PREFIXES = List.of("tutti_node", "tutti_applier_", "tutti_executor_");

    /** Why a statement that changes what is in the node's own schema is refused. */
    static final String RESERVED_SCHEMA = "what is in the schema tutti is the node's own";
    /** What the name of a variable follows, which may be one of ours. */
    private static final long[] VARIABLE_FOLLOWS = keys("set reset");
    private static final long OWN_SCHEMA = SqlTokens.key("tutti");
    private static final long SCHEMA = SqlTokens.key("schema");
    private static final long ALTER = SqlTokens.key("alter");
    private static final long DROP = SqlTokens.key("drop");
    private static final long SET_CONFIG = SqlTokens.key("set_config");
    private static final long[] ISOLATION = keys("isolation transaction_isolation default_transaction_isolation");
    private static final long[] LOCK_STRENGTH = keys("update share no key");
    private static final long[] CHANGES = keys("insert update delete merge call do execute");
    private static final long[] CREATE_PREFIX = keys("or replace global local unlogged");
    /** What may be temporary, before whose name only {@link #BEFORE_NAME} stands. */
    private static final long[] RELATIONS = keys("table index view sequence on");
    private static final long[] BEFORE_NAME = keys("table index view sequence on if not exists only concurrently"
            + " function procedure routine aggregate type domain collation statistics recursive");
    /** What may be made, changed and dropped in pg_temp besides. */
    private static final long[] OBJECTS = keys("function procedure routine aggregate type domain collation statistics");
    /** What stands on a relation that is named after ON. */
    private static final long[] ON_RELATION = keys("unique index trigger constraint rule policy");
    private static final String NO_SETVAL = "setval() would move the sequence of one node only: use ALTER SEQUENCE ... RESTART WITH";
    private static final String NO_LARGE_OBJECTS = "large objects are not replicated: use columns of type bytea";
    private static final List<String> CALLS = List.of("setval", "lo_create", "lo_creat", "lo_unlink", "lo_import",
            "lo_put", "lo_from_bytea", "lowrite", "lo_truncate");
    private static final long[] LARGE_OBJECTS = keys(
            "lo_create lo_creat lo_unlink lo_import lo_put lo_from_bytea lowrite lo_truncate lo_truncate64");
    private static final String PLAIN_NOTIFY = "NOTIFY takes the name of a channel and one literal here: use pg_notify()";
    private static final long[] PER_SERVER = keys("database tablespace subscription system");
    private static final long[] QUESTIONS = keys("tutti_outcome tutti_position tutti_wait");
    private final SqlTokens tokens = new SqlTokens();
    private final boolean serializable;
    private int count;
    private int[] starts = new int[4];
    private int[] ends = new int[4];
    private StatementKind[] kinds = new StatementKind[4];
    private @Nullable String refusal;
    /** Whether the statement being judged makes a temporary object. */
    private boolean temporary;
    private boolean needsBlock;
    private boolean locks;
    private boolean readOnly;
    private boolean question;
    private boolean fills;
    private int targetStart;
    private int targetEnd;
    private int payloadStart;
    private int payloadEnd;
    /** The token at which the statement being judged stands. */
    private int token;
    private Target target = Target.NONE;

    /**
     * A classifier.
     *
     * @param serializable whether SERIALIZABLE is guaranteed; otherwise asking for it is refused
     */
    Classifier(boolean serializable) {
        this.serializable = serializable;
    }

    static long[] keys(String words) {
        return Arrays.stream(words.strip().split("\\s+")).mapToLong(SqlTokens::key).sorted().toArray();
    }

    private static boolean among(long[] sorted, long word) {
        return Arrays.binarySearch(sorted, word) >= 0;
    }

    /** Whether a word before a parenthesis is none of a function, or that of one of the server's that changes nothing. */
    static boolean isHarmless(String word) {
        long key = SqlTokens.key(word);
        return among(HarmlessFunctions.WORDS, key) && !among(HarmlessFunctions.EXCEPT, key);
    }

    /** Judges a piece of SQL. Statements without words are left out. */
    void classify(byte[] sql, int from, int to, boolean standardConformingStrings) {
        count = 0;
        refusal = null;
        temporary = false;
        readOnly = false;
        question = false;
        fills = false;
        targetEnd = 0;
        targetStart = 0;
        tokens.reset(sql, from, to, standardConformingStrings);
        token = tokens.next();
        while (token != SqlTokens.END) {
            if (token == ';') {
                token = tokens.next();
                continue;
            }
            int start = tokens.start();
            temporary = false;
            needsBlock = false;
            locks = false;
            StatementKind kind = statement();
            while (token != SqlTokens.END && token != ';') {
                token = tokens.next();
            }
            add(start, tokens.start(), kind);
        }
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

    /** Whether a single statement is LOCK. */
    boolean locks() {
        return locks && count == 1;
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
        return targetStart;
    }

    /** Where its name ends; 0 if there is none. */
    int targetEnd() {
        return targetEnd;
    }

    /** Where the payload of a single NOTIFY begins, a literal. */
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

    private int advance() {
        token = tokens.next();
        return token;
    }

    private boolean at(long word) {
        return token == SqlTokens.WORD && tokens.word() == word;
    }

    /** Whether the token is this, as a word, a quoted identifier or a string. */
    private boolean named(long... sorted) {
        return switch (token) {
            case SqlTokens.WORD -> among(sorted, tokens.word());
            case SqlTokens.QUOTED, SqlTokens.STRING -> among(sorted, tokens.content());
            default -> false;
        };
    }

    /** Whether the token is the name of one of the node's roles. */
    private boolean reserved() {
        return (token == SqlTokens.WORD || token == SqlTokens.QUOTED)
                && RESERVED_PREFIXES.stream().anyMatch(tokens::startsWith);
    }

    private StatementKind statement() {
        while (token == '(') {
            advance();
        }
        if (token != SqlTokens.WORD) {
            return StatementKind.WRITE;
        }
        First first = First.of(tokens.word());
        if (first == null) {
            return StatementKind.WRITE;
        }
        boolean lock = at(LOCK);
        boolean block = at(DO);
        boolean refresh = at(REFRESH);
        boolean create = at(CREATE);
        boolean changes = at(ALTER) || at(DROP);
        advance();
        return switch (first) {
            case SELECT -> query();
            case EXPLAIN -> explain();
            case WRITE -> block ? code() : StatementKind.WRITE;
            case BLOCK -> block(lock);
            case BEGIN -> begin();
            case COMMIT -> commit();
            case ROLLBACK -> rollback();
            case SAVEPOINT -> StatementKind.SAVEPOINT;
            case PREPARE -> at(TRANSACTION)
                    ? refuse(
                            "PREPARE TRANSACTION is not supported: the cluster itself makes commits atomic; use COMMIT")
                    : StatementKind.SESSION;
            case COPY -> copy();
            case SCHEMA -> schema(refresh, create, changes);
            case LOCAL -> concurrently() ? refuse("CONCURRENTLY is not supported: leave it out") : StatementKind.LOCAL;
            case SESSION -> StatementKind.SESSION;
            case SET -> set();
            case FORGET -> StatementKind.FORGET;
            case NOTIFY -> notification();
        };
    }

    /** DO: calls that are refused are looked for in its text, whatever language that is in. */
    private StatementKind code() {
        while (token != SqlTokens.END && token != ';') {
            if (token == SqlTokens.STRING && CALLS.stream().anyMatch(tokens::mentions)) {
                return refuse(tokens.mentions("setval") ? NO_SETVAL : NO_LARGE_OBJECTS);
            }
            advance();
        }
        return StatementKind.WRITE;
    }

    /** LOCK, or DECLARE: a cursor lives without a transaction block only if it says so. */
    private StatementKind block(boolean lock) {
        needsBlock = true;
        locks = lock;
        boolean with = false;
        while (!lock && token != SqlTokens.END && token != ';' && !at(FOR)) {
            if (with && at(HOLD)) {
                needsBlock = false;
            }
            with = at(WITH);
            advance();
        }
        return StatementKind.WRITE;
    }

    private StatementKind set() {
        boolean constraints = at(CONSTRAINTS);
        boolean isolation = false;
        while (token != SqlTokens.END && token != ';') {
            if (named(REPLICATION_ROLE)) {
                return refuse(NO_REPLICATION_ROLE);
            }
            if (reserved()) {
                return refuse(RESERVED);
            }
            if (constraints && at(IMMEDIATE)) {
                return StatementKind.CONSTRAINTS;
            }
            isolation |= named(ISOLATION);
            if (isolation && !serializable && named(SERIALIZABLE)) {
                return refuse(NOT_SERIALIZABLE);
            }
            advance();
        }
        return StatementKind.SESSION;
    }

    private StatementKind begin() {
        boolean read = false;
        while (token == SqlTokens.WORD || token == ',' || token == SqlTokens.QUOTED) {
            readOnly |= read && at(ONLY);
            read = at(READ);
            if (at(SERIALIZABLE) && !serializable) {
                return refuse(NOT_SERIALIZABLE);
            }
            advance();
        }
        return StatementKind.BEGIN;
    }

    /** NOTIFY channel, 'payload'. */
    private StatementKind notification() {
        if (token != SqlTokens.WORD && token != SqlTokens.QUOTED) {
            return refuse(PLAIN_NOTIFY);
        }
        targetStart = tokens.start();
        targetEnd = tokens.position();
        payloadEnd = 0;
        if (advance() == ',') {
            if (advance() != SqlTokens.STRING) {
                return refuse(PLAIN_NOTIFY);
            }
            payloadStart = tokens.start();
            payloadEnd = tokens.position();
            advance();
        }
        return token == SqlTokens.END || token == ';' ? StatementKind.NOTIFY : refuse(PLAIN_NOTIFY);
    }

    private StatementKind commit() {
        boolean no = false;
        while (token == SqlTokens.WORD) {
            if (at(PREPARED)) {
                return refuse("COMMIT PREPARED is not supported: use COMMIT");
            }
            no |= at(NO);
            if (at(CHAIN)) {
                return no ? StatementKind.COMMIT : StatementKind.COMMIT_CHAIN;
            }
            advance();
        }
        return StatementKind.COMMIT;
    }

    private StatementKind rollback() {
        boolean no = false;
        while (token == SqlTokens.WORD) {
            if (at(PREPARED)) {
                return refuse("ROLLBACK PREPARED is not supported: use ROLLBACK");
            }
            if (at(TO)) {
                return StatementKind.SAVEPOINT;
            }
            no |= at(NO);
            if (at(CHAIN)) {
                return no ? StatementKind.ROLLBACK : StatementKind.ROLLBACK_CHAIN;
            }
            advance();
        }
        return StatementKind.ROLLBACK;
    }

    private StatementKind explain() {
        while (token != SqlTokens.END && token != ';') {
            if (at(ANALYZE)) {
                return StatementKind.WRITE;
            }
            advance();
        }
        return StatementKind.READ;
    }

    /** SELECT, WITH, VALUES, TABLE: a read unless something suspicious is in it. */
    private StatementKind query() {
        boolean harmless = true;
        boolean qualified = false;
        boolean catalog = false;
        boolean sets = false;
        boolean isolation = false;
        long previous = 0;
        while (token != SqlTokens.END && token != ';') {
            sets |= named(SET_CONFIG);
            isolation |= sets && named(ISOLATION);
            if (sets && named(REPLICATION_ROLE)) {
                return refuse(NO_REPLICATION_ROLE);
            }
            if (isolation && !serializable && named(SERIALIZABLE)) {
                return refuse(NOT_SERIALIZABLE);
            }
            int kind = token;
            long word = kind == SqlTokens.WORD ? tokens.word() : 0;
            boolean pg = kind == SqlTokens.WORD && tokens.startsWithPg();
            advance();
            if (kind == SqlTokens.WORD && word == INTO && previous != INSERT && previous != MERGE) {
                if (at(TEMP) || at(TEMPORARY)) {
                    temporary = true;
                    return StatementKind.WRITE;
                }
                fills = true;
                return StatementKind.SCHEMA;
            }
            if (kind == SqlTokens.WORD && token == '(' && word == SETVAL) {
                return refuse(NO_SETVAL);
            }
            if (kind == SqlTokens.WORD && token == '(' && among(LARGE_OBJECTS, word)) {
                return refuse(NO_LARGE_OBJECTS);
            }
            if (kind == SqlTokens.QUOTED) {
                harmless &= token != '(';
            } else if (kind == SqlTokens.WORD) {
                if (among(CHANGES, word)
                        || (word == FOR && token == SqlTokens.WORD && among(LOCK_STRENGTH, tokens.word()))) {
                    harmless = false;
                } else if (token == '(') {
                    boolean known = qualified ? catalog : among(HarmlessFunctions.WORDS, word) || pg;
                    harmless &= known && !among(HarmlessFunctions.EXCEPT, word);
                    question |= !known && among(QUESTIONS, word);
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

    /** Of a table it is a read; a query in parentheses is taken for a write. */
    private StatementKind copy() {
        if (token == '(') {
            return StatementKind.WRITE;
        }
        boolean from = false;
        boolean stdin = false;
        while (token != SqlTokens.END && token != ';') {
            from |= at(FROM);
            stdin |= at(STDIN);
            advance();
        }
        return !from ? StatementKind.READ : stdin ? StatementKind.COPY_IN : StatementKind.WRITE;
    }

    private StatementKind schema(boolean refresh, boolean create, boolean changes) {
        while (create && token == SqlTokens.WORD && among(CREATE_PREFIX, tokens.word())) {
            advance();
        }
        if (token == SqlTokens.WORD && among(PER_SERVER, tokens.word())) {
            return refuse("databases, tablespaces, subscriptions and server settings belong to one server and are not"
                    + " replicated: make the change on every node's PostgreSQL while the cluster is stopped");
        }
        if (create && (at(TEMP) || at(TEMPORARY))) {
            temporary = true;
            return StatementKind.WRITE;
        }
        boolean table = create && at(TABLE);
        target = Target.NONE;
        if (token == SqlTokens.WORD) {
            target = among(RELATIONS, tokens.word())
                    ? create ? among(ON_RELATION, tokens.word()) ? Target.AFTER_ON : Target.CREATED : Target.NEXT
                    : among(ON_RELATION, tokens.word())
                            ? at(RULE) && create ? Target.AFTER_TO : Target.AFTER_ON
                            : among(OBJECTS, tokens.word()) || at(RECURSIVE)
                                    ? Target.CREATED
                                    : Target.NONE;
        }
        int depth = 0;
        boolean concurrent = false;
        int atomicDepth = 0;
        boolean begin = false;
        // a function body in SQL-standard form contains semicolons, and so do the actions of a rule, in parentheses
        boolean isolation = false;
        boolean schema = false;
        boolean own = false;
        boolean variable = false;
        while (token != SqlTokens.END && (token != ';' || atomicDepth > 0 || depth > 0)) {
            own = (changes && !variable && token != SqlTokens.STRING && named(OWN_SCHEMA)) || (own && token == '.');
            variable = token == SqlTokens.WORD && among(VARIABLE_FOLLOWS, tokens.word());
            if (reserved() || (own && (schema || token == '.'))) {
                return refuse(own ? RESERVED_SCHEMA : RESERVED);
            }
            schema |= at(SCHEMA);
            if (named(REPLICATION_ROLE)) {
                return refuse(NO_REPLICATION_ROLE);
            }
            isolation |= named(ISOLATION);
            if (isolation && !serializable && named(SERIALIZABLE)) {
                return refuse(NOT_SERIALIZABLE);
            }
            seeTarget();
            if (temporary) {
                return StatementKind.WRITE;
            }
            depth += token == '(' ? 1 : token == ')' ? -1 : 0;
            if (token == SqlTokens.WORD) {
                if (table && depth == 0 && tokens.word() == AS) {
                    fills = true;
                }
                concurrent |= tokens.word() == CONCURRENTLY;
                if (begin && tokens.word() == ATOMIC) {
                    atomicDepth++;
                } else if (atomicDepth > 0 && tokens.word() == CASE) {
                    atomicDepth++;
                } else if (atomicDepth > 0 && tokens.word() == END) {
                    atomicDepth--;
                }
                begin = tokens.word() == BEGIN;
            } else {
                begin = false;
            }
            advance();
        }
        return concurrent && !refresh
                ? refuse(
                        "CONCURRENTLY is not supported: leave it out; the statement then runs at one point of the order")
                : StatementKind.SCHEMA;
    }

    /** Looks at a token of a schema change for the name of the relation that it is about. */
    private void seeTarget() {
        boolean isWord = token == SqlTokens.WORD;
        switch (target) {
            case AFTER_TO -> {
                if (isWord && tokens.word() == TO) {
                    target = Target.NEXT;
                }
            }
            case AFTER_ON -> {
                if (isWord && tokens.word() == ON) {
                    target = Target.NEXT;
                }
            }
            case NEXT, CREATED -> {
                if (isWord && tokens.word() == COLUMN) {
                    target = Target.NONE;
                } else if (token == SqlTokens.QUOTED || (isWord && !among(BEFORE_NAME, tokens.word()))) {
                    if (target == Target.CREATED) {
                        temporary = isWord && tokens.word() == PG_TEMP;
                        target = Target.NONE;
                    } else {
                        targetStart = tokens.start();
                        targetEnd = tokens.position();
                        target = Target.NAME;
                    }
                }
            }
            case NAME -> target = token == '.' ? Target.DOT : Target.NONE;
            case DOT -> {
                targetEnd = tokens.position();
                target = Target.NAME;
            }
            case NONE -> {
                // found, or there is none
            }
        }
    }

    /** Where the name of a relation is expected. */
    private enum Target {
        NONE, AFTER_ON, AFTER_TO, NEXT, CREATED, NAME, DOT
    }

    private boolean concurrently() {
        while (token != SqlTokens.END && token != ';') {
            if (at(CONCURRENTLY)) {
                return true;
            }
            advance();
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
            WORDS = keys(Arrays.stream(values()).map(first -> first.words)
                    .collect(java.util.stream.Collectors.joining(" ")));
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
