package tutti.wire;

import java.util.Arrays;
import java.util.Map;
import java.util.Set;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import tutti.wire.sql.LockingQuery;

/**
 * Whether a session's statements are asked for their rows, and which. They are not, from then on, if something in the session may have
 * changed its role, which decides what it may read, or the isolation level behind the node's back: both would make a
 * statement fail, or succeed, that otherwise would not. On the session's event loop.
 */
final class InBandCapture {
    private static final Set<String> OWN_PARAMETERS = Set.of("options", "role", "session_authorization",
            "session_replication_role");
    /** How often a statement is prepared again before it is left as the client wrote it, unless that has been worth it. */
    private static final int TIMES_MAX = 3;
    /** How often one is executed for which preparing it has been worth it. */
    private static final int USES_MIN = 16;
    /** The first object id of what is made after a server; another function of its own may change the role. */
    private static final int FIRST_OF_USERS = 16384;
    /** Those of lo_close, loread, lowrite, lo_lseek, lo_tell, lo_truncate and the latter three for 64 bits, which drivers call. */
    private static final Set<Integer> LARGE_OBJECTS = Set.of(953, 954, 955, 956, 958, 1004, 3170, 3171, 3172);
    /** Which prepare and close nothing. */
    private static final Pattern PLAIN = Pattern.compile("\\s*(show|set|reset)\\b.*",
            Pattern.CASE_INSENSITIVE | Pattern.DOTALL);
    private static final Pattern ROLE = Pattern.compile("role|authorization|u&|\\bload\\b", Pattern.CASE_INSENSITIVE);
    /** What may do the same from within a statement. Functions of users are looked at in the catalog. */
    private static final Pattern INSIDE = Pattern.compile("set_config|\\bdo\\s+(language|[e$'])",
            Pattern.CASE_INSENSITIVE);
    private static final Pattern KEEPS_ROWS = Pattern.compile("\\s*(savepoint|release)\\b.*",
            Pattern.CASE_INSENSITIVE | Pattern.DOTALL);

    private final Session session;
    private final TextSettings texts;
    private final ActiveRequests active;
    private final String role;
    private boolean off;

    /**
     * Of a session.
     *
     * @param parameters with which it was started
     */
    InBandCapture(Session session, TextSettings texts, ActiveRequests active, Map<String, String> parameters) {
        this.session = session;
        this.texts = texts;
        this.active = active;
        this.role = parameters.getOrDefault("user", "");
        this.off = parameters.keySet().stream().anyMatch(OWN_PARAMETERS::contains);
    }

    /**
     * What is to be sent for a statement that may write.
     *
     * @return null if it has to be sent as it is, and its rows are captured by triggers
     */
    @Nullable
    InBandStatement of(ClientSql sql) {
        InBandStatement statement = of(sql.bytes(), sql.length());
        if (statement == null || !statement.proven()) {
            mayChangeRole(INSIDE, sql.text());
        }
        return statement;
    }

    private @Nullable InBandStatement of(byte[] sql, int length) {
        if (off || !texts.utf8() || !texts.understood(sql, length) || !session.node().executesAtOnce()
                || session.node().needsClasses()
                || active.possible()) {
            return null;
        }
        InBandStatement proven = session.capture().inBand(sql, length,
                new StatementContext(texts.standardStrings(), role, session.transaction().seenTemporaries()));
        if (proven != null && !proven.changesNothing()) {
            return proven;
        }
        LockingQuery locking = session.capture().locking(sql, length, texts.standardStrings(), role);
        return locking == null
                ? proven
                : InBandStatement.locking(locking, Arrays.copyOf(sql, length), proven != null,
                        session.capture().schemaVersion());
    }

    /**
     * The same for a statement that is prepared.
     *
     * @param message the client's Parse, if it has a name; otherwise empty
     */
    @Nullable
    InBandParse parse(ClientSql sql, byte[] message) {
        InBandStatement statement = of(sql);
        return statement == null ? null : new InBandParse(statement, session.transaction().epoch(), 0, message);
    }

    /** COMMIT is prepared. */
    InBandParse commit() {
        return new InBandParse(InBandStatement.COMMIT, session.transaction().epoch(), 0, new byte[0]);
    }

    /** Whether nothing has been sent and not been answered but a Bind of this COMMIT, which cannot fail. */
    boolean standsAlone(@Nullable InBandParse commit) {
        return commit != null && commit.confirmed() && commit.epoch() == session.transaction().epoch()
                && session.backend().awaitsBind();
    }

    /** The same for one that is prepared again; null if it is to be sent as it is. */
    @Nullable
    InBandParse parseAgain(InBandParse before) {
        byte[] original = before.statement().original();
        int times = before.uses() < USES_MIN ? before.times() : 0;
        InBandStatement statement = times < TIMES_MAX || before.statement().locks()
                ? of(original, original.length)
                : null;
        return statement == null
                ? null
                : new InBandParse(statement, session.transaction().epoch(), times + 1, before.message());
    }

    /**
     * Whether the engine has under a statement's name what was prepared under it: since then, nothing has been executed in this session that
     * might have put another in its place, under a schema that lets the node say so. One that would tell other columns now is prepared anew, too.
     */
    boolean trusts(InBandParse parse) {
        return parse.epoch() == session.transaction().epoch()
                && session.capture().schemaVersion().equals(parse.statement().version())
                && !session.capture().outdated(parse.statement());
    }

    /**
     * Whether a statement is to be prepared again before it is bound: its result would not be believed, or, of a query that locks and has been prepared again often
     * enough, would not tell the keys of what it locks. (Who puts another query in the place of such a one deceives nobody but himself.)
     */
    boolean stale(InBandParse parse) {
        boolean oftenEnough = parse.statement().locks() && parse.times() >= TIMES_MAX;
        return oftenEnough
                ? !session.capture().schemaVersion().equals(parse.statement().version())
                : !trusts(parse);
    }

    /** A prepared statement is executed; null if it was sent as it is. */
    void executes(@Nullable InBandParse parse) {
        if (parse == null || off || !parse.statement().proven() || !trusts(parse)) {
            executesUnproven();
        } else {
            parse.use();
            rows().expect(parse);
        }
    }

    /** A simple query is executed that was sent as this says. */
    void executes(InBandStatement statement) {
        if (!statement.proven()) {
            executesUnproven();
            return;
        }
        InBandParse sent = new InBandParse(statement, session.transaction().epoch(), 0, new byte[0]);
        sent.confirm();
        rows().expect(sent);
    }

    /** Something is executed of which nothing is proven: it may change rows, and which statements are prepared. */
    void executesUnproven() {
        texts.mayChange();
        session.transaction().executesUnproven();
    }

    /**
     * A function is called by its object id, with the rights of a query.
     *
     * @param function the id
     */
    void calls(int function) {
        off |= Integer.compareUnsigned(function, FIRST_OF_USERS) < 0 && !LARGE_OBJECTS.contains(function);
        executesUnproven();
    }

    /** A statement is executed that changes no rows, but may change the session. */
    void session(String sql) {
        mayChangeRole(ROLE, sql);
        texts.mayChange();
        if (!PLAIN.matcher(sql).matches()) {
            executesUnproven();
        }
    }

    /** A statement about savepoints is executed: rows of those that are rolled back are not told apart. */
    void savepoint(String sql) {
        if (!KEEPS_ROWS.matcher(sql).matches()) {
            rows().lose();
            texts.mayChange();
        }
    }

    private InBandRows rows() {
        return session.transaction().work().inBand();
    }

    private void mayChangeRole(Pattern shown, String sql) {
        off |= !off && shown.matcher(sql).find();
    }
}
