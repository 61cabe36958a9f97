package tutti.server;

import java.io.BufferedInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.Instant;
import java.time.format.DateTimeParseException;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;
import tutti.command.Failure;
import tutti.command.Program;
import tutti.command.Screen;
import tutti.command.Trees;
import tutti.node.copy.CopyStream;
import tutti.runtime.Directory;
import tutti.runtime.real.PathDirectory;
import tutti.runtime.real.PrivateFiles;
import tutti.server.config.ConfigReader;
import tutti.server.config.NodeConfig;
import tutti.yaml.UnusableFileException;

/** Makes the data of nodes from backups, as it was at a position or time. */
@Command(name = "restore", description = "Make the data of nodes from backups: all nodes of a cluster begin with what was there at a"
        + " position of the total order, or at a time. Every node of the cluster must be restored with the same --at, and none"
        + " may run, or be started with the data that it had.")
public final class RestoreCommand implements Callable<Integer> {
    private static final Pattern POSITION = Pattern.compile("\\d{1,18}");
    /** Backups of older releases say which nodes were configured, which are not always the members. */
    private static final Pattern OF_NODES = Pattern.compile(" of nodes \\[[0-9, ]*]");
    private static final String BEGUN = "restoring";
    private static final String UNPACKED = "unpacked";

    @Option(names = "--from", paramLabel = "DIR", required = true, description = "Directory that `tutti backup` has filled.")
    private Path from = Path.of("");

    @Option(names = "--config", paramLabel = "FILE", description = "The configuration file of a node to restore; may be repeated. Its data directory must hold neither order nor database.")
    private List<Path> configs = List.of();

    @Option(names = "--at", paramLabel = "TIME|POSITION", description = "How far: a position, or a time such as 2026-01-31T12:00:00Z (default: as far as the backups reach).")
    private @Nullable String at;

    @Option(names = "--list", description = "Only show which backups there are, and what can be restored.")
    private boolean list;

    @Spec
    private CommandSpec spec;

    /** A backup that is whole. */
    private record Backup(Path directory, BackupNote note, List<PositionTimes.Noted> times) {}

    @Override
    public Integer call() {
        Screen screen = Screen.standard(spec.commandLine().getOut());
        try {
            List<Backup> backups = backups();
            if (list) {
                show(backups, screen);
                return Program.OK;
            }
            if (configs.isEmpty()) {
                throw Failure.usage("which nodes? --config FILE is missing",
                        "--list shows what there is; name each node of the cluster that is on this machine");
            }
            List<NodeConfig> nodes = configs.stream().map(RestoreCommand::read).toList();
            long target = target(backups);
            for (NodeConfig node : nodes) {
                NodeServer.requireOwner(node);
                requireEmpty(node);
            }
            for (NodeConfig node : nodes) {
                long reached = restore(node, backups, target);
                screen.line(node.data() + " holds position " + reached + " now; start node " + node.self().name()
                        + " when all nodes of the cluster are restored to it");
            }
            return Program.OK;
        } catch (NoSuchFileException missing) {
            throw new Failure(missing.getMessage() + " is not there",
                    "name the directory that `tutti backup` has filled", missing);
        } catch (IOException impossible) {
            throw Failure.of(impossible, "docs/operations.md");
        }
    }

    static NodeConfig read(Path file) {
        try {
            return ConfigReader.read(file);
        } catch (UnusableFileException e) {
            throw new Failure("the configuration is refused:" + System.lineSeparator() + e.getMessage(), "", e);
        }
    }

    /** By how far they reach. */
    private List<Backup> backups() throws IOException {
        List<Backup> found = new ArrayList<>();
        for (Path each : BackupNote.in(from)) {
            found.add(new Backup(each, BackupNote.read(each),
                    PositionTimes.read(each.resolve(BackupNote.PART).resolve(PositionTimes.FILE))));
        }
        found.sort(Comparator.comparingLong(backup -> backup.note.most()));
        if (found.stream().noneMatch(backup -> backup.note.isBase())) {
            throw new IOException("there is no base backup in " + from + ": name the directory that `tutti backup` has"
                    + " filled");
        }
        return found;
    }

    private static void show(List<Backup> backups, Screen screen) {
        List<List<String>> rows = new ArrayList<>();
        rows.add(List.of("backup", "kind", "of node", "restores from", "to position", "shown at", "lacks tables"));
        for (Backup each : backups) {
            rows.add(List.of(each.directory.getFileName().toString(), each.note.kind(), each.note.node(),
                    each.note.isBase() ? String.valueOf(each.note.least()) : "-", String.valueOf(each.note.most()),
                    Instant.ofEpochMilli(each.note.millis()).toString(),
                    each.note.lacks().isEmpty() ? "-" : String.join(", ", each.note.lacks().keySet())));
        }
        Screen.table(rows).forEach(screen::line);
    }

    /** The position that is asked for. */
    private long target(List<Backup> backups) {
        String wanted = at;
        if (wanted == null) {
            return backups.getLast().note.most();
        }
        if (POSITION.matcher(wanted).matches()) {
            return Long.parseLong(wanted);
        }
        Instant time;
        try {
            time = Instant.parse(wanted);
        } catch (DateTimeParseException wrong) {
            throw new Failure("--at is neither a position nor a time: " + wanted,
                    "such as 123456 or 2026-01-31T12:00:00Z (with Z, or an offset such as +01:00)", wrong);
        }
        return position(backups, time.toEpochMilli());
    }

    /** What the node that was backed up showed at a time, by its own clock. */
    private static long position(List<Backup> backups, long millis) {
        List<PositionTimes.Noted> all = new ArrayList<>();
        for (Backup backup : backups) {
            all.addAll(backup.times);
            all.add(new PositionTimes.Noted(backup.note.millis(), backup.note.most()));
        }
        all.sort(Comparator.comparingLong(PositionTimes.Noted::position));
        long position = PositionTimes.at(all, millis);
        if (position < 0) {
            throw new Failure("the backups know of positions from " + Instant.ofEpochMilli(all.getFirst().millis())
                    + " up to before " + Instant.ofEpochMilli(all.getLast().millis()),
                    "give a time between them, or none to have all that there is; `--list` shows it");
        }
        return position;
    }

    /** What of a data directory belongs together, the order last. */
    static List<String> parts(NodeConfig config) {
        return List.of(config.isInProcess() ? config.engine() : "postgres", NodeCopies.REPLICA, NodeCopies.ORDER);
    }

    private static void requireEmpty(NodeConfig config) throws IOException {
        for (String part : parts(config)) {
            if (Files.exists(config.data().resolve(part))) {
                throw new IOException(config.data().resolve(part)
                        + " is there: nothing is overwritten. Stop the node, and move"
                        + " its data directory away; a node that was started with it again would be of another history");
            }
        }
    }

    private long restore(NodeConfig config, List<Backup> backups, long target) throws IOException {
        NodeKeys keys = NodeKeys.open(config);
        List<Backup> bases = backups.stream().filter(each -> each.note.isBase() && each.note.least() <= target)
                .toList();
        Backup base = bases.stream().filter(each -> each.note.hasAllOf(config.node()))
                .reduce((_, later) -> later)
                .orElseThrow(() -> new IOException(bases.isEmpty()
                        ? "no base backup is of position " + target + " or earlier: the first is of "
                                + backups.stream().filter(each -> each.note.isBase())
                                        .mapToLong(each -> each.note.least()).min()
                                        .orElse(0)
                        : "no base backup has all tables that node " + config.self().name() + " keeps: they lack "
                                + bases.stream().map(each -> each.note.lacks().keySet()).distinct().toList()
                                + "; add one of a node that keeps them (`tutti backup --node`)"));
        String state = NodeCopies.state(config, keys.cluster());
        if (!OF_NODES.matcher(base.note.state()).replaceFirst("").equals(state)) {
            throw new IOException(
                    "the backup is of " + base.note.state() + ", but node " + config.self().name() + " is of " + state);
        }
        PrivateFiles.ownDirectory(config.data());
        Path begun = config.data().resolve(BEGUN);
        Trees.delete(begun);
        PrivateFiles.createDirectories(begun);
        Path unpacked = config.data().resolve(UNPACKED);
        Trees.delete(unpacked);
        PrivateFiles.createDirectories(unpacked);
        Path first = unpacked(base, unpacked, Set.copyOf(parts(config)));
        List<Directory> logs = new ArrayList<>(List.of(log(first)));
        for (Backup each : backups) {
            if (each.note.most() >= base.note.most() && !each.equals(base)) {
                logs.add(log(unpacked(each, unpacked, Set.of(NodeCopies.ORDER))));
            }
        }
        long reached = config.orderKind().join(NodeLife.orderSettings(config, keys), keys.machine(), logs, target,
                PathDirectory.of(begun.resolve(NodeCopies.ORDER)));
        if (reached < target) {
            Trees.delete(begun);
            Trees.delete(unpacked);
            throw new IOException("the backups end with position " + reached + ", before " + target);
        }
        config.orderKind().adopt(NodeLife.orderSettings(config, keys), keys.machine(),
                PathDirectory.of(begun.resolve(NodeCopies.ORDER)), keys.machine().random("restored order directory")
                        .nextLong());
        for (String part : parts(config)) {
            if (part.equals(NodeCopies.ORDER)) {
                continue;
            }
            if (first.startsWith(unpacked)) {
                // There is no need of it any more: so the data takes its room once.
                Files.move(first.resolve(part), begun.resolve(part), StandardCopyOption.ATOMIC_MOVE);
            } else {
                Trees.copy(first.resolve(part), begun.resolve(part));
            }
        }
        for (String part : parts(config)) {
            Files.move(begun.resolve(part), config.data().resolve(part), StandardCopyOption.ATOMIC_MOVE);
        }
        Trees.sync(config.data());
        Trees.delete(begun);
        Trees.delete(unpacked);
        return reached;
    }

    /** Where parts of a backup are: in it, if it is of an older release; or below a directory into which they are unpacked. */
    private static Path unpacked(Backup backup, Path below, Set<String> wanted) throws IOException {
        Path copy = backup.directory.resolve(BackupNote.COPY);
        if (!backup.note.isAllIn(backup.directory)) {
            throw new IOException(copy + " is missing, with all that was backed up: move " + backup.directory
                    + " away, and restore with what is left");
        }
        if (!Files.exists(copy)) {
            return backup.directory;
        }
        Path into = below.resolve(backup.directory.getFileName().toString());
        PrivateFiles.createDirectories(into);
        try (InputStream in = new BufferedInputStream(Files.newInputStream(copy))) {
            CopyStream.receive(in, PathDirectory.of(into), BackupNote.PARTS, wanted, BackupNote.COMPLETE);
        }
        return into;
    }

    private static Directory log(Path unpacked) throws IOException {
        return PathDirectory.of(unpacked.resolve(NodeCopies.ORDER));
    }
}
