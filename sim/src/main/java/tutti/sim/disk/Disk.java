package tutti.sim.disk;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.BiConsumer;
import tutti.sim.kernel.Kernel;
import tutti.sim.kernel.Label;
import tutti.sim.kernel.Nanos;
import tutti.sim.kernel.RandomStream;

/**
 * The disk of one host: files by name, and a queue of requests of which a bounded number is served at a time. That a file
 * exists, is renamed or is deleted is durable at once; its bytes are so when they are synced. The disk goes on while its
 * host is paused; requests that it has not served when the host crashes are never served.
 */
public final class Disk {
    private final Kernel kernel;
    private final String host;
    private final BiConsumer<Label, Runnable> enter;
    private final DiskConfig config;
    private final RandomStream random;
    private final Label label;
    private final TreeMap<String, DiskFile> files = new TreeMap<>();
    private final Deque<Request> waiting = new ArrayDeque<>();
    private int serving;
    private long epoch;
    private double slowness = 1;
    private long served;

    private record Request(long bytes, Runnable effect, Runnable done) {}

    /**
     * Of a host, empty.
     *
     * @param host its name
     * @param enter has something done as an event of the host: not while it is paused, never once it has crashed
     */
    public Disk(Kernel kernel, String host, BiConsumer<Label, Runnable> enter, DiskConfig config) {
        this.kernel = kernel;
        this.host = host;
        this.enter = enter;
        this.config = config;
        this.random = kernel.random("disk " + host);
        this.label = Label.of("disk", host);
    }

    /** A file, made if there is none of that name. */
    public DiskFile file(String name) {
        return files.computeIfAbsent(name, absent -> new DiskFile(this, absent));
    }

    /** Whether there is a file. */
    public boolean exists(String name) {
        return files.containsKey(name);
    }

    /** Names of all files, sorted. */
    public Set<String> names() {
        return new TreeSet<>(files.keySet());
    }

    /** Deletes a file; without effect if there is none. */
    public void delete(String name) {
        files.remove(name);
    }

    /**
     * Gives a file another name, atomically, in place of the one that has that name if there is one. What is not synced in
     * it stays so.
     */
    public void rename(String from, String to) {
        DiskFile file = files.remove(from);
        if (file == null) {
            throw new IllegalArgumentException("host " + host + " has no file '" + from + "' to rename");
        }
        file.rename(to);
        files.put(to, file);
    }

    /**
     * Uses the disk as a database does that reads or writes pages: takes a request's time and changes nothing.
     *
     * @param bytes of the request
     * @param done an event of the host
     */
    public void access(long bytes, Runnable done) {
        request(bytes, () -> {}, done);
    }

    /** Sets how much longer requests take that begin from now on: 1 is as configured. */
    public void setSlowness(double factor) {
        if (!(factor > 0)) {
            throw new IllegalArgumentException("a disk cannot be " + factor + " times as slow");
        }
        slowness = factor;
    }

    /** Requests that wait or are being served. */
    public int requests() {
        return waiting.size() + serving;
    }

    /** Requests served so far. */
    public long served() {
        return served;
    }

    /** Has a request served: first the effect on the disk, then, as an event of the host, what follows. */
    void request(long bytes, Runnable effect, Runnable done) {
        if (requests() == config.requestsMax()) {
            throw new IllegalStateException("the disk of host " + host + " has " + config.requestsMax()
                    + " requests already, which is its bound");
        }
        waiting.add(new Request(bytes, effect, done));
        serve();
    }

    private void serve() {
        while (serving < config.parallelism() && !waiting.isEmpty()) {
            Request request = waiting.remove();
            serving++;
            long nanos = config.latency().times(slowness).sample(random)
                    + (long) (slowness * (double) Nanos.SECOND * (double) request.bytes
                            / (double) config.bytesPerSecond());
            long ofEpoch = epoch;
            kernel.schedule(nanos, label, () -> served(ofEpoch, request));
        }
    }

    private void served(long ofEpoch, Request request) {
        if (ofEpoch != epoch) {
            return;
        }
        serving--;
        served++;
        request.effect.run();
        enter.accept(label, request.done);
        serve();
    }

    int sectorBytes() {
        return config.sectorBytes();
    }

    /** The host crashed. Called by it. */
    public void crash(Unsynced unsynced, RandomStream chance) {
        epoch++;
        serving = 0;
        waiting.clear();
        for (DiskFile file : files.values()) {
            kernel.trace(label, file.crash(unsynced, chance));
        }
    }
}
