package tutti.pgfront;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;
import tutti.pgwire.Backend;
import tutti.pgwire.ErrorFields;
import tutti.pgwire.FrameReader;
import tutti.pgwire.FrameSink;
import tutti.pgwire.Frontend;
import tutti.pgwire.ProtocolViolation;
import tutti.wire.KeptBytes;
import tutti.wire.MessageIntake;

/**
 * A client's connection between the event loop, which must not block, and the session's thread, which does nothing else:
 * messages wait here for the session, and the session waits here for a client that does not read. Messages that have come together, as those of one
 * statement do, are handed over together: the session's thread is woken once.
 *
 * <p>
 * Bounds: when {@link #WAITING_MAX} messages or {@link #WAITING_BYTES_MAX} bytes wait, nothing more is read; what is
 * written beyond the channel's water mark waits with its thread. Of long messages, each client's next one is read when the one before is dealt
 * with, and what has come of all clients' has a bound ({@link MessageIntake}).
 */
final class ClientConnection implements FrameSink {
    private static final int WAITING_MAX = 256;
    private static final int WAITING_BYTES_MAX = 1 << 20;
    private static final int FLUSH_BYTES = 32 << 10;
    /** So many messages, or bytes of them, are handed over though more may have come: the session goes on meanwhile. */
    private static final int TOGETHER_MAX = 32;
    private static final int TOGETHER_BYTES_MAX = 32 << 10;

    /**
     * A message of the client.
     *
     * @param body the receiver's
     * @param refusal why it is not taken, and its body is of zeros; null if it is
     */
    record Message(byte type, ByteBuf body, @Nullable ErrorFields refusal) {}

    private final Channel channel;
    private final FrameReader reader;
    private final Runnable gone;
    /** Of the event loop. */
    private final MessageIntake messages;
    /** Of the event loop: what has come and has not been handed over. */
    private final ArrayDeque<Message> come = new ArrayDeque<>();
    private int comeBytes;
    private final ReentrantLock lock = new ReentrantLock();
    private final Condition changed = lock.newCondition();
    private final ArrayDeque<Message> waiting = new ArrayDeque<>();
    private int waitingBytes;
    /** The session deals with a long message. */
    private boolean dealing;
    /** The client has heard that its connection ends. Of the session. */
    private boolean ended;
    private boolean paused;
    private boolean writable = true;
    private boolean closed;
    private boolean dismissed;
    private @Nullable ProtocolViolation violation;
    private ByteBuf out = Unpooled.EMPTY_BUFFER;
    private Runnable beforeSending = () -> {};

    /**
     * Takes a connection over.
     *
     * @param messages what clients' long messages have
     * @param gone called when the client is gone, on the event loop
     */
    ClientConnection(Channel channel, FrameReader reader, KeptBytes.Shared messages, Runnable gone) {
        this.messages = new MessageIntake(messages, reader.gatherLimit(), reader::buffered);
        this.channel = channel;
        this.reader = reader;
        this.gone = gone;
    }

    // ------------------------------------------------------------------------------------------ event loop

    @Override
    public int wanted(byte type, int bodyLength) {
        if (!Frontend.isType(type)) {
            throw new ProtocolViolation("invalid frontend message type " + (type & 0xff));
        }
        return messages.wanted(bodyLength);
    }

    @Override
    public boolean frame(byte type, ByteBuf buffer, int start, int bodyLength) {
        ErrorFields refusal = messages.shown();
        ByteBuf body = refusal == null
                ? Unpooled.buffer(bodyLength, bodyLength).writeBytes(buffer, start, bodyLength)
                : Unpooled.wrappedBuffer(new byte[MessageIntake.EMPTY_BODY]);
        come.add(new Message(type, body, refusal));
        comeBytes += body.capacity();
        if (come.size() >= TOGETHER_MAX || comeBytes >= TOGETHER_BYTES_MAX) {
            handOver();
        }
        return false;
    }

    @Override
    public void readComplete() {
        handOver();
    }

    private void handOver() {
        if (come.isEmpty()) {
            return;
        }
        lock.lock();
        try {
            waiting.addAll(come);
            waitingBytes += comeBytes;
            if (waiting.size() >= WAITING_MAX || waitingBytes >= WAITING_BYTES_MAX) {
                paused = true;
                reader.pause();
            }
            changed.signalAll();
        } finally {
            lock.unlock();
        }
        come.clear();
        comeBytes = 0;
    }

    @Override
    public void violated(ProtocolViolation what) {
        handOver();
        lock.lock();
        try {
            violation = what;
            changed.signalAll();
        } finally {
            lock.unlock();
        }
    }

    @Override
    public void writabilityChanged(boolean now) {
        lock.lock();
        try {
            writable = now;
            changed.signalAll();
        } finally {
            lock.unlock();
        }
    }

    @Override
    public void failed(Throwable cause) {
        channel.close();
    }

    @Override
    public void inactive() {
        handOver();
        lock.lock();
        try {
            closed = true;
            changed.signalAll();
        } finally {
            lock.unlock();
        }
        messages.close();
        gone.run();
    }

    // ------------------------------------------------------------------------------------------ session

    /**
     * The next message; waits for it. Null when the client is gone, or is to go. What it has sent wrongly ends the connection.
     *
     * @param mayGo whether nothing of the client's is under way, so that it can be {@linkplain #dismiss sent away}
     */
    @Nullable
    Message next(boolean mayGo) throws InterruptedException {
        if (ended) {
            return null;
        }
        Message message;
        lock.lockInterruptibly();
        try {
            if (dealing) {
                dealing = false;
                channel.eventLoop().execute(messages::gone);
                mayResume();
            }
            while (waiting.isEmpty() && !closed && violation == null && !(dismissed && mayGo)) {
                changed.await();
            }
            // What it has sent by now is not looked at: a client without a pause would stay for ever.
            message = dismissed && mayGo ? null : waiting.poll();
            if (message != null) {
                waitingBytes -= message.body().capacity();
                dealing = message.body().capacity() > MessageIntake.SMALL_BYTES;
                mayResume();
            }
        } finally {
            lock.unlock();
        }
        ErrorFields end = end(message);
        if (end == null) {
            return message;
        }
        ended = true;
        Backend.errorResponse(out(), end);
        flush();
        channel.close();
        return null;
    }

    /** Reads on, if nothing waits. Holding the lock, not on the event loop. */
    private void mayResume() {
        if (paused && !dealing && waiting.isEmpty()) {
            paused = false;
            channel.eventLoop().execute(reader::resume);
        }
    }

    /** What ends the connection where a message should have come; null if nothing does. */
    private @Nullable ErrorFields end(@Nullable Message message) {
        if (message != null) {
            ErrorFields refusal = MessageIntake.isStatement(message.type()) ? null : message.refusal();
            return refusal == null ? null : refusal.with('S', "FATAL").with('V', "FATAL");
        }
        ProtocolViolation wrong = violation;
        return wrong == null
                ? null
                : ErrorFields.of("FATAL", ProtocolViolation.SQL_STATE, String.valueOf(wrong.getMessage()));
    }

    /**
     * The messages that wait in front of the next of some type, which is waited for. Only where the protocol has clients send
     * one before they are answered, as they do behind Execute: Sync or Flush.
     *
     * @return null if a Flush comes first, or more than is kept here, or nothing any more
     */
    @Nullable
    List<Message> ahead(byte type) throws InterruptedException {
        lock.lockInterruptibly();
        try {
            while (true) {
                List<Message> before = new ArrayList<>();
                for (Message message : waiting) {
                    if (message.type() == type) {
                        return before;
                    }
                    if (message.type() == Frontend.FLUSH) {
                        return null;
                    }
                    before.add(message);
                }
                if (closed || paused || violation != null) {
                    return null;
                }
                changed.await();
            }
        } finally {
            lock.unlock();
        }
    }

    /** Where the session writes its answers; sent at {@link #flush}. */
    ByteBuf out() {
        if (out.capacity() == 0) {
            out = Unpooled.buffer(1024);
        }
        return out;
    }

    /** Runs this before what is written is sent, which it may change. */
    void beforeSending(Runnable task) {
        beforeSending = task;
    }

    /** Whether the client is gone. */
    boolean isClosed() {
        lock.lock();
        try {
            return closed;
        } finally {
            lock.unlock();
        }
    }

    /** Sends what is written if it is much. */
    void mayFlush() throws InterruptedException {
        if (out.readableBytes() > FLUSH_BYTES) {
            flush();
        }
    }

    /** Sends what is written; waits while the client does not read what was sent before. */
    void flush() throws InterruptedException {
        if (!out.isReadable()) {
            return;
        }
        beforeSending.run();
        if (!out.isReadable()) {
            return;
        }
        ByteBuf full = out;
        out = Unpooled.EMPTY_BUFFER;
        channel.writeAndFlush(full, channel.voidPromise());
        lock.lockInterruptibly();
        try {
            while (!writable && !closed) {
                changed.await();
            }
        } finally {
            lock.unlock();
        }
    }

    /** Whether the client is to go, and may have been told so. */
    boolean isDismissed() {
        lock.lock();
        try {
            return dismissed;
        } finally {
            lock.unlock();
        }
    }

    /** The client is sent away as soon as nothing of it is under way. From any thread. */
    void dismiss() {
        lock.lock();
        try {
            dismissed = true;
            changed.signalAll();
        } finally {
            lock.unlock();
        }
    }

    /** Ends the connection when everything has been sent. */
    void close() {
        channel.close();
    }
}
