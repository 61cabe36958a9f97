package tutti.pgfront;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * One statement of a client, in the engine's words.
 *
 * @param kind what it is to the session
 * @param tag what its completion is told with; without a count
 * @param sql for the engine or the catalog; empty if the session itself executes it
 * @param parameters which of the client's parameters stands at each question mark, from 1
 * @param returning what of the changed rows it answers, or null
 * @param tokens its words as the client wrote them
 * @param refusal why it is not supported, if that is its kind
 */
record PgStatement(Kind kind, String tag, String sql, List<Integer> parameters, @Nullable Returning returning,
        List<Token> tokens, String refusal) {

    /** How the completion of a call is told. */
    static final String CALL = "CALL";

    /** With this, a refusal begins if there is no such statement. */
    static final String SYNTAX_ERROR = "syntax error";

    /** What a statement is to the session. */
    enum Kind {
        /** Nothing. */
        EMPTY,
        /** BEGIN, START TRANSACTION. */
        BEGIN,
        /** COMMIT, END. */
        COMMIT,
        /** ROLLBACK, ABORT. */
        ROLLBACK,
        /** SAVEPOINT. */
        SAVEPOINT,
        /** RELEASE. */
        RELEASE,
        /** ROLLBACK TO. */
        ROLLBACK_TO,
        /** Answers rows. */
        QUERY,
        /** Answers how many rows it has changed. */
        CHANGE,
        /** Asks the catalog. */
        CATALOG,
        /** Executed by all replicas. */
        SCHEMA,
        /** SET. */
        SET,
        /** RESET. */
        RESET,
        /** SHOW. */
        SHOW,
        /** Asks the node. */
        QUESTION,
        /** DISCARD, DEALLOCATE. */
        FORGET,
        /** COPY FROM STDIN, COPY TO STDOUT. */
        COPY,
        /** Has no effect here. */
        NOTHING,
        /** Not supported. */
        REFUSED;

        /** Whether the engine or the catalog prepares it. */
        boolean prepared() {
            return this == QUERY || this == CHANGE || this == CATALOG;
        }

        /** Whether it may come in a transaction block that has failed. */
        boolean endsFailure() {
            return this == COMMIT || this == ROLLBACK || this == ROLLBACK_TO;
        }
    }

    /**
     * What of changed rows is answered.
     *
     * @param shape a query with the columns, and no rows
     */
    record Returning(String shape) {}

    /** The text of statements that are one transaction, without what is set for it; null if some of them control transactions themselves. */
    static @Nullable String together(List<PgStatement> statements) {
        StringBuilder all = new StringBuilder();
        for (PgStatement statement : statements) {
            if (statement.forTransaction()) {
                continue;
            }
            if (!statement.kind().prepared() && statement.kind() != Kind.EMPTY) {
                return null;
            }
            all.append(statement.sql()).append(";\n");
        }
        return all.toString();
    }

    /** Whether it only sets something until its transaction ends. */
    private boolean forTransaction() {
        return kind == Kind.SET && tokens.size() > 1 && tokens.get(1).is("local");
    }

    /** The same, as the client wrote it otherwise. */
    PgStatement as(List<Token> written) {
        return new PgStatement(kind, tag, sql, parameters, returning, written, refusal);
    }

    /** The same, in other words for the engine. */
    PgStatement told(String engines) {
        return new PgStatement(kind, tag, engines, parameters, returning, tokens, refusal);
    }

    /** The same, with a value in the place of its parameter, as a string. */
    PgStatement with(Object value) {
        return as(tokens.stream().map(token -> token.kind() == Token.PARAMETER ? token.string(value.toString()) : token)
                .toList());
    }

    /** The procedure in Java that it calls, or null. */
    @Nullable
    String java() {
        return kind == Kind.CHANGE && tag.equals(CALL) ? tokens.get(1).lower() : null;
    }

    /** How many parameters the client has to give. */
    int parameterCount() {
        return parameters.stream().mapToInt(Integer::intValue).max().orElse(0);
    }
}
