package tutti.engine.postgres.databases;

import io.netty.channel.EventLoopGroup;
import java.io.IOException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import tutti.engine.StateView;
import tutti.engine.postgres.PostgresView;
import tutti.engine.postgres.catalog.Table;
import tutti.pgwire.BackendSettings;

/**
 * The committed state of all databases of a cluster at a server. Tables of others than the configured one have their database before their name:
 * {@code "shop"."public".item} for {@code public.item} in {@code shop}.
 */
public final class DatabasesView implements StateView {
    /** By what stands before tables' names. */
    private final Map<String, PostgresView> views = new LinkedHashMap<>();
    private final Map<String, Source> sources = new LinkedHashMap<>();

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
        Source source = source(table);
        return source.in().digests(source.table(), parts, pace);
    }

    @Override
    public @Nullable List<Row> rows(Relation table, int parts, int part, int limit, Pace pace)
            throws IOException, InterruptedException {
        Source source = source(table);
        return source.in().rows(source.table(), parts, part, limit, pace);
    }

    @Override
    public void close() {
        views.values().forEach(PostgresView::close);
    }
}
