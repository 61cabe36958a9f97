package tutti.order.raft;

import java.io.IOException;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import tutti.core.schema.DecodeException;
import tutti.core.schema.Encoded;
import tutti.core.schema.Field;
import tutti.core.schema.MessageSet;
import tutti.core.schema.Schema;
import tutti.core.schema.Types;
import tutti.core.spi.Group;
import tutti.order.peer.Greeting;
import tutti.runtime.Directory;
import tutti.runtime.DurableFiles;

/** What is in the small files of a Raft order, which are {@link DurableFiles}. */
final class RaftFiles {
    private static final int ID_BYTES_MAX = 64;

    /** Who this node is, and which cluster it belongs to, in words that people can compare. */
    record Identity(String words) implements Encoded {
        static final Schema<Identity> SCHEMA = Schema
                .message("identity", 1, Identity.class, "Which node of which cluster the directory is of.")
                .of(Field.of("words", Types.text(1 << 20), Identity::words), Identity::new);

        /** Which node; the words are those of {@link MemberList#identity}. */
        int node() {
            return Integer.parseInt(words.substring("node ".length(), words.indexOf(" of ")));
        }
    }

    /** The current term, and whom this node voted for in it, if for anybody. */
    record Vote(int term, @Nullable Integer votedFor) implements Encoded {
        static final Schema<Vote> SCHEMA = Schema.message("vote", 2, Vote.class, "What Raft must not forget.").of(
                Field.of("term", Types.COUNT, Vote::term),
                Field.of("votedFor", Types.optional(Types.INT), Vote::votedFor), Vote::new);
    }

    /**
     * Number of the last start of the node, and of the life that it began.
     *
     * @param last greater than that of every earlier start, even of a directory that was lost
     * @param life how often the node has been started with this directory
     */
    record Incarnation(long last, long life) implements Encoded {
        static final Schema<Incarnation> SCHEMA = Schema
                .message("incarnation", 3, Incarnation.class, "Number of the last start of the node, and of its life.")
                .of(Field.of("last", Types.NATURAL, Incarnation::last),
                        Field.of("life", Types.NATURAL, Incarnation::life), Incarnation::new);
    }

    /** Number of this directory, which no other has. */
    record DirectoryNumber(long of) implements Encoded {
        static final Schema<DirectoryNumber> SCHEMA = Schema
                .message("number", 5, DirectoryNumber.class, "Number of this directory.")
                .of(Field.of("of", Types.LONG, DirectoryNumber::of), DirectoryNumber::new);
    }

    /** Id of the cluster that a directory belongs to. */
    record ClusterId(String id) implements Encoded {
        static final Schema<ClusterId> SCHEMA = Schema
                .message("cluster", 6, ClusterId.class, "Id of the cluster that the directory belongs to.")
                .of(Field.of("id", Types.text(ID_BYTES_MAX), ClusterId::id), ClusterId::new);
    }

    /**
     * How far another node had got when it was last heard of; see {@link MetNodes}.
     *
     * @param directory number of its directory
     * @param life of that directory
     * @param process number of the process that had that life
     * @param term the highest that it has told
     * @param voted whether it has voted in that term
     * @param index the last entry that it had for good
     */
    record Met(long directory, long life, long process, int term, boolean voted, long index) implements Encoded {
        static final Schema<Met> SCHEMA = Schema
                .message("met", 7, Met.class, "How far another node had got when it was last heard of.").of(
                        Field.of("directory", Types.LONG, Met::directory), Field.of("life", Types.NATURAL, Met::life),
                        Field.of("process", Types.LONG, Met::process), Field.of("term", Types.COUNT, Met::term),
                        Field.of("voted", Types.BOOLEAN, Met::voted), Field.of("index", Types.NATURAL, Met::index),
                        Met::new);
    }

    /** Why a directory is of no use any more: another node has found it to be an old copy. */
    record Outdated(String why) implements Encoded {
        static final Schema<Outdated> SCHEMA = Schema
                .message("outdated", 8, Outdated.class, "Why the directory, an old copy, is of no use any more.")
                .of(Field.of("why", Types.text(Greeting.BYTES_MAX), Outdated::why), Outdated::new);
    }

    /**
     * When another node was given a copy to begin anew with; see {@link MetNodes#replaced}.
     *
     * @param position of the message in the order that said so
     */
    record Replaced(long position) implements Encoded {
        static final Schema<Replaced> SCHEMA = Schema
                .message("replaced", 9, Replaced.class, "When another node was given a copy to begin anew with.")
                .of(Field.of("position", Types.NATURAL, Replaced::position), Replaced::new);
    }

    /**
     * The members of the cluster; see {@link MemberList}.
     *
     * @param words those with which it began, in words
     * @param founders the same as numbers
     */
    record Members(Group.Members now, String words, Set<Integer> founders) implements Encoded {
        static final Schema<Members> SCHEMA = Schema
                .message("members", 10, Members.class, "The members of the cluster, once they have changed.").of(
                        Field.of("now", Group.Members.SCHEMA, Members::now),
                        Field.of("words", Types.text(1 << 20), Members::words),
                        Field.of("founders", GroupChange.NODES, Members::founders), Members::new);
    }

    /** Why a directory is of no use any more: its node was removed. */
    record Removed(String why) implements Encoded {
        static final Schema<Removed> SCHEMA = Schema
                .message("removed", 12, Removed.class, "Why the directory, of a removed node, is of no use any more.")
                .of(Field.of("why", Types.text(Greeting.BYTES_MAX), Removed::why), Removed::new);
    }

    /** All of them. */
    static final MessageSet<Encoded> SET = new MessageSet<>("raft files",
            "In small files beside the log, each behind its CRC-32C of 4 bytes.",
            List.of(Identity.SCHEMA, Vote.SCHEMA, Incarnation.SCHEMA, Checkpoints.Checkpoint.SCHEMA,
                    DirectoryNumber.SCHEMA, ClusterId.SCHEMA, Met.SCHEMA, Outdated.SCHEMA, Replaced.SCHEMA,
                    Members.SCHEMA, VotingGroups.Image.SCHEMA, Removed.SCHEMA));

    private RaftFiles() {}

    /**
     * Reads one.
     *
     * @throws IOException if it cannot be read, is damaged, is something else, or is of a version that this build does not read
     */
    static <M extends Encoded> M read(Directory directory, String name, Class<M> type) throws IOException {
        try {
            return SET.decode(DurableFiles.read(directory, name), type);
        } catch (DecodeException wrong) {
            throw new IOException(directory.location(name) + " cannot be used: " + wrong.getMessage(), wrong);
        }
    }

    static void write(Directory directory, String name, Encoded content) throws IOException {
        DurableFiles.write(directory, name, content.bytes());
    }
}
