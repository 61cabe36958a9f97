package tutti.wire;

import io.netty.buffer.ByteBuf;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The SQL of the client's message that is being looked at, classified. Its buffer is used again for the next one. On the
 * session's event loop.
 */
final class ClientSql {
    private static final int KEPT_BYTES_MAX = 1 << 16;
    private final Classifier classifier;
    private final TextSettings texts;
    private final Runnable serializable;
    private final Supplier<HiddenWords> hidden;
    private byte[] bytes = new byte[256];
    private int length;

    /**
     * Of a session.
     *
     * @param serializable is run when one asks for SERIALIZABLE, or perhaps so, before anything is done with it
     * @param hidden what makes a write of what looks like a read
     */
    ClientSql(Classifier classifier, TextSettings texts, Runnable serializable, Supplier<HiddenWords> hidden) {
        this.classifier = classifier;
        this.texts = texts;
        this.serializable = serializable;
        this.hidden = hidden;
    }

    /** Reads and classifies the text that begins at {@code start} and ends with a zero before {@code limit}. */
    void read(ByteBuf buffer, int start, int limit) {
        length = Messages.end(buffer, start, limit) - start;
        if (bytes.length < length) {
            bytes = new byte[Math.max(length, Math.min(bytes.length * 2, KEPT_BYTES_MAX))];
        }
        buffer.getBytes(start, bytes, 0, length);
        classify();
    }

    /** Classifies one statement of a text. */
    void read(byte[] text, int start, int end) {
        length = end - start;
        bytes = Arrays.copyOfRange(text, start, end);
        classify();
    }

    private void classify() {
        classifier.classify(bytes, 0, length, texts.standardStrings());
        if (classifier.reads() && hidden.get().in(bytes, 0, length, texts.standardStrings(), texts.certainlyUtf8())) {
            classifier.readsMayWrite();
        }
        if (classifier.asksSerializable()) {
            serializable.run();
        }
    }

    /** What is known of it, until the next is read. */
    Classifier classified() {
        return classifier;
    }

    /** How many bytes it has. */
    int length() {
        return length;
    }

    /** It, at the beginning of a buffer that may be longer. */
    byte[] bytes() {
        return bytes;
    }

    byte[] copy() {
        return Arrays.copyOf(bytes, length);
    }

    /** Whether it can be sent in a message of the node's own. */
    boolean canBeSentOn() {
        return texts.canBeSentOn(bytes, length);
    }

    /** How texts are read, and whether they still are. */
    TextSettings settings() {
        return texts;
    }

    String text() {
        return new String(bytes, 0, length, StandardCharsets.UTF_8);
    }

    /** The text of one of its statements. */
    String statement(int index) {
        int start = classifier.start(index);
        return new String(bytes, start, classifier.end(index) - start, StandardCharsets.UTF_8);
    }

    /** It, as one statement that is not simply passed on. */
    UtilityStatement utility() {
        int target = classifier.targetStart();
        int concurrently = classifier.concurrentlyStart();
        String text = text();
        if (concurrently > 0) {
            byte[] without = copy();
            Arrays.fill(without, concurrently, concurrently + "concurrently".length(), (byte) ' ');
            text = new String(without, StandardCharsets.UTF_8);
        }
        return new UtilityStatement(text, classifier.targetEnd() == 0
                ? List.of()
                : List.of(new String(bytes, target, classifier.targetEnd() - target, StandardCharsets.UTF_8)),
                concurrently > 0, classifier.fills());
    }

    /** The call of pg_notify() that a single NOTIFY comes to. */
    String notification() {
        int start = classifier.channelStart();
        String channel = new String(bytes, start, classifier.channelEnd() - start, StandardCharsets.UTF_8);
        StringBuilder name = new StringBuilder();
        if (channel.startsWith("\"")) {
            name.append(channel, 1, channel.length() - 1);
            channel = name.toString().replace("\"\"", "\"");
        } else {
            channel.chars().map(c -> c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c).forEach(c -> name.append((char) c));
            channel = name.toString();
        }
        String payload = classifier.payloadEnd() == 0
                ? "''"
                : new String(bytes, classifier.payloadStart(), classifier.payloadEnd() - classifier.payloadStart(),
                        StandardCharsets.UTF_8);
        // backslashes are characters like any other in this form, whatever the session's settings are
        String literal = " E'" + channel.replace("\\", "\\\\").replace("'", "''") + "'";
        return "SELECT pg_catalog.pg_notify(" + literal + "::pg_catalog.name::pg_catalog.text, " + payload + ")";
    }

    /** A statement that makes or drops a database. */
    DatabaseStatement database(String text) {
        return DatabaseStatement.of(text, texts.standardStrings());
    }

    /** Likewise, of a text that has been read before. */
    PreparedTransaction prepared(String text) {
        byte[] whole = text.getBytes(StandardCharsets.UTF_8);
        read(whole, 0, whole.length);
        return prepared();
    }

    /** What ends a prepared transaction, or the only literal of what prepares one. */
    PreparedTransaction prepared() {
        int first = classifier.start(0);
        return new PreparedTransaction(
                new String(bytes, classifier.payloadStart(), classifier.payloadEnd() - classifier.payloadStart(),
                        StandardCharsets.UTF_8),
                bytes[first] == 'c' || bytes[first] == 'C');
    }

    /** The question about the cluster that it is, or null. */
    @Nullable
    ClusterQuestion question() {
        return classifier.question() && classifier.count() <= 1 ? ClusterQuestion.read(bytes, length) : null;
    }
}
