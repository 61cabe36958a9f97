package tutti.engine.postgres;

import java.util.Map;
import java.util.TreeMap;
import tutti.pgwire.BackendSettings;

/**
 * Settings of the sessions that a node has with its own database. They are told at the start of a session, and so come before what
 * ALTER ROLE and ALTER DATABASE have set: no statement of a client's changes what such a session does.
 */
public final class OwnSessions {
    /** What any role may set. */
    private static final Map<String, String> ANY = Map.ofEntries(Map.entry("role", "none"),
            Map.entry("client_encoding", "UTF8"), Map.entry("search_path", "\"$user\", public"),
            Map.entry("default_transaction_isolation", "read committed"),
            Map.entry("default_transaction_read_only", "off"), Map.entry("default_transaction_deferrable", "off"),
            Map.entry("statement_timeout", "0"), Map.entry("lock_timeout", "0"), Map.entry("transaction_timeout", "0"),
            Map.entry("idle_in_transaction_session_timeout", "0"), Map.entry("idle_session_timeout", "0"),
            Map.entry("datestyle", "ISO, MDY"), Map.entry("intervalstyle", "postgres"), Map.entry("lc_monetary", "C"),
            Map.entry("xmloption", "content"), Map.entry("array_nulls", "on"), Map.entry("bytea_output", "hex"),
            Map.entry("extra_float_digits", "1"), Map.entry("standard_conforming_strings", "on"),
            Map.entry("transform_null_equals", "off"), Map.entry("quote_all_identifiers", "off"),
            Map.entry("row_security", "on"), Map.entry("check_function_bodies", "on"),
            Map.entry("default_tablespace", ""), Map.entry("temp_tablespaces", ""),
            Map.entry("default_table_access_method", "heap"), Map.entry("default_toast_compression", "pglz"),
            Map.entry("local_preload_libraries", ""), Map.entry("client_min_messages", "notice"),
            Map.entry("exit_on_error", "off"), Map.entry("restrict_nonsystem_relation_kind", ""),
            Map.entry("plpgsql.extra_errors", "none"), Map.entry("plpgsql.extra_warnings", "none"),
            Map.entry("gin_fuzzy_search_limit", "0"), Map.entry("backslash_quote", "safe_encoding"),
            Map.entry("xmlbinary", "base64"), Map.entry("jit", "off"),
            // On, planning a query computes what is constant in the CHECK constraints of its tables, by functions of clients'.
            Map.entry("constraint_exclusion", "partition"));
    /**
     * What superusers may. Event triggers on login would keep the node out. And of functions and operators in all schemas of a search path one is taken that fits exactly, before
     * the server's own: only its schema is searched.
     */
    private static final Map<String, String> SUPERUSER = Map.of("session_replication_role", "origin",
            "session_preload_libraries", "", "event_triggers", "off", "search_path", "pg_catalog, pg_temp");

    private OwnSessions() {}

    /** A superuser's. */
    public static BackendSettings superuser(BackendSettings settings, String application) {
        return plain(settings, application).withParameters(SUPERUSER);
    }

    /** Any role's. */
    static BackendSettings plain(BackendSettings settings, String application) {
        Map<String, String> all = new TreeMap<>(ANY);
        all.put("application_name", application);
        all.put("session_authorization", settings.user());
        return settings.withParameters(all);
    }
}
