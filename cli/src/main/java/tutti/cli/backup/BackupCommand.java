package tutti.cli.backup;

import java.io.Closeable;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.OptionalLong;
import java.util.Set;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;
import tutti.cluster.AdminClient;
import tutti.cluster.ChosenNodes;
import tutti.command.Failure;
import tutti.command.Program;
import tutti.command.Screen;
import tutti.command.Trees;
import tutti.node.copy.CopyStream;
import tutti.runtime.real.PathDirectory;
import tutti.runtime.real.PrivateFiles;
import tutti.server.BackupNote;

/** Takes backups of a running node into a directory. */
@Command(name = "backup", subcommands = {PruneCommand.class,
        VerifyCommand.class}, description = "Back a running node up into a directory: the first time a base, with its database; after that what"
                + " was ordered since. `tutti restore` makes the data of all nodes of a cluster from that, at any position or time"
                + " between the first base and the last backup. Clients go on.")
public final class BackupCommand implements Callable<Integer> {
    private static final Duration PATIENCE = Duration.ofDays(7);
    private static final String LOCK = "lock";

    @Mixin
    private ChosenNodes nodes = new ChosenNodes();

    @Option(names = "--to", paramLabel = "DIR", description = "Directory of the backups of this cluster. It holds all rows: keep it as private as the nodes' own.")
    private @Nullable Path target;
    private Path to = Path.of("");

    @Option(names = "--base", description = "Take another base, with the database, although there is one.")
    private boolean base;

    @Spec
    private CommandSpec spec;

    @Override
    public Integer call() throws InterruptedException {
        Path wanted = target;
        if (wanted == null) {
            throw Failure.usage("where to? --to DIR is missing", "");
        }
        to = wanted;
        Screen screen = Screen.standard(spec.commandLine().getOut());
        try (Closeable _ = lock(PrivateFiles.createDirectories(to))) {
            OptionalLong reached = base ? OptionalLong.empty() : reached();
            List<String> refusals = new ArrayList<>();
            try (AdminClient client = new AdminClient(PATIENCE)) {
                for (ChosenNodes.Chosen node : nodes.all()) {
                    String refusal = back(client, node, reached, screen);
                    if (refusal.isEmpty()) {
                        return Program.OK;
                    }
                    refusals.add("node " + node.name() + ": " + refusal);
                }
            }
            throw new Failure("nothing was backed up: " + String.join("; ", refusals),
                    reached.isPresent() ? "`--base` takes another base" : "");
        } catch (IOException failed) {
            throw new Failure("the backup failed: " + failed.getMessage(), "what is complete in " + to + " stays good",
                    failed);
        }
    }

    /**
     * Keeps others from changing what is in a directory of backups, until it is closed.
     *
     * @throws IOException if somebody else is changing it, or it is not there
     */
    static Closeable lock(Path backups) throws IOException {
        if (!Files.isDirectory(backups)) {
            throw new NoSuchFileException(backups.toString());
        }
        return PathDirectory.of(backups).lock(LOCK);
    }

    /** How far the backups that are there reach; nothing if there is no base. */
    private OptionalLong reached() throws IOException {
        List<BackupNote> notes = new ArrayList<>();
        for (Path each : BackupNote.in(to)) {
            BackupNote note = BackupNote.read(each);
            if (note.isAllIn(each)) {
                notes.add(note);
            }
        }
        return notes.stream().noneMatch(BackupNote::isBase)
                ? OptionalLong.empty()
                : notes.stream().mapToLong(BackupNote::most).max();
    }

    /** Takes it from a node; answers why not, or nothing. */
    private String back(AdminClient client, ChosenNodes.Chosen node, OptionalLong after, Screen screen)
            throws IOException, InterruptedException {
        Path incoming = to.resolve(BackupNote.INCOMING);
        Trees.delete(incoming);
        PrivateFiles.createDirectories(incoming);
        long[] bytes = {0};
        String refusal = client.download(node.url(),
                "/backup" + (after.isPresent() ? "?after=" + after.getAsLong() : ""),
                node.token(), in -> bytes[0] = CopyStream.keep(in, PathDirectory.of(incoming), BackupNote.COPY,
                        BackupNote.PARTS, Set.of(BackupNote.PART), BackupNote.COMPLETE));
        if (!refusal.isEmpty()) {
            return refusal;
        }
        BackupNote note = BackupNote.read(incoming);
        Path there = place(note);
        if (isWhole(there)) {
            Trees.delete(incoming);
            screen.line("nothing was ordered since position " + note.most());
            return "";
        }
        // What is left of one that was removed, if there is anything.
        Trees.delete(there);
        Files.move(incoming, there, StandardCopyOption.ATOMIC_MOVE);
        Trees.sync(to);
        screen.line(
                (note.isBase() ? "a base" : "what was ordered since position " + after.orElse(0)) + ", up to position "
                        + note.most() + " (" + Instant.ofEpochMilli(note.millis()) + "), of node " + note.node() + ": "
                        + ((bytes[0] + 1023) >> 10) + " KiB in " + there);
        if (!note.lacks().isEmpty()) {
            screen.line("it lacks tables that node " + note.node() + " does not keep: "
                    + String.join(", ", note.lacks().keySet())
                    + "; to restore their keepers, take a base of one of them, too");
        }
        return "";
    }

    private static boolean isWhole(Path backup) throws IOException {
        return Files.exists(backup.resolve(BackupNote.COMPLETE)) && BackupNote.read(backup).isAllIn(backup);
    }

    /** Where it is put: beside a base of the same position that lacks other tables. */
    private Path place(BackupNote note) throws IOException {
        String name = String.format(Locale.ROOT, "%020d-%s", note.most(), note.kind());
        Path there = to.resolve(name);
        return note.isBase() && isWhole(there) && !BackupNote.read(there).lacks().equals(note.lacks())
                ? to.resolve(name + "-of-" + note.node())
                : there;
    }
}
