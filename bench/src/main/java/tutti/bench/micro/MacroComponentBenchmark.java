package tutti.bench.micro;

import java.util.Collection;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReadWriteLock;
import java.util.concurrent.locks.ReentrantReadWriteLock;
import org.jspecify.annotations.Nullable;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Level;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.results.RunResult;
import org.openjdk.jmh.runner.Runner;
import org.openjdk.jmh.runner.RunnerException;
import org.openjdk.jmh.runner.options.OptionsBuilder;
import org.openjdk.jmh.runner.options.TimeValue;
import org.openjdk.jmh.runner.options.VerboseMode;
import tutti.macro.Execution;
import tutti.macro.MacroComponent;
import tutti.macro.Voting;
import tutti.macro.call.Invocation;
import tutti.macro.example.Components;
import tutti.macro.example.InvertedIndex;
import tutti.macro.example.ScanningIndex;
import tutti.macro.example.SearchIndex;

/**
 * Measures what a call costs through a Macro-component, beside the plain implementation. One thread, maps of a thousand
 * entries (so that the operation itself is short and the overhead shows), and a search index whose implementations are
 * good at different things (so that the gain shows).
 */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
public class MacroComponentBenchmark {
    /** JVMs that {@link #measure} starts: three operations of nine maps, and one of four indexes. */
    public static final int RUNS = 31;

    private static final int KEYS = 1024;

    private final Integer[] keys = new Integer[KEYS];
    private int next;

    /** Numbers in an order that no processor foresees, the same in every run. */
    @Setup(Level.Trial)
    public void prepare() {
        SplittableRandom random = new SplittableRandom(42);
        for (int i = 0; i < KEYS; i++) {
            keys[i] = random.nextInt(KEYS);
        }
    }

    private Integer key() {
        next = next + 1 & KEYS - 1;
        return keys[next];
    }

    /** The maps. */
    @State(Scope.Benchmark)
    public static class Maps {
        /** Which one. */
        @Param({"HashMap", "TreeMap", "ConcurrentSkipListMap", "HashMap under a read-write lock", "macro of 1",
                "macro of 1, method handles", "macro of 3 (hash, tree, skip list)", "macro of 3 by executors",
                "macro of 3 voting"})
        private String contender = "";

        private @Nullable MacroComponent<Map<Integer, Integer>> macro;
        private Map<Integer, Integer> map = Map.of();

        /** Makes and fills it. */
        @Setup(Level.Trial)
        public void open() {
            macro = switch (contender) {
                case "macro of 1" -> one().build();
                case "macro of 1, method handles" -> one().invocation(Invocation.METHOD_HANDLES).build();
                case "macro of 3 (hash, tree, skip list)" -> Components.<Integer, Integer>map().build();
                case "macro of 3 by executors" ->
                    Components.<Integer, Integer>map().execution(Execution.EXECUTOR).build();
                case "macro of 3 voting" -> Components.<Integer, Integer>map().voting(Voting.majority()).build();
                default -> null;
            };
            map = macro != null ? macro.component() : switch (contender) {
                case "HashMap" -> new HashMap<>();
                case "TreeMap" -> new TreeMap<>();
                case "ConcurrentSkipListMap" -> new ConcurrentSkipListMap<>();
                default -> new LockedMap(new HashMap<>());
            };
            for (int i = 0; i < KEYS; i++) {
                map.put(i, i);
            }
        }

        @SuppressWarnings("unchecked")
        private static MacroComponent.Builder<Map<Integer, Integer>> one() {
            return MacroComponent.of((Class<Map<Integer, Integer>>) (Class<?>) Map.class).replica("hash",
                    new HashMap<>());
        }

        /** Ends its threads. */
        @TearDown(Level.Trial)
        public void close() {
            if (macro != null) {
                macro.close();
            }
        }
    }

    /** What a program would do without a Macro-component if several threads use the map: the fairer baseline. */
    private static final class LockedMap extends java.util.AbstractMap<Integer, Integer> {
        private final Map<Integer, Integer> map;
        private final ReadWriteLock lock = new ReentrantReadWriteLock();

        LockedMap(Map<Integer, Integer> map) {
            this.map = map;
        }

        @Override
        public @Nullable Integer get(Object key) {
            lock.readLock().lock();
            try {
                return map.get(key);
            } finally {
                lock.readLock().unlock();
            }
        }

        @Override
        public @Nullable Integer put(Integer key, Integer value) {
            lock.writeLock().lock();
            try {
                return map.put(key, value);
            } finally {
                lock.writeLock().unlock();
            }
        }

        @Override
        public java.util.Set<Entry<Integer, Integer>> entrySet() {
            return Collections.unmodifiableMap(map).entrySet();
        }
    }

    /** A read. */
    @Benchmark
    public @Nullable Integer get(Maps maps) {
        return maps.map.get(key());
    }

    /** A write. */
    @Benchmark
    public @Nullable Integer put(Maps maps) {
        Integer key = key();
        return maps.map.put(key, key);
    }

    /** Nine reads and a write, taken as one. */
    @Benchmark
    @org.openjdk.jmh.annotations.OperationsPerInvocation(10)
    public int mixed(Maps maps) {
        int sum = 0;
        for (int i = 0; i < 9; i++) {
            Integer found = maps.map.get(key());
            sum += found == null ? 0 : found;
        }
        maps.map.put(key(), sum);
        return sum;
    }

    /** The search indexes. */
    @State(Scope.Benchmark)
    public static class Indexes {
        private static final int DOCUMENTS = 300;
        private static final int WORDS_PER_DOCUMENT = 20;
        private static final int VOCABULARY = 4000;

        /** Which one. */
        @Param({"hashed", "sorted", "scanning", "macro of the 3"})
        private String contender = "";

        private @Nullable MacroComponent<SearchIndex> macro;
        private SearchIndex index = new ScanningIndex();

        private static String word(int number) {
            return Integer.toString(number * 7919 % VOCABULARY + VOCABULARY, Character.MAX_RADIX);
        }

        /** Makes and fills it. */
        @Setup(Level.Trial)
        public void open() {
            macro = contender.startsWith("macro") ? Components.searchIndex().build() : null;
            index = macro != null ? macro.component() : switch (contender) {
                case "hashed" -> InvertedIndex.hashed();
                case "sorted" -> InvertedIndex.sorted();
                default -> new ScanningIndex();
            };
            SplittableRandom random = new SplittableRandom(7);
            for (int document = 0; document < DOCUMENTS; document++) {
                StringBuilder text = new StringBuilder();
                for (int i = 0; i < WORDS_PER_DOCUMENT; i++) {
                    text.append(word(random.nextInt(VOCABULARY))).append(' ');
                }
                index.put(document, text.toString());
            }
        }

        /** Ends its threads. */
        @TearDown(Level.Trial)
        public void close() {
            if (macro != null) {
                macro.close();
            }
        }
    }

    /** Ten words are looked up, one is completed. */
    @Benchmark
    public int search(Indexes indexes) {
        int found = 0;
        for (int i = 0; i < 10; i++) {
            found += indexes.index.containing(Indexes.word(key())).size();
        }
        return found + indexes.index.completions(Indexes.word(key()).substring(0, 2), 5).size();
    }

    /**
     * One row of the table.
     *
     * @param contender the implementation or component
     * @param nanos mean time of each operation, by its name
     * @param error half of the confidence interval (99.9 %) of each, in nanoseconds
     */
    public record Row(String contender, Map<String, Double> nanos, Map<String, Double> error) {}

    /**
     * Measures, each contender in a JVM of its own.
     *
     * @param iterations that count, at least 2; as long again is spent before
     * @param millis length of an iteration
     * @throws RunnerException if a JVM fails
     */
    public static List<Row> measure(int iterations, long millis, boolean verbose) throws RunnerException {
        Collection<RunResult> results = new Runner(
                new OptionsBuilder().include(MacroComponentBenchmark.class.getName() + ".*").forks(1).threads(1)
                        .warmupIterations(iterations).measurementIterations(iterations)
                        .warmupTime(TimeValue.milliseconds(millis)).measurementTime(TimeValue.milliseconds(millis))
                        .jvmArgs("-Xms512m", "-Xmx512m", "-XX:+UseSerialGC",
                                "--sun-misc-unsafe-memory-access=allow")
                        .shouldFailOnError(true)
                        .verbosity(verbose ? VerboseMode.NORMAL : VerboseMode.SILENT).build())
                .run();
        Map<String, Row> rows = new LinkedHashMap<>();
        results.stream().sorted(Comparator.comparing(r -> r.getParams().getBenchmark())).forEach(result -> {
            Row row = rows.computeIfAbsent(result.getParams().getParam("contender"),
                    name -> new Row(name, new LinkedHashMap<>(), new LinkedHashMap<>()));
            String operation = result.getPrimaryResult().getLabel();
            row.nanos().put(operation, result.getPrimaryResult().getScore());
            row.error().put(operation, result.getPrimaryResult().getScoreError());
        });
        return List.copyOf(rows.values());
    }

    /** Prints what was measured: times, and what a call costs more than with a plain {@link HashMap}. */
    public static String table(List<Row> rows) {
        StringBuilder out = new StringBuilder(1024);
        Map<String, Double> base = rows.stream().filter(r -> r.contender().equals("HashMap")).findFirst()
                .map(Row::nanos).orElse(Map.of());
        out.append(String.format(Locale.ROOT, "%-36s %22s %22s %22s%n", "ns per operation (over HashMap)", "get", "put",
                "9 get + 1 put"));
        for (Row row : rows) {
            if (row.nanos().containsKey("get")) {
                out.append(String.format(Locale.ROOT, "%-36s", row.contender()));
                for (String operation : List.of("get", "put", "mixed")) {
                    double nanos = row.nanos().getOrDefault(operation, Double.NaN);
                    out.append(String.format(Locale.ROOT, " %11.1f (%+8.1f)", nanos,
                            nanos - base.getOrDefault(operation, Double.NaN)));
                }
                out.append(System.lineSeparator());
            }
        }
        out.append(String.format(Locale.ROOT, "%n%-36s %22s%n", "us per 10 searches and 1 completion", "search"));
        for (Row row : rows) {
            if (row.nanos().containsKey("search")) {
                double error = row.error().getOrDefault("search", Double.NaN) / 1000;
                // Two iterations have no interval.
                out.append(String.format(Locale.ROOT, "%-36s %11.2f (± %6s)%n", row.contender(),
                        row.nanos().get("search") / 1000,
                        Double.isNaN(error) ? "?" : String.format(Locale.ROOT, "%.2f", error)));
            }
        }
        return out.toString();
    }
}
