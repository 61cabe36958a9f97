package tutti.pgfront;

import java.sql.SQLException;
import java.util.List;
import org.jspecify.annotations.Nullable;
import tutti.node.Transactions;
import tutti.pgfront.PgStatement.Kind;
import tutti.session.EmbeddedSession;

/** Statements of a client that the owners of request logs execute, under a protocol that has them. One thread. */
final class OwnerStatements {
    private static final List<String> OF_ROWS = List.of("insert", "update", "delete", "merge");
    /** What has another meaning in another session. */
    private static final List<String> OF_SESSION = List.of("currval", "lastval", "identity", "scope_identity",
            "session_id", "session_user", "user", "current_user", "current_schema");

    private final Transactions node;
    private final EmbeddedSession session;
    private final SessionParameters parameters;

    OwnerStatements(Transactions node, EmbeddedSession session, SessionParameters parameters) {
        this.node = node;
        this.session = session;
        this.parameters = parameters;
    }

    /**
     * Whether the owner of its log is to execute a statement outside of a block: it is a transaction by itself, and comes to the same in
     * any session.
     *
     * @param alone what the transaction consists of, if that is known
     * @throws SQLException with {@code 0A000} if the owner cannot, and the client wants to hear no more than that it is logged
     */
    boolean take(PgStatement statement, @Nullable String alone) throws SQLException {
        if (statement.kind() != Kind.CHANGE && !statement.tag().equals("CALL")) {
            return false;
        }
        String obstacle = obstacle(statement, alone);
        if (obstacle != null) {
            refuseLogged(obstacle);
        }
        return obstacle == null;
    }

    /**
     * Refuses what cannot be acknowledged as logged, where the client wants to hear that.
     *
     * @param obstacle why it cannot
     * @throws SQLException with {@code 0A000}
     */
    void refuseLogged(String obstacle) throws SQLException {
        if (parameters.logged()) {
            throw new SQLException("the request cannot be acknowledged as logged, since " + obstacle
                    + ": send it otherwise, or SET tutti.acknowledge = 'executed'", "0A000");
        }
    }

    /** Why the owner cannot execute it; null if it can. */
    private @Nullable String obstacle(PgStatement statement, @Nullable String alone) {
        String own = statement.tokens().stream()
                .filter(token -> token.text().equals("@") || OF_SESSION.stream().anyMatch(token::is))
                .map(Token::text).findFirst().orElse(null);
        if (own != null) {
            return own + " means something else in another session";
        }
        if (OF_ROWS.stream().noneMatch(statement.tokens().getFirst()::is)) {
            return "the owners of logs execute INSERT, UPDATE, DELETE and MERGE, not " + statement.tag();
        }
        if (statement.returning() != null) {
            return "it answers rows, which nobody would be told";
        }
        if (parameters.readOnlyByDefault()) {
            return "the session may only read";
        }
        return session.undertakes() && alone != null
                && (alone.equals(statement.sql()) || alone.equals(PgStatement.together(List.of(statement))))
                        ? null
                        : "it is not a transaction by itself";
    }

    /** Has the owner execute what {@link #take} has said yes to; answers when the client is to hear of it. */
    Rows execute(PgStatement statement, List<? extends @Nullable Object> values) throws SQLException {
        return parameters.logged()
                ? Rows.logged(node.names().of(session.logged(parameters.schema(), statement.sql(), values)))
                : Rows.changed(session.undertaken(parameters.schema(), statement.sql(), values));
    }
}
