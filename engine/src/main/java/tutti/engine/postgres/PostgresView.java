package tutti.engine.postgres;

import io.netty.channel.EventLoopGroup;
import java.io.IOException;
import java.math.BigInteger;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import tutti.engine.StateView;
import tutti.engine.postgres.catalog.CatalogQuery;
import tutti.pgwire.BackendConnection;
import tutti.pgwire.BackendSettings;
import tutti.pgwire.PostgresException;
import tutti.pgwire.QueryResult;

/**
 * The committed state of a PostgreSQL database: its tables, and those in which its large objects lie, if it has any. One connection keeps a snapshot and nothing else, no table's lock above all; another
 * takes it over for one piece of a table after the other, each in a transaction of its own. So a statement that changes a table's
 * definition waits for a piece and not for all. What such a statement leaves of an older snapshot is not its rows: a table whose file
 * is another one since cannot be read any more.
 *
 * <p>
 * A piece is {@value #PIECE_PAGES} pages of the table's file, found by the rows' physical addresses; so no index is needed, and no
 * order of keys, which libraries of the system may see differently at each node. Of what clients have defined nothing is executed with the rights of this
 * session: only types' own functions for output, and of those with code only a superuser can define any. Where the server may compute something of a client's to plan
 * a query, what is constant in the expressions of a table's indexes and statistics, the query is its owner's.
 */
public final class PostgresView implements StateView {
    private static final int PIECE_PAGES = 128;
    private static final Duration TIMEOUT = Duration.ofMinutes(2);
    private static final Map<String, String> SETTINGS = Map.of("timezone", "UTC",
            "datestyle", "ISO, YMD", "intervalstyle", "postgres", "xmlbinary", "base64", "lock_timeout", "10s",
            "row_security", "off", "default_transaction_read_only", "on");
    private static final String SNAPSHOT = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SELECT pg_catalog.pg_export_snapshot()";
    private static final String TABLES = """
            select c.oid::bigint, quote_ident(n.nspname) || '.' || quote_ident(c.relname), pg_relation_filenode(c.oid),
            (select coalesce(string_agg(tutti.exact(a.atttypid, quote_ident(a.attname)), ', ' order by a.attnum), '') from pg_attribute as a
             where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped),
            (select string_agg(quote_ident(a.attname), ', ' order by k.o) from pg_index as i
             cross join lateral unnest(i.indkey) with ordinality as k (n, o)
             join pg_attribute as a on a.attrelid = i.indrelid and a.attnum = k.n
             where i.indrelid = c.oid and i.indisprimary),
            (select string_agg(d, e'\\n' order by d collate "C") from (
             select 'column ' || a.attname || ' ' || format_type(a.atttypid, a.atttypmod)
             || case when a.attcollation <> t.typcollation then ' collate ' || a.attcollation::regcollation::text else '' end
             || case when a.attnotnull then ' not null' else '' end
             || coalesce(' default ' || pg_get_expr(f.adbin, f.adrelid), '') as d
             from pg_attribute as a join pg_type as t on t.oid = a.atttypid
             left join pg_attrdef as f on f.adrelid = a.attrelid and f.adnum = a.attnum
             where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
             union all select 'constraint ' || conname || ' ' || pg_get_constraintdef(oid) from pg_constraint
             where conrelid = c.oid and contype <> 'n'
             union all select 'index ' || pg_get_indexdef(indexrelid) || case when indisvalid then '' else ' (invalid)' end
             from pg_index as i join pg_class as x on x.oid = i.indexrelid
             where indrelid = c.oid and x.relname !~ <built names>) as all_of_it),
            case when exists (select from pg_index where indrelid = c.oid and (indexprs is not null or indpred is not null))
             or exists (select from pg_statistic_ext where stxrelid = c.oid and stxexprs is not null)
             then quote_ident(pg_get_userbyid(c.relowner)) end
            from pg_class as c join pg_namespace as n on n.oid = c.relnamespace
            where c.relkind = 'r' and c.relpersistence <> 't' and n.nspname not like 'pg\\_%'
            and n.nspname not in ('information_schema', 'tutti')
            and not exists (select from tutti.placed_elsewhere as e where e.table_oid = c.oid)
            union all select l.id, l.name, pg_relation_filenode(l.id::oid), l.columns, l.key, null, null from (values
            (2613::bigint, 'pg_catalog.pg_largeobject', 'loid, pageno, data', 'loid, pageno'),
            (2995, 'pg_catalog.pg_largeobject_metadata', 'oid, pg_get_userbyid(lomowner), (select string_agg(concat('
             'pg_get_userbyid(a.grantee), a.privilege_type, a.is_grantable), '','' order by a.grantee = 0, '
             'pg_get_userbyid(a.grantee), a.privilege_type) from aclexplode(lomacl) as a)', 'oid')) as l (id, name, columns, key)
            where exists (select from pg_largeobject_metadata) order by 2"""
            .replace("<built names>", CatalogQuery.BUILT_NAMES);

    private final BackendConnection keeper;
    private final BackendConnection reader;
    private final String snapshot;
    private final Map<String, Source> sources = new TreeMap<>();

    /**
     * How a table is read.
     *
     * @param reader whose query it is; null if it is this session's
     */
    private record Source(String oid, @Nullable String file, String name, String rowText, String keyText,
            @Nullable String reader) {}

    private PostgresView(BackendConnection keeper, BackendConnection reader, String snapshot) {
        this.keeper = keeper;
        this.reader = reader;
        this.snapshot = snapshot;
    }

    /**
     * Opens one of what is committed now.
     *
     * @param settings of a superuser
     * @throws IOException if it cannot be
     */
    public static PostgresView open(EventLoopGroup loops, BackendSettings settings)
            throws IOException, InterruptedException {
        BackendSettings own = OwnSessions.superuser(settings, "tutti compare").withParameters(SETTINGS);
        BackendConnection keeper = connect(loops, own);
        BackendConnection reader = null;
        boolean opened = false;
        try {
            String snapshot = keeper.execute(SNAPSHOT, TIMEOUT).value();
            if (snapshot == null) {
                throw new IOException("PostgreSQL exports no snapshot");
            }
            reader = connect(loops, own);
            opened = true;
            return new PostgresView(keeper, reader, snapshot);
        } finally {
            if (!opened) {
                keeper.close();
            }
        }
    }

    private static BackendConnection connect(EventLoopGroup loops, BackendSettings settings)
            throws IOException, InterruptedException {
        try {
            return BackendConnection.connect(loops.next(), settings).get(TIMEOUT.toSeconds(), TimeUnit.SECONDS);
        } catch (ExecutionException | TimeoutException failed) {
            throw new IOException("cannot connect to PostgreSQL at " + settings.address() + ": " + failed.getMessage(),
                    failed);
        }
    }

    @Override
    public List<Relation> tables() throws IOException, InterruptedException {
        List<Relation> tables = new ArrayList<>();
        for (List<@Nullable String> row : ask("the list of tables", TABLES)) {
            String name = text(row.get(1));
            String rowText = "row(" + text(row.get(3)) + ")::text";
            String key = row.get(4);
            sources.put(name, new Source(text(row.get(0)), row.get(2), name, rowText,
                    key == null ? rowText : "row(" + key + ")::text", row.get(6)));
            String definition = row.get(5);
            tables.add(new Relation(name, definition == null ? List.of() : List.of(definition.split("\\n"))));
        }
        return tables;
    }

    private static String text(@Nullable String value) {
        return String.valueOf(value);
    }

    private List<List<@Nullable String>> ask(String what, String sql) throws IOException, InterruptedException {
        return ask(what, "", sql);
    }

    /** @param made what is made before, which vanishes with the transaction */
    private List<List<@Nullable String>> ask(String what, String made, String sql)
            throws IOException, InterruptedException {
        try {
            QueryResult result = reader
                    .execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ WRITE; SET TRANSACTION SNAPSHOT '"
                            + snapshot + "'; " + made + "SET TRANSACTION READ ONLY; " + sql, TIMEOUT);
            return result.rows();
        } catch (PostgresException refused) {
            throw new IOException(what + " cannot be read: " + refused.sqlState() + " " + refused.getMessage()
                    + "; compare again", refused);
        } finally {
            if (reader.channel().isActive()) {
                reader.execute("ROLLBACK", TIMEOUT);
            }
        }
    }

    /** What is told of each piece of a table. */
    @FunctionalInterface
    private interface Piece {
        void rows(List<List<@Nullable String>> rows);
    }

    /** A query of several columns, which the owner of a table makes. Code that it calls cannot take another role. */
    private List<List<@Nullable String>> askAs(String owner, String what, String query, int columns)
            throws IOException, InterruptedException {
        String names = IntStream.range(0, columns).mapToObj(i -> "c" + i).collect(Collectors.joining(", "));
        String body = "begin return query select array[" + names.replace(",", "::text,") + "::text] from (" + query
                + ") as q (" + names + "); end";
        return ask(what, "create function pg_temp.tutti_reads() returns setof text[] language plpgsql security definer"
                + " set search_path = pg_catalog, pg_temp as '" + body.replace("'", "''")
                + "'; alter function pg_temp.tutti_reads() owner to " + owner + "; ",
                "select " + IntStream.rangeClosed(1, columns).mapToObj(i -> "r[" + i + "]")
                        .collect(Collectors.joining(", ")) + " from pg_temp.tutti_reads() as r");
    }

    private void scan(Relation table, String list, int columns, String rest, Pace pace, Piece piece)
            throws IOException, InterruptedException {
        Source source = sources.get(table.name());
        if (source == null) {
            throw new IllegalArgumentException("no table of this view: " + table.name());
        }
        List<@Nullable String> size = ask("table " + table.name(), "select pg_relation_size(" + source.oid
                + "::oid) / current_setting('block_size')::bigint, current_setting('block_size')").getFirst();
        long pages = size.getFirst() == null ? 0 : Long.parseLong(text(size.getFirst()));
        long pageBytes = Long.parseLong(text(size.get(1)));
        for (long first = 0; first < pages; first += PIECE_PAGES) {
            long begun = System.nanoTime();
            String query = "select " + list.replace("$key", source.keyText).replace("$row", source.rowText)
                    + " from only "
                    + source.name + " where ctid >= '(" + first + ",0)' and ctid < '("
                    + (first + PIECE_PAGES) + ",0)'"
                    + rest.replace("$key", source.keyText);
            List<List<@Nullable String>> rows = source.reader == null
                    ? ask("table " + table.name(), query)
                    : askAs(source.reader, "table " + table.name(), query, columns);
            // After the piece: until then the lock of the statement that would have changed it cannot have been granted before it.
            requireSame(source);
            piece.rows(rows);
            pace.read(Math.min(PIECE_PAGES, pages - first) * pageBytes, System.nanoTime() - begun);
        }
        requireSame(source);
    }

    private void requireSame(Source source) throws IOException, InterruptedException {
        String file = ask("table " + source.name, "select pg_relation_filenode(" + source.oid + "::oid)").getFirst()
                .getFirst();
        if (file == null || !file.equals(source.file)) {
            throw new IOException("table " + source.name + " was written anew or removed by a statement meanwhile;"
                    + " compare again");
        }
    }

    /** A number of 32 bits from the hash of a key. */
    private static final String PART = "('x' || left(md5($key), 8))::bit(32)::bigint % ";
    private static final String HASH = "('x' || left(md5($row), 16))::bit(64)::bigint";

    @Override
    public List<Digest> digests(Relation table, int parts, Pace pace) throws IOException, InterruptedException {
        Digest[] digests = new Digest[parts];
        Arrays.fill(digests, Digest.NONE);
        String part = parts == 1 ? "0" : PART + parts;
        scan(table, part + ", count(*), sum(" + HASH + ")", 3, parts == 1 ? "" : " group by 1", pace, rows -> {
            for (List<@Nullable String> row : rows) {
                String sum = row.get(2);
                if (sum != null) {
                    int at = Integer.parseInt(text(row.get(0)));
                    digests[at] = digests[at]
                            .and(new Digest(Long.parseLong(text(row.get(1))), new BigInteger(sum).longValue()));
                }
            }
        });
        return List.of(digests);
    }

    @Override
    public @Nullable List<Row> rows(Relation table, int parts, int part, int limit, Pace pace)
            throws IOException, InterruptedException {
        List<Row> all = new ArrayList<>();
        scan(table, "$key, " + HASH, 2, " and " + PART + parts + " = " + part + " limit " + (limit + 1), pace, rows -> {
            for (List<@Nullable String> row : rows) {
                if (all.size() <= limit) {
                    all.add(new Row(text(row.get(0)), Long.parseLong(text(row.get(1)))));
                }
            }
        });
        return all.size() > limit ? null : List.copyOf(all);
    }

    @Override
    public void close() {
        reader.close();
        keeper.close();
    }
}
