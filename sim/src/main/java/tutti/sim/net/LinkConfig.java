package tutti.sim.net;

import tutti.sim.kernel.Distribution;
import tutti.sim.kernel.Nanos;

/**
 * What a link, or a host's way into its segment, is like.
 *
 * @param latency from the last bit sent to the last bit received, jitter included; datagrams do not overtake each other by
 *            it
 * @param bitsPerSecond at least 1
 * @param mtuBytes largest fragment, its headers included; larger than the headers
 * @param headerBytes that each fragment adds
 * @param queueBytes that may wait to be sent; what comes then is dropped. A host attached by it also keeps so many bytes
 *            that have arrived and were not yet received
 */
public record LinkConfig(Distribution latency, long bitsPerSecond, int mtuBytes, int headerBytes, long queueBytes) {
    /** A switched gigabit network: 40 to 60 microseconds, MTU 1500, Ethernet, IP and UDP headers, 4 MB. */
    public static final LinkConfig LAN = new LinkConfig(
            new Distribution.Uniform(40 * Nanos.MICRO, 60 * Nanos.MICRO), 1_000_000_000, 1500, 66, 4_000_000);

    /** A wide-area link: 100 Mbit/s, 25 to 27 ms. */
    public static final LinkConfig WAN = new LinkConfig(
            new Distribution.Uniform(25 * Nanos.MILLI, 27 * Nanos.MILLI), 100_000_000, 1500, 66, 4_000_000);

    public LinkConfig {
        if (bitsPerSecond < 1 || headerBytes < 0 || mtuBytes <= headerBytes || queueBytes < 1) {
            throw new IllegalArgumentException("a link needs bandwidth, a queue, and an MTU above its headers: "
                    + bitsPerSecond + " bit/s, " + queueBytes + " bytes, MTU " + mtuBytes + ", headers " + headerBytes);
        }
    }

    /** The same with another latency. */
    public LinkConfig withLatency(Distribution other) {
        return new LinkConfig(other, bitsPerSecond, mtuBytes, headerBytes, queueBytes);
    }

    /** The same with another bandwidth. */
    public LinkConfig withBitsPerSecond(long other) {
        return new LinkConfig(latency, other, mtuBytes, headerBytes, queueBytes);
    }

    /** Fragments that so many bytes make; even nothing makes one. */
    public int fragments(int bytes) {
        int room = mtuBytes - headerBytes;
        return Math.max(1, (bytes + room - 1) / room);
    }

    /** Bytes on the wire, headers included. */
    long wireBytes(int bytes) {
        return bytes + (long) fragments(bytes) * headerBytes;
    }

    /** Time that so many bytes on the wire take. */
    long wireNanos(long wireBytes) {
        return (long) ((double) wireBytes * Byte.SIZE * (double) Nanos.SECOND / (double) bitsPerSecond);
    }
}
