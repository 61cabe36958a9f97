package tutti.cli.compare;

import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import tutti.cluster.AdminClient;
import tutti.cluster.ChosenNodes.Chosen;
import tutti.command.Failure;
import tutti.server.http.ComparisonJson;

/**
 * Compares all tables of several nodes at one position of the order, while they serve.
 *
 * <p>
 * All nodes are told to expect a number, then one has it ordered. Each opens a view of its database where it meets the number, so all views
 * show the effects of the same prefix of the order. Of each table every node tells one digest. Where they differ, each tells the
 * digests of {@value #PARTS} parts of the table, and of the first parts that differ the keys of the rows with a hash each. So
 * what differs little is found by reading it twice or three times, and rows never leave their node. Of a table that some nodes lack those
 * are compared that keep it.
 */
final class Comparison {
    private static final int PARTS = 1024;
    /** Most parts of a table that are looked at row by row. */
    private static final int PARTS_MAX = 8;

    private final AdminClient client;
    private final List<Chosen> nodes;
    private final long id;
    private final long bytesPerSecond;
    private final int differencesMax;
    private final List<Difference> differences = new ArrayList<>();
    private final Map<String, String> failures = new TreeMap<>();

    /**
     * A difference.
     *
     * @param table with its schema
     * @param key of the row as its text, a line of the table's definition, or null if all of the table is meant
     * @param kind {@code table}, {@code definition}, {@code row} or {@code more}: the table has differences that are not named
     * @param nodes by name: what it has: nothing, or a letter that nodes with the same share
     */
    record Difference(String table, @Nullable String key, String kind, Map<String, String> nodes) {}

    /**
     * What was found.
     *
     * @param position of the order
     * @param nodes that were compared
     * @param tables how many
     * @param rows how many at the first node
     * @param differences between nodes
     * @param failures by node: what could not be compared
     */
    record Result(long position, List<String> nodes, int tables, long rows, List<Difference> differences,
            Map<String, String> failures) {
        /** Whether all was compared and nothing differs. */
        boolean identical() {
            return differences.isEmpty() && failures.isEmpty();
        }
    }

    /**
     * Of these nodes.
     *
     * @param id of no other comparison
     * @param bytesPerSecond that each node reads at most
     * @param differencesMax most differences that are named per table
     */
    Comparison(AdminClient client, List<Chosen> nodes, long id, long bytesPerSecond, int differencesMax) {
        this.client = client;
        this.nodes = nodes;
        this.id = id;
        this.bytesPerSecond = bytesPerSecond;
        this.differencesMax = differencesMax;
    }

    /** Compares them; fails if fewer than two can be. */
    Result run() throws InterruptedException {
        List<Chosen> ready = List.copyOf(told(nodes, "expect", "", answer -> answer).keySet());
        try {
            requireTwo(ready);
            look(ready);
            Map<Chosen, ComparisonJson.Tables> told = told(ready, "digests", "",
                    answer -> ComparisonJson.read(answer, ComparisonJson.Tables.class));
            requireTwo(List.copyOf(told.keySet()));
            Set<Long> positions = told.values().stream().map(ComparisonJson.Tables::position)
                    .collect(Collectors.toCollection(TreeSet::new));
            if (positions.size() > 1) {
                throw new Failure("nodes have looked at different positions " + positions, "compare again");
            }
            compare(told);
            ComparisonJson.Tables first = told.values().iterator().next();
            return new Result(first.position(), told.keySet().stream().map(Chosen::name).toList(),
                    first.tables().size(), first.tables().stream().mapToLong(ComparisonJson.Table::rows).sum(),
                    differences, failures);
        } finally {
            // Who does not hear it gives up by itself.
            Map<String, String> before = new TreeMap<>(failures);
            told(ready, "end", "", answer -> answer);
            failures.keySet().retainAll(before.keySet());
        }
    }

    private void requireTwo(List<Chosen> able) {
        if (able.size() < 2) {
            throw new Failure("nothing to compare: of " + nodes.size() + " nodes "
                    + (able.isEmpty() ? "none" : "one") + " can be read"
                    + failures.entrySet().stream().map(each -> "; node " + each.getKey() + ": " + each.getValue())
                            .collect(Collectors.joining()),
                    "two nodes that serve are needed");
        }
    }

    private void look(List<Chosen> ready) throws InterruptedException {
        AdminClient.Answer answer = new AdminClient.Answer(false, false, "");
        for (Chosen node : ready) {
            answer = client.post(node.url(), path("look", ""), node.token());
            if (answer.well()) {
                return;
            }
        }
        throw new Failure("no node can have the comparison ordered: " + answer.text(), "");
    }

    private String path(String step, String more) {
        return "/comparison?do=" + step + "&id=" + id + "&rate=" + bytesPerSecond + more;
    }

    /** What all answer to a question, each asked at the same time; those that do not are noted among the failures. */
    private <T> Map<Chosen, T> told(List<Chosen> asked, String step, String more, Function<String, T> read)
            throws InterruptedException {
        Map<Chosen, Future<T>> answers = new LinkedHashMap<>();
        try (ExecutorService all = Executors.newVirtualThreadPerTaskExecutor()) {
            for (Chosen node : asked) {
                answers.put(node, all.submit(() -> {
                    AdminClient.Answer answer = client.post(node.url(), path(step, more), node.token());
                    if (!answer.well()) {
                        throw new IllegalArgumentException(answer.text());
                    }
                    return read.apply(answer.text());
                }));
            }
        }
        Map<Chosen, T> told = new LinkedHashMap<>();
        for (Map.Entry<Chosen, Future<T>> each : answers.entrySet()) {
            try {
                told.put(each.getKey(), each.getValue().get());
            } catch (ExecutionException failed) {
                failures.merge(each.getKey().name(), String.valueOf(failed.getCause().getMessage()),
                        (one, other) -> one.contains(other) ? one : one + "; " + other);
            }
        }
        return told;
    }

    private void compare(Map<Chosen, ComparisonJson.Tables> told) throws InterruptedException {
        Map<String, Map<Chosen, ComparisonJson.Table>> tables = new TreeMap<>();
        told.forEach((node, all) -> all.tables().forEach(
                table -> tables.computeIfAbsent(table.name(), _ -> new LinkedHashMap<>()).put(node, table)));
        for (Map.Entry<String, Map<Chosen, ComparisonJson.Table>> each : tables.entrySet()) {
            Map<Chosen, ComparisonJson.Table> at = each.getValue();
            Set<Chosen> keepers = new LinkedHashSet<>(told.keySet());
            keepers.removeIf(node -> told.get(node).lacks().contains(each.getKey()));
            differ(each.getKey(), null, "table", keepers, node -> at.containsKey(node) ? "there" : null);
            Set<String> lines = new TreeSet<>();
            at.values().forEach(table -> lines.addAll(table.definition()));
            for (String line : lines) {
                differ(each.getKey(), line, "definition", at.keySet(),
                        node -> at.get(node).definition().contains(line) ? "there" : null);
            }
            at.forEach((node, table) -> {
                if (table.error() != null) {
                    failures.merge(node.name(), table.error(), (one, other) -> one + "; " + other);
                }
            });
            List<Chosen> read = at.keySet().stream().filter(node -> at.get(node).error() == null).toList();
            if (read.stream().map(node -> at.get(node).rows() + ":" + at.get(node).digest()).distinct().count() > 1) {
                compareRows(each.getKey(), read);
            }
        }
    }

    /** Notes a difference if there is one between what nodes have; answers whether there is. */
    private boolean differ(String table, @Nullable String key, String kind, Set<Chosen> among,
            Function<Chosen, @Nullable String> has) {
        Map<String, String> letters = new LinkedHashMap<>();
        Map<String, String> nodesHave = new LinkedHashMap<>();
        for (Chosen node : among) {
            String value = has.apply(node);
            nodesHave.put(node.name(), value == null
                    ? "nothing"
                    : letters.computeIfAbsent(value, _ -> String.valueOf((char) ('A' + letters.size()))));
        }
        if (nodesHave.values().stream().distinct().count() < 2) {
            return false;
        }
        differences.add(new Difference(table, key, kind, nodesHave));
        return true;
    }

    private void compareRows(String table, List<Chosen> among) throws InterruptedException {
        String named = "&table=" + URLEncoder.encode(table, StandardCharsets.UTF_8) + "&parts=" + PARTS;
        Map<Chosen, ComparisonJson.Parts> parts = told(among, "parts", named,
                answer -> ComparisonJson.read(answer, ComparisonJson.Parts.class));
        int found = 0;
        int looked = 0;
        boolean all = parts.size() == among.size();
        for (int part = 0; part < PARTS; part++) {
            int at = part;
            if (parts.values().stream().map(each -> each.parts().get(at)).distinct().count() < 2) {
                continue;
            }
            if (looked == PARTS_MAX || found >= differencesMax) {
                all = false;
                break;
            }
            looked++;
            Map<Chosen, ComparisonJson.Rows> rows = told(List.copyOf(parts.keySet()), "rows", named + "&part=" + part,
                    answer -> ComparisonJson.read(answer, ComparisonJson.Rows.class));
            int more = compareRows(table, rows, differencesMax - found);
            all &= more >= 0;
            found += Math.max(0, more);
        }
        if (!all || found == 0) {
            differences.add(new Difference(table, null, "more", Map.of()));
        }
    }

    /** How many differences were noted; -1 if there are too many rows, or differences. */
    private int compareRows(String table, Map<Chosen, ComparisonJson.Rows> told, int most) {
        if (told.values().stream().anyMatch(each -> each.rows() == null)) {
            return -1;
        }
        // A table without a key may have a row several times: then how often counts.
        Map<String, Map<Chosen, String>> rows = new TreeMap<>();
        told.forEach((node, all) -> Objects.requireNonNull(all.rows()).forEach(row -> rows
                .computeIfAbsent(row.key(), _ -> new LinkedHashMap<>())
                .merge(node, Long.toHexString(row.hash()), (one, other) -> one + " " + other)));
        int found = 0;
        for (Map.Entry<String, Map<Chosen, String>> row : rows.entrySet()) {
            if (found == most) {
                return -1;
            }
            if (differ(table, row.getKey(), "row", told.keySet(), row.getValue()::get)) {
                found++;
            }
        }
        return found;
    }
}
