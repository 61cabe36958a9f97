package tutti.engine.postgres.capture;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.time.Duration;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Locale;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import tutti.core.spi.Engine;
import tutti.engine.postgres.catalog.CatalogQuery;
import tutti.engine.postgres.catalog.Table;
import tutti.pgwire.BackendConnection;
import tutti.pgwire.QueryResult;
import tutti.pgwire.Scram;

/**
 * Puts into a database what capture needs: the schema {@code tutti}, triggers on all tables, event triggers, shares
 * of sequences. May be run on a database that has it already, which is how a new release or another configuration takes
 * effect. Replicas that installed and then executed the same statements are alike but for object ids and sequences.
 */
public final class CaptureInstaller {
    private static final int LIMIT_BYTES_MIN = 8192;
    private static final long LIMIT_BYTES_MAX = 256L << 20;
    private static final Duration TIMEOUT = Duration.ofMinutes(5);
    private static final int SALT_BYTES = 16;
    private static final int SCRAM_ITERATIONS = 4096;
    /**
     * A setting that only superusers can read and set, which has no effect after the beginning of a session; install.sql keeps
     * in it what clients must not decide.
     */
    private static final String MARK = "session_preload_libraries";
    /** Appends a text to the variable {@code name}, which stands between this and {@link #APPEND_AFTER}; NULL. */
    private static final String APPEND_BEFORE = "CASE WHEN pg_catalog.octet_length(pg_catalog.set_config("
            + "CASE WHEN pg_catalog.starts_with(name, 'tutti.g') THEN name ELSE tutti.unarmed(name) END, ";
    private static final String APPEND_AFTER = """
            , true))
                        OPERATOR(pg_catalog.>)
                        (512 OPERATOR(pg_catalog.*) (pg_catalog.octet_length(name) OPERATOR(pg_catalog.-) 24))
                    AND CASE WHEN pg_catalog.octet_length(name) OPERATOR(pg_catalog.>) 25 THEN tutti.next_text(name)
                        ELSE pg_catalog.set_config('<mark>', pg_catalog.concat(pg_catalog.substr(name, 1, 24),
                            pg_catalog.substr(name, 25)::pg_catalog.int4 OPERATOR(pg_catalog.+) 1), true) END IS NULL
                    THEN '' END""";

    /**
     * Settings of functions that no setting of a client's session is to change in meaning, or to have show what they know. A session's own temporary tables and
     * types come before the server's wherever the search path does not say that they come last.
     */
    private static final String FIXED_SETTINGS = "SET search_path = pg_catalog, pg_temp"
            + " SET standard_conforming_strings = on SET quote_all_identifiers = off SET debug_print_plan = off";
    /** In functions whose parameter is the secret, and whose search path is safe. */
    private static final String REFUSE_WITHOUT_SECRET = """
            IF sha256(secret) <> <secret_hash>::bytea THEN
                    PERFORM tutti.refuse_secret();
                END IF;""";
    /**
     * Leaves a capture if nobody reads its row, or if that is one of those that the node has seen in band, and counts it. Reads the mark each time, since a variable's value would be one
     * more expression, which PL/pgSQL prepares anew in each transaction.
     */
    private static final String PASS_WHAT_IS_SEEN = """
            IF pg_catalog.starts_with(pg_catalog.current_setting('<mark>'), 'tutti.p')
                        AND (pg_catalog.current_setting('<mark>') OPERATOR(pg_catalog.=) 'tutti.p' OR pg_catalog.setval_here('tutti.counted'::pg_catalog.regclass,
                            pg_catalog.currval('tutti.counted'::pg_catalog.regclass) OPERATOR(pg_catalog.+) 1) OPERATOR(pg_catalog.<=)
                            pg_catalog.substr(pg_catalog.current_setting('<mark>'), 8)::pg_catalog.int8) THEN
                    RETURN NULL;
                END IF;""";

    /** What a key begins with under which rows are told whole; no hexadecimal digit. */
    private static final byte WHOLE_ROWS = 'w';
    /** Whether the old row is one that the transaction has made. */
    private static final String OWN_VERSION = "pg_catalog.age(OLD.xmin) OPERATOR(pg_catalog.<=)"
            + " pg_catalog.age(pg_catalog.pg_current_xact_id()::pg_catalog.xid)";

    /** How many rows the session has changed of what belongs to the server, by the counters of its transactions: see server.sql. */
    private static final String SERVER_CHANGES = "(" + Stream.of(1260, 1261, 1262, 1213, 2396, 2964, 3466, 6243)
            .flatMap(catalog -> Stream.of("inserted", "updated", "deleted").map(what -> counter(what, catalog)))
            .collect(Collectors.joining(" OPERATOR(pg_catalog.+) ")) + " OPERATOR(pg_catalog.+) "
            + counter("updated", 1214) + ")";
    /** Whether it may have changed some. */
    private static final String SERVER_MAY_CHANGE = "(" + SERVER_CHANGES + " OPERATOR(pg_catalog.>) 0"
            + " OR pg_catalog.current_setting('track_counts') OPERATOR(pg_catalog.=) 'off')";

    private CaptureInstaller() {}

    private static String counter(String what, int catalog) {
        return "pg_catalog.pg_stat_get_xact_tuples_" + what + "(" + catalog + ")";
    }

    /**
     * What names the variables in which a transaction's changes are gathered, if rows are to be told whole: some node may not be able to make changes of
     * some columns.
     *
     * @param sessionKey the same if columns may be left out: 16 hexadecimal digits
     */
    public static byte[] wholeRows(byte[] sessionKey) {
        byte[] key = sessionKey.clone();
        key[0] = WHOLE_ROWS;
        return key;
    }

    /**
     * What is the same for all nodes but the index.
     *
     * @param nodeIndex this node's, 0 to {@code stride - 1}: 0 has the first share of sequences that are there before
     * @param stride most nodes that the cluster will ever have
     * @param secret arms a commit; any text, the same on all nodes
     * @param transactionLimitBytes most bytes of rows that one transaction may change, 8 KiB to 256 MiB
     * @param serializable whether a SERIALIZABLE transaction may commit: whether the cluster's protocol guarantees what it asks for, at least to
     *            those who tell what they have read
     */
    public record Settings(int nodeIndex, int stride, String secret, long transactionLimitBytes, boolean serializable) {
        /** Of a cluster that guarantees snapshot isolation. */
        public Settings(int nodeIndex, int stride, String secret, long transactionLimitBytes) {
            this(nodeIndex, stride, secret, transactionLimitBytes, false);
        }

        /** Default for the number of nodes. */
        public static final int DEFAULT_STRIDE = 16;
        /** Default bound of a transaction: 64 MiB. */
        public static final long DEFAULT_LIMIT_BYTES = 64L << 20;

        /** Checks. */
        public Settings {
            if (nodeIndex < 0 || nodeIndex >= stride || stride > 256) {
                throw new IllegalArgumentException("node index " + nodeIndex + " is not below the stride " + stride
                        + ", or the stride is not within 1 to 256");
            }
            if (secret.isEmpty()) {
                throw new IllegalArgumentException("the cluster's secret is empty");
            }
            if (transactionLimitBytes < LIMIT_BYTES_MIN || transactionLimitBytes > LIMIT_BYTES_MAX) {
                throw new IllegalArgumentException("the limit of a transaction must be " + LIMIT_BYTES_MIN + " to "
                        + LIMIT_BYTES_MAX + " bytes, was " + transactionLimitBytes);
            }
        }
    }

    /**
     * Installs. The connection must be a superuser's, to the database to be replicated, with no transaction open.
     *
     * @throws IOException if the connection is lost
     * @throws tutti.pgwire.PostgresException if the server refuses
     * @throws IllegalStateException if the database cannot be replicated; says why
     */
    public static void install(BackendConnection connection, Settings settings)
            throws IOException, InterruptedException {
        String encoding = connection.execute("SELECT pg_catalog.getdatabaseencoding()", TIMEOUT).value();
        if (!"UTF8".equals(encoding)) {
            throw new IllegalStateException("the database's encoding is " + encoding
                    + "; only UTF8 can be replicated: create the database with ENCODING 'UTF8'");
        }
        transaction(connection, script("roles.sql", settings.secret(), roleNames(connection)) + "\n"
                + script(settings, roleNames(connection)));
        transaction(connection, resource("shown.sql").replace("<mark>", MARK));
    }

    private static void transaction(BackendConnection connection, String script)
            throws IOException, InterruptedException {
        connection.execute("BEGIN;\nSET LOCAL search_path = pg_catalog;\nSET LOCAL client_min_messages = warning;\n"
                + "SET LOCAL session_replication_role = origin;\n" + script + "\nCOMMIT;", TIMEOUT);
    }

    /**
     * Finds tables that are not captured, for the watchdog. Cheap enough to be asked every few seconds.
     *
     * @return schema-qualified names; empty if all is well
     */
    public static List<String> uncaptured(BackendConnection connection) throws IOException, InterruptedException {
        return names(connection.execute(
                "SELECT pg_catalog.concat(schema_name, '.', table_name) FROM tutti.uncaptured ORDER BY 1", TIMEOUT));
    }

    private static List<String> names(QueryResult result) {
        return result.rows().stream().map(row -> row.isEmpty() ? "" : orEmpty(row.getFirst())).toList();
    }

    private static String orEmpty(@Nullable String value) {
        return value == null ? "" : value;
    }

    /**
     * A digest of the replicated schema (tables, columns, types, defaults, constraints, indexes, functions, views,
     * triggers, sequences without their values), for nodes to compare at start. Two nodes that executed the same
     * statements have the same.
     */
    public static String schemaDigest(BackendConnection connection) throws IOException, InterruptedException {
        String digest = connection
                .execute(resource("digest.sql").replace("<built names>", CatalogQuery.BUILT_NAMES), TIMEOUT).value();
        if (digest == null) {
            throw new IllegalStateException("the digest query returned nothing");
        }
        return digest;
    }

    /** The roles that apply what other nodes have executed. Neither has any rights but to call functions with the secret. */
    public enum Role {
        /** Writes rows; its sessions are in the replica role, so that triggers and foreign keys do not fire. */
        APPLIER,
        /** Executes requests as a client's session would. */
        EXECUTOR;

        /** The value of {@code session_replication_role} in its sessions. */
        public String replicationRole() {
            return this == APPLIER ? "replica" : "origin";
        }
    }

    /**
     * What the functions' callers know of them.
     *
     * @param finish closes the capture: secret, session's key
     * @param record records a position in the open transaction: secret, position
     * @param recordInBand the same, of a transaction whose rows have been seen in band: secret, position, how many
     * @param allowStatement has the next schema change pass: secret, what is captured of it or NULL
     * @param beforeSetConstraints precedes a client's SET CONSTRAINTS: secret
     * @param afterSetConstraints follows it: secret
     * @param beginAs lets one of the {@link Role roles} take a client's role: secret, role
     * @param endAs takes that back: secret
     * @param truncate empties tables: secret, their object ids
     * @param skip records a position at which nothing is made: secret, position
     * @param raise tells those who listen at this node: secret, channel, payload
     * @param grantShare gives a life of a node the next values of a sequence: secret, schema, name, life, how many shares
     * @param restart puts a sequence where another node has put it: secret, schema, name, last value, whether that was given
     * @param prepare keeps a transaction for its client to commit: secret, and the parts of {@link Changes.Change.Prepare}
     * @param takePrepared takes it out again, and returns its changes: secret, identifier, token, role
     * @param checkPrepared refuses what every node executes while transactions are kept: secret
     * @param place keeps tables on some nodes only: secret, an array of schemas and names, numbers of the nodes
     * @param nameBuilt gives an index that was built beside the order its name: secret, its object id, name, role
     * @param dropBuilt drops the others: secret
     * @param nameAlone has no client's transaction change the schema meanwhile: secret
     * @param nameAsTold gives indexes and sequences the names that another node tells: secret, what it tells
     * @param largeObject makes or unlinks a large object: secret, and the parts of {@link Changes.Change.LargeObject}
     * @param largePages writes pages of one: secret, and the parts of {@link Changes.Change.LargePages}
     * @param finishUnread closes the capture of what every node executes, of which nobody reads what has changed: secret
     * @param life names the node's life, which begins when capture is installed: statements say in {@link #ORIGIN} which one they come from
     * @param roleNames of the {@link Role roles} in this database, in their order
     */
    public record Functions(int finish, int record, int recordInBand, int allowStatement, int beforeSetConstraints,
            int afterSetConstraints, int beginAs, int endAs, int truncate, int skip, int raise,
            int grantShare, int restart, int prepare, int takePrepared, int checkPrepared, int largeObject,
            int largePages, int place, int nameBuilt, int dropBuilt, int finishUnread, int nameAlone, int nameAsTold,
            String life, List<String> roleNames) {
        /** The setting of a statement that tells which life of a node has the first share of the sequences that it makes. */
        public static final String ORIGIN = "tutti.origin";

        /** Keeps a copy. */
        public Functions {
            roleNames = List.copyOf(roleNames);
        }

        /** A role's name. */
        public String name(Role role) {
            return roleNames.get(role.ordinal());
        }
    }

    /** The functions in a database in which capture is installed. They keep their ids as long as it is. */
    public static Functions functions(BackendConnection connection) throws IOException, InterruptedException {
        List<String> ids = names(connection.execute(
                """
                        SELECT names.name::pg_catalog.regprocedure::pg_catalog.oid FROM pg_catalog.unnest(ARRAY[
                            'tutti.finish(bytea,text)', 'tutti.record(bytea,bigint)',
                            'tutti.record_in_band(bytea,bigint,bigint)', 'tutti.allow_statement(bytea,text)',
                            'tutti.before_set_constraints(bytea)', 'tutti.after_set_constraints(bytea)',
                            'tutti.begin_as(bytea,text)', 'tutti.end_as(bytea)', 'tutti.apply_truncate(bytea,text)',
                            'tutti.skip(bytea,bigint)', 'tutti.apply_notify(bytea,text,text)',
                            'tutti.grant_share(bytea,text,text,text,text)', 'tutti.apply_restart(bytea,text,text,text,text)',
                            'tutti.apply_prepare(bytea,text,text,text,text,bytea,bytea)',
                            'tutti.take_prepared(bytea,text,text,text)', 'tutti.check_prepared(bytea)',
                            'tutti.apply_large_object(bytea,text,text,text)', 'tutti.apply_large_pages(bytea,text,text,bytea)',
                            'tutti.place(bytea,text,text)', 'tutti.name_built(bytea,text,text,text)', 'tutti.drop_built(bytea)',
                            'tutti.finish_unread(bytea)', 'tutti.name_alone(bytea)', 'tutti.name_as_told(bytea,text)'])
                            WITH ORDINALITY names(name, place) ORDER BY names.place""",
                TIMEOUT));
        return new Functions(oid(ids.get(0)), oid(ids.get(1)), oid(ids.get(2)), oid(ids.get(3)), oid(ids.get(4)),
                oid(ids.get(5)), oid(ids.get(6)), oid(ids.get(7)), oid(ids.get(8)),
                oid(ids.get(9)), oid(ids.get(10)), oid(ids.get(11)), oid(ids.get(12)),
                oid(ids.get(13)), oid(ids.get(14)), oid(ids.get(15)), oid(ids.get(16)), oid(ids.get(17)),
                oid(ids.get(18)), oid(ids.get(19)), oid(ids.get(20)), oid(ids.get(21)), oid(ids.get(22)),
                oid(ids.get(23)),
                orEmpty(connection.execute("SELECT life FROM tutti.node", TIMEOUT).value()), roleNames(connection));
    }

    /**
     * Names of the {@link Role roles}, in their order, whether capture is installed or not. Roles are the server's, functions the database's: each
     * database has roles of its own.
     */
    public static List<String> roleNames(BackendConnection connection) throws IOException, InterruptedException {
        String database = connection.execute("SELECT oid FROM pg_catalog.pg_database"
                + " WHERE datname = pg_catalog.current_database()", TIMEOUT).value();
        return Arrays.stream(Role.values())
                .map(role -> "tutti_" + role.name().toLowerCase(Locale.ROOT) + "_" + database)
                .toList();
    }

    /** The password of the {@link Role roles}, which follows from the secret. */
    public static String password(String secret) {
        return HexFormat.of().formatHex(sha256(("password " + secret).getBytes(StandardCharsets.UTF_8)));
    }

    private static int oid(String value) {
        return Integer.parseUnsignedInt(value);
    }

    /**
     * The statements that make the {@link Role roles} what they should be, in a transaction of their own.
     *
     * @throws IOException if the resource cannot be read
     */
    public static String roles(String secret, Functions functions) throws IOException {
        return "BEGIN;\nSET LOCAL search_path = pg_catalog;\n" + script("roles.sql", secret, functions.roleNames())
                + "\nCOMMIT;";
    }

    /**
     * The statements that make a role which may take one other role and do nothing else, in which requests of that role are executed, or indexes built.
     * To be sent as one query.
     *
     * @param name of the role that is made: {@link #executorName}, {@link #builderName}
     * @param role which it may take
     * @throws IOException if the resource cannot be read
     */
    public static String executorRole(String secret, Functions functions, String name, String role) throws IOException {
        return "SET LOCAL search_path = pg_catalog;\n"
                + script("roles.sql", secret, functions.roleNames(), List.of(name))
                + "\nGRANT " + Table.quote(role) + " TO " + Table.quote(name)
                + " WITH ADMIN FALSE, INHERIT FALSE, SET TRUE;";
    }

    /** What the role is called that executes requests of another one, which has this object id. */
    public static String executorName(Functions functions, String roleId) {
        return functions.name(Role.EXECUTOR) + "_" + roleId;
    }

    /** What the role is called that builds indexes for another one, which has this object id; event triggers do not fire in its sessions. */
    public static String builderName(Functions functions, String roleId) {
        return executorName(functions, roleId) + "_index";
    }

    private static String script(String name, String secret, List<String> roleNames) throws IOException {
        return script(name, secret, roleNames, roleNames);
    }

    /** @param made the roles that the script makes, if it makes any */
    private static String script(String name, String secret, List<String> roleNames, List<String> made)
            throws IOException {
        return resource(name)
                .replace("<names>", made.stream().map(each -> "'" + each + "'").collect(Collectors.joining(", ")))
                .replace("<needs a copy>", Statement.NEEDS_COPY)
                .replace("<applier>", roleNames.get(Role.APPLIER.ordinal()))
                .replace("<executor>", roleNames.get(Role.EXECUTOR.ordinal()))
                .replace("<verifier>", verifier(secret));
    }

    private static String script(Settings settings, List<String> roleNames) throws IOException {
        byte[] secret = settings.secret().getBytes(StandardCharsets.UTF_8);
        return script("install.sql", settings.secret(), roleNames).replace("<sequences>", resource("sequences.sql"))
                .replace("<large objects>", resource("largeobjects.sql"))
                .replace("<hidden>", resource("hidden.sql"))
                .replace("<nested statements>", script("nested.sql", settings.secret(), roleNames))
                .replace("<computed>", resource("computed.sql"))
                .replace("<naming of relations>", resource("naming.sql"))
                .replace("<naming>", Integer.toString(Statement.NAMING))
                .replace("<chosen beside others>", Statement.CHOSEN_BESIDE_OTHERS)
                .replace("<built>", resource("built.sql")).replace("<built names>", CatalogQuery.BUILT_NAMES)
                .replace("<placed>", script("placed.sql", settings.secret(), roleNames))
                .replace("<server>", script("server.sql", settings.secret(), roleNames))
                .replace("<server may change>", SERVER_MAY_CHANGE).replace("<server changes>", SERVER_CHANGES)
                .replace("<nested>", Integer.toString(Statement.NESTED))
                .replace("<submission>", Statement.SUBMISSION_MADE)
                .replace("<fixed settings>", FIXED_SETTINGS)
                .replace("<statement settings>", Statement.SETTINGS.stream().map(name -> "'" + name + "'")
                        .collect(Collectors.joining(", ")))
                .replace("<catalog>", CatalogQuery.SQL)
                .replace("<refuse without the secret>", REFUSE_WITHOUT_SECRET)
                .replace("<append before>", APPEND_BEFORE)
                .replace("<append after>", APPEND_AFTER).replace("<pass what is seen in band>", PASS_WHAT_IS_SEEN)
                .replace("<own version>", OWN_VERSION)
                .replace("<key of c>", CatalogQuery.KEY.formatted("c.oid"))
                .replace("<mark>", MARK)
                .replace("<skipped_kept>", Long.toString(Engine.SKIPPED_KEPT))
                .replace("<snapshots_only>", settings.serializable() ? "false" : "true")
                .replace("<node_index>", Integer.toString(settings.nodeIndex()))
                .replace("<secret_hash>", "E'\\\\x" + HexFormat.of().formatHex(sha256(secret)) + "'")
                .replace("<limit_bytes>", Long.toString(settings.transactionLimitBytes()));
    }

    /** What the server keeps of the password: its salt may follow from it, since it is as long as a key. */
    private static String verifier(String secret) {
        byte[] salt = Arrays.copyOf(sha256(("salt " + secret).getBytes(StandardCharsets.UTF_8)), SALT_BYTES);
        return Scram.Verifier.of(password(secret), salt, SCRAM_ITERATIONS).toString();
    }

    private static byte[] sha256(byte[] of) {
        try {
            return MessageDigest.getInstance("SHA-256").digest(of);
        } catch (NoSuchAlgorithmException impossible) {
            throw new IllegalStateException(impossible);
        }
    }

    private static String resource(String name) throws IOException {
        String path = "/tutti/engine/postgres/capture/" + name;
        try (InputStream in = CaptureInstaller.class.getResourceAsStream(path)) {
            if (in == null) {
                throw new IOException("resource " + path + " is missing");
            }
            return new String(in.readAllBytes(), StandardCharsets.UTF_8);
        }
    }
}
