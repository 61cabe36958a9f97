package tutti.order.peer;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Set;
import java.util.function.IntPredicate;
import org.jspecify.annotations.Nullable;
import tutti.core.schema.DecodeException;
import tutti.core.schema.Encoded;
import tutti.core.schema.Field;
import tutti.core.schema.MessageSet;
import tutti.core.schema.Schema;
import tutti.core.schema.Types;
import tutti.core.schema.Versions;
import tutti.core.spi.Group;
import tutti.order.SpokenVersions;
import tutti.runtime.PeerIdentity;

/**
 * How a connection between two nodes begins: the one that connects says who it is, which cluster it means, and what it speaks;
 * the other answers whether that is welcome, and what it speaks itself.
 *
 * <pre>
 * hello: magic 8 | length 2 | {@link Hello}
 * answer: length 2 | {@link Answer}
 * </pre>
 *
 * Greetings never change, so that nodes of all releases can tell each other what they speak.
 */
public final class Greeting {
    /** Longest greeting that is taken, in bytes: a refusal that names two clusters of 15 nodes with long names. */
    public static final int BYTES_MAX = 1 << 14;
    /** Longest refusal, in bytes; the rest of the answer has room beside it. */
    private static final int REFUSAL_BYTES_MAX = BYTES_MAX / 4 * 3;
    /** What this node can do that is not said by the versions. */
    static final Set<String> CAPABILITIES = Set.of(Capability.LETTERS, Group.COLUMNS, Group.LARGE_OBJECTS,
            Group.TRACES, Group.PLACEMENTS, Group.DATABASES);
    public static final long MAGIC = 0x5475_7474_694f_7264L; // "TuttiOrd"
    private static final int LENGTH_BYTES = 2;
    private static final int BUFFER_BYTES_MIN = 1 << 6;

    private Greeting() {}

    /** What a node may be able to do. Names that a node does not know mean nothing to it. */
    public static final class Capability {
        /** It takes {@linkplain PeerMessage.Letter letters}. */
        public static final String LETTERS = "letters";
        /** In a refusal: it is for the other's directory, which is not the one that it had. */
        public static final String LOST = "lost-directory";
        /** In a refusal: the other was removed from the cluster. */
        public static final String REMOVED = "removed";

        private Capability() {}
    }

    /**
     * What a node's directory holds.
     *
     * @param directory number of it since it was used first, which no other has
     * @param life how often the node has been started with it
     * @param term the highest in which the node takes part
     * @param voted whether it has voted in that
     * @param lastIndex of its log, 0 if that is empty
     */
    public record Standing(long directory, long life, int term, boolean voted, long lastIndex) {
        static final Schema<Standing> SCHEMA = Schema.part("standing", Standing.class).of(
                Field.of("directory", Types.LONG, Standing::directory),
                Field.of("life", Types.NATURAL, Standing::life), Field.of("term", Types.COUNT, Standing::term),
                Field.of("voted", Types.BOOLEAN, Standing::voted),
                Field.of("lastIndex", Types.NATURAL, Standing::lastIndex), Standing::new);
    }

    /**
     * Who connects.
     *
     * @param node its id
     * @param process number of its process, which no other has
     * @param standing of its directory
     * @param speaks versions of the messages that follow
     * @param capabilities names of what it can do besides
     * @param cluster members and voters, in words
     */
    public record Hello(int node, long process, Standing standing, Versions speaks, Set<String> capabilities,
            String cluster) implements Encoded {
        static final Schema<Hello> SCHEMA = Schema.message("hello", 1, Hello.class, "Who connects.").of(
                Field.of("node", Types.INT, Hello::node), Field.of("process", Types.LONG, Hello::process),
                Field.of("standing", Standing.SCHEMA, Hello::standing),
                Field.of("speaks", Versions.SCHEMA, Hello::speaks),
                Field.of("capabilities", SpokenVersions.CAPABILITIES, Hello::capabilities),
                Field.of("cluster", Types.text(BYTES_MAX), Hello::cluster), Hello::read);

        /** Where it is read: what it says stands in the log of whoever refuses it, and must add no lines to it. */
        private static Hello read(int node, long process, Standing standing, Versions speaks, Set<String> capabilities,
                String cluster) {
            if (cluster.chars().anyMatch(Character::isISOControl)) {
                throw new IllegalArgumentException("control characters among the members");
            }
            return new Hello(node, process, standing, speaks, capabilities, cluster);
        }

        /** One of this build. */
        public Hello(int node, long process, Standing standing, String cluster) {
            this(node, process, standing, Versions.SPOKEN, CAPABILITIES, cluster);
        }

        /** The same of a node that says so of itself what it can do besides. */
        Hello of(SpokenVersions spoken) {
            return new Hello(node, process, standing, speaks, spoken.told(capabilities), cluster);
        }

        /**
         * Why it is not meant for a node, or not from a member of its cluster; nothing if it is.
         *
         * @param by the node
         * @param others whether a number is that of another member
         * @param words members and voters, as the node has them
         * @param proven who has proven to have sent it, where that is asked for
         */
        String foreign(int by, IntPredicate others, String words, @Nullable PeerIdentity proven) {
            if (proven != null && proven.node() != node) {
                return "it is " + proven + " that connects in the name of node " + node
                        + ": give each node its own certificate";
            }
            String unspoken = SpokenVersions.foreign(by, Versions.SPOKEN, speaks);
            if (!unspoken.isEmpty()) {
                return unspoken;
            }
            if (!cluster.equals(words)) {
                return "node " + by + " has the members " + words + ", but you have " + cluster
                        + ": all nodes must be given the same list";
            }
            return others.test(node)
                    ? ""
                    : "node " + node + " is not another member of " + words + ": two nodes were given the id " + node;
        }

        /** As it travels. */
        public ByteBuffer framed() {
            byte[] hello = bytes(Versions.FOREVER.newest());
            return ByteBuffer.allocate(Long.BYTES + LENGTH_BYTES + hello.length).putLong(MAGIC)
                    .putShort((short) hello.length).put(hello).flip();
        }
    }

    /**
     * Answers it.
     *
     * @param refusal why not, or nothing; cut if it is too long, as it may repeat what the other says of itself
     * @param lasting whether no later attempt is answered otherwise: what connects is an old copy
     */
    public record Answer(String refusal, boolean lasting, Versions speaks,
            Set<String> capabilities) implements Encoded {
        static final Schema<Answer> SCHEMA = Schema.message("answer", 2, Answer.class, "Whether that is welcome.").of(
                Field.of("refusal", Types.text(BYTES_MAX), Answer::refusal),
                Field.of("lasting", Types.BOOLEAN, Answer::lasting),
                Field.of("speaks", Versions.SCHEMA, Answer::speaks),
                Field.of("capabilities", SpokenVersions.CAPABILITIES, Answer::capabilities), Answer::new);

        public Answer {
            byte[] text = refusal.getBytes(StandardCharsets.UTF_8);
            if (text.length > REFUSAL_BYTES_MAX) {
                refusal = new String(text, 0, REFUSAL_BYTES_MAX / 2, StandardCharsets.UTF_8) + "...";
            }
        }

        /** One of this build. */
        public Answer(String refusal, boolean lasting) {
            this(refusal, lasting, Versions.SPOKEN, CAPABILITIES);
        }

        /** The same of a node that says so of itself what it can do besides. */
        Answer of(SpokenVersions spoken) {
            return new Answer(refusal, lasting, speaks, spoken.told(capabilities));
        }

        /** Refuses one that comes with another directory than the one that it had. */
        public static Answer lost(String refusal) {
            return new Answer(refusal, false, Versions.SPOKEN, Set.of(Capability.LETTERS, Capability.LOST));
        }

        /** Refuses one that is no member any more. */
        static Answer removed(int node) {
            return new Answer(
                    "node " + node + " was removed from the cluster. If it is to be part of it again, give it another"
                            + " number and an empty directory, and add it (`tutti nodes add`)",
                    false, Versions.SPOKEN,
                    Set.of(Capability.LETTERS, Capability.REMOVED));
        }

        /** As it travels. */
        public ByteBuffer framed() {
            byte[] answer = bytes(Versions.FOREVER.newest());
            return ByteBuffer.allocate(LENGTH_BYTES + answer.length).putShort((short) answer.length).put(answer)
                    .flip();
        }
    }

    /** Both of them. */
    public static final MessageSet<Encoded> SET = new MessageSet<>("greetings",
            "With which a connection between two nodes of a Raft order begins: eight bytes `TuttiOrd`, a length of 2 bytes,"
                    + " and the hello; a length of 2 bytes and the answer. They stay as they are, whatever versions there"
                    + " will be.",
            Versions.FOREVER, List.of(Hello.SCHEMA, Answer.SCHEMA));

    /** Gathers a {@link Hello} from the bytes of a connection. */
    public static final class HelloReader {
        private final Gathered gathered = new Gathered(Long.BYTES);

        /** Of which nothing has come. */
        public HelloReader() {}

        /**
         * Takes what has come.
         *
         * @return the hello, or null if more must come
         * @throws IOException if what has come is none, or more than one
         */
        public @Nullable Hello read(ByteBuffer bytes) throws IOException {
            ByteBuffer message = gathered.add(bytes);
            if (gathered.count() >= Long.BYTES && gathered.bytes().getLong(0) != MAGIC) {
                throw new IOException("it does not speak as a node does");
            }
            return message == null ? null : decode(message, Hello.class);
        }
    }

    /** Gathers the answer to a {@link Hello}. */
    public static final class AnswerReader {
        private final Gathered gathered = new Gathered(0);

        /** Of which nothing has come. */
        public AnswerReader() {}

        /**
         * Takes what has come.
         *
         * @return the answer, or null if more must come
         * @throws IOException if what has come is none, or more than one
         */
        public @Nullable Answer read(ByteBuffer bytes) throws IOException {
            ByteBuffer message = gathered.add(bytes);
            return message == null ? null : decode(message, Answer.class);
        }
    }

    private static <M extends Encoded> M decode(ByteBuffer message, Class<M> type) throws IOException {
        try {
            return SET.decode(message, type);
        } catch (DecodeException wrong) {
            throw new IOException(wrong.getMessage(), wrong);
        }
    }

    /** A greeting behind its length, as far as it has come. */
    private static final class Gathered {
        private final int beginAt;
        private ByteBuffer bytes = ByteBuffer.allocate(BUFFER_BYTES_MIN);

        Gathered(int magicBytes) {
            beginAt = magicBytes + LENGTH_BYTES;
        }

        int count() {
            return bytes.position();
        }

        ByteBuffer bytes() {
            return bytes;
        }

        /** The message, from its length on, or null if it is not complete. */
        @Nullable
        ByteBuffer add(ByteBuffer more) throws IOException {
            if (more.remaining() > beginAt + BYTES_MAX - bytes.position()) {
                throw new IOException(
                        "more than " + (beginAt + BYTES_MAX) + " bytes where a greeting was expected");
            }
            if (more.remaining() > bytes.remaining()) {
                bytes = ByteBuffer.allocate(2 * (bytes.position() + more.remaining())).put(bytes.flip());
            }
            bytes.put(more);
            if (bytes.position() < beginAt) {
                return null;
            }
            int end = beginAt + Short.toUnsignedInt(bytes.getShort(beginAt - LENGTH_BYTES));
            if (bytes.position() > end || end > beginAt + BYTES_MAX) {
                throw new IOException("a greeting of " + end + " bytes, of which " + bytes.position() + " have come");
            }
            return bytes.position() < end ? null : bytes.slice(0, end).position(beginAt);
        }
    }
}
