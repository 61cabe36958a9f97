package tutti.order.raft;

import java.io.IOException;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import tutti.core.schema.Encoded;
import tutti.core.schema.Field;
import tutti.core.schema.Schema;
import tutti.core.schema.Types;
import tutti.runtime.Directory;

/**
 * Who took part in Raft as of which entry of the log, in a file beside the checkpoints: a node begins with its newest checkpoint, and
 * the entries before that need not be there any more. Of one thread at a time.
 *
 * <p>
 * It is written when a change is committed, and before a checkpoint behind that can be. After a crash the log may lack the entry, as a
 * leader may commit what it has not flushed itself; then what is known of it here means nothing: {@link #before} the newest checkpoint
 * is looked for only, and MicroRaft reads the rest from the log.
 */
final class VotingGroups {
    /**
     * From an entry on.
     *
     * @param index of the entry; 0 for those with which the cluster began
     */
    record Group(long index, Set<Integer> members, Set<Integer> voters) {
        static final Schema<Group> SCHEMA = Schema.part("group", Group.class).of(
                Field.of("index", Types.NATURAL, Group::index),
                Field.of("members", GroupChange.NODES, Group::members),
                Field.of("voters", GroupChange.NODES, Group::voters), Group::new);
    }

    /** All that may be asked for. */
    record Image(List<Group> groups) implements Encoded {
        static final Schema<Image> SCHEMA = Schema
                .message("groups", 11, Image.class, "Who took part in Raft as of which entry of the log.")
                .of(Field.of("groups", Types.list(Group.SCHEMA, 1 << 16), Image::groups), Image::new);
    }

    private static final String FILE = "groups";

    private final Directory directory;
    private final TreeMap<Long, Group> byIndex = new TreeMap<>();

    /** @param first what a directory begins with that has no such file */
    VotingGroups(Directory directory, Group first) throws IOException {
        this.directory = directory;
        read(directory).forEach(each -> byIndex.put(each.index(), each));
        if (byIndex.isEmpty()) {
            byIndex.put(first.index(), first);
        }
    }

    /** Those of a directory, ascending; none if it has no such file. */
    static List<Group> read(Directory directory) throws IOException {
        return directory.exists(FILE) ? RaftFiles.read(directory, FILE, Image.class).groups() : List.of();
    }

    /** As of an entry that is no older than the oldest checkpoint. */
    Group before(long index) throws IOException {
        Map.Entry<Long, Group> found = byIndex.floorEntry(index);
        if (found == null) {
            throw new IOException(directory.location(FILE) + " does not say who took part in Raft as of entry " + index
                    + ": give the node a copy of another node's data (`tutti node --copy-from any`)");
        }
        return found.getValue();
    }

    /**
     * A change was committed; on disk when it returns.
     *
     * @param oldest entry of the oldest checkpoint
     */
    void add(Group group, long oldest) throws IOException {
        byIndex.tailMap(group.index(), true).clear();
        byIndex.put(group.index(), group);
        Long needed = byIndex.floorKey(oldest);
        if (needed != null) {
            byIndex.headMap(needed, false).clear();
        }
        write(directory, image());
    }

    /** As of the last change that is committed. */
    Group last() {
        return byIndex.lastEntry().getValue();
    }

    Image image() {
        return new Image(List.copyOf(byIndex.values()));
    }

    /** Writes them into a directory, if they have changed since the cluster began. */
    static void write(Directory into, Image image) throws IOException {
        if (image.groups().getLast().index() > 0) {
            RaftFiles.write(into, FILE, image);
        }
    }
}
