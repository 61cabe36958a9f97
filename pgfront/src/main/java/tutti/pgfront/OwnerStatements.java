package tutti.pgfront;

import java.sql.SQLException;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.List;
import java.util.Set;
import java.util.UUID;
import org.jspecify.annotations.Nullable;
import tutti.engine.jdbc.ClientRequest;
import tutti.engine.jdbc.JavaCall;
import tutti.engine.jdbc.reads.Footprint;
import tutti.node.Transactions;
import tutti.pgfront.PgStatement.Kind;
import tutti.pgwire.ErrorFields;
import tutti.session.EmbeddedSession;
import tutti.wire.JavaRequests;

/** Statements of a client that the owners of request logs execute, under a protocol that has them. One thread. */
final class OwnerStatements {
    private static final List<String> OF_ROWS = List.of("insert", "update", "delete", "merge");
    /** What has another meaning in another session. */
    private static final List<String> OF_SESSION = List.of("currval", "lastval", "identity", "scope_identity",
            "session_id", "session_user", "user", "current_user", "current_schema");

    private final Transactions node;
    private final EmbeddedSession session;
    private final SessionParameters parameters;
    private final JavaRequests java;

    OwnerStatements(Transactions node, EmbeddedSession session, SessionParameters parameters, JavaRequests java) {
        this.node = node;
        this.java = java;
        this.session = session;
        this.parameters = parameters;
    }

    /**
     * Whether the owner of its log is to execute a statement: it is a transaction by itself, and comes to the same in any session.
     *
     * @param outside whether it stands outside of a block
     * @param alone what the transaction consists of, if that is known
     * @throws SQLException with {@code 0A000} if the owner cannot, and the client wants to hear no more than that it is logged; if it calls a procedure
     *             in Java that cannot be called so
     */
    boolean take(PgStatement statement, boolean outside, @Nullable String alone) throws SQLException {
        String procedure = statement.java();
        if (procedure != null) {
            callable(procedure, outside && isAlone(statement, alone));
            return true;
        }
        if (!outside || (statement.kind() != Kind.CHANGE && !statement.tag().equals(PgStatement.CALL))) {
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
        if (node.everywhereIfPossible() && !parameters.logged()) {
            // Nor has it every node do so: statements of these engines are not known to come to the same everywhere.
            return "the protocol has no owner execute it";
        }
        return session.undertakes() && isAlone(statement, alone) ? null : "it is not a transaction by itself";
    }

    private static boolean isAlone(PgStatement statement, @Nullable String alone) {
        return alone != null
                && (alone.equals(statement.sql()) || alone.equals(PgStatement.together(List.of(statement))));
    }

    private void callable(String procedure, boolean alone) throws SQLException {
        if (!node.undertakes()) {
            throw new SQLException("procedure " + procedure + " is written in Java, and only the owner of a request log"
                    + " executes that: use protocol hybrid", "0A000");
        }
        if (!alone || !session.undertakes()) {
            throw new SQLException(
                    "procedure " + procedure + " is written in Java, and must be called alone, outside of"
                            + " a transaction block: send the CALL as a request of its own",
                    "0A000");
        }
        if (parameters.readOnlyByDefault()) {
            throw new SQLException("the session may only read: procedure " + procedure + " is not called", "25006");
        }
        ErrorFields unavailable = java.unavailable(Set.of(procedure));
        if (unavailable != null) {
            throw new SQLException(unavailable.get('M') + ": " + unavailable.get('H'), unavailable.get('C'));
        }
    }

    /** Has the owner execute what {@link #take} has said yes to; answers when the client is to hear of it. */
    Rows execute(PgStatement statement, List<? extends @Nullable Object> values) throws SQLException {
        String procedure = statement.java();
        ClientRequest.Call call = new ClientRequest.Call(statement.sql(), values,
                procedure == null ? null : call(procedure));
        Footprint touches = procedure == null ? session.footprints().of(statement.sql()) : touches(procedure);
        ClientRequest request = new ClientRequest(parameters.schema(), List.of(call));
        return parameters.logged()
                ? Rows.logged(node.names().of(session.logged(request, touches)))
                : Rows.changed(session.undertaken(request, touches));
    }

    private JavaCall call(String procedure) {
        Instant now = Instant.now();
        return new JavaCall(procedure, String.valueOf(java.registered().version(procedure)),
                ChronoUnit.MICROS.between(Instant.EPOCH, now), UUID.randomUUID().getMostSignificantBits());
    }

    /** What a procedure says that it touches. */
    private Footprint touches(String procedure) throws SQLException {
        String tables;
        try {
            tables = java.registered().tables(procedure);
        } catch (IllegalArgumentException broken) {
            throw new SQLException(broken.getMessage(), "55000", broken);
        }
        Footprint touches = tables.isEmpty() ? Footprint.EVERYTHING : session.footprints().declared(tables);
        if (touches == null) {
            throw new SQLException("procedure " + procedure + " says that it touches what is no table: "
                    + String.join(", ", session.footprints().unknown(tables)), "42P01");
        }
        return touches;
    }
}
