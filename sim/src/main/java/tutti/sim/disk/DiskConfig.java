package tutti.sim.disk;

import tutti.sim.kernel.Distribution;
import tutti.sim.kernel.Nanos;

/**
 * What a disk is like.
 *
 * @param latency of a request, without the bytes
 * @param bytesPerSecond at which bytes go to one request, at least 1
 * @param parallelism requests that are served at a time, at least 1
 * @param requestsMax requests that may wait or be served; one more is refused
 * @param sectorBytes what is written as a whole or not at all, at least 1
 */
public record DiskConfig(Distribution latency, long bytesPerSecond, int parallelism, int requestsMax, int sectorBytes) {
    /** 0.8 to 1.2 ms, 200 MB/s, 8 at a time (D5.1, table 2.5), 100,000 waiting, sectors of 512 bytes. */
    public static final DiskConfig DEFAULT = new DiskConfig(
            new Distribution.Uniform(800 * Nanos.MICRO, 1200 * Nanos.MICRO), 200_000_000, 8, 100_000, 512);

    public DiskConfig {
        if (bytesPerSecond < 1 || parallelism < 1 || requestsMax < 1 || sectorBytes < 1) {
            throw new IllegalArgumentException("a disk needs bandwidth, parallelism, room for requests and sectors: "
                    + bytesPerSecond + ", " + parallelism + ", " + requestsMax + ", " + sectorBytes);
        }
    }

    /** The same with another latency. */
    public DiskConfig withLatency(Distribution other) {
        return new DiskConfig(other, bytesPerSecond, parallelism, requestsMax, sectorBytes);
    }
}
