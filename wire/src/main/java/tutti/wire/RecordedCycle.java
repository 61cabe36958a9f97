package tutti.wire;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.nio.BufferUnderflowException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;
import tutti.core.txn.ConflictClasses;
import tutti.engine.postgres.capture.Statement;
import tutti.pgwire.Frontend;
import tutti.wire.sql.Moments;

/**
 * A cycle of extended-protocol messages, from its first Bind of a statement that may write to its Sync, kept until it is known
 * when, or where, it is to run. On the session's event loop.
 */
final class RecordedCycle {
    private static final int BYTES_MAX = 1 << 24;

    /**
     * A message.
     *
     * @param message with its header
     * @param about the statement of a Parse or Bind
     */
    record Recorded(byte type, byte[] message, @Nullable Prepared about) {
        /** Where the values of a Bind begin, with their formats. */
        private int values() {
            return nameEnd(nameEnd(Messages.HEADER) + 1) + 1;
        }

        private int nameEnd(int from) {
            int at = from;
            while (message[at] != 0) {
                at++;
            }
            return at;
        }
    }

    /**
     * A statement that is executed, with what else its client waits for.
     *
     * @param parsed whether it was prepared in this cycle
     */
    record Execution(Statement.Call call, StatementAccess of, boolean parsed) {
        /** A value bound to it that each node may read as another moment, or null. */
        @Nullable
        String moment() {
            ByteBuffer bound = ByteBuffer.wrap(call.bound());
            try {
                bound.position(Short.BYTES + Short.BYTES * bound.getShort(0));
                for (int left = bound.getShort(); left > 0; left--) {
                    byte[] value = new byte[Math.max(0, bound.getInt())];
                    String text = new String(bound.get(value).array(), StandardCharsets.ISO_8859_1);
                    if (Moments.mayBe(text)) {
                        return "'" + text + "'";
                    }
                }
            } catch (BufferUnderflowException | IllegalArgumentException damaged) {
                // the engine says what is wrong with it
            }
            return null;
        }
    }

    private final List<Recorded> messages = new ArrayList<>();
    private final List<ConflictClasses> classes = new ArrayList<>();
    private boolean vouched;
    private int bytes;
    /** It contains something that cannot be repeated, or does not end with the cycle. */
    private boolean interactive;

    /**
     * Adds a message.
     *
     * @return whether that was the last
     */
    boolean add(byte type, @Nullable Prepared about, ByteBuf buffer, int start, int bodyLength) {
        byte[] message = Messages.copy(buffer, start, bodyLength);
        messages.add(new Recorded(type, message, about));
        bytes += message.length;
        interactive |= type == Frontend.FLUSH || type == Frontend.QUERY || type == Frontend.FUNCTION_CALL
                || (about != null && !repeats(about.kind()));
        return type == Frontend.SYNC || interactive || bytes > BYTES_MAX;
    }

    private static boolean repeats(StatementKind kind) {
        return switch (kind) {
            case READ, WRITE, EMPTY, SESSION -> true;
            default -> false;
        };
    }

    List<Recorded> messages() {
        return messages;
    }

    /** Whether its cycle is complete. */
    boolean complete() {
        return messages.getLast().type() == Frontend.SYNC;
    }

    /** Whether it is a whole request. */
    boolean whole() {
        return complete() && !interactive;
    }

    /** Whether a statement of it may write. */
    boolean mayWrite() {
        return messages.stream().anyMatch(recorded -> {
            Prepared about = recorded.about();
            return recorded.type() == Frontend.BIND && about != null && about.kind().mayWrite();
        });
    }

    /** Looks at what its statements may touch. */
    void classify() {
        for (Recorded recorded : messages) {
            Prepared about = recorded.about();
            if (about != null && recorded.type() == Frontend.BIND && !DeferredMessages.setsLocally(about)) {
                StatementAccess access = about.access();
                Capture.Classified classified = access == null
                        ? Capture.Classified.ALL
                        : access.classes(Unpooled.wrappedBuffer(recorded.message()), recorded.values());
                classes.add(classified.classes());
                vouched |= classified.vouched();
            }
        }
    }

    /** The classes of the whole. */
    Capture.Classified classified() {
        return new Capture.Classified(
                whole()
                        ? classes.stream().reduce(ConflictClasses::union).orElse(ConflictClasses.ALL)
                        : ConflictClasses.ALL,
                vouched);
    }

    /** Whether a function in it says what it touches, rather than its body. */
    boolean vouched() {
        return vouched;
    }

    /** The classes of each statement that is bound, when they have been looked at. */
    List<ConflictClasses> classesOfEach() {
        return List.copyOf(classes);
    }

    /**
     * What of it is executed, one after the other; null if it is not made of statements that are each perhaps prepared, bound,
     * perhaps described, and executed.
     */
    @Nullable
    List<Execution> executions() {
        List<Execution> executions = new ArrayList<>();
        boolean parsed = false;
        boolean described = false;
        Recorded bind = null;
        for (Recorded recorded : messages) {
            switch (recorded.type()) {
                case Frontend.PARSE -> {
                    if (parsed || bind != null) {
                        return null;
                    }
                    parsed = true;
                }
                case Frontend.BIND -> {
                    if (bind != null) {
                        return null;
                    }
                    bind = recorded;
                }
                case Frontend.DESCRIBE -> {
                    if (bind == null || recorded.message()[Messages.HEADER] != 'P') {
                        return null;
                    }
                    described = true;
                }
                case Frontend.EXECUTE -> {
                    Execution execution = bind == null ? null : execution(bind, recorded, described, parsed);
                    if (execution == null) {
                        return null;
                    }
                    executions.add(execution);
                    bind = null;
                    parsed = false;
                    described = false;
                }
                case Frontend.SYNC -> {
                    if (bind != null || parsed) {
                        return null;
                    }
                }
                default -> {
                    return null;
                }
            }
        }
        return executions;
    }

    private static @Nullable Execution execution(Recorded bind, Recorded execute, boolean described, boolean parsed) {
        Prepared about = bind.about();
        StatementAccess access = about == null ? null : about.access();
        int portalEnd = bind.nameEnd(Messages.HEADER);
        if (access == null || !access.typesOfPostgres() || !Arrays.equals(bind.message(), Messages.HEADER, portalEnd,
                execute.message(), Messages.HEADER, execute.nameEnd(Messages.HEADER))) {
            return null;
        }
        int rest = bind.values();
        byte[] bound = Arrays.copyOfRange(bind.message(), rest, bind.message().length);
        int rows = Unpooled.wrappedBuffer(execute.message()).getInt(execute.nameEnd(Messages.HEADER) + 1);
        return new Execution(new Statement.Call(new String(access.sql(), StandardCharsets.UTF_8), access.types(),
                bound, described, rows), access, parsed);
    }
}
