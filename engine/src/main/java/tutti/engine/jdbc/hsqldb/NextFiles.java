package tutti.engine.jdbc.hsqldb;

import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import org.hsqldb.lib.FileAccess;

/**
 * The script and the log that a database goes on with when it has been written anew, and the step by which they take the place of
 * the old ones.
 *
 * <p>
 * <b>A crash on the way.</b> As long as there is no mark, the old files count, and what there is of the new ones means
 * nothing. The mark is made when the new script is whole and the new log has whatever of the old one counts as durable; from then
 * on the new ones count: {@link #settle} takes them, wherever the crash was. The mark goes when both have their names.
 *
 * <p>
 * One thread at a time.
 */
final class NextFiles {
    private static final String NEXT = ".next";

    private final FileAccess files;
    private final Path directory;
    private final String script;
    private final String log;
    private final String mark;

    /**
     * Of a database.
     *
     * @param database absolute path of its files, without the endings that HSQLDB gives them
     */
    NextFiles(FileAccess files, String database) {
        this.files = files;
        this.directory = Path.of(database).resolveSibling(".").normalize();
        this.script = database + ".script";
        this.log = database + ".log";
        this.mark = database + ".mark";
    }

    /** Where the new script is written. */
    String script() {
        return script + NEXT;
    }

    /** Where the new log is begun. */
    String log() {
        return log + NEXT;
    }

    /** Ends what a crash has interrupted. Before HSQLDB opens the database. */
    void settle() throws IOException {
        if (files.isStreamElement(mark)) {
            takePlace();
        } else {
            discard();
        }
    }

    /**
     * Deletes what there is of new files.
     *
     * @throws IOException if they count
     */
    void discard() throws IOException {
        if (files.isStreamElement(mark)) {
            throw new IOException(mark + " is there, so the database must be opened again");
        }
        remove(script());
        remove(log());
    }

    /** From now on the new files count. They have been synced. */
    void mark() throws IOException {
        files.openOutputStreamElement(mark).close();
        sync();
    }

    /** The old files count again. */
    void unmark() throws IOException {
        remove(mark);
        sync();
    }

    /** The new files get the names of the old ones. Behind {@link #mark}. */
    void takePlace() throws IOException {
        rename(script(), script);
        rename(log(), log);
        sync();
        unmark();
    }

    private void rename(String from, String to) throws IOException {
        if (files.isStreamElement(from) && !files.renameElement(from, to)) {
            throw new IOException(from + " cannot be renamed to " + to);
        }
    }

    private void remove(String file) throws IOException {
        if (files.isStreamElement(file) && !files.removeElement(file)) {
            throw new IOException(file + " cannot be deleted");
        }
    }

    /** Makes safe which files there are. */
    private void sync() throws IOException {
        try (FileChannel channel = FileChannel.open(directory, StandardOpenOption.READ)) {
            channel.force(true);
        }
    }
}
