package tutti.server;

import java.io.Closeable;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.security.SecureRandom;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HexFormat;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.Callable;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;
import tutti.command.Failure;
import tutti.command.Program;
import tutti.command.Screen;
import tutti.command.Trees;
import tutti.order.OrderDescriptor.Reach;
import tutti.runtime.real.PathDirectory;
import tutti.runtime.real.PrivateFiles;
import tutti.server.config.NodeConfig;

/** Has a cluster go on that has lost the majority of its members for good, with what the most advanced of those that are left has. */
@Command(name = "recover", description = "Have a cluster go on that has lost the majority of its members for good. Without --force: only"
        + " show what each of the stopped nodes holds. With it, ALL THAT ONLY LOST MEMBERS HAD IS GIVEN UP, transactions included that"
        + " clients were told of: the nodes that are named begin another history with what the most advanced of them has. Members"
        + " of before that come back are turned away, and have to be copied.")
public final class RecoverCommand implements Callable<Integer> {
    private static final String BEGUN = "recovering";
    private static final String BEFORE = "before-";
    private static final Pattern NAME = Pattern.compile("[a-zA-Z0-9-]{1,40}");
    private static final int NAME_BYTES = 6;

    @Option(names = "--config", paramLabel = "FILE", required = true, description = "The configuration file of a member that is left, or takes the place of a lost one; may be repeated. It must not run.")
    private List<Path> configs = List.of();

    @Option(names = "--force", description = "Do it.")
    private boolean force;

    @Option(names = "--from", paramLabel = "DIR", description = "Data directory of the stopped node that has most, or a copy of it from another host (default: the most advanced of those that are named).")
    private @Nullable Path from;

    @Option(names = "--history", paramLabel = "NAME", description = "Name of the new history: where members are on several hosts, the same on each, and never used before (default: a new one, for which a majority must be named at once).")
    private @Nullable String history;

    @Spec
    private CommandSpec spec;

    /** A stopped node, and how far its log reaches; null if it has none that could be used. */
    private record Found(NodeConfig config, @Nullable Reach reach, String why) {}

    @Override
    public Integer call() {
        Screen screen = Screen.standard(spec.commandLine().getOut());
        List<Closeable> locks = new ArrayList<>();
        try {
            List<Found> nodes = new ArrayList<>();
            for (Path file : configs) {
                NodeConfig config = RestoreCommand.read(file);
                NodeServer.requireOwner(config);
                locks.add(NodeServer.lock(config));
                nodes.add(found(config, config.data()));
            }
            Found source = source(nodes);
            show(nodes, source, screen);
            if (!force) {
                screen.line(
                        "Nothing was changed. Run this with the configurations of all that are left, then with --force, on docs/operations.md's terms");
                return Program.OK;
            }
            begin(nodes, source, screen);
            return Program.OK;
        } catch (IOException impossible) {
            throw Failure.of(impossible, "docs/operations.md");
        } finally {
            locks.forEach(RecoverCommand::close);
        }
    }

    private static void close(Closeable lock) {
        try {
            lock.close();
        } catch (IOException gone) {
            throw new java.io.UncheckedIOException(gone);
        }
    }

    private static Found found(NodeConfig config, Path data) throws IOException {
        NodeKeys keys = NodeKeys.open(config);
        for (String part : RestoreCommand.parts(config)) {
            if (!Files.exists(data.resolve(part))) {
                return new Found(config, null, data.resolve(part) + " is missing");
            }
        }
        try {
            return new Found(config, config.orderKind().reach(NodeLife.orderSettings(config, keys), keys.machine(),
                    PathDirectory.of(data.resolve(NodeCopies.ORDER))), "");
        } catch (IOException unusable) {
            return new Found(config, null, String.valueOf(unusable.getMessage()));
        }
    }

    private Found source(List<Found> nodes) throws IOException {
        Path given = from;
        if (given != null) {
            Found found = found(nodes.getFirst().config, given);
            if (found.reach == null) {
                throw new IOException("nothing can begin with " + given + ": " + found.why);
            }
            return found;
        }
        return nodes.stream().filter(node -> node.reach != null)
                .max(Comparator.comparing(node -> java.util.Objects.requireNonNull(node.reach)))
                .orElseThrow(() -> new IOException("none of these nodes holds anything to go on with: "
                        + nodes.stream().map(Found::why).collect(Collectors.joining("; "))
                        + ". Restore a backup (`tutti restore`)"));
    }

    private void show(List<Found> nodes, Found source, Screen screen) {
        List<List<String>> rows = new ArrayList<>();
        rows.add(List.of("node", "term", "last entry", "position", ""));
        for (Found each : nodes) {
            Reach reach = each.reach;
            rows.add(reach == null
                    ? List.of(each.config.self().name(), "-", "-", "-", each.why)
                    : List.of(each.config.self().name(), String.valueOf(reach.term()), String.valueOf(reach.entry()),
                            String.valueOf(reach.position()), each.equals(source) ? "has most" : ""));
        }
        Screen.table(rows).forEach(screen::line);
    }

    private void begin(List<Found> nodes, Found source, Screen screen) throws IOException {
        NodeConfig first = nodes.getFirst().config;
        Set<Integer> all = new TreeSet<>(first.members().stream().map(NodeConfig.Member::id).toList());
        Set<Integer> voters = new TreeSet<>(first.chosenProtocol().voters(all));
        Set<Integer> named = nodes.stream().map(node -> node.config.node())
                .collect(Collectors.toCollection(TreeSet::new));
        String given = history;
        if (given != null && !NAME.matcher(given).matches()) {
            throw Failure.usage("--history is '" + given + "'", "letters, digits and -, 40 at most");
        }
        if (given == null && 2 * voters.stream().filter(named::contains).count() <= voters.size()) {
            throw Failure.usage("members " + named + " are no majority of " + voters,
                    "name as many as it takes, those included that are to take the place of lost ones; on several hosts run this on each"
                            + " with the same --history NAME and with --from, a copy of the data of the node that has most");
        }
        String name = given == null ? HexFormat.of().formatHex(random()) : given;
        Path data = from == null ? source.config.data() : from;
        List<Path> begun = new ArrayList<>();
        for (Found each : nodes) {
            begun.add(prepare(each.config, data, name));
        }
        for (int i = 0; i < nodes.size(); i++) {
            replace(nodes.get(i).config, begun.get(i), name);
        }
        Reach reach = java.util.Objects.requireNonNull(source.reach, "it was chosen");
        screen.line("");
        screen.line("HISTORY " + name + " BEGINS WITH POSITION " + reach.position() + " OF " + data + ".");
        screen.line("Transactions that only lost members had are gone, whatever their clients were told.");
        Set<Integer> rest = new TreeSet<>(all);
        rest.removeAll(named);
        if (2 * voters.stream().filter(named::contains).count() <= voters.size()) {
            screen.line("Members " + named + " are no majority of " + voters
                    + ". Do the same with others where they are, until there is one: tutti recover --force --history "
                    + name
                    + " --from a copy of this data (" + data
                    + ", as it was before) --config FILE. Start them when all of these are made. The others have to be"
                    + " copied: keep them off the network until these serve, then start them; they are turned away with what they had, and get copies. Or remove"
                    + " them (`tutti nodes remove`).");
            kept(screen, name);
            return;
        }
        screen.line("Start members " + named + " now." + (rest.isEmpty()
                ? ""
                : " Members " + rest
                        + " have to be copied: keep their machines off the network until these serve, then start them; with what they had they are"
                        + " turned away, and get copies. Or remove them (`tutti nodes remove`)."));
        kept(screen, name);
    }

    private static void kept(Screen screen, String name) {
        screen.line("What each node had is in " + BEFORE + name
                + " of its data directory; remove it when nobody needs it any more.");
    }

    private static byte[] random() {
        byte[] name = new byte[NAME_BYTES];
        new SecureRandom().nextBytes(name);
        return name;
    }

    /** Makes a node's new data beside the old. */
    private static Path prepare(NodeConfig config, Path data, String history) throws IOException {
        Path begun = config.data().resolve(BEGUN);
        Trees.delete(begun);
        PrivateFiles.createDirectories(begun);
        for (String part : RestoreCommand.parts(config)) {
            Trees.copy(data.resolve(part), begun.resolve(part));
        }
        NodeKeys keys = NodeKeys.open(config);
        config.orderKind().beginAgain(NodeLife.orderSettings(config, keys), keys.machine(),
                PathDirectory.of(begun.resolve(NodeCopies.ORDER)), history);
        Trees.sync(begun);
        return begun;
    }

    /** Nothing of the order is in its place while the rest is being changed, so that no node starts with some of both. */
    private static void replace(NodeConfig config, Path begun, String history) throws IOException {
        Path before = config.data().resolve(BEFORE + history);
        PrivateFiles.createDirectories(before);
        for (String part : RestoreCommand.parts(config).reversed()) {
            if (Files.exists(config.data().resolve(part))) {
                Files.move(config.data().resolve(part), before.resolve(part), StandardCopyOption.ATOMIC_MOVE);
            }
        }
        Trees.sync(before);
        Trees.sync(config.data());
        for (String part : RestoreCommand.parts(config)) {
            Files.move(begun.resolve(part), config.data().resolve(part), StandardCopyOption.ATOMIC_MOVE);
        }
        Trees.sync(config.data());
        Trees.delete(begun);
    }
}
