package tutti.bench;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Arrays;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import tutti.grid.IsolationLevel;

/**
 * The process of a node that {@link GridProcesses} measures. It takes commands on its standard input, one a line, and answers each by a line
 * that begins with {@value #ANSWER}. It ends when its input does, or by itself when a measurement cannot last any longer.
 */
public final class GridProcess {
    /** So that nothing else is taken for an answer. */
    static final String ANSWER = "grid ";
    /** The command to write all keys; the answer is this word. */
    static final String LOAD = "load";
    /** The command to measure; the answer is a {@link GridMeasurement.Part}. */
    static final String MEASURE = "measure";
    /** The command to look whether what must hold does; the answer is this word. */
    static final String CHECK = "check";
    /** What is said when the node is there. */
    static final String READY = "ready";
    private static final int HALTED = 3;
    private static final long REST_SECONDS = 600;

    private GridProcess() {}

    /** Which measurement, which node, and where all nodes are, for {@link #main}. */
    static String[] arguments(GridMeasurement of, int node, Map<Integer, InetSocketAddress> addresses) {
        String ports = String.join(",", addresses.values().stream().map(at -> String.valueOf(at.getPort())).toList());
        return new String[]{of.workload().name(), of.protocol().name(), of.level().name(), of.keys() + "",
                of.degree() + "", of.nodes() + "", of.threads() + "", of.crashes() + "",
                of.lockTimeout().toMillis() + "", of.seconds() + "", node + "", ports};
    }

    /** Of {@link #arguments}. */
    public static void main(String[] arguments) throws IOException, InterruptedException {
        GridMeasurement plan = new GridMeasurement(GridScript.Workload.valueOf(arguments[0]),
                GridContender.valueOf(arguments[1]), IsolationLevel.valueOf(arguments[2]), number(arguments[3]),
                number(arguments[4]), number(arguments[5]), number(arguments[6]), number(arguments[7]),
                Duration.ofMillis(number(arguments[8])), Double.parseDouble(arguments[9]));
        int node = number(arguments[10]);
        Map<Integer, InetSocketAddress> addresses = new TreeMap<>();
        for (int port : Arrays.stream(arguments[11].split(",")).mapToInt(GridProcess::number).toArray()) {
            addresses.put(addresses.size(), new InetSocketAddress(InetAddress.getLoopbackAddress(), port));
        }
        Thread.ofPlatform().daemon().start(() -> haltAfter((long) (2 * plan.seconds()) + REST_SECONDS));
        PrintStream out = System.out;
        try (GridNodes system = GridNodes.start(plan, addresses, node, node + 1);
                BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8))) {
            out.println(ANSWER + READY);
            for (String command = in.readLine(); command != null; command = in.readLine()) {
                switch (command) {
                    case LOAD -> plan.load(system);
                    case CHECK -> plan.check(system);
                    default -> command = plan.measure(system, node * plan.threads()).encoded();
                }
                out.println(ANSWER + command);
            }
        } catch (RuntimeException failed) {
            out.println(ANSWER + "cannot go on: " + failed.getMessage());
            throw failed;
        }
    }

    private static int number(String text) {
        return Integer.parseInt(text);
    }

    private static void haltAfter(long seconds) {
        try {
            TimeUnit.SECONDS.sleep(seconds);
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
        }
        Runtime.getRuntime().halt(HALTED);
    }
}
