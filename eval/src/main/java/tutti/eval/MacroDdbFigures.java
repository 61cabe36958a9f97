package tutti.eval;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.Function;
import java.util.function.IntFunction;
import java.util.function.ToDoubleFunction;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import tutti.model.RequestKind;
import tutti.model.RunResult;
import tutti.report.Chart;

/**
 * The MacroDDB thesis, figures 5.5 to 5.10, tables 5.1 to 5.3: a machine for each node, in the model, with a primary and two
 * secondaries on it. A database lets in one at a time, as H2 did then, statement by statement. Transactions of the model compute at once, so what
 * their clients do in between is inside as well: figures 5.9 and 5.10 and table 5.3 have two at a time beside it, as if half of it were outside.
 * A secondary executes a transaction's updates again, which takes {@value #AGAIN} of it: chosen, so that three replicas lose with one client what they lose in the thesis.
 */
final class MacroDdbFigures {
    private static final int[] NODES = {1, 2, 4, 8};
    private static final int[] CLIENTS = {1, 2};
    /** Figures 5.5 and 5.6 and table 5.1: so many machines, with two clients each. */
    private static final int MACHINES = 4;
    private static final int CORES = 8;
    private static final String REPLICAS = "database.replicas";
    private static final String ADMITS = "database.admits";
    private static final String AGAIN = "0.7";
    /** Figures 5.9 and 5.10 and table 5.3: the machines of group 2. */
    private static final int SMALL_CORES = 4;
    private static final int[] FEW_NODES = {1, 2, 3};
    private static final int[] MANY_CLIENTS = {1, 2, 4, 6};
    private static final Map<Integer, String> THREE_REPLICAS = Map.of(1, "-8 (-5)", 2, "6 (16)", 4, "11 (24)", 6,
            "3 (22)");
    private static final int[] CENTRAL_CLIENTS = {1, 2, 3, 4, 6, 8};

    /** What is read of a hundred transactions, and what the thesis says of such a mix, "" where nothing. */
    enum Mix {
        READ_ONLY(100, "equal", "", "", "100", ""), TWENTY(80, "Flat ahead", "10 and 70", "4.82 and 5.64", "40", "5.8"),
        FIFTY(50, "Flat ahead", "15 and 76", "1.30 and 1.50", "30", "14.8");

        private final int reads;
        private final String flat;
        private final String heaviest;
        private final String ratio;
        private final String twoClients;
        private final String aborts;

        Mix(int reads, String flat, String heaviest, String ratio, String twoClients, String aborts) {
            this.reads = reads;
            this.flat = flat;
            this.heaviest = heaviest;
            this.ratio = ratio;
            this.twoClients = twoClients;
            this.aborts = aborts;
        }

        String words() {
            return reads + "-" + (100 - reads);
        }

        /** Kinds that write keep TPC-C's shares among themselves, those that read are alike. */
        Map<String, String> keys() {
            double writes = 100 - reads;
            return Map.of("workload.mix.neworder", percent(0.4892 * writes), "workload.mix.payment",
                    percent(0.4674 * writes), "workload.mix.delivery", percent(0.0434 * writes),
                    "workload.mix.orderstatus", percent(reads / 2.0), "workload.mix.stocklevel",
                    percent(reads / 2.0));
        }
    }

    private final FigureRun base;

    /** @param transactions of each run */
    MacroDdbFigures(long transactions) {
        // Without turns, as in the thesis: who has lost a row does not try again here, and so would not use its turn.
        base = new FigureRun("macroddb", Map.of("run.transactions", Long.toString(transactions), "workload.warehouses",
                "2", "protocol.parameters.turns", "0", REPLICAS, "3", ADMITS, "1",
                "database.with.apply-share", AGAIN));
    }

    private static String percent(double value) {
        return String.format(Locale.ROOT, "%.4f", value);
    }

    /** So many nodes, a machine each. */
    FigureRun at(Mix mix, int nodes, int clientsOfANode) {
        return base.with(mix.keys()).with("topology.clusters", "[{name: machine, sites: " + nodes + "}]")
                .clients(nodes * clientsOfANode);
    }

    private FigureRun combined(Mix mix) {
        return at(mix, MACHINES, 2);
    }

    /** Two masters on each machine, each with half of it and one database. */
    private FigureRun flat(Mix mix) {
        return at(mix, 2 * MACHINES, 1).with(REPLICAS, "1").with("topology.cores", Integer.toString(CORES / 2));
    }

    private List<FigureRun> overNodes(Mix mix, int clients) {
        return Arrays.stream(NODES).mapToObj(nodes -> at(mix, nodes, clients)).toList();
    }

    List<Figure> figures() {
        List<Figure> figures = new ArrayList<>();
        for (Mix mix : Mix.values()) {
            figures.add(throughput(mix));
        }
        figures.add(againstFlat());
        figures.add(heaviestWrite());
        figures.add(ratio());
        figures.add(twoClients());
        figures.add(aborts());
        for (int admits : List.of(1, 2)) {
            figures.add(central(admits));
            for (int clients : MANY_CLIENTS) {
                figures.add(threeReplicas(clients, admits));
            }
        }
        return figures;
    }

    private static double thousands(RunResult result) {
        return result.tpm() / 1000;
    }

    private Figure throughput(Mix mix) {
        List<FigureRun> needs = new ArrayList<>();
        Arrays.stream(CLIENTS).forEach(clients -> needs.addAll(overNodes(mix, clients)));
        return new Figure("5.7", needs, sheet -> {
            sheet.chart("macroddb-5.7-" + mix.reads, new Chart(mix.words(), "nodes", "thousand tpm", false, false, true,
                    curves(sheet, mix, MacroDdbFigures::thousands)));
            List<String> values = overNodes(mix, 1).stream()
                    .map(one -> sheet.text(one, MacroDdbFigures::thousands, 0)).toList();
            sheet.compare("5.7", mix.words() + ", 1, 2, 4, 8 nodes, one client each, thousand tpm",
                    "it scales up to 8 nodes", String.join(", ", values));
        });
    }

    private List<Chart.Curve> curves(FigurePages sheet, Mix mix, ToDoubleFunction<RunResult> value) {
        double[] at = Arrays.stream(NODES).asDoubleStream().toArray();
        return Arrays.stream(CLIENTS)
                .mapToObj(clients -> sheet.curve(clients == 1 ? "one client" : clients + " clients",
                        at, overNodes(mix, clients), value))
                .toList();
    }

    private List<FigureRun> bothKinds(Mix... mixes) {
        return Arrays.stream(mixes).flatMap(mix -> List.of(combined(mix), flat(mix)).stream()).toList();
    }

    private String both(FigurePages sheet, Mix mix, ToDoubleFunction<RunResult> value, int decimals) {
        return sheet.text(combined(mix), value, decimals) + " and " + sheet.text(flat(mix), value, decimals);
    }

    private Figure againstFlat() {
        return new Figure("5.5", bothKinds(Mix.values()), sheet -> Arrays.stream(Mix.values())
                .forEach(mix -> sheet.compare("5.5", mix.words() + ", MacroDDB and Flat, 8 clients, thousand tpm",
                        mix.flat, both(sheet, mix, MacroDdbFigures::thousands, 0))));
    }

    private Figure heaviestWrite() {
        return new Figure("5.6", bothKinds(Mix.TWENTY, Mix.FIFTY), sheet -> {
            for (Mix mix : List.of(Mix.TWENTY, Mix.FIFTY)) {
                sheet.compare("5.6", mix.words() + ", MacroDDB and Flat, Delivery, aborts %", mix.heaviest,
                        both(sheet, mix, result -> 100 * result.of(RequestKind.DELIVERY).abortRate(), 1));
            }
        });
    }

    private Figure ratio() {
        return new Figure("table 5.1", bothKinds(Mix.TWENTY, Mix.FIFTY), sheet -> {
            for (Mix mix : List.of(Mix.TWENTY, Mix.FIFTY)) {
                sheet.compare("table 5.1", mix.words() + ", MacroDDB and Flat, reads/writes", mix.ratio,
                        both(sheet, mix, MacroDdbFigures::readsPerWrite, 2));
            }
        });
    }

    private static double readsPerWrite(RunResult result) {
        Map<Boolean, Long> committed = new LinkedHashMap<>();
        for (RequestKind kind : RequestKind.DRAWN) {
            committed.merge(kind.readOnly(), result.of(kind).committed(), Long::sum);
        }
        return (double) committed.getOrDefault(true, 0L) / committed.getOrDefault(false, 0L);
    }

    private Figure twoClients() {
        List<FigureRun> needs = new ArrayList<>();
        for (Mix mix : Mix.values()) {
            Arrays.stream(CLIENTS).forEach(clients -> needs.addAll(overNodes(mix, clients)));
        }
        return new Figure("table 5.2", needs, sheet -> {
            for (Mix mix : Mix.values()) {
                sheet.compare("table 5.2", mix.words() + ", two clients a node instead of one, average, %",
                        mix.twoClients,
                        gain(sheet, mix).text(0));
            }
        });
    }

    /** By seed: how much more two clients at each node do than one, on average over the numbers of nodes. */
    private Estimate gain(FigurePages sheet, Mix mix) {
        int seeds = sheet.results(at(mix, 1, 1)).size();
        return Estimate.of(IntStream.range(0, seeds).mapToDouble(seed -> Arrays.stream(NODES)
                .mapToDouble(nodes -> 100 * sheet.results(at(mix, nodes, 2)).get(seed).tpm()
                        / sheet.results(at(mix, nodes, 1)).get(seed).tpm() - 100)
                .average().orElse(Double.NaN)).toArray());
    }

    private Figure aborts() {
        List<FigureRun> needs = new ArrayList<>();
        for (Mix mix : List.of(Mix.TWENTY, Mix.FIFTY)) {
            Arrays.stream(CLIENTS).forEach(clients -> needs.addAll(overNodes(mix, clients)));
        }
        return new Figure("5.8", needs, sheet -> {
            for (Mix mix : List.of(Mix.TWENTY, Mix.FIFTY)) {
                sheet.chart("macroddb-5.8-" + mix.reads, new Chart(mix.words(), "nodes", "aborts %", false, false, true,
                        curves(sheet, mix, GordaFigures::aborts)));
                sheet.compare("5.8", mix.words() + ", 1 node, 1 client, aborts %", "0.1",
                        sheet.text(at(mix, 1, 1), GordaFigures::aborts, 2));
                sheet.compare("5.8", mix.words() + ", 8 nodes, 16 clients, aborts %", mix.aborts,
                        sheet.text(at(mix, 8, 2), GordaFigures::aborts, 1));
            }
        });
    }

    private FigureRun small(int nodes, int clientsOfANode, int replicas, int admits) {
        return at(Mix.TWENTY, nodes, clientsOfANode).with("topology.cores", Integer.toString(SMALL_CORES))
                .with(REPLICAS, Integer.toString(replicas)).with(ADMITS, Integer.toString(admits));
    }

    private Figure central(int admits) {
        IntFunction<FigureRun> one = clients -> small(1, clients, 1, admits);
        IntFunction<FigureRun> three = clients -> small(1, clients, 3, admits);
        return replicas("5.9", "macroddb-5.9-" + admits, "clients", CENTRAL_CLIENTS, one, three,
                gains -> List.of("one node, " + admitted(admits) + ", 1, 2, 3, 4, 6, 8 clients",
                        "ahead from three clients on", texts(gains)));
    }

    private Figure threeReplicas(int clients, int admits) {
        IntFunction<FigureRun> one = nodes -> small(nodes, clients, 1, admits);
        IntFunction<FigureRun> three = nodes -> small(nodes, clients, 3, admits);
        return replicas("table 5.3", "macroddb-5.10-" + clients + "-" + admits, "nodes", FEW_NODES, one, three,
                gains -> List.of(
                        clients + " clients a node, " + admitted(admits)
                                + ", average and best over 1 to 3 nodes, and each",
                        THREE_REPLICAS.getOrDefault(clients, ""),
                        String.format(Locale.ROOT, "%.0f (%.0f): %s",
                                gains.stream().mapToDouble(Estimate::mean).average().orElse(Double.NaN),
                                gains.stream().mapToDouble(Estimate::mean).max().orElse(Double.NaN), texts(gains))));
    }

    private static String admitted(int admits) {
        return admits + " at a time";
    }

    private static String texts(List<Estimate> gains) {
        return String.join(", ", gains.stream().map(gain -> gain.text(0)).toList());
    }

    /** @param row of the gains of three replicas: what they are of, what the thesis says, and what is here */
    private static Figure replicas(String name, String file, String over, int[] values, IntFunction<FigureRun> one,
            IntFunction<FigureRun> three, Function<List<Estimate>, List<String>> row) {
        List<FigureRun> ones = Arrays.stream(values).mapToObj(one).toList();
        List<FigureRun> threes = Arrays.stream(values).mapToObj(three).toList();
        return new Figure(name, Stream.concat(ones.stream(), threes.stream()).toList(), sheet -> {
            double[] at = Arrays.stream(values).asDoubleStream().toArray();
            List<String> what = row.apply(Arrays.stream(values)
                    .mapToObj(value -> better(sheet, three.apply(value), one.apply(value))).toList());
            sheet.chart(file, new Chart("80-20", over, "thousand tpm", false, false, true,
                    List.of(sheet.curve("one replica", at, ones, MacroDdbFigures::thousands),
                            sheet.curve("three replicas", at, threes, MacroDdbFigures::thousands))));
            sheet.compare(name, "80-20, three replicas against one, %: " + what.get(0), what.get(1), what.get(2));
        });
    }

    /** By seed: how much more one setting does than another, in percent. */
    private static Estimate better(FigurePages sheet, FigureRun more, FigureRun less) {
        int seeds = sheet.results(less).size();
        return Estimate.of(IntStream.range(0, seeds).mapToDouble(
                seed -> 100 * sheet.results(more).get(seed).tpm() / sheet.results(less).get(seed).tpm() - 100)
                .toArray());
    }
}
