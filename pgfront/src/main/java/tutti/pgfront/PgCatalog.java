package tutti.pgfront;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.sql.DatabaseMetaData;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.Map;
import java.util.Objects;
import java.util.Properties;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Supplier;
import org.h2.jdbc.JdbcConnection;
import org.jspecify.annotations.Nullable;
import tutti.engine.jdbc.ClientSession;
import tutti.engine.jdbc.h2.H2Engine;

/**
 * PostgreSQL's catalogs for an engine that has none, or others: a small H2 database in memory with tables like those of
 * {@code pg_catalog}, filled from what the engine's JDBC driver says of its schema, and filled again after the schema has
 * changed. psql and drivers ask it in their own SQL ({@link CatalogSql}), so that what works does not depend on a list of
 * their queries. Whatever the engine, the catalog's database is H2, because it is there, and the more able of the two.
 *
 * <p>
 * Names are told as PostgreSQL would have them ({@link Dialect#fold}). Numbers of tables stay the same for as long as the
 * front end lives. Safe for use from any thread.
 */
final class PgCatalog implements AutoCloseable {
    /** The version of PostgreSQL whose catalogs these are like, and that clients are told. */
    static final String VERSION = "15.0";
    /** The same as a number. */
    static final String VERSION_NUMBER = "150000";
    /** Of the catalog's own database, whatever the engine. */
    static final Dialect DIALECT = new Dialect("H2", H2Engine.DIALECT);
    private static final AtomicLong NUMBERS = new AtomicLong();
    /** Names in SQL, and methods of {@link CatalogFunctions}; methods of one name differ in their parameters. */
    private static final Map<String, String> FUNCTIONS = Map.ofEntries(Map.entry("format_type", "formatType"),
            Map.entry("pg_get_expr", "getExpression"), Map.entry("pg_get_userbyid", "roleName"),
            Map.entry("pg_table_is_visible", "visible"), Map.entry("pg_type_is_visible", "always"),
            Map.entry("pg_function_is_visible", "always"), Map.entry("pg_conversion_is_visible", "always"),
            Map.entry("pg_tablespace_location", "nothing"), Map.entry("pg_opclass_is_visible", "always"),
            Map.entry("pg_relation_is_publishable", "always"), Map.entry("pg_get_indexdef", "definition"),
            Map.entry("pg_get_viewdef", "definition"), Map.entry("pg_get_constraintdef", "constraint"),
            Map.entry("obj_description", "description"), Map.entry("shobj_description", "description"),
            Map.entry("col_description", "columnDescription"), Map.entry("to_regclass", "relation"),
            Map.entry("to_regtype", "typeNumber"),
            Map.entry("regclass_name", "relationName"), Map.entry("array_to_string", "join"),
            Map.entry("array_element", "element"), Map.entry("pg_partition_ancestors", "ancestor"),
            Map.entry("array_upper", "length"), Map.entry("pg_get_statisticsobjdef_columns", "nothing"),
            Map.entry("pg_encoding_to_char", "encoding"), Map.entry("current_setting", "setting"),
            Map.entry("current_schemas", "schemas"), Map.entry("has_table_privilege", "privileged"),
            Map.entry("has_schema_privilege", "privileged"), Map.entry("has_database_privilege", "privileged"),
            Map.entry("pg_is_in_recovery", "recovering"), Map.entry("pg_relation_size", "size"),
            Map.entry("pg_table_size", "size"), Map.entry("pg_total_relation_size", "size"),
            Map.entry("pg_get_function_result", "nothing"),
            Map.entry("pg_get_function_arguments", "nothing"), Map.entry("pg_get_functiondef", "nothing"),
            Map.entry("pg_get_triggerdef", "nothing"), Map.entry("pg_get_ruledef", "nothing"),
            Map.entry("version", "version"), Map.entry("current_database", "database"),
            Map.entry("pg_size_pretty", "pretty"));

    private final String url;
    private final JdbcConnection connection;
    private final ClientSession source;
    private final Supplier<?> schema;
    private final ReentrantLock lock = new ReentrantLock();
    private final CatalogFiller filler;
    private @Nullable Object filled;

    /**
     * The catalogs of an engine.
     *
     * @param source a session of the engine, used for nothing else and closed with the catalog
     * @param schema tells a new object whenever the schema has changed
     * @param database the database's name
     * @param role the one role
     * @param sequenceStep by how much the increments of sequences have been multiplied
     */
    PgCatalog(ClientSession source, Supplier<?> schema, Dialect dialect, String database, String role,
            int sequenceStep)
            throws SQLException {
        this.source = source;
        this.schema = schema;
        url = "jdbc:h2:mem:tutti-catalog-" + NUMBERS.incrementAndGet()
                + ";DB_CLOSE_DELAY=-1;DB_CLOSE_ON_EXIT=FALSE;DATABASE_TO_LOWER=TRUE;CASE_INSENSITIVE_IDENTIFIERS=TRUE"
                + ";NON_KEYWORDS=KEY,USER,VALUE,YEAR,MONTH,DAY";
        connection = connect();
        filler = new CatalogFiller(connection, sequenceStep);
        try (Statement statement = connection.createStatement()) {
            for (String sql : script().split(";\n", -1)) {
                if (!sql.isBlank()) {
                    statement.execute(sql);
                }
            }
            for (Map.Entry<String, String> function : FUNCTIONS.entrySet()) {
                statement.execute("CREATE ALIAS " + function.getKey() + " FOR '" + CatalogFunctions.class.getName()
                        + "." + function.getValue() + "'");
            }
        }
        filler.constants(database, role);
        SessionParameters parameters = new SessionParameters(dialect, role, Map.of(), false);
        for (String name : new String[]{"server_version", "server_version_num", "server_encoding", "search_path",
                "max_identifier_length", "standard_conforming_strings", "transaction_isolation",
                "default_transaction_isolation", "default_transaction_read_only", "integer_datetimes"}) {
            setting(name, parameters.show(name));
        }
        setting("max_index_keys", "32");
        setting("version", "PostgreSQL " + VERSION + " (Tutti, " + dialect.product() + ")");
        setting("current_database", database);
    }

    private void setting(String name, String value) throws SQLException {
        try (PreparedStatement insert = connection
                .prepareStatement("INSERT INTO pg_settings (name, setting) VALUES (?, ?)")) {
            insert.setString(1, name);
            insert.setString(2, value);
            insert.executeUpdate();
        }
    }

    private static String script() {
        try (InputStream in = Objects.requireNonNull(PgCatalog.class.getResourceAsStream("catalog.sql"))) {
            return new String(in.readAllBytes(), StandardCharsets.UTF_8);
        } catch (IOException broken) {
            throw new UncheckedIOException(broken);
        }
    }

    /** A connection for queries; the caller closes it. */
    JdbcConnection connect() throws SQLException {
        return new JdbcConnection(url, new Properties(), "TUTTI", "", false);
    }

    /** Looks whether the schema has changed: then there is another object, whatever it says. */
    @SuppressWarnings("ReferenceEquality")
    void refresh() throws SQLException {
        lock.lock();
        try {
            Object now = schema.get();
            if (now != filled) {
                source.statement(engine -> {
                    DatabaseMetaData metaData = engine.getMetaData();
                    filler.fill(metaData, engine);
                    return null;
                });
                filled = now;
            }
        } finally {
            source.commitUnchanged();
            source.forget();
            lock.unlock();
        }
    }

    @Override
    public void close() {
        source.close();
        try (connection; Statement statement = connection.createStatement()) {
            statement.execute("SHUTDOWN IMMEDIATELY");
        } catch (SQLException closed) {
            // It is closed, as it should be.
        }
    }

    /** All values of a column. */
    static String text(ResultSet rows, String column) throws SQLException {
        String value = rows.getString(column);
        return value == null ? "" : value;
    }
}
