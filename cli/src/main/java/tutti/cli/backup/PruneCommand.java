package tutti.cli.backup;

import java.io.Closeable;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;
import tutti.command.Failure;
import tutti.command.Program;
import tutti.command.Screen;
import tutti.command.Trees;
import tutti.server.BackupNote;

/**
 * Removes backups that nobody wants to restore from any more. From a base on, every position can be restored with that base and the logs that reach
 * as far as it does or further; so what goes is what reaches less far than the oldest base that is kept. The newest base always stays.
 */
@Command(name = "prune", description = "Remove old backups: the bases that are not to be kept, and what was ordered before the oldest that is. What is"
        + " left restores to every position from that base on.")
final class PruneCommand implements Callable<Integer> {
    @Option(names = "--to", paramLabel = "DIR", required = true, description = "Directory of the backups, as with `tutti backup`.")
    private Path to = Path.of("");

    @Option(names = "--keep-bases", paramLabel = "N", description = "Keep the N newest bases, 1 or more.")
    private @Nullable Integer bases;

    @Option(names = "--keep-days", paramLabel = "N", description = "Keep what restores to any time of the last N days. With --keep-bases, what either keeps.")
    private @Nullable Integer days;

    @Option(names = "--dry-run", description = "Say what would be removed, and remove nothing.")
    private boolean dryRun;

    @Spec
    private CommandSpec spec;

    /**
     * A complete backup.
     *
     * @param directory where it is
     * @param note what it says of itself
     */
    record Backup(Path directory, BackupNote note) {}

    @Override
    public Integer call() {
        Integer wantedBases = bases;
        Integer wantedDays = days;
        if (wantedBases == null && wantedDays == null) {
            throw Failure.usage("what is to be kept? --keep-bases N or --keep-days N is missing", "");
        }
        if ((wantedBases != null && wantedBases < 1) || (wantedDays != null && wantedDays < 0)) {
            throw Failure.usage("--keep-bases must be 1 or more, --keep-days 0 or more", "");
        }
        Screen screen = Screen.standard(spec.commandLine().getOut());
        try (Closeable _ = BackupCommand.lock(to)) {
            List<Backup> old = superfluous(backups(screen), wantedBases, wantedDays == null
                    ? null
                    : Instant.now().minus(Duration.ofDays(wantedDays)));
            for (Backup each : old) {
                if (!dryRun) {
                    // From here on nobody takes it for a backup.
                    Files.delete(each.directory.resolve(BackupNote.COMPLETE));
                    Trees.delete(each.directory);
                }
                screen.line((dryRun ? "would remove " : "removed ") + each.directory + ", up to position "
                        + each.note.most()
                        + " (" + Instant.ofEpochMilli(each.note.millis()) + ")");
            }
            if (!dryRun) {
                Trees.sync(to);
            }
            if (old.isEmpty()) {
                screen.line("nothing is older than what is to be kept");
            }
            return Program.OK;
        } catch (NoSuchFileException missing) {
            throw new Failure(missing.getMessage() + " is not there",
                    "name the directory that `tutti backup` has filled", missing);
        } catch (IOException failed) {
            throw new Failure("cannot prune " + to + ": " + failed.getMessage(),
                    "what is left is as good as before; give the command again", failed);
        }
    }

    private List<Backup> backups(Screen screen) throws IOException {
        List<Backup> found = new ArrayList<>();
        for (Path each : BackupNote.in(to)) {
            BackupNote note = BackupNote.read(each);
            if (note.isAllIn(each)) {
                found.add(new Backup(each, note));
            } else {
                screen.line(each + " is left, and does not count: what was backed up is missing in it");
            }
        }
        return found;
    }

    /**
     * What is not needed.
     *
     * @param bases how many of the newest are kept; null if that does not matter
     * @param since what restores to any time from then on is kept; null if that does not matter
     * @return bases first, oldest first: whatever is left when this is broken off, no base lacks what it needs
     */
    static List<Backup> superfluous(List<Backup> backups, @Nullable Integer bases, @Nullable Instant since) {
        List<Backup> newest = backups.stream().filter(each -> each.note.isBase() && each.note.lacks().isEmpty())
                .sorted(Comparator.comparingLong((Backup each) -> each.note.most()).reversed()).toList();
        if (newest.isEmpty()) {
            return List.of();
        }
        int kept = bases == null ? 1 : Math.min(bases, newest.size());
        if (since != null) {
            int old = 0;
            while (old < newest.size() && newest.get(old).note.millis() > since.toEpochMilli()) {
                old++;
            }
            // The first that is older than that, or all if none is.
            kept = Math.max(kept, Math.min(old + 1, newest.size()));
        }
        long from = newest.get(kept - 1).note.most();
        return backups.stream().filter(each -> each.note.most() < from)
                .sorted(Comparator.comparing((Backup each) -> !each.note.isBase())
                        .thenComparingLong(each -> each.note.most()))
                .toList();
    }
}
