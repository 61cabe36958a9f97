package tutti.bench.micro;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.io.PrintWriter;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.Stream;
import org.slf4j.LoggerFactory;
import tutti.bench.micro.OrderContender.Library;
import tutti.command.Trees;

/**
 * Measures the durable order beside Apache Ratis and jgroups-raft in one run: three nodes, fsync on, in one JVM and in three;
 * and the order by group communication, which flushes nothing. Prints what it ran on. Arguments: {@code --seconds S} per
 * load (default 3), {@code --rounds N} (default 1; libraries take turns), {@code --directory DIR} for the logs (default the
 * temporary directory), {@code --libraries A,B} and {@code --processes
 * one} or {@code three} to leave others out.
 */
public final class OrderBenchmark {
    private static final int NODES = 3;

    private final double seconds;
    private final Path directory;
    private final PrintStream out;
    private final List<Library> libraries;
    private final List<Boolean> apart;

    private OrderBenchmark(double seconds, Path directory, List<Library> libraries, List<Boolean> apart,
            PrintStream out) {
        this.libraries = libraries;
        this.apart = apart;
        this.seconds = seconds;
        this.directory = directory;
        this.out = out;
    }

    /** Runs the benchmark, or one node of it for another process of the benchmark. */
    public static void main(String[] args) throws Exception {
        PrintStream answers = System.out;
        if (args.length > 0 && args[0].equals("node")) {
            // What libraries log must not come between the answers.
            System.setOut(System.err);
        }
        if (args.length > 0 && args[0].equals("node")) {
            ((Logger) LoggerFactory.getLogger(org.slf4j.Logger.ROOT_LOGGER_NAME)).setLevel(Level.ERROR);
            node(args, answers);
            return;
        }
        double seconds = 3;
        int rounds = 1;
        List<Library> libraries = List.of(Library.values());
        List<Boolean> apart = List.of(false, true);
        Path parent = Path.of(System.getProperty("java.io.tmpdir"));
        for (int i = 0; i + 1 < args.length; i += 2) {
            switch (args[i]) {
                case "--seconds" -> seconds = Double.parseDouble(args[i + 1]);
                case "--rounds" -> rounds = Integer.parseInt(args[i + 1]);
                case "--directory" -> parent = Path.of(args[i + 1]);
                case "--libraries" -> libraries = Stream.of(args[i + 1].split(",", -1))
                        .map(name -> Library.valueOf(name.toUpperCase(Locale.ROOT).replace('-', '_'))).toList();
                case "--processes" -> apart = List.of(args[i + 1].equals("three"));
                default -> throw new IllegalArgumentException(
                        args[i] + " is unknown; there are --seconds, --rounds, --directory, --libraries"
                                + " and --processes");
            }
        }
        run(seconds, rounds, parent, libraries, apart, System.out);
    }

    /**
     * Runs the whole benchmark.
     *
     * @param seconds per load, positive
     * @param rounds how often everything is repeated, at least 1
     * @param parent directory for the logs, on the disk to be measured; left as it was
     * @param out where to print
     */
    public static void run(double seconds, int rounds, Path parent, PrintStream out) throws Exception {
        run(seconds, rounds, parent, List.of(Library.values()), List.of(false, true), out);
    }

    private static void run(double seconds, int rounds, Path parent, List<Library> libraries,
            List<Boolean> apart, PrintStream out) throws Exception {
        ((Logger) LoggerFactory.getLogger(org.slf4j.Logger.ROOT_LOGGER_NAME)).setLevel(Level.ERROR);
        Path directory = Files.createTempDirectory(parent, "tutti-bench-order");
        try {
            new OrderBenchmark(seconds, directory, libraries, apart, out).run(rounds);
        } finally {
            Trees.delete(directory);
        }
    }

    private void run(int rounds) throws Exception {
        machine();
        out.printf("%-14s %-10s %-46s %12s %9s %9s %9s%n", "library", "processes", "load", "per second", "p50 ms",
                "p99 ms",
                "CPU us");
        for (int round = 0; round < rounds; round++) {
            for (boolean processes : apart) {
                for (Library library : libraries) {
                    try {
                        measure(library, processes, round);
                    } catch (IOException | ExecutionException | IllegalStateException e) {
                        out.printf("%-14s %-10s FAILED: %s%n", library.name().toLowerCase(Locale.ROOT),
                                processes ? "three" : "one", e);
                    }
                }
            }
        }
        out.println("load average at the end: " + loadAverage());
    }

    private void machine() throws IOException {
        Runtime runtime = Runtime.getRuntime();
        String cpu = "unknown";
        Path info = Path.of("/proc/cpuinfo");
        if (Files.exists(info)) {
            try (Stream<String> lines = Files.lines(info)) {
                cpu = lines.filter(l -> l.startsWith("model name")).findFirst().map(l -> l.replaceFirst(".*: ", ""))
                        .orElse(cpu);
            }
        }
        out.printf("%s, %d processors (%s), Java %s, %s%n", System.getProperty("os.name"),
                runtime.availableProcessors(), cpu, Runtime.version(), Files.getFileStore(directory).type());
        String load = loadAverage();
        out.println("load average at the start: " + load
                + (Double.parseDouble(load.split(" ", -1)[0]) > 0.5
                        ? " -- OTHER WORK IS RUNNING: these numbers are a lower bound"
                        : ""));
        long[] flushes = new long[200];
        try (FileChannel file = FileChannel.open(directory.resolve("probe"), StandardOpenOption.CREATE,
                StandardOpenOption.WRITE)) {
            for (int i = 0; i < flushes.length; i++) {
                long start = System.nanoTime();
                file.write(ByteBuffer.allocate(4096), 4096L * i);
                file.force(false);
                flushes[i] = System.nanoTime() - start;
            }
        }
        Arrays.sort(flushes);
        out.printf("flush of 4 KiB appended: p50 %.2f ms, p99 %.2f ms%n", flushes[100] / 1e6, flushes[198] / 1e6);
        out.printf("%.1f s per load after a warm-up of a third; one line per load%n", seconds);
    }

    private static String loadAverage() throws IOException {
        Path path = Path.of("/proc/loadavg");
        return Files.exists(path) ? Files.readString(path).strip() : "0 unknown";
    }

    /** A node that runs here or elsewhere. */
    private interface Driver extends AutoCloseable {
        void awaitReady() throws Exception;

        boolean leads() throws Exception;

        OrderLoad.Result run(OrderLoad load) throws Exception;

        /** Memory in MiB: heap in use after a collection, and what the process has resident. */
        double[] memory() throws Exception;

        @Override
        void close();
    }

    private void measure(Library library, boolean apart, int round) throws Exception {
        String name = library.name().toLowerCase(Locale.ROOT);
        String processes = apart ? "three" : "one";
        SortedMap<Integer, InetSocketAddress> members = members();
        long start = System.nanoTime();
        List<Driver> nodes = new ArrayList<>();
        try (ExecutorService threads = Executors.newFixedThreadPool(NODES)) {
            List<Future<Driver>> opening = new ArrayList<>();
            for (int self : members.keySet()) {
                Path at = directory.resolve(name + processes + round + "-" + self);
                opening.add(threads
                        .submit(() -> apart
                                ? new Elsewhere(library, self, members, at)
                                : new Here(library, self, members,
                                        at)));
            }
            for (Future<Driver> node : opening) {
                nodes.add(node.get());
            }
            for (Driver node : nodes) {
                node.awaitReady();
            }
            nodes.getFirst().run(new OrderLoad(200, 1, 0, 0.001));
            out.printf("%-14s %-10s ready and first message ordered after %.2f s%n", name, processes,
                    (System.nanoTime() - start) / 1e9);
            Driver leader = nodes.getFirst();
            Driver follower = nodes.getLast();
            for (Driver node : nodes) {
                if (node.leads()) {
                    leader = node;
                } else {
                    follower = node;
                }
            }
            print(name, processes, "200 B, at the leader, 256 outstanding",
                    leader.run(new OrderLoad(200, 256, 0, seconds)));
            print(name, processes, "500 B, at the leader, 4096 outstanding",
                    leader.run(new OrderLoad(500, 4096, 0, seconds)));
            print(name, processes, "500 B, at all nodes, 1024 outstanding each",
                    all(threads, nodes, new OrderLoad(500, 1024, 0, seconds)));
            print(name, processes, "500 B, at the leader, 5000 per second",
                    leader.run(new OrderLoad(500, 4096, 5000, seconds)));
            print(name, processes, "500 B, at a follower, 5000 per second",
                    follower.run(new OrderLoad(500, 4096, 5000, seconds)));
            print(name, processes, "500 B, at a follower, one at a time",
                    follower.run(new OrderLoad(500, 1, 0, seconds)));
            double[] memory = nodes.getFirst().memory();
            out.printf("%-14s %-10s memory of %s: heap in use %.0f MiB, resident %.0f MiB%n", name, processes,
                    apart ? "one node" : "all three nodes", memory[0], memory[1]);
        } finally {
            for (Driver node : nodes) {
                node.close();
            }
        }
    }

    private static OrderLoad.Result all(ExecutorService threads, List<Driver> nodes, OrderLoad load) throws Exception {
        List<Future<OrderLoad.Result>> running = new ArrayList<>();
        for (Driver node : nodes) {
            running.add(threads.submit(() -> node.run(load)));
        }
        double perSecond = 0;
        double p50 = 0;
        double p99 = 0;
        double cpuMicrosPerSecond = 0;
        for (Future<OrderLoad.Result> future : running) {
            OrderLoad.Result result = future.get();
            perSecond += result.perSecond();
            p50 = Math.max(p50, result.p50Millis());
            p99 = Math.max(p99, result.p99Millis());
            // Each has seen the processor time of all.
            cpuMicrosPerSecond += result.cpuMicros() * result.perSecond() / running.size();
        }
        return new OrderLoad.Result(perSecond, p50, p99, cpuMicrosPerSecond / Math.max(1, perSecond));
    }

    private void print(String library, String processes, String load, OrderLoad.Result result) {
        out.printf("%-14s %-10s %-46s %,12.0f %9.2f %9.2f %9s%n", library, processes, load, result.perSecond(),
                result.p50Millis(), result.p99Millis(),
                processes.equals("one") ? String.format(Locale.ROOT, "%.1f", result.cpuMicros()) : "-");
    }

    private static SortedMap<Integer, InetSocketAddress> members() throws IOException {
        SortedMap<Integer, InetSocketAddress> members = new TreeMap<>();
        List<ServerSocket> held = new ArrayList<>();
        for (int node = 0; node < NODES; node++) {
            ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress());
            held.add(socket);
            members.put(node, new InetSocketAddress(InetAddress.getLoopbackAddress(), socket.getLocalPort()));
        }
        for (ServerSocket socket : held) {
            socket.close();
        }
        return members;
    }

    private static double[] memoryHere() throws IOException {
        System.gc();
        Runtime runtime = Runtime.getRuntime();
        double heap = (runtime.totalMemory() - runtime.freeMemory()) / 1048576.0;
        Path status = Path.of("/proc/self/status");
        double resident = 0;
        if (Files.exists(status)) {
            try (Stream<String> lines = Files.lines(status)) {
                resident = lines.filter(l -> l.startsWith("VmRSS")).findFirst()
                        .map(l -> Double.parseDouble(l.replaceAll("[^0-9]", "")) / 1024).orElse(0.0);
            }
        }
        return new double[]{heap, resident};
    }

    /** A node in this process. */
    private static final class Here implements Driver {
        private final OrderContender node;

        Here(Library library, int self, SortedMap<Integer, InetSocketAddress> members, Path at) throws Exception {
            node = library.open(self, members, Files.createDirectories(at));
        }

        @Override
        public void awaitReady() throws InterruptedException {
            node.awaitReady();
        }

        @Override
        public boolean leads() {
            return node.leads();
        }

        @Override
        public OrderLoad.Result run(OrderLoad load) throws Exception {
            return load.run(node);
        }

        @Override
        public double[] memory() throws IOException {
            return memoryHere();
        }

        @Override
        public void close() {
            node.close();
        }
    }

    /** A node in a process of its own, told what to do in lines of text. */
    private static final class Elsewhere implements Driver {
        private final Process process;
        private final PrintWriter to;
        private final BufferedReader from;

        Elsewhere(Library library, int self, SortedMap<Integer, InetSocketAddress> members, Path at)
                throws IOException {
            List<String> command = new ArrayList<>(List.of(
                    Path.of(System.getProperty("java.home"), "bin", "java").toString(), "-Xmx1g", "-cp",
                    System.getProperty("java.class.path"), OrderBenchmark.class.getName(), "node", library.name(),
                    String.valueOf(self), at.toString()));
            members.values().forEach(a -> command.add(String.valueOf(a.getPort())));
            process = new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT).start();
            to = new PrintWriter(process.outputWriter(StandardCharsets.UTF_8), true);
            from = process.inputReader(StandardCharsets.UTF_8);
        }

        private synchronized String ask(String line) throws IOException {
            to.println(line);
            String answer = from.readLine();
            if (answer == null) {
                throw new IOException("a node of the benchmark ended");
            }
            return answer;
        }

        @Override
        public void awaitReady() throws IOException {
            var _ = ask("ready");
        }

        @Override
        public boolean leads() throws IOException {
            return Boolean.parseBoolean(ask("leads"));
        }

        @Override
        public OrderLoad.Result run(OrderLoad load) throws IOException {
            return OrderLoad.Result.parse(ask("run " + load));
        }

        @Override
        public double[] memory() throws IOException {
            return Arrays.stream(ask("memory").split(" ", -1)).mapToDouble(Double::parseDouble).toArray();
        }

        @Override
        public void close() {
            to.println("end");
            process.onExit().join();
        }
    }

    private static void node(String[] args, PrintStream answers) throws Exception {
        SortedMap<Integer, InetSocketAddress> members = new TreeMap<>();
        for (int i = 4; i < args.length; i++) {
            members.put(i - 4, new InetSocketAddress(InetAddress.getLoopbackAddress(), Integer.parseInt(args[i])));
        }
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        try (OrderContender node = Library.valueOf(args[1]).open(Integer.parseInt(args[2]), members,
                Files.createDirectories(Path.of(args[3])))) {
            for (String line = in.readLine(); line != null && !line.equals("end"); line = in.readLine()) {
                if (line.equals("ready")) {
                    node.awaitReady();
                    answers.println("ready");
                } else if (line.equals("leads")) {
                    answers.println(node.leads());
                } else if (line.equals("memory")) {
                    double[] memory = memoryHere();
                    answers.println(memory[0] + " " + memory[1]);
                } else {
                    answers.println(OrderLoad.parse(line.substring("run ".length())).run(node));
                }
            }
        }
    }
}
