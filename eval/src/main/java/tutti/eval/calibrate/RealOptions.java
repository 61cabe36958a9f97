package tutti.eval.calibrate;

import java.io.IOException;
import java.nio.file.Path;
import java.sql.SQLException;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;
import tutti.command.Failure;
import tutti.command.Screen;
import tutti.model.RequestKind;
import tutti.model.ModelConfig;
import tutti.model.WorkloadModel;
import tutti.model.scenario.ScenarioReader;
import tutti.report.MeasurementOptions;
import tutti.sim.kernel.Distribution;
import tutti.workload.tpcc.TpccScale;
import tutti.yaml.UnusableFileException;

/** What calibration and validation have in common: a scenario of one database, and where the real one is. */
final class RealOptions extends MeasurementOptions {
    private static final int CLIENTS_MAX = 150;
    private static final int SECONDS_MAX = 86_400;

    @Option(names = "--scenario", paramLabel = "S", defaultValue = "one-database", description = "Scenario file, or a"
            + " shipped scenario, with one site and closed clients: its mix and its think times are used (default:"
            + " ${DEFAULT-VALUE}).")
    private String scenario = "";

    @Option(names = "--clients", paramLabel = "N", defaultValue = "10", description = "Clients, each with a connection of"
            + " its own (default: ${DEFAULT-VALUE}).")
    private int clients;

    @Option(names = "--warehouses", paramLabel = "N", description = "TPC-C's only measure of size (default: one for every"
            + " ten clients).")
    private @Nullable Integer warehouses;

    @Option(names = "--thinking", paramLabel = "F", defaultValue = "0.02", description = "Factor of the scenario's think"
            + " times (default: ${DEFAULT-VALUE}, a quarter of a second on average). Transactions that come seldom find"
            + " the processor's caches cold and take longer: calibrate at the pace that you want to predict.")
    private double thinking;

    @Option(names = "--seconds", paramLabel = "N", defaultValue = "60", description = "How long the real database is"
            + " measured (default: ${DEFAULT-VALUE}).")
    private int seconds;

    @Option(names = "--warmup", paramLabel = "N", defaultValue = "5", description = "Seconds of the same before that, not"
            + " counted (default: ${DEFAULT-VALUE}).")
    private int warmup;

    @Option(names = "--seed", paramLabel = "K", defaultValue = "1", description = "Of the population, the inputs and the"
            + " think times (default: ${DEFAULT-VALUE}).")
    private long seed;

    @Option(names = "--url", paramLabel = "URL", description = "JDBC URL of a PostgreSQL on this machine, 16 or later, to"
            + " use instead of starting one; a schema is made in it and dropped at the end.")
    private @Nullable String url;

    @Option(names = "--directory", paramLabel = "DIR", description = "Where the server that is started keeps its data: on"
            + " the disk to be measured (default: the temporary directory).")
    private Path directory = Path.of(System.getProperty("java.io.tmpdir"));

    @Option(names = "--reduced", description = "Load a hundredth of the rows, for a quick look; figures are then not"
            + " TPC-C's.")
    private boolean reduced;

    /** The scenario with what the options say, and keys on top. */
    ModelConfig config(Map<String, String> more) {
        within("--clients", clients, CLIENTS_MAX);
        within("--seconds", seconds, SECONDS_MAX);
        if (warmup < 0 || warmup > SECONDS_MAX) {
            throw Failure.usage("--warmup must be 0 to " + SECONDS_MAX + ", was " + warmup, "");
        }
        if (!(thinking >= 0 && thinking <= 1000)) {
            throw Failure.usage("--thinking must be 0 to 1000, was " + thinking, "");
        }
        Map<String, String> keys = new HashMap<>(more);
        keys.put("workload.clients", Integer.toString(clients));
        if (warehouses != null) {
            within("--warehouses", warehouses, clients);
            int each = (clients + warehouses - 1) / warehouses;
            if ((clients + each - 1) / each != warehouses) {
                throw Failure.usage(clients + " clients cannot be spread over " + warehouses
                        + " warehouses so that each has as many, or the last one fewer", "change one of the two");
            }
            keys.put("workload.clients-per-warehouse", Integer.toString(each));
        }
        keys.put("topology.cores", Integer.toString(Runtime.getRuntime().availableProcessors()));
        try {
            return checked(ScenarioReader.read(scenario, keys).config());
        } catch (UnusableFileException wrong) {
            throw Failure.usage(String.valueOf(wrong.getMessage()), "");
        }
    }

    private ModelConfig checked(ModelConfig config) {
        WorkloadModel workload = config.workload();
        if (config.topology().sites() != 1) {
            throw Failure.usage(scenario + " has " + config.topology().sites()
                    + " sites, and one database is compared here",
                    "write topology: {clusters: [{name: database, sites: 1}]}");
        }
        if (workload.arrival() != WorkloadModel.Arrival.CLOSED || workload.deliveryLocks() || workload.rollbacks()
                || workload.shares().getOrDefault(RequestKind.MAINTENANCE, 0.0) > 0 || workload.atOnce()
                || workload.recorded() != null
                || workload.fixedWarehouses() > 0 || workload.attachment() == WorkloadModel.Attachment.ANY) {
            throw Failure.usage(scenario + " has what a real client does not do here",
                    "it needs arrival: closed and start: thinking, and no recorded workload, maintenance, rollbacks,"
                            + " delivery-lock, fixed warehouses or attachment: any");
        }
        Map<RequestKind, Distribution> scaled = new EnumMap<>(RequestKind.class);
        workload.thinking().forEach((kind, time) -> scaled.put(kind, time.times(thinking)));
        WorkloadModel paced = new WorkloadModel(workload.clients(), workload.clientsPerWarehouse(), 0,
                workload.attachment(), workload.shares(),
                scaled, workload.arrival(), workload.arrivalsPerSecond(), workload.staying(), false,
                workload.resubmit(), false, workload.wholeHistory(), workload.maintenance(), workload.granularity(),
                false, null);
        return new ModelConfig(config.topology(), config.calibration(), paced, config.policy(), config.execution(),
                config.copies(),
                config.protocol(),
                config.order(), config.length(), config.faults(), config.charge());
    }

    /** What was loaded for a workload. */
    TpccScale scale(WorkloadModel workload) {
        int number = (workload.clients() + workload.clientsPerWarehouse() - 1) / workload.clientsPerWarehouse();
        return reduced ? TpccScale.reduced(number) : TpccScale.standard(number);
    }

    /** A server with the population. */
    RealServer server(TpccScale scale, Screen screen) throws IOException, SQLException, InterruptedException {
        if (url != null && url.contains("password=")) {
            throw Failure.usage("a password among the arguments can be seen by everybody on this machine (ps)",
                    "leave it out of --url, and write it to ~/.pgpass, or to a file that PGPASSFILE names");
        }
        return url == null
                ? RealServer.start(directory, scale, seed, screen)
                : RealServer.at(url, scale, seed, screen);
    }

    int seconds() {
        return seconds;
    }

    int warmup() {
        return warmup;
    }

    long seed() {
        return seed;
    }

    Path directory() {
        return directory;
    }

    /** For reports. */
    Map<String, String> describe(RealServer server) {
        Map<String, String> settings = new LinkedHashMap<>();
        settings.put("server", "PostgreSQL " + server.version());
        settings.put("population", server.scale().toString());
        settings.put("scenario", scenario);
        settings.put("clients", Integer.toString(clients));
        settings.put("think times", "those of the scenario times " + thinking);
        settings.put("seconds", Integer.toString(seconds));
        settings.put("seed", Long.toString(seed));
        return settings;
    }

    private static void within(String option, int value, int most) {
        if (value < 1 || value > most) {
            throw Failure.usage(option + " must be 1 to " + most + ", was " + value, "");
        }
    }
}
