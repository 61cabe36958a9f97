package tutti.pgfront;

import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import tutti.pgwire.Backend;
import tutti.pgwire.ErrorFields;
import tutti.wire.ClusterQuestion;

/** Executes what the session itself executes: the ends of transactions, savepoints, schema changes, parameters. */
final class Commands {
    private final PgSession session;
    private final ClientConnection client;
    private final Forgetting forgetting;

    /** Forgets prepared statements. */
    @FunctionalInterface
    interface Forgetting {
        /**
         * One, or all.
         *
         * @param name null for all
         * @throws SQLException with {@code 26000} if there is none of this name
         */
        void forget(@Nullable String name) throws SQLException;
    }

    /** @param forgetting knows the client's prepared statements */
    Commands(PgSession session, ClientConnection client, Forgetting forgetting) {
        this.session = session;
        this.client = client;
        this.forgetting = forgetting;
    }

    /**
     * What a command answers.
     *
     * @param row the value of the one column of the one row, as {@link PgValues} writes it; null if it does not answer any, or NULL
     */
    record Answer(String tag, @Nullable Object row) {
        /** To a question about nothing. */
        static final Answer NULL = new Answer("SELECT 1", null);
    }

    /**
     * The column that a command answers.
     *
     * @param type of its values
     */
    record Answered(String name, PgType type) {}

    /** The column that a command answers, or null. */
    static @Nullable Answered answered(PgStatement statement) {
        return switch (statement.kind()) {
            case SHOW -> new Answered(parameter(statement.tokens()), PgType.TEXT);
            case QUESTION -> {
                ClusterQuestion question = question(statement);
                yield new Answered(question.column(), question.number() ? PgType.INT8 : PgType.TEXT);
            }
            default -> null;
        };
    }

    private static ClusterQuestion question(PgStatement statement) {
        return Objects.requireNonNull(ClusterQuestion.read(Token.text(statement.tokens())));
    }

    /** Executes one. */
    Answer execute(PgStatement statement) throws SQLException, InterruptedException {
        List<Token> tokens = statement.tokens();
        switch (statement.kind()) {
            case BEGIN -> {
                if (!session.begin(tokens)) {
                    warning("25001", "there is already a transaction in progress");
                }
            }
            case COMMIT -> {
                return commit(tokens);
            }
            case ROLLBACK -> {
                String another = chained(tokens);
                if (session.status() == Backend.IDLE) {
                    warning("25P01", "there is no transaction in progress");
                }
                session.rollback();
                begin(another);
            }
            case SAVEPOINT, RELEASE, ROLLBACK_TO -> session.savepoint(statement);
            case SCHEMA -> session.schema(statement);
            case SET -> set(tokens);
            case RESET -> reset(tokens);
            case SHOW -> {
                return new Answer("SHOW", session.parameters().show(parameter(tokens)));
            }
            case QUESTION -> {
                ClusterQuestion question = ClusterQuestion.read(Token.text(statement.tokens()));
                if (question == null) {
                    throw new SQLException("a position is a whole number from 0 on, not this one: "
                            + Token.text(statement.tokens()), "22023");
                }
                ClusterQuestion.Answer answer = session.ask(question);
                return new Answer("SELECT 1",
                        answer.number() ? (Object) Long.valueOf(answer.value()) : answer.value());
            }
            case FORGET -> {
                if (statement.tag().startsWith("DISCARD")) {
                    session.parameters().resetAll();
                }
                forgetting.forget(statement.tag().endsWith("ALL") ? null : tokens.getLast().value());
            }
            case NOTHING, EMPTY -> {
                // Both engines look after themselves.
            }
            case QUERY, CHANGE, CATALOG, COPY, REFUSED -> throw new IllegalArgumentException(
                    statement.kind() + " is no command");
        }
        return new Answer(statement.tag(), null);
    }

    private Answer commit(List<Token> tokens) throws SQLException {
        String another = chained(tokens);
        if (session.status() == Backend.IDLE) {
            warning("25P01", "there is no transaction in progress");
            session.commitImplicit();
            return new Answer("COMMIT", null);
        }
        boolean committed = session.commit();
        begin(another);
        return new Answer(committed ? "COMMIT" : "ROLLBACK", null);
    }

    /**
     * What begins the next transaction if the present one is to be followed at once by another like it; null if it is not.
     *
     * @throws SQLException with {@code 25P01} if it is, and there is none
     */
    private @Nullable String chained(List<Token> tokens) throws SQLException {
        int at = tokens.size() - 1;
        if (!tokens.get(at).is("chain") || at == 0 || tokens.get(at - 1).is("no")) {
            return null;
        }
        if (session.status() == Backend.IDLE) {
            throw new SQLException(tokens.getFirst().value().toUpperCase(Locale.ROOT)
                    + " AND CHAIN can only be used in transaction blocks", "25P01");
        }
        return session.another();
    }

    private void begin(@Nullable String another) throws SQLException {
        if (another != null) {
            session.begin(Token.statements(another).getFirst());
        }
    }

    private void warning(String state, String message) {
        Backend.noticeResponse(client.out(), ErrorFields.of("WARNING", state, message));
    }

    // ------------------------------------------------------------------------------------------ parameters

    /** The parameter that SHOW names. */
    static String parameter(List<Token> tokens) {
        if (tokens.size() > 2 && tokens.get(1).is("transaction")) {
            return "transaction_isolation";
        }
        if (tokens.size() > 2 && tokens.get(1).is("time")) {
            return "timezone";
        }
        return name(tokens, 1);
    }

    private static String name(List<Token> tokens, int at) {
        StringBuilder name = new StringBuilder();
        for (int i = at; i < tokens.size() && (tokens.get(i).name() || tokens.get(i).is('.')); i++) {
            if (i > at && !tokens.get(i).is('.') && !tokens.get(i - 1).is('.')) {
                break;
            }
            name.append(tokens.get(i).value());
        }
        return name.toString();
    }

    private void set(List<Token> tokens) throws SQLException {
        int at = 1;
        boolean local = tokens.size() > at && tokens.get(at).is("local");
        if (local || (tokens.size() > at && tokens.get(at).is("session"))) {
            at++;
        }
        String first = tokens.size() > at ? tokens.get(at).lower() : "";
        switch (first) {
            case "transaction" -> session.characteristics(tokens);
            case "characteristics" -> characteristics(tokens);
            case "constraints" -> {
                // Both engines check at once.
            }
            case "role", "authorization" -> throw new SQLException(
                    "this node has one role, which is in its configuration", "0A000");
            case "time" -> change("timezone", behind(tokens, at + 2), local);
            case "names" -> change("client_encoding", behind(tokens, at + 1), local);
            default -> {
                int value = at;
                while (value < tokens.size() && !tokens.get(value).is('=') && !tokens.get(value).is("to")) {
                    value++;
                }
                if (value + 1 >= tokens.size()) {
                    throw new SQLException("syntax error in SET", "42601");
                }
                change(name(tokens, at), tokens.subList(value + 1, tokens.size()), local);
            }
        }
    }

    private static List<Token> behind(List<Token> tokens, int at) throws SQLException {
        if (at >= tokens.size()) {
            throw new SQLException("syntax error in SET", "42601");
        }
        return tokens.subList(at, tokens.size());
    }

    private void characteristics(List<Token> tokens) throws SQLException {
        for (int i = 0; i + 1 < tokens.size(); i++) {
            if (tokens.get(i).is("read") && (tokens.get(i + 1).is("only") || tokens.get(i + 1).is("write"))) {
                change("default_transaction_read_only", tokens.get(i + 1).is("only") ? "on" : "off", false);
            }
            if (tokens.get(i).is("level")) {
                String level = tokens.get(i + 1).is("serializable") ? "serializable" : "repeatable read";
                change("default_transaction_isolation", level, false);
                change("transaction_isolation", level, false);
            }
        }
    }

    private void change(String name, List<Token> value, boolean local) throws SQLException {
        if (value.size() == 1 && value.getFirst().is("default")) {
            change(name, (String) null, local);
            return;
        }
        List<String> parts = new ArrayList<>();
        for (Token token : value) {
            if (!token.is(',')) {
                parts.add(token.value());
            }
        }
        boolean list = value.stream().anyMatch(token -> token.is(','));
        change(name, String.join(list ? ", " : "", parts), local);
    }

    private void change(String name, @Nullable String value, boolean local) throws SQLException {
        if (value != null && value.equalsIgnoreCase("serializable")
                && name.toLowerCase(Locale.ROOT).endsWith("transaction_isolation")) {
            session.requireSerializable();
        }
        if (value != null && local && name.equalsIgnoreCase("tutti.classes")) {
            session.declare(value);
        }
        if (SessionParameters.LOGGED.equalsIgnoreCase(value) && name.equalsIgnoreCase(SessionParameters.ACKNOWLEDGE)
                && session.status() != Backend.IDLE) {
            throw new SQLException(name + " cannot be logged in a transaction block, which is acknowledged when it has"
                    + " committed: set it outside of a block, for the session, or with SET LOCAL in one query with the"
                    + " request", "25001");
        }
        boolean level = name.equalsIgnoreCase(SessionParameters.READ_LEVEL);
        if (level) {
            session.readLevel().mayChange(local, session.status() != Backend.IDLE, session.inTransaction());
        }
        session.parameters().set(name, value, local);
        if (level) {
            session.readLevel().changed();
        }
        String told = SessionParameters.toldAs(name);
        if (told != null) {
            Backend.parameterStatus(client.out(), told, session.parameters().show(name));
        }
    }

    private void reset(List<Token> tokens) throws SQLException {
        String name = name(tokens, 1);
        if (name.equalsIgnoreCase("all")) {
            session.parameters().resetAll();
        } else {
            change(name, (String) null, false);
        }
    }
}
