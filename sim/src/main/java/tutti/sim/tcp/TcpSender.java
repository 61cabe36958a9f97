package tutti.sim.tcp;

import org.jspecify.annotations.Nullable;
import tutti.sim.host.Host;
import tutti.sim.kernel.Clock;
import tutti.sim.kernel.Label;
import tutti.sim.kernel.Nanos;

/**
 * The sending half of a connection: a window of bytes on their way, sent again until they are acknowledged, no faster than
 * receiver and network take them. Retransmission timeout as RFC 6298 has it (at least 200 ms, as on Linux), congestion
 * control as RFC 5681 and RFC 6582 (NewReno) have it, Nagle's algorithm, and probes of a window that is closed.
 *
 * <p>
 * <b>Why everything arrives, if the network lets anything through.</b> {@code una} is the first position that was not
 * acknowledged. Bytes from there on stay in {@code buffer}. While some of them are on their way the retransmission timer
 * runs; when it fires, sending begins again at {@code una}. While none are, but some wait behind a closed window, the probe
 * timer runs, and the answer to a probe tells the window. So as long as {@code una} is not at the end a timer runs, and
 * each time it fires something is sent that moves {@code una} or opens the window when it and its answer arrive.
 */
final class TcpSender {
    private static final long RTO_FIRST = Nanos.SECOND;
    private static final long RTO_MIN = 200 * Nanos.MILLI;
    private static final long RTO_MAX = 120 * Nanos.SECOND;
    private static final int RETRIES_MAX = 15;
    private static final int WINDOW_FIRST = 10;
    private static final int DUPLICATES = 3;

    private final Wire wire;
    private final Host host;
    private final Label label;
    private final int mss;
    private final ByteQueue buffer = new ByteQueue();
    private long una;
    private long next;
    /** The end of what was sent once at least. */
    private long sentTo;
    private boolean finWanted;
    private boolean finAcknowledged;
    private boolean noDelay;

    private long peerWindow;
    private long windowSeq;
    private long windowAck;
    private long congestion;
    private long threshold = Long.MAX_VALUE;
    private int duplicates;
    private boolean recovering;
    private long recoverTo;

    private long smoothed = -1;
    private long variation;
    private long rto = RTO_FIRST;
    private long timedEnd = -1;
    private long timedAt;
    private int retries;
    private Clock.@Nullable Timer timer;

    /** Where segments go. */
    interface Wire {
        /** Sends data, and behind it the end of the stream if {@code fin}. */
        void send(long seq, byte[] data, boolean fin);

        /** Nothing was acknowledged for so long that the connection is given up. */
        void giveUp();
    }

    TcpSender(Wire wire, Host host, Label label, int mss, long first) {
        this.wire = wire;
        this.host = host;
        this.label = label;
        this.mss = mss;
        this.una = first;
        this.next = first;
        this.sentTo = first;
        this.congestion = (long) WINDOW_FIRST * mss;
    }

    /** The other side has told its window. */
    void open(long window, long seq) {
        peerWindow = window;
        windowSeq = seq;
        windowAck = una;
    }

    void setNoDelay(boolean on) {
        noDelay = on;
        if (on) {
            send();
        }
    }

    /** Bytes that were not acknowledged or not even sent. */
    int queued() {
        return buffer.size();
    }

    /** The position that the next new segment would have. */
    long next() {
        return next;
    }

    private long end() {
        return una + buffer.size();
    }

    /** Whether the end of the stream was sent once at least. */
    boolean hasSentFin() {
        return finAcknowledged || (finWanted && sentTo > end());
    }

    /** Whether all was acknowledged, the end of the stream too. */
    boolean isDone() {
        return finWanted && buffer.size() == 0 && finAcknowledged;
    }

    void add(byte[] bytes) {
        buffer.add(bytes);
        send();
    }

    /** Ends the stream behind what was added. */
    void finish() {
        finWanted = true;
        send();
    }

    /** Sends what may be sent. */
    void send() {
        while (true) {
            long inFlight = next - una;
            long room = Math.min(congestion, peerWindow) - inFlight;
            long waiting = end() - next;
            int length = (int) Math.max(0, Math.min(Math.min(mss, waiting), room));
            boolean fin = finWanted && !finAcknowledged && next + length == end() && next <= end();
            boolean small = length < mss && !fin;
            if (length == 0 && !fin) {
                break;
            }
            if (small && inFlight > 0 && (length < waiting || !noDelay)) {
                // A segment that is not full waits for room, or (Nagle) for what is on its way.
                break;
            }
            transmit(next, length, fin);
            next += length + (fin ? 1 : 0);
            sentTo = Math.max(sentTo, next);
            if (fin) {
                break;
            }
        }
        armTimer(false);
    }

    private void transmit(long seq, int length, boolean fin) {
        if (timedEnd < 0 && seq >= sentTo) {
            timedEnd = seq + length;
            timedAt = host.now();
        }
        wire.send(seq, buffer.copy((int) (seq - una), length), fin);
    }

    private void armTimer(boolean anew) {
        boolean needed = next > una || end() > next || (finWanted && !finAcknowledged);
        if (timer != null && (anew || !needed)) {
            timer.cancel();
            timer = null;
        }
        if (needed && timer == null) {
            timer = host.after(rto, label, this::timeOut);
        }
    }

    private void timeOut() {
        timer = null;
        if (++retries > RETRIES_MAX) {
            wire.giveUp();
            return;
        }
        rto = Math.min(2 * rto, RTO_MAX);
        timedEnd = -1;
        duplicates = 0;
        recovering = false;
        if (next > una) {
            threshold = Math.max((next - una) / 2, 2L * mss);
            congestion = mss;
            next = una;
        } else if (peerWindow < Math.min(mss, end() - next) || peerWindow == 0) {
            // Before the first byte of the window lies what was acknowledged: the receiver answers, and takes nothing.
            wire.send(una - 1, new byte[0], false);
        }
        send();
    }

    /**
     * An acknowledgment has come.
     *
     * @param empty whether the segment carried nothing else
     */
    void acknowledged(long ack, long window, long seq, boolean empty) {
        if (ack < una || ack > sentTo) {
            return;
        }
        boolean sameWindow = window == peerWindow;
        boolean wasClosed = peerWindow == 0;
        if (seq > windowSeq || (seq == windowSeq && ack >= windowAck)) {
            peerWindow = window;
            windowSeq = seq;
            windowAck = ack;
        }
        retries = 0;
        if (wasClosed && peerWindow > 0) {
            // The timeout has grown with the probes.
            rto = timeout();
            armTimer(true);
        }
        if (ack > una) {
            advance(ack);
        } else if (empty && sameWindow && next > una) {
            duplicate();
        }
        send();
    }

    private void advance(long ack) {
        long acked = ack - una;
        int bytes = (int) Math.min(buffer.size(), acked);
        buffer.drop(bytes);
        if (bytes < acked) {
            finAcknowledged = true;
        }
        una = ack;
        next = Math.max(next, una);
        duplicates = 0;
        if (timedEnd >= 0 && ack >= timedEnd) {
            measured(host.now() - timedAt);
        } else {
            rto = timeout();
        }
        if (recovering && ack < recoverTo) {
            // NewReno: the next hole.
            congestion = Math.max(mss, congestion - acked + mss);
            resendFirst();
        } else if (recovering) {
            recovering = false;
            congestion = threshold;
        } else if (congestion < threshold) {
            congestion += Math.min(acked, mss);
        } else {
            congestion += Math.max(1, (long) mss * mss / congestion);
        }
        armTimer(true);
    }

    private void duplicate() {
        duplicates++;
        if (recovering) {
            congestion += mss;
        } else if (duplicates == DUPLICATES) {
            threshold = Math.max((next - una) / 2, 2L * mss);
            congestion = threshold + (long) DUPLICATES * mss;
            recovering = true;
            recoverTo = sentTo;
            timedEnd = -1;
            resendFirst();
        }
    }

    private void resendFirst() {
        int length = Math.min(mss, buffer.size());
        boolean fin = finWanted && !finAcknowledged && length == buffer.size() && hasSentFin();
        if (length > 0 || fin) {
            wire.send(una, buffer.copy(0, length), fin);
        }
    }

    /** A round trip took so long. */
    void measured(long roundTrip) {
        timedEnd = -1;
        if (smoothed < 0) {
            smoothed = roundTrip;
            variation = roundTrip / 2;
        } else {
            variation = (3 * variation + Math.abs(smoothed - roundTrip)) / 4;
            smoothed = (7 * smoothed + roundTrip) / 8;
        }
        rto = timeout();
    }

    private long timeout() {
        return smoothed < 0 ? RTO_FIRST : Math.max(RTO_MIN, Math.min(RTO_MAX, smoothed + 4 * variation));
    }

    /** Nothing is sent any more. */
    void stop() {
        if (timer != null) {
            timer.cancel();
            timer = null;
        }
        buffer.clear();
    }
}
