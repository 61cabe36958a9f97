package tutti.bench;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import tutti.bench.micro.OrderBenchmark;
import tutti.command.Failure;

/** Measures the durable order beside another Raft library. */
@Command(name = "order", description = "The durable order beside jgroups-raft in one run: three nodes, fsync on, in one"
        + " JVM and in three. Entries per second, latency, time to the first entry, memory.")
final class OrderCommand implements Callable<Integer> {
    @Option(names = "--seconds", paramLabel = "N", defaultValue = "3", description = "Length of each load, after a warm-up of a third (default: ${DEFAULT-VALUE}).")
    private double seconds;

    @Option(names = "--rounds", paramLabel = "N", defaultValue = "1", description = "How often everything is repeated, libraries in turns (default: ${DEFAULT-VALUE}).")
    private int rounds;

    @Option(names = "--directory", paramLabel = "DIR", description = "Where to put the logs: on the disk to be measured (default: the temporary directory).")
    private Path directory = Path.of(System.getProperty("java.io.tmpdir"));

    @Override
    public Integer call() throws Exception {
        if (seconds < 0.1 || seconds > 3600 || rounds < 1 || rounds > 1000) {
            throw Failure.usage("--seconds must be 0.1 to 3600 and --rounds 1 to 1000, were " + seconds + " and "
                    + rounds, "");
        }
        if (!Files.isDirectory(directory)) {
            throw Failure.usage(directory + " is no directory", "choose another --directory, or make it");
        }
        OrderBenchmark.run(seconds, rounds, directory, System.out);
        return 0;
    }
}
