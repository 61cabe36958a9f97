package tutti.server;

import java.io.IOException;
import java.util.Set;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * By which locales a node's server would make a database, as far as that can differ between nodes: that of PostgreSQL's own template, which a database has if
 * nothing else is said, and those of the operating system. A node tells the others by a name for each, and databases are made only as all nodes
 * make them alike: a node that lacks a locale could not make the database, and would stand behind for good.
 *
 * @param template a name of that template's locale
 * @param system a name of all locales that the operating system has, and of its library's version
 */
record ServerLocales(String template, String system) {
    private static final String TEMPLATE = """
            SELECT md5(concat_ws(' ', d.datlocprovider, d.datcollate, d.datctype,
             coalesce(to_jsonb(d) ->> 'datlocale', to_jsonb(d) ->> 'daticulocale')))
            FROM pg_database AS d WHERE d.datname = 'template0'""";
    /** The catalog's own list is of the system that the database was first made on. */
    private static final String SYSTEM = """
            BEGIN; CREATE SCHEMA tutti_locales; SELECT pg_import_system_collations('tutti_locales'::regnamespace);
            SELECT md5(coalesce(string_agg(concat_ws(' ', collname, pg_collation_actual_version(oid)), ',' ORDER BY collname COLLATE "C"), ''))
            FROM pg_collation WHERE collnamespace = 'tutti_locales'::regnamespace AND collprovider = 'c' AND collencoding IN (-1, 6);
            ROLLBACK""";

    /** Asks the server. */
    @FunctionalInterface
    interface Question {
        /** The first value of the last result that has rows. */
        @Nullable
        String ask(String sql) throws IOException, InterruptedException;
    }

    /** Those of a server. Blocks. */
    static ServerLocales of(Question server) throws IOException, InterruptedException {
        return new ServerLocales("template0 " + server.ask(TEMPLATE), "locales " + server.ask(SYSTEM));
    }

    /** What the node tells the others that it can do. */
    Set<String> abilities() {
        return Set.of(template, system);
    }

    /**
     * Why not all nodes would make a database alike; null if they would.
     *
     * @param ofSystem whether it needs a locale of the operating system
     * @param allCan whether all nodes have told an ability
     */
    @Nullable
    String refusal(boolean ofSystem, Predicate<String> allCan) {
        if (!allCan.test(template)) {
            return "the nodes' PostgreSQL servers were made with different locales, so that their databases would differ: template0 needs the"
                    + " same at all of them";
        }
        return ofSystem && !allCan.test(system)
                ? "the nodes' systems have different locales, or versions of them: LOCALE, LC_COLLATE and LC_CTYPE can only be C or POSIX. Install"
                        + " the same at all nodes and start them again, or take LOCALE_PROVIDER icu with ICU_LOCALE, or builtin with"
                        + " BUILTIN_LOCALE"
                : null;
    }
}
