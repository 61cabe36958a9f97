package tutti.bench;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintWriter;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import tutti.command.Failure;
import tutti.report.BenchFiles;

/** Nodes of our grid, each in a process of its own with its clients, over loopback. */
final class GridProcesses implements AutoCloseable {
    private static final long END_SECONDS = 10;

    private final GridMeasurement plan;
    private final List<Child> children = new ArrayList<>();

    private record Child(int node, Process process, PrintWriter in, BufferedReader out) {
        void ask(String command) {
            in.println(command);
        }

        String answer() throws IOException {
            for (String line = out.readLine(); line != null; line = out.readLine()) {
                if (line.startsWith(GridProcess.ANSWER)) {
                    return line.substring(GridProcess.ANSWER.length());
                }
            }
            throw new Failure("the process of node " + node + " has ended",
                    "look whether this machine has enough memory");
        }

        void expect(String word) throws IOException {
            String answer = answer();
            if (!answer.equals(word)) {
                throw new Failure("the process of node " + node + " " + answer, "try it with --worlds real");
            }
        }
    }

    private GridProcesses(GridMeasurement plan) {
        this.plan = plan;
    }

    /** Starts those of a measurement, makes it, and ends them. */
    static GridFigures.Measured run(GridMeasurement plan) throws IOException, InterruptedException {
        try (GridProcesses all = new GridProcesses(plan)) {
            all.start();
            return all.measure();
        }
    }

    private void start() throws IOException, InterruptedException {
        Map<Integer, InetSocketAddress> addresses = new TreeMap<>();
        for (int i = 0; i < plan.nodes(); i++) {
            addresses.put(i, new InetSocketAddress(InetAddress.getLoopbackAddress(), BenchFiles.freePort()));
        }
        for (int i = 0; i < plan.nodes(); i++) {
            List<String> command = new ArrayList<>(List.of(
                    Path.of(System.getProperty("java.home"), "bin", "java").toString(), "-Xmx1g", "-cp",
                    System.getProperty("java.class.path"), GridProcess.class.getName()));
            command.addAll(List.of(GridProcess.arguments(plan, i, addresses)));
            Process process = new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.DISCARD).start();
            children.add(new Child(i, process, new PrintWriter(process.outputWriter(StandardCharsets.UTF_8), true),
                    new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8))));
        }
        for (Child child : children) {
            child.expect(GridProcess.READY);
        }
    }

    private GridFigures.Measured measure() throws IOException {
        Child first = children.getFirst();
        first.ask(GridProcess.LOAD);
        first.expect(GridProcess.LOAD);
        children.forEach(child -> child.ask(GridProcess.MEASURE));
        GridFigures figures = new GridFigures();
        double seconds = 0;
        long messages = 0;
        for (Child child : children) {
            GridMeasurement.Part part = part(child);
            figures.add(part.figures());
            seconds += part.seconds() / children.size();
            messages += part.messages();
        }
        first.ask(GridProcess.CHECK);
        first.expect(GridProcess.CHECK);
        return figures.measured(GridFigures.World.PROCESSES, plan, seconds, messages);
    }

    private static GridMeasurement.Part part(Child child) throws IOException {
        String answer = child.answer();
        try {
            return GridMeasurement.Part.decoded(answer);
        } catch (IllegalArgumentException wrong) {
            throw new Failure("the process of node " + child.node + " " + answer, "try it with --worlds real", wrong);
        }
    }

    @Override
    public void close() {
        // Each ends when its input does.
        children.forEach(child -> child.in.close());
        try {
            for (Child child : children) {
                if (!child.process.waitFor(END_SECONDS, TimeUnit.SECONDS)) {
                    child.process.destroyForcibly();
                }
            }
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
            children.forEach(child -> child.process.destroyForcibly());
        }
    }
}
