package tutti.wire;

import java.util.Locale;
import tutti.engine.postgres.capture.Statement;
import tutti.wire.sql.SqlTokens;

/**
 * Finds in a schema change what the sessions that execute it elsewhere would take for something else: SESSION_USER as a role, or the value
 * that a setting has ({@code SET ... FROM CURRENT}), if they are not told that one. Expressions may say SESSION_USER. As {@code
 * tutti.tells_of_session()} judges statements in functions. Reused.
 */
final class SessionWords {
    static final String REFUSAL = "SESSION_USER as a role, and SET ... FROM CURRENT of most settings, mean something else in the sessions of other nodes:"
            + " name the role, or CURRENT_USER, and the value";
    private static final long SESSION_USER = SqlTokens.key("session_user");
    private static final long CURRENT = SqlTokens.key("current");
    private static final long FROM = SqlTokens.key("from");
    private static final long SET = SqlTokens.key("set");
    private static final long BY = SqlTokens.key("by");
    private static final long[] DONE_BY = SqlCursor.keys("owned granted");
    /** What the name of a role follows, or several. */
    private static final long[] BEFORE_ROLE = SqlCursor.keys("to from for role user group authorization admin");
    private static final long[] TOLD = SqlCursor
            .keys(String.join(" ", Statement.SETTINGS).toLowerCase(Locale.ROOT));

    /** What may come next. */
    private enum Next {
        NOTHING, BY, ROLE, ROLES_COMMA, SETTING, PART, FROM_TOLD, FROM_OTHER, CURRENT
    }

    private Next next = Next.NOTHING;

    /** A statement begins. */
    void begin() {
        next = Next.NOTHING;
    }

    /** Looks at the token that stands here, after all before it in the statement; whether it is one of those. */
    boolean found(SqlCursor sql) {
        if ((next == Next.ROLE && sql.atWord(SESSION_USER)) || (next == Next.CURRENT && sql.atWord(CURRENT))) {
            return true;
        }
        next = after(sql);
        return false;
    }

    private Next after(SqlCursor sql) {
        if ((next == Next.FROM_OTHER || next == Next.FROM_TOLD) && sql.at('.')) {
            return Next.PART;
        } else if (next == Next.FROM_OTHER && sql.atWord(FROM)) {
            return Next.CURRENT;
        } else if (next == Next.ROLES_COMMA && sql.at(',')) {
            return Next.ROLE;
        } else if (sql.atWord(SET)) {
            return Next.SETTING;
        } else if (sql.atAny(DONE_BY)) {
            return Next.BY;
        } else if (sql.atAny(BEFORE_ROLE) || (next == Next.BY && sql.atWord(BY))) {
            return Next.ROLE;
        } else if (!sql.atWord() && !sql.atQuoted()) {
            return Next.NOTHING;
        } else if (next == Next.SETTING) {
            return sql.named(TOLD) ? Next.FROM_TOLD : Next.FROM_OTHER;
        } else if (next == Next.PART) {
            return Next.FROM_OTHER;
        }
        return next == Next.ROLE ? Next.ROLES_COMMA : Next.NOTHING;
    }
}
