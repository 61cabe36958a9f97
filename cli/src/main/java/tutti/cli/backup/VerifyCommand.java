package tutti.cli.backup;

import java.io.BufferedInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;
import tutti.command.Failure;
import tutti.command.Program;
import tutti.command.Screen;
import tutti.node.copy.CopyStream;
import tutti.runtime.real.PathDirectory;
import tutti.server.BackupNote;

/** Reads backups and looks whether they are what the nodes sent. */
@Command(name = "verify", description = "Read all backups of a directory, and look whether they are, unpacked, what the nodes have sent. Whether the data"
        + " can be used, only a restoration shows.")
final class VerifyCommand implements Callable<Integer> {
    @Option(names = "--to", paramLabel = "DIR", required = true, description = "Directory of the backups, as with `tutti backup`.")
    private Path to = Path.of("");

    @Spec
    private CommandSpec spec;

    @Override
    public Integer call() {
        Screen screen = Screen.standard(spec.commandLine().getOut());
        int damaged = 0;
        try {
            List<Path> backups = BackupNote.in(to);
            for (Path each : backups) {
                damaged += verify(each, screen) ? 0 : 1;
            }
            screen.line(Screen.count(backups.size(), "backup") + ", " + damaged + " damaged");
        } catch (IOException unreadable) {
            throw new Failure("the backups in " + to + " cannot be read: " + unreadable.getMessage(),
                    "name the directory that `tutti backup` has filled", unreadable);
        }
        if (damaged > 0) {
            throw new Failure("backups are damaged", "take another base (`tutti backup --base`), and look at the disk");
        }
        return Program.OK;
    }

    private static boolean verify(Path backup, Screen screen) {
        Path copy = backup.resolve(BackupNote.COPY);
        try {
            if (!BackupNote.read(backup).isAllIn(backup)) {
                throw new IOException("what was backed up is missing: its file '" + BackupNote.COPY + "'");
            }
            if (!Files.exists(copy)) {
                screen.line(backup + ": of an older release, which kept nothing to compare with");
                return true;
            }
            try (InputStream in = new BufferedInputStream(Files.newInputStream(copy))) {
                long bytes = CopyStream.verify(in, PathDirectory.of(backup), BackupNote.PARTS);
                screen.line(backup + ": whole, " + ((bytes + 1023) >> 10) + " KiB");
                return true;
            }
        } catch (IOException wrong) {
            screen.line(backup + ": DAMAGED: " + wrong.getMessage());
            return false;
        }
    }
}
