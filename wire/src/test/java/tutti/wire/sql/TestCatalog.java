package tutti.wire.sql;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;
import tutti.engine.postgres.catalog.CatalogQuery;
import tutti.engine.postgres.catalog.TableCatalog;
import tutti.pgwire.QueryResult;

/** A catalog of tables in schema {@code public}, without a database. */
public final class TestCatalog {
    private static final int TYPES_FROM = 100;
    private static final int INDEXES_FROM = 1000;

    private final List<List<@Nullable String>> rows = new ArrayList<>();
    private final List<String> types = new ArrayList<>();
    private int tables;

    /**
     * One more.
     *
     * @param key numbers of the columns of its primary key, from 1, with spaces between them
     * @param columns names and types
     */
    public TestCatalog table(String name, String key, String... columns) {
        String table = Integer.toString(++tables);
        StringBuilder told = new StringBuilder();
        for (int i = 0; i < columns.length; i++) {
            String[] parts = columns[i].split(" ", -1);
            if (!types.contains(parts[1])) {
                types.add(parts[1]);
            }
            told.append('(').append(i + 1).append(',').append(parts[0]).append(',')
                    .append(TYPES_FROM + types.indexOf(parts[1])).append(",t,f,f)");
        }
        rows.add(List.of("table", table, "public", name, "r", told.toString()));
        rows.add(Arrays.asList("index", table, Integer.toString(INDEXES_FROM + tables), name + "_pkey",
                "public." + name + "_pkey", key, key, "true", "true", "false", null));
        return this;
    }

    /** All of them. */
    public TableCatalog catalog() {
        List<List<@Nullable String>> all = new ArrayList<>(rows);
        for (int i = 0; i < types.size(); i++) {
            all.add(List.of("type", Integer.toString(TYPES_FROM + i), types.get(i), "b", "false", "true"));
        }
        return CatalogQuery.read(
                new QueryResult(List.of(new QueryResult.Statement("SELECT", List.of("x"), all)), List.of()));
    }
}
