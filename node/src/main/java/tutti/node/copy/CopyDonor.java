package tutti.node.copy;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import tutti.core.schema.DecodeException;
import tutti.core.spi.Completion;
import tutti.core.spi.EngineFailure;
import tutti.runtime.Frames;
import tutti.runtime.Loop;
import tutti.runtime.Machine;
import tutti.runtime.Network;
import tutti.runtime.PeerIdentity;

/**
 * Gives copies to other nodes, one at a time, while its own node serves. Files are read, and pieces compressed, in the background;
 * only sending is done on the loop of the connections, so much at a time and so often that the given rate is not exceeded.
 *
 * <p>
 * <b>Memory.</b> Pieces of at most {@link #BATCH_BYTES} are read ahead, and of at most {@link CopyMessage#AHEAD_BYTES_MAX} and one more sent that the
 * receiver has not said to have written down.
 *
 * <p>
 * <b>Broken connections.</b> What has not been written down is kept, so that the receiver can ask for the rest on another connection
 * within {@link #RESUME_NANOS}. This is sound because nothing is read anew: all pieces are of one reading of the source. A copy does
 * not survive the donor, nor the receiver's process: then another is begun. Only the process that has begun it knows its number, which is random; and where
 * connections prove who is at the other end, that must be the same member.
 *
 * <p>
 * Of one loop, but for {@link #close}.
 */
public final class CopyDonor implements Network.Acceptor, AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(CopyDonor.class);
    private static final int BATCH_BYTES = 1 << 20;
    /** So long a copy is kept whose receiver is not connected. */
    static final long RESUME_NANOS = TimeUnit.SECONDS.toNanos(60);
    /** So long it may take until files can be read: a database in the node's process is written down first. */
    private static final long PREPARE_NANOS = TimeUnit.HOURS.toNanos(1);
    /** So often both ends say that they live. */
    static final long ALIVE_NANOS = TimeUnit.SECONDS.toNanos(5);
    /** A connection on which nothing comes for so long is given up. */
    static final long DEAD_NANOS = TimeUnit.SECONDS.toNanos(30);
    /** So long somebody who has connected may take to say what it wants. */
    private static final long SILENT_NANOS = TimeUnit.SECONDS.toNanos(10);
    private static final int VISITS_MAX = 8;

    private final int self;
    private final Loop loop;
    private final Machine machine;
    private final CopySource source;
    private final LongSupplier bytesPerSecond;
    private final List<Visit> visits = new ArrayList<>();
    /** Numbers of copies: whoever knows one has it from this node. */
    private final RandomGenerator numbers;
    private @Nullable Transfer current;
    private volatile boolean closed;

    /**
     * One that gives nothing yet.
     *
     * @param loop of the connections that it accepts
     * @param bytesPerSecond of contents that it sends, on average; asked for each piece
     */
    public CopyDonor(int self, Loop loop, Machine machine, CopySource source, LongSupplier bytesPerSecond) {
        this.self = self;
        this.loop = loop;
        this.machine = machine;
        this.source = source;
        this.bytesPerSecond = bytesPerSecond;
        numbers = machine.random("copies of node " + self);
    }

    @Override
    public Network.StreamListener accepted(Network.Stream stream) {
        Visit visit = new Visit(stream);
        if (closed || visits.size() >= VISITS_MAX) {
            stream.close();
            return visit;
        }
        visits.add(visit);
        loop.schedule(SILENT_NANOS, visit::silent);
        return visit;
    }

    /** Gives up what is being given. Any thread. */
    @Override
    public void close() {
        closed = true;
        loop.execute(() -> {
            if (current != null) {
                current.end(false, "this node stops");
            }
            List.copyOf(visits).forEach(Visit::leave);
        });
    }

    private void ask(Visit visit, CopyMessage.Ask ask) {
        PeerIdentity proven = visit.stream.peer();
        if (proven != null && proven.node() != ask.node()) {
            visit.refuse("it is " + proven + " that asks in the name of node " + ask.node(), true);
        } else if (!ask.state().equals(source.state())) {
            visit.refuse("node " + self + " has " + source.state() + ", but you have " + ask.state()
                    + ": a copy needs the same", true);
        } else if (!ask.leader() && source.leads()) {
            visit.refuse("node " + self + " leads the order", false);
        } else if (current != null && current.receiver != ask.node()) {
            visit.refuse("node " + self + " gives node " + current.receiver + " a copy", false);
        } else {
            if (current != null) {
                current.end(false, "its receiver has begun anew");
            }
            current = new Transfer(ask.node(), numbers.nextLong(), visit);
            current.begin(ask.directory());
        }
    }

    private void resume(Visit visit, CopyMessage.Resume resume) {
        Transfer present = current;
        PeerIdentity proven = visit.stream.peer();
        if (present != null && proven != null && proven.node() != present.receiver) {
            visit.refuse("it is " + proven + " that asks for the rest of the copy of node " + present.receiver, true);
        } else if (present == null || present.number != resume.copy()
                || !present.resume(visit, resume.received())) {
            visit.refuse("node " + self + " does not give this copy any more", false);
        }
    }

    // ------------------------------------------------------------------------------------------ connections

    private final class Visit implements Network.StreamListener {
        private final Network.Stream stream;
        private final Frames.Reader frames = new Frames.Reader(this::take);
        private boolean asked;
        private long heardNanos = machine.clock().nanoTime();
        private @Nullable Transfer transfer;

        Visit(Network.Stream stream) {
            this.stream = stream;
        }

        @Override
        public void received(ByteBuffer bytes) {
            heardNanos = machine.clock().nanoTime();
            try {
                frames.read(bytes);
            } catch (IOException wrong) {
                LOG.warn("node {} drops the connection of {}, which wants a copy: {}", self, stream.remote(),
                        wrong.getMessage());
                stream.close();
                closed(String.valueOf(wrong.getMessage()));
            }
        }

        private void take(ByteBuffer frame) throws IOException {
            CopyMessage message;
            try {
                message = CopyMessage.SET.decode(frame);
            } catch (DecodeException wrong) {
                throw new IOException(wrong.getMessage(), wrong);
            }
            if (!asked && message instanceof CopyMessage.Ask ask) {
                asked = true;
                ask(this, ask);
            } else if (!asked && message instanceof CopyMessage.Resume resume) {
                asked = true;
                resume(this, resume);
            } else if (transfer != null && message instanceof CopyMessage.Written(long number)) {
                transfer.written(number);
            } else if (transfer != null && message instanceof CopyMessage.Complete) {
                transfer.end(true, "it is complete");
            } else if (transfer != null || message instanceof CopyMessage.Ask) {
                throw new IOException("a message that is not expected");
            }
        }

        void send(CopyMessage message) {
            stream.send(Frames.of(message.bytes(CopyMessage.VERSION)));
        }

        /** The other end closes the connection when it has read why. */
        void refuse(String why, boolean lasting) {
            LOG.info("node {} gives {} no copy: {}", self, stream.remote(), why);
            send(new CopyMessage.Refused(why.length() > CopyMessage.TEXT_BYTES_MAX / 3
                    ? why.substring(0, CopyMessage.TEXT_BYTES_MAX / 3)
                    : why, lasting));
        }

        void silent() {
            if (transfer == null && visits.contains(this)) {
                leave();
            }
        }

        /** Says that this node lives, for as long as the other end does. */
        void live() {
            if (transfer == null) {
                return;
            }
            if (machine.clock().nanoTime() - heardNanos > DEAD_NANOS) {
                stream.close();
                closed("nothing has come for long");
                return;
            }
            stream.send(Frames.alive());
            loop.schedule(ALIVE_NANOS, this::live);
        }

        void leave() {
            visits.remove(this);
            stream.close();
        }

        @Override
        public void closed(String why) {
            visits.remove(this);
            if (transfer != null) {
                transfer.left(this, why);
            }
        }
    }

    // ------------------------------------------------------------------------------------------ a copy

    /** One copy, from being asked for to its end. */
    private final class Transfer {
        private final int receiver;
        private final long number;
        private final long begunNanos = machine.clock().nanoTime();
        private @Nullable Visit visit;
        private CopySource.@Nullable Copy copy;
        private @Nullable PieceReader reader;
        /** Read and not sent. */
        private final Deque<CopyMessage> ready = new ArrayDeque<>();
        /** Sent and not known to be written down. */
        private final Deque<CopyMessage> unwritten = new ArrayDeque<>();
        private int unwrittenBytes;
        private boolean reads;
        private boolean endSent;
        private boolean over;
        private long sentBytes;
        private long allowedNanos = begunNanos;
        private Loop.@Nullable Timer allowed;

        Transfer(int receiver, long number, Visit visit) {
            this.receiver = receiver;
            this.number = number;
            this.visit = visit;
            visit.transfer = this;
            visit.live();
        }

        void begin(long directory) {
            loop.schedule(PREPARE_NANOS, () -> {
                if (copy == null) {
                    end(false, "it could not be begun in time");
                }
            });
            source.begin(receiver, directory, new Completion<>() {
                @Override
                public void succeeded(CopySource.Copy begun) {
                    loop.execute(() -> begun(begun));
                }

                @Override
                public void failed(EngineFailure failure) {
                    loop.execute(() -> {
                        if (visit != null && !over) {
                            visit.refuse(failure.message(), !failure.transientFailure());
                        }
                        end(false, failure.message());
                    });
                }
            });
        }

        private void begun(CopySource.Copy begun) {
            if (over) {
                begun.end(false);
                return;
            }
            copy = begun;
            reader = new PieceReader(begun);
            if (visit != null) {
                visit.send(new CopyMessage.Granted(number));
            }
            read();
        }

        /** Reads ahead, in the background. */
        private void read() {
            PieceReader from = reader;
            if (reads || over || from == null || from.isOver() || !ready.isEmpty()) {
                return;
            }
            reads = true;
            machine.background("tutti-copy-" + self, () -> {
                try {
                    List<CopyMessage> next = from.next(BATCH_BYTES);
                    loop.execute(() -> {
                        reads = false;
                        if (over) {
                            close(from);
                        } else {
                            ready.addAll(next);
                            pump();
                        }
                    });
                } catch (IOException | RuntimeException broken) {
                    loop.execute(() -> {
                        reads = false;
                        LOG.warn("node {} cannot go on with the copy for node {}", self, receiver, broken);
                        end(false, String.valueOf(broken.getMessage()));
                    });
                }
            });
        }

        /** Sends what may be sent now. */
        private void pump() {
            Visit to = visit;
            long now = machine.clock().nanoTime();
            while (to != null && !over && !ready.isEmpty() && unwrittenBytes < CopyMessage.AHEAD_BYTES_MAX
                    && now >= allowedNanos) {
                CopyMessage next = ready.remove();
                send(to, next);
                unwritten.add(next);
                if (next instanceof CopyMessage.Piece piece) {
                    unwrittenBytes += piece.weight();
                    sentBytes += piece.length();
                    // What was not used in time is not made up for.
                    allowedNanos = Math.max(allowedNanos, now - TimeUnit.SECONDS.toNanos(1) / 10)
                            + Math.round(piece.length() * 1e9 / bytesPerSecond.getAsLong());
                }
            }
            if (!over && to != null && !ready.isEmpty() && now < allowedNanos && allowed == null) {
                allowed = loop.schedule(allowedNanos - now, () -> {
                    allowed = null;
                    pump();
                });
            }
            read();
        }

        private void send(Visit to, CopyMessage message) {
            endSent |= message instanceof CopyMessage.End;
            to.send(message);
        }

        void written(long upTo) {
            drop(upTo);
            pump();
        }

        private void drop(long upTo) {
            while (unwritten.peek() instanceof CopyMessage.Piece piece && piece.number() <= upTo) {
                unwritten.remove();
                unwrittenBytes -= piece.weight();
            }
        }

        /** The connection is gone. */
        void left(Visit by, String why) {
            if (over || visit != by) {
                return;
            }
            LOG.info("node {}: the connection on which node {} gets a copy is gone: {}", self, receiver, why);
            visit = null;
            if (copy == null) {
                end(false, why);
                return;
            }
            long sent = sentBytes;
            loop.schedule(RESUME_NANOS, () -> {
                if (visit == null && sent == sentBytes) {
                    end(endSent, "its receiver did not come back");
                }
            });
        }

        /** The receiver is back, and has received so many pieces; false if that cannot be. */
        boolean resume(Visit by, long received) {
            if (over || copy == null) {
                return false;
            }
            Visit before = visit;
            visit = by;
            by.transfer = this;
            by.live();
            if (before != null) {
                before.transfer = null;
                before.leave();
            }
            LOG.info("node {} goes on with the copy for node {}, of which that has {} pieces", self, receiver,
                    received);
            by.send(new CopyMessage.Granted(number));
            drop(received);
            unwritten.forEach(each -> send(by, each));
            pump();
            return true;
        }

        void end(boolean complete, String why) {
            if (over) {
                return;
            }
            over = true;
            LOG.info("node {}: the copy for node {} is over after {} bytes in {} ms: {}", self, receiver, sentBytes,
                    TimeUnit.NANOSECONDS.toMillis(machine.clock().nanoTime() - begunNanos), why);
            if (current == this) {
                current = null;
            }
            if (allowed != null) {
                allowed.cancel();
            }
            ready.clear();
            unwritten.clear();
            PieceReader open = reader;
            if (open != null && !reads) {
                close(open);
            }
            if (copy != null) {
                copy.end(complete);
            }
            Visit last = visit;
            visit = null;
            if (last != null) {
                last.transfer = null;
                if (complete || copy != null) {
                    last.leave();
                } else {
                    // The other end has something to read, and leaves; if it does not live, nobody else would see to it.
                    loop.schedule(SILENT_NANOS, last::silent);
                }
            }
        }

        private void close(PieceReader open) {
            try {
                open.close();
            } catch (IOException broken) {
                LOG.debug("a file of the copy for node {} is not closed", receiver, broken);
            }
        }
    }
}
