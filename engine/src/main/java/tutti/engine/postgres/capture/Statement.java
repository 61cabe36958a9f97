package tutti.engine.postgres.capture;

import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.UUID;

/**
 * An SQL statement that every replica executes itself, with what its meaning depends on. Immutable.
 *
 * @param place which of its transaction's schema changes it is, from 0; those that were rolled back count
 * @param sql one statement, or several that are executed together, separated by {@link #SEPARATOR}
 * @param role the role that executes it
 * @param settings session settings by name: {@code search_path}, {@code default_tablespace}, … whatever may matter
 */
public record Statement(int place, String sql, String role, Map<String, String> settings) {
    /** The place of what is no schema change but a client's request, which every replica executes. */
    private static final int REQUEST = -1;
    /** The place of what gives a life of a node, which stands in place of the role, shares of sequences. */
    private static final int GRANT = -2;
    /** The place of what commits, or rolls back, a prepared transaction. */
    private static final int FINISH = -3;
    /** The place of a schema change in a function, procedure or DO block, before which the node has not been asked. */
    static final int NESTED = -4;
    /** The place of what says which nodes, in place of the role, keep tables. */
    private static final int PLACEMENT = -5;
    /** SQLSTATE with which a database refuses to keep a table whose rows it does not have. Clients' code may raise it, too. */
    public static final String NEEDS_COPY = "TT001";
    /** The place of what makes, changes or drops a database. */
    private static final int DATABASE = -6;
    /** The place of what concerns an index that nodes build beside the order. */
    private static final int BUILD = -7;
    /** The place of what tells the names that a node's server has chosen in the schema change before: a text of JSON. */
    static final int NAMING = -8;
    /** SQLSTATE with which a database refuses a schema change in which it may have chosen a name that others would not. Clients' code may raise it, too. */
    public static final String CHOSEN_BESIDE_OTHERS = "TT002";
    /** With what the bytes of a statement begin that {@linkplain #database makes, changes or drops a database}. */
    public static final String DATABASE_PLACE = "2:" + DATABASE;
    /** Settings that the meaning of a statement depends on; what is not listed is the same on all nodes or harmless. */
    public static final List<String> SETTINGS = List.of("search_path", "default_tablespace",
            "default_table_access_method", "default_toast_compression", "check_function_bodies", "DateStyle",
            "IntervalStyle", "TimeZone", "timezone_abbreviations", "lc_monetary", "lc_numeric", "lc_time",
            "default_text_search_config",
            "xmloption", "bytea_output", "extra_float_digits", "standard_conforming_strings", "transform_null_equals",
            "array_nulls", "quote_all_identifiers", "createrole_self_grant");
    /** Between texts; no SQL text contains it. */
    public static final String SEPARATOR = "\0";
    /** A setting of a request whose classes are what somebody has declared, and therefore to be checked. */
    public static final String DECLARED = "tutti.declared";
    /** A setting of a request: when it was submitted, in microseconds since 1970, a random value, and values of sequences. */
    public static final String SUBMISSION = "tutti.submission";
    /** A setting of a request that calls Java procedures: their names and versions. */
    public static final String JAVA_VERSIONS = "tutti.java_versions";
    /** Another one: what is to be called, which its statements add to. */
    public static final String JAVA_CALLS = "tutti.java_calls";
    /** The SQL expression that makes its value. */
    public static final String SUBMISSION_MADE = "pg_catalog.concat((extract(epoch FROM pg_catalog.now())"
            + " OPERATOR(pg_catalog.*) 1000000)::pg_catalog.int8, ' ', pg_catalog.gen_random_uuid())";
    private static final int CALL_PARTS = 5;
    private static final char SUBMISSION_SEPARATOR = ' ';
    private static final int GRANT_PARTS = 3;
    private static final int FINISH_PARTS = 3;
    private static final int DATABASE_PARTS = 4;

    /**
     * One of a request's statements.
     *
     * @param sql its text
     * @param types declared types of its parameters, 0 where the server is to choose; further ones are chosen by it
     * @param bound what follows the two names in the Bind message: formats, values, formats of the result
     * @param described whether the client wants to know what the result's columns are
     * @param rowsMax most rows of the result; 0 for all
     */
    public record Call(String sql, int[] types, byte[] bound, boolean described, int rowsMax) {
        /** A statement without parameters, whose result is in text form. */
        public static Call plain(String sql) {
            return new Call(sql, new int[0], new byte[6], true, 0);
        }

        private String encode() {
            return String.join(SEPARATOR, sql,
                    String.join(",", Arrays.stream(types).mapToObj(Integer::toString).toList()),
                    Base64.getEncoder().encodeToString(bound), described ? "d" : "", Integer.toString(rowsMax));
        }
    }

    /**
     * The value of {@link #SUBMISSION} for one of several requests that were submitted at the same time.
     *
     * @param first as {@link #SUBMISSION_MADE} has made it for the first
     * @param number which one, from 0
     * @param drawn values of sequences that were drawn for it, as {@code tutti.draw} tells them
     */
    public static String submission(String first, int number, String drawn) {
        int time = first.indexOf(SUBMISSION_SEPARATOR);
        String own = number == 0 || time < 0
                ? first
                : first.substring(0, time + 1) + UUID.nameUUIDFromBytes(
                        (first.substring(time + 1) + SUBMISSION_SEPARATOR + number).getBytes(StandardCharsets.UTF_8));
        return own + SUBMISSION_SEPARATOR + drawn;
    }

    /**
     * What {@link #SUBMISSION_MADE} would have made for a request that is submitted later.
     *
     * @param made what it has made
     * @param laterMicros in microseconds
     */
    public static String submittedLater(String made, long laterMicros) {
        int time = made.indexOf(SUBMISSION_SEPARATOR);
        return Long.parseLong(made, 0, time, 10) + laterMicros + " " + UUID.randomUUID();
    }

    /** A request of statements that every replica executes as clients' own: triggers fire, foreign keys are checked. */
    public static Statement request(List<Call> calls, String role, Map<String, String> settings) {
        return new Statement(REQUEST, String.join(SEPARATOR, calls.stream().map(Call::encode).toList()), role,
                settings);
    }

    /**
     * What gives a node more values of sequences.
     *
     * @param life of the node, as its database names it
     */
    public static Statement grant(List<SequenceName> sequences, String life) {
        return new Statement(GRANT, String.join(SEPARATOR, sequences.stream()
                .map(each -> String.join(SEPARATOR, each.schema(), each.name(), Integer.toString(each.shares())))
                .toList()), life, Map.of());
    }

    /**
     * The end of a transaction that a client has prepared.
     *
     * @param role of the client that wants it
     */
    public static Statement finish(Finish end, String role) {
        return new Statement(FINISH, String.join(SEPARATOR, end.identifier(), end.token(), end.commits() ? "c" : "r"),
                role, Map.of());
    }

    /**
     * How a prepared transaction ends.
     *
     * @param identifier by which its client knows it
     * @param token of its preparation: another one under the same identifier is not meant
     * @param commits whether it is committed, and not rolled back
     */
    public record Finish(String identifier, String token, boolean commits) {}

    /** Whether it {@linkplain #finish ends} a prepared transaction. */
    public boolean isFinish() {
        return place == FINISH;
    }

    /**
     * What it ends, and how.
     *
     * @throws IllegalArgumentException if it is damaged
     */
    public Finish finish() {
        String[] parts = sql.split(SEPARATOR, -1);
        if (parts.length != FINISH_PARTS) {
            throw new IllegalArgumentException("the end of a prepared transaction of " + parts.length + " parts");
        }
        return new Finish(parts[0], parts[1], parts[2].equals("c"));
    }

    /**
     * What keeps tables on some nodes only; its {@linkplain #texts texts} are their names.
     *
     * @param names of each table its schema and its name
     * @param keepers the nodes, as the database knows them
     */
    public static Statement placement(List<String> names, String keepers) {
        return new Statement(PLACEMENT, String.join(SEPARATOR, names), keepers, Map.of());
    }

    /**
     * What makes, changes or drops a database.
     *
     * @param role of the client that wants it
     */
    public static Statement database(DatabaseChange change, String role) {
        return new Statement(DATABASE, String.join(SEPARATOR, change.kind().letter, change.name(),
                change.lenient() ? "l" : "", change.sql()), role, Map.of());
    }

    /**
     * What is to become of a database.
     *
     * @param name of the database
     * @param lenient whether one that does not exist may be dropped
     * @param sql the statement that makes or alters it; its new name if it is renamed
     */
    public record DatabaseChange(Kind kind, String name, boolean lenient, String sql) {
        /** What is done with it. */
        public enum Kind {
            /** It is made. */
            CREATE("c"),
            /** Its owner or settings change. */
            ALTER("a"),
            /** It is called something else. */
            RENAME("r"),
            /** It is dropped. */
            DROP("d");

            private final String letter;

            Kind(String letter) {
                this.letter = letter;
            }

            private static Kind of(String letter) {
                return Arrays.stream(values()).filter(each -> each.letter.equals(letter)).findFirst()
                        .orElseThrow(() -> new IllegalArgumentException("no change of a database: " + letter));
            }
        }
    }

    /**
     * What it makes, changes or drops.
     *
     * @throws IllegalArgumentException if it does none of these, or is damaged
     */
    public DatabaseChange databaseChange() {
        String[] parts = sql.split(SEPARATOR, -1);
        if (place != DATABASE || parts.length != DATABASE_PARTS) {
            throw new IllegalArgumentException("no change of a database");
        }
        return new DatabaseChange(DatabaseChange.Kind.of(parts[0]), parts[1], parts[2].equals("l"), parts[3]);
    }

    /**
     * What has nodes build an index beside the order, tells of that, or gives it up.
     *
     * @param of whose role and settings it has
     * @param parts texts, as many as there have to be
     */
    public static Statement build(Statement of, List<String> parts) {
        return new Statement(BUILD, String.join(SEPARATOR, parts), of.role(), of.settings());
    }

    /** Whether it concerns {@linkplain #build an index that nodes build}; its {@linkplain #texts texts} are the parts. */
    public boolean isBuild() {
        return place == BUILD;
    }

    /** Whether it {@linkplain #placement places} tables. */
    public boolean isPlacement() {
        return place == PLACEMENT;
    }

    /** Whether it tells names. */
    public boolean isNaming() {
        return place == NAMING;
    }

    /** Whether it is a {@linkplain #grant grant}. */
    public boolean isGrant() {
        return place == GRANT;
    }

    /**
     * What it grants shares of.
     *
     * @throws IllegalArgumentException if it is damaged
     */
    public List<SequenceName> sequences() {
        String[] parts = sql.split(SEPARATOR, -1);
        if (parts.length % GRANT_PARTS != 0) {
            throw new IllegalArgumentException("a grant of " + parts.length + " parts");
        }
        List<SequenceName> sequences = new ArrayList<>();
        for (int i = 0; i < parts.length; i += GRANT_PARTS) {
            sequences.add(new SequenceName(parts[i], parts[i + 1], Integer.parseInt(parts[i + 2])));
        }
        return sequences;
    }

    /** The texts of its statements, which is no request. */
    public List<String> texts() {
        return List.of(sql.split(SEPARATOR, -1));
    }

    /** Whether it is a {@linkplain #request request}. */
    public boolean isRequest() {
        return place == REQUEST;
    }

    /**
     * The statements of a request.
     *
     * @throws IllegalArgumentException if they are damaged
     */
    public List<Call> calls() {
        String[] parts = sql.split(SEPARATOR, -1);
        if (parts.length % CALL_PARTS != 0) {
            throw new IllegalArgumentException("a request of " + parts.length + " parts");
        }
        List<Call> calls = new ArrayList<>();
        for (int i = 0; i < parts.length; i += CALL_PARTS) {
            int[] types = Arrays.stream(parts[i + 1].split(",", -1)).filter(type -> !type.isEmpty())
                    .mapToInt(Integer::parseInt).toArray();
            calls.add(new Call(parts[i], types, Base64.getDecoder().decode(parts[i + 2]), parts[i + 3].equals("d"),
                    Integer.parseInt(parts[i + 4])));
        }
        return calls;
    }

    /** Keeps a copy. */
    public Statement {
        settings = Collections.unmodifiableMap(new TreeMap<>(settings));
    }

    /** One that is executed outside of a transaction block. */
    public Statement(String sql, String role, Map<String, String> settings) {
        this(0, sql, role, settings);
    }

    /** As text that {@link #of(String)} reads: each part preceded by its length in characters. */
    public String toText() {
        StringBuilder text = new StringBuilder();
        part(text, Integer.toString(place));
        part(text, role);
        part(text, sql);
        settings.forEach((name, value) -> {
            part(text, name);
            part(text, value);
        });
        return text.toString();
    }

    private static void part(StringBuilder text, String part) {
        text.append(part.length()).append(':').append(part);
    }

    /** The text in UTF-8: what {@code Transactions.barrier} takes and {@code Applier.execute} gets. */
    public byte[] toBytes() {
        return toText().getBytes(StandardCharsets.UTF_8);
    }

    /**
     * Reads {@link #toBytes}.
     *
     * @throws IllegalArgumentException if the bytes are damaged
     */
    public static Statement of(byte[] bytes) {
        try {
            return of(StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(bytes)).toString());
        } catch (CharacterCodingException notText) {
            throw new IllegalArgumentException("a statement is not UTF-8", notText);
        }
    }

    /**
     * Reads {@link #toText}.
     *
     * @throws IllegalArgumentException if the text is damaged
     */
    public static Statement of(String text) {
        Parts parts = new Parts(text);
        int place = parts.number();
        String role = parts.next();
        String sql = parts.next();
        Map<String, String> settings = new TreeMap<>();
        while (parts.at < text.length()) {
            settings.put(parts.next(), parts.next());
        }
        return new Statement(place, sql, role, settings);
    }

    private static final class Parts {
        private final String text;
        private int at;

        Parts(String text) {
            this.text = text;
        }

        int number() {
            String digits = next();
            try {
                return Integer.parseInt(digits);
            } catch (NumberFormatException notNumber) {
                throw new IllegalArgumentException("a statement's place is not a number: " + digits, notNumber);
            }
        }

        String next() {
            int colon = text.indexOf(':', at);
            if (colon < 0 || colon - at > 10) {
                throw new IllegalArgumentException("a statement is damaged at character " + at);
            }
            long length;
            try {
                length = Long.parseLong(text.substring(at, colon));
            } catch (NumberFormatException notLength) {
                throw new IllegalArgumentException("a statement is damaged at character " + at, notLength);
            }
            if (length < 0 || length > text.length() - colon - 1) {
                throw new IllegalArgumentException("a statement ends too early");
            }
            at = colon + 1 + (int) length;
            return text.substring(colon + 1, at);
        }
    }
}
