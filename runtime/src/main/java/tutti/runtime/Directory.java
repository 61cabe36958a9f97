package tutti.runtime;

import java.io.Closeable;
import java.io.IOException;
import java.util.List;

/**
 * A directory of files. Names are plain names: no separators, not empty, not dots. Not for use by several threads at once
 * unless they use different names.
 *
 * <p>
 * <b>What a crash leaves.</b> What a file holds is safe once {@link DataFile#force} has returned. That a file exists under
 * its name, was renamed or is gone is safe once {@link #sync} has returned; before, a crash may undo any part of it. A failed
 * force or sync leaves everything since the last one in doubt, and must not be tried again in the hope that it worked.
 */
public interface Directory {
    /** Where it is, for people: a path, in a simulation with the host's name before it. */
    String location();

    /** Where a file of it is, for people. */
    default String location(String name) {
        return location() + "/" + name;
    }

    /** A directory inside of this one, made if it is not there. */
    Directory directory(String name) throws IOException;

    /** Names of the files in it, sorted; not of directories. */
    List<String> list() throws IOException;

    /** Names of the directories in it, sorted. */
    List<String> directories() throws IOException;

    /** Whether there is a file or directory of that name. */
    boolean exists(String name) throws IOException;

    /** Opens a file for reading and writing. */
    DataFile open(String name, Open how) throws IOException;

    /** Gives a file another name, at once or not at all, in place of the file that has it. */
    void move(String from, String to) throws IOException;

    /**
     * Gives a file or directory, with all that is in it, to another directory of the same disk under the same name: at once or not at
     * all. No change of that name in either of the two may be unsafe, and the other must not have the name.
     */
    void moveTo(String name, Directory other) throws IOException;

    /** Removes a file or a directory that is empty; without effect if there is none. */
    void delete(String name) throws IOException;

    /** Removes a file or a directory with all that is in it, one after the other; without effect if there is none. */
    default void deleteAll(String name) throws IOException {
        if (directories().contains(name)) {
            Directory inside = directory(name);
            for (String each : inside.directories()) {
                inside.deleteAll(each);
            }
            for (String each : inside.list()) {
                inside.delete(each);
            }
        }
        delete(name);
    }

    /** Makes safe which files there are. */
    void sync() throws IOException;

    /**
     * Takes a lock that one process can have, and loses when it ends.
     *
     * @param name of the file that stands for it, made if need be
     * @throws IOException if somebody has it
     */
    Closeable lock(String name) throws IOException;

    /** How a file is opened. */
    enum Open {
        /** It must be there. */
        EXISTING,
        /** It must not be there. */
        NEW,
        /** It is made if need be, and emptied. */
        EMPTY
    }
}
