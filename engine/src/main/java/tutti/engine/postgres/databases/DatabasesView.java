package tutti.engine.postgres.databases;

import io.netty.channel.EventLoopGroup;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import tutti.engine.StateView;
import tutti.engine.postgres.NodeRole;
import tutti.engine.postgres.PostgresView;
import tutti.engine.postgres.catalog.Table;
import tutti.pgwire.BackendSettings;

/**
 * The committed state of all databases of a cluster at a server. Tables of others than the configured one have their database before their name:
 * {@code "shop"."public".item} for {@code public.item} in {@code shop}. Where there are others, {@value #CATALOG} is shown as a table without rows,
 * with all that must be the same of each database as its definition: so one that a node lacks is seen, and one without tables.
 */
public final class DatabasesView implements StateView {
    private static final String CATALOG = "pg_catalog.pg_database";
    /** Names of columns differ between versions. */
    private static final String DATABASES = """
            SELECT string_agg(line, e'\\n' ORDER BY line) FROM (
             SELECT format('database %I owner %I encoding %s locale %s, %s, %s, %s', d.datname, pg_get_userbyid(d.datdba),
              pg_encoding_to_char(d.encoding), d.datlocprovider, d.datcollate, d.datctype,
              coalesce(to_jsonb(d) ->> 'datlocale', to_jsonb(d) ->> 'daticulocale')) AS line
             FROM tutti.databases AS m JOIN pg_database AS d ON d.datname = m.name
             UNION ALL SELECT concat('database ', quote_ident(d.datname), ' role ' || pg_get_userbyid(nullif(s.setrole, 0)), ' setting ', v)
             FROM tutti.databases AS m JOIN pg_database AS d ON d.datname = m.name
             JOIN pg_db_role_setting AS s ON s.setdatabase = d.oid
              AND (s.setrole = 0 OR pg_get_userbyid(s.setrole) !~ '^tutti_(applier|executor)_')
             CROSS JOIN LATERAL unnest(s.setconfig) AS v) AS lines""";
    /** By what stands before tables' names. */
    private final Map<String, PostgresView> views = new LinkedHashMap<>();
    private final Map<String, Source> sources = new LinkedHashMap<>();

    private @Nullable Relation databases;

    /** Where a table is. */
    private record Source(PostgresView in, Relation table) {}

    private DatabasesView() {}

    /**
     * Opens one of what is committed now. No commit may lie between the databases: the caller sees to it.
     *
     * @param settings of a superuser, to the configured database
     * @param others besides it
     * @throws IOException if it cannot be
     */
    public static StateView open(EventLoopGroup loops, BackendSettings settings, List<ServerEngine.Member> others)
            throws IOException, InterruptedException {
        DatabasesView all = new DatabasesView();
        boolean opened = false;
        try {
            all.views.put("", PostgresView.open(loops, settings));
            for (ServerEngine.Member each : others) {
                all.views.put(Table.quote(each.name()) + ".",
                        PostgresView.open(loops, settings.inDatabase(each.name())));
            }
            if (!others.isEmpty()) {
                String lines = NodeRole.ask(loops, settings, DATABASES);
                all.databases = new Relation(CATALOG, lines == null ? List.of() : List.of(lines.split("\n")));
            }
            opened = true;
            return all;
        } finally {
            if (!opened) {
                all.close();
            }
        }
    }

    @Override
    public List<Relation> tables() throws IOException, InterruptedException {
        List<Relation> all = new ArrayList<>();
        Relation shown = databases;
        if (shown != null) {
            all.add(shown);
        }
        for (Map.Entry<String, PostgresView> view : views.entrySet()) {
            for (Relation table : view.getValue().tables()) {
                Relation named = new Relation(view.getKey() + table.name(), table.definition());
                sources.put(named.name(), new Source(view.getValue(), table));
                all.add(named);
            }
        }
        return all;
    }

    private Source source(Relation table) {
        Source source = sources.get(table.name());
        if (source == null) {
            throw new IllegalArgumentException("no table of this view: " + table.name());
        }
        return source;
    }

    @Override
    public List<Digest> digests(Relation table, int parts, Pace pace) throws IOException, InterruptedException {
        if (table.equals(databases)) {
            return Collections.nCopies(parts, Digest.NONE);
        }
        Source source = source(table);
        return source.in().digests(source.table(), parts, pace);
    }

    @Override
    public @Nullable List<Row> rows(Relation table, int parts, int part, int limit, Pace pace)
            throws IOException, InterruptedException {
        if (table.equals(databases)) {
            return List.of();
        }
        Source source = source(table);
        return source.in().rows(source.table(), parts, part, limit, pace);
    }

    @Override
    public void close() {
        views.values().forEach(PostgresView::close);
    }
}
