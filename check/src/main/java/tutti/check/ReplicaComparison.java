package tutti.check;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/**
 * Checks that all databases hold the same. Compares definitions and content of every table of every user schema, row by
 * row: each server adds up a digest per row (64 bits of MD5 over the row's text form, summed without overflow, so that
 * order does not matter), all servers at a time; where counts or sums differ, the rows themselves are fetched and the
 * differing ones named by primary key. Each database is looked at in one snapshot of its own; nothing may be under way
 * meanwhile.
 *
 * <p>
 * Left out: sequences, because every node has its own shares of them; temporary tables and what a materialised view
 * makes of other tables; comments on large objects, whose pages, owners and rights are compared; schemas that hold a node's own bookkeeping.
 */
public final class ReplicaComparison {
    private static final String NOTE_SEQUENCES = "sequences are not compared: every node draws from its own shares";

    private final List<Source> sources;
    private final int rowsShown;
    private final Set<String> bookkeepingSchemas;

    /**
     * A database to compare.
     *
     * @param name for the report
     * @param connector opens a connection directly to the node's database server
     */
    public record Source(String name, Connector connector) {}

    /** Opens connections. */
    public interface Connector {
        /** A new one; the caller closes it. */
        Connection open() throws SQLException;
    }

    /**
     * Of these databases; the first is the one that the others are compared with.
     *
     * @param sources at least two
     * @param rowsShown how many differing rows per table are named, at least 1
     * @param bookkeepingSchemas schemas that are each node's own
     */
    public ReplicaComparison(List<Source> sources, int rowsShown, Set<String> bookkeepingSchemas) {
        if (sources.size() < 2) {
            throw new IllegalArgumentException(
                    "there must be at least two databases to compare, not " + sources.size());
        }
        if (rowsShown < 1) {
            throw new IllegalArgumentException("at least one row must be shown, was " + rowsShown);
        }
        this.sources = List.copyOf(sources);
        this.rowsShown = rowsShown;
        this.bookkeepingSchemas = Set.copyOf(bookkeepingSchemas);
    }

    /** The usual: ten rows are shown, and the schema {@code tutti} is each node's own. */
    public ReplicaComparison(List<Source> sources) {
        this(sources, 10, Set.of("tutti"));
    }

    /** Compares. Blocks, with one thread and one connection per database. */
    public CheckResult compare() throws SQLException, InterruptedException {
        long begun = System.nanoTime();
        List<TableReader> readers = new ArrayList<>();
        try (ExecutorService executor = Executors.newFixedThreadPool(sources.size(),
                Thread.ofPlatform().daemon().name("replica-comparison-", 0).factory())) {
            for (Source source : sources) {
                readers.add(TableReader.open(source.name, source.connector.open(), bookkeepingSchemas));
            }
            return compare(readers, executor, begun);
        } finally {
            close(readers);
        }
    }

    private CheckResult compare(List<TableReader> readers, ExecutorService executor, long begun)
            throws SQLException, InterruptedException {
        List<Map<String, TableReader.Table>> tables = atEach(readers, executor, TableReader::tables);
        Set<String> names = new TreeSet<>();
        tables.forEach(of -> names.addAll(of.keySet()));
        List<CheckResult.Violation> violations = new ArrayList<>();
        List<TableReader.Table> comparable = new ArrayList<>();
        for (String name : names) {
            List<String> missing = new ArrayList<>();
            List<TableReader.Table> definitions = new ArrayList<>();
            for (int i = 0; i < readers.size(); i++) {
                TableReader.Table table = tables.get(i).get(name);
                if (table == null) {
                    missing.add(readers.get(i).name());
                } else {
                    definitions.add(table);
                }
            }
            if (!missing.isEmpty()) {
                violations.add(CheckResult.Violation.of("table", name, "it does not exist at " + String.join(", ",
                        missing)));
                continue;
            }
            boolean same = definition(name, readers, definitions, violations);
            if (same || definitions.stream().allMatch(table -> table.columns().equals(definitions.getFirst().columns())
                    && table.primaryKey().equals(definitions.getFirst().primaryKey()))) {
                comparable.add(definitions.getFirst());
            }
        }
        List<TableReader.Table> withRows = comparable.stream().filter(TableReader.Table::holdsRows).toList();
        List<Map<String, TableReader.Digest>> digests = atEach(readers, executor, reader -> reader.digests(withRows));
        long rows = 0;
        for (TableReader.Table table : withRows) {
            List<TableReader.Digest> of = digests.stream().map(digest -> digest.get(table.name())).toList();
            rows += of.getFirst().rows();
            if (of.stream().distinct().count() > 1) {
                violations.add(content(table, readers, of));
            }
        }
        return new CheckResult("replica comparison of " + String.join(", ", readers.stream().map(TableReader::name)
                .toList()), withRows.size() + " tables with " + rows + " rows", violations, List.of(NOTE_SEQUENCES),
                (System.nanoTime() - begun) / 1e9);
    }

    private static boolean definition(String name, List<TableReader> readers, List<TableReader.Table> definitions,
            List<CheckResult.Violation> violations) {
        TableReader.Table first = definitions.getFirst();
        boolean same = true;
        for (int i = 1; i < definitions.size(); i++) {
            Set<String> only = new TreeSet<>(definitions.get(i).definition());
            only.removeAll(first.definition());
            Set<String> lacking = new TreeSet<>(first.definition());
            lacking.removeAll(definitions.get(i).definition());
            if (!only.isEmpty() || !lacking.isEmpty()) {
                same = false;
                violations.add(CheckResult.Violation.of("definition", name, readers.get(i).name() + " has " + only
                        + " where " + readers.getFirst().name() + " has " + lacking));
            }
        }
        return same;
    }

    private CheckResult.Violation content(TableReader.Table table, List<TableReader> readers,
            List<TableReader.Digest> digests) throws SQLException {
        List<TableReader> differing = new ArrayList<>(List.of(readers.getFirst()));
        Map<String, Long> counts = new LinkedHashMap<>();
        for (int i = 0; i < readers.size(); i++) {
            counts.put(readers.get(i).name(), digests.get(i).rows());
            if (!digests.get(i).equals(digests.getFirst())) {
                differing.add(readers.get(i));
            }
        }
        RowDifferences differences = RowDifferences.find(table, differing, rowsShown);
        return new CheckResult.Violation("content", table.name(), "rows differ between "
                + String.join(", ", differing.stream().map(TableReader::name).toList()) + "; rows: " + counts,
                differences.count(), differences.rows());
    }

    private interface Question<T> {
        T ask(TableReader reader) throws SQLException;
    }

    private static <T> List<T> atEach(List<TableReader> readers, ExecutorService executor, Question<T> question)
            throws SQLException, InterruptedException {
        List<Callable<T>> calls = readers.stream().map(reader -> (Callable<T>) () -> question.ask(reader)).toList();
        List<T> answers = new ArrayList<>();
        for (Future<T> future : executor.invokeAll(calls)) {
            try {
                answers.add(future.get());
            } catch (ExecutionException e) {
                if (e.getCause() instanceof SQLException cause) {
                    throw cause;
                }
                throw new IllegalStateException("comparing replicas failed", e.getCause());
            }
        }
        return answers;
    }

    private static void close(List<TableReader> readers) throws SQLException {
        Map<String, SQLException> failures = new TreeMap<>();
        for (TableReader reader : readers) {
            try {
                reader.close();
            } catch (SQLException e) {
                failures.put(reader.name(), e);
            }
        }
        if (!failures.isEmpty()) {
            throw new SQLException("connections could not be closed: " + failures);
        }
    }
}
