package tutti.core.flight;

import java.nio.BufferUnderflowException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Consumer;
import java.util.zip.CRC32C;

/**
 * What a {@link FlightRecorder} kept, and its form as bytes of a file:
 *
 * <pre>
 *   "TUTTIFLT", int version, then parts:  byte type, int length, content, int CRC-32C of all these
 *     1  subject and notes      2  segment, as many as there are      3  end: how many
 * </pre>
 *
 * Immutable; the arrays must not be modified.
 *
 * @param subject whose it is
 * @param notes anything worth knowing about it, by name
 * @param segments one following the other without a gap; none if nothing was recorded
 */
public record FlightRecording(Subject subject, Map<String, String> notes, List<Segment> segments) {
    private static final byte[] MAGIC = "TUTTIFLT".getBytes(StandardCharsets.US_ASCII);
    private static final int VERSION = 2;
    private static final byte PART_SUBJECT = 1;
    private static final byte PART_SEGMENT = 2;
    private static final byte PART_END = 3;

    /**
     * Whose protocol was recorded: what is needed to make it again.
     *
     * @param protocol its name
     * @param parameters what of it is not as by default
     * @param node the replica's number
     * @param replicas all replicas' numbers
     */
    public record Subject(String protocol, Map<String, String> parameters, int node, Set<Integer> replicas) {
        public Subject {
            parameters = Collections.unmodifiableMap(new TreeMap<>(parameters));
            replicas = Collections.unmodifiableSet(new TreeSet<>(replicas));
        }
    }

    /**
     * A part from which a replay can start.
     *
     * @param firstEvent number of its first event, counted from the recorder's first, which is 1
     * @param beganNanos when it began, in nanoseconds since any moment
     * @param state of the protocol before its first event
     * @param records events and effects
     */
    public record Segment(long firstEvent, long beganNanos, byte[] state, byte[] records) {
        long bytes() {
            return (long) state.length + records.length;
        }
    }

    public FlightRecording {
        notes = Collections.unmodifiableMap(new TreeMap<>(notes));
        segments = List.copyOf(segments);
    }

    /** Whether bytes begin as a recording does. */
    public static boolean isOne(byte[] bytes) {
        return bytes.length >= MAGIC.length && ByteBuffer.wrap(bytes, 0, MAGIC.length).equals(ByteBuffer.wrap(MAGIC));
    }

    /**
     * Some of its segments, as a recording.
     *
     * @param from index of the first, 0 and up
     * @param to index behind the last
     */
    public FlightRecording part(int from, int to) {
        return new FlightRecording(subject, notes, segments.subList(from, to));
    }

    /** Bytes of all segments. */
    public long bytes() {
        return segments.stream().mapToLong(Segment::bytes).sum();
    }

    // ------------------------------------------------------------------------------------------ bytes

    /**
     * Hands its bytes out, one piece after the other.
     *
     * @param to may keep the pieces; they are not used again
     */
    public void encode(Consumer<ByteBuffer> to) {
        to.accept(ByteBuffer.allocate(MAGIC.length + 4).put(MAGIC).putInt(VERSION).flip());
        part(PART_SUBJECT, encodeSubject(), to);
        for (Segment segment : segments) {
            ByteBuffer head = ByteBuffer.allocate(8 + 8 + 4 + 4).putLong(segment.firstEvent())
                    .putLong(segment.beganNanos()).putInt(segment.state().length).putInt(segment.records().length);
            part(PART_SEGMENT, List.of(head.flip(), ByteBuffer.wrap(segment.state()),
                    ByteBuffer.wrap(segment.records())), to);
        }
        part(PART_END, List.of(ByteBuffer.allocate(4).putInt(segments.size()).flip()), to);
    }

    private static void part(byte type, List<ByteBuffer> content, Consumer<ByteBuffer> to) {
        int length = Math.toIntExact(content.stream().mapToLong(ByteBuffer::remaining).sum());
        CRC32C checksum = new CRC32C();
        ByteBuffer head = ByteBuffer.allocate(1 + 4).put(type).putInt(length).flip();
        checksum.update(head.duplicate());
        to.accept(head);
        for (ByteBuffer piece : content) {
            checksum.update(piece.duplicate());
            to.accept(piece);
        }
        to.accept(ByteBuffer.allocate(4).putInt((int) checksum.getValue()).flip());
    }

    private List<ByteBuffer> encodeSubject() {
        List<ByteBuffer> pieces = new ArrayList<>();
        text(subject.protocol(), pieces);
        texts(subject.parameters(), pieces);
        ByteBuffer nodes = ByteBuffer.allocate(4 + 4 + 4 * subject.replicas().size()).putInt(subject.node());
        Events.putNodes(nodes, subject.replicas());
        pieces.add(nodes.flip());
        texts(notes, pieces);
        return pieces;
    }

    private static void text(String text, List<ByteBuffer> pieces) {
        byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
        pieces.add(ByteBuffer.allocate(4 + bytes.length).putInt(bytes.length).put(bytes).flip());
    }

    private static void texts(Map<String, String> texts, List<ByteBuffer> pieces) {
        pieces.add(ByteBuffer.allocate(4).putInt(texts.size()).flip());
        texts.forEach((name, text) -> {
            text(name, pieces);
            text(text, pieces);
        });
    }

    /**
     * Reads what {@link #encode} wrote.
     *
     * @param file what to call it in errors
     * @throws IllegalArgumentException naming the file, the offset and the reason, if it is none, or damaged, or incomplete
     */
    public static FlightRecording decode(byte[] bytes, String file) {
        ByteBuffer from = ByteBuffer.wrap(bytes);
        try {
            if (!isOne(bytes)) {
                throw new IllegalArgumentException("it does not begin with TUTTIFLT: not a flight recording");
            }
            int version = from.position(MAGIC.length).getInt();
            if (version != VERSION) {
                throw new IllegalArgumentException("it is of format " + version + "; this build reads " + VERSION);
            }
            Subject subject = null;
            Map<String, String> notes = Map.of();
            List<Segment> segments = new ArrayList<>();
            while (true) {
                int began = from.position();
                byte type = from.get();
                ByteBuffer content = content(from, began);
                if (type == PART_SUBJECT && subject == null) {
                    subject = new Subject(Events.text(content), texts(content), content.getInt(),
                            Events.nodes(content));
                    notes = texts(content);
                } else if (type == PART_SEGMENT) {
                    segments.add(segment(content));
                } else if (type == PART_END && subject != null && content.getInt() == segments.size()
                        && !from.hasRemaining()) {
                    return new FlightRecording(subject, notes, segments);
                } else {
                    from.position(began);
                    throw new IllegalArgumentException("a part of type " + type + " cannot be here");
                }
            }
        } catch (BufferUnderflowException short_) {
            throw new IllegalArgumentException(file + ": byte " + from.position()
                    + ": it ends too early; it was not written completely", short_);
        } catch (IllegalArgumentException broken) {
            throw new IllegalArgumentException(file + ": byte " + from.position() + ": " + broken.getMessage(), broken);
        }
    }

    /** The content of a part, once its checksum was found to be right. */
    private static ByteBuffer content(ByteBuffer from, int began) {
        int length = from.getInt();
        if (length < 0 || length > from.remaining() - 4) {
            throw new IllegalArgumentException("a part of " + length + " bytes where " + from.remaining()
                    + " are left; the file is damaged or was not written completely");
        }
        ByteBuffer content = from.slice(from.position(), length);
        from.position(from.position() + length);
        CRC32C checksum = new CRC32C();
        checksum.update(from.slice(began, from.position() - began));
        if (from.getInt() != (int) checksum.getValue()) {
            from.position(began);
            throw new IllegalArgumentException("the checksum of the part of " + length
                    + " bytes that begins here is wrong; the file is damaged");
        }
        return content;
    }

    private static Segment segment(ByteBuffer from) {
        long firstEvent = from.getLong();
        long began = from.getLong();
        byte[] state = new byte[from.getInt()];
        byte[] records = new byte[from.getInt()];
        from.get(state).get(records);
        return new Segment(firstEvent, began, state, records);
    }

    private static Map<String, String> texts(ByteBuffer from) {
        Map<String, String> texts = new TreeMap<>();
        for (int count = from.getInt(); count > 0; count--) {
            texts.put(Events.text(from), Events.text(from));
        }
        return texts;
    }
}
