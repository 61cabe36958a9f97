package tutti.sim.disk;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.BiConsumer;
import org.jspecify.annotations.Nullable;
import tutti.sim.kernel.Kernel;
import tutti.sim.kernel.Label;
import tutti.sim.kernel.Nanos;
import tutti.sim.kernel.RandomStream;

/**
 * The disk of one host: a tree of folders and files, and a bounded number of requests that are served at a time, first come,
 * first served. The disk goes on while its host is paused; what it has not done when the host crashes is never done.
 *
 * <p>
 * There are two ways to use it. Code on the seam of {@code tutti.runtime} asks {@link #root}, and learns of each request at once
 * when it will have ended. Code made of events uses {@link #file} and its like, where what a name stands for is safe
 * at once, and is told when a request has ended.
 */
public final class Disk {
    /** How often a place is drawn at which something else than zero is written. */
    private static final int FLIP_TRIES = 20;

    private final Kernel kernel;
    private final String host;
    private final BiConsumer<Label, Runnable> enter;
    private final DiskConfig config;
    private final RandomStream random;
    private final Label label;
    private final List<Faulty> faults = new ArrayList<>();
    private final long[] freeAt;
    private Folder root = new Folder(this);
    private int requests;
    private long epoch;
    private double slowness = 1;
    private long slowed;
    private long served;
    private long operations;
    private long lost;
    private long torn;
    private long reordered;
    /** Of the crash that is under way, in the order in which files and folders are looked at. */
    private final List<Remains> remains = new ArrayList<>();
    private @Nullable Kill kill;
    private @Nullable KillBehind killBehind;

    private record Kill(long operation, Runnable action) {}

    /** Operations of the seam that programs seldom do. */
    public enum Rare {
        /** A file becomes shorter. */
        TRUNCATE,
        /** A file gets another name. */
        MOVE,
        /** A file loses its name. */
        DELETE,
        /** A file is made. */
        MAKE,
        /** Names become safe. */
        SYNC
    }

    private record KillBehind(Rare rare, long operation, Runnable action) {}

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
        this.freeAt = new long[config.parallelism()];
    }

    /** The folder that everything is in. */
    public Folder root() {
        return root;
    }

    /** A file, made if there is none of that name. */
    public DiskFile file(String name) {
        DiskFile known = root.file(name);
        if (known == null) {
            known = root.createFile(now(), name);
            root.settleAll();
        }
        return known;
    }

    /** Names of all files, sorted. */
    public Set<String> names() {
        return new TreeSet<>(root.fileNames());
    }

    /** Deletes a file; without effect if there is none. */
    public void delete(String name) {
        root.delete(now(), name);
        root.settleAll();
    }

    /**
     * Gives a file another name, atomically, in place of the one that has that name if there is one. What is not synced in
     * it stays so.
     */
    public void rename(String from, String to) {
        if (!root.exists(from)) {
            throw new IllegalArgumentException("host " + host + " has no file '" + from + "' to rename");
        }
        root.move(now(), from, to);
        root.settleAll();
    }

    /**
     * Uses the disk as a database does that reads or writes pages: takes a request's time and changes nothing.
     *
     * @param bytes of the request
     * @param done an event of the host
     */
    public void access(long bytes, Runnable done) {
        request(bytes, done);
    }

    /** Sets how much longer requests take that are made from now on: 1 is as configured. */
    public void setSlowness(double factor) {
        if (!(factor > 0)) {
            throw new IllegalArgumentException("a disk cannot be " + factor + " times as slow");
        }
        slowness = factor;
    }

    /** Requests that were made while it was slow. */
    public long slowed() {
        return slowed;
    }

    /** Requests that wait or are being served, of those that are told when they have ended. */
    public int requests() {
        return requests;
    }

    /** Requests served so far, of those that are told when they have ended. */
    public long served() {
        return served;
    }

    /** Makes a request, returns when it will have ended, and then does something as an event of the host. */
    long request(long bytes, Runnable done) {
        if (requests == config.requestsMax()) {
            throw new IllegalStateException("the disk of host " + host + " has " + config.requestsMax()
                    + " requests already, which is its bound");
        }
        requests++;
        long end = request(now(), bytes);
        long ofEpoch = epoch;
        kernel.schedule(end - now(), label, () -> {
            if (ofEpoch == epoch) {
                requests--;
                served++;
                enter.accept(label, done);
            }
        });
        return end;
    }

    /**
     * Makes a request.
     *
     * @param atNanos when, now or later
     * @param bytes that it reads or writes
     * @return when it will have ended, true time
     */
    public long request(long atNanos, long bytes) {
        int first = 0;
        for (int i = 1; i < freeAt.length; i++) {
            first = freeAt[i] < freeAt[first] ? i : first;
        }
        slowed += slowness > 1 ? 1 : 0;
        long nanos = (slowness == 1 ? config.latency() : config.latency().times(slowness)).sample(random)
                + (long) (slowness * (double) Nanos.SECOND * (double) bytes / (double) config.bytesPerSecond());
        freeAt[first] = Math.max(atNanos, freeAt[first]) + nanos;
        return freeAt[first];
    }

    int sectorBytes() {
        return config.sectorBytes();
    }

    long now() {
        return kernel.now();
    }

    /** The host crashed. Called by it. */
    public void crash(Unsynced unsynced, RandomStream chance) {
        epoch++;
        requests = 0;
        kill = null;
        Arrays.fill(freeAt, 0);
        kernel.trace(label, root.crash(unsynced, chance));
        countReordered();
    }

    /**
     * What a crash has left of something that was not safe.
     *
     * @param at when it was done
     * @param some whether anything of it is left
     * @param all whether all of it is
     * @param behindGap whether something is missing that the same file or folder was told before
     */
    private record Remains(long at, boolean some, boolean all, boolean behindGap) {}

    /** A crash decides about something that was not safe. */
    void left(long at, boolean some, boolean all, boolean behindGap) {
        remains.add(new Remains(at, some, all, behindGap));
        lost += some ? 0 : 1;
        torn += some && !all ? 1 : 0;
    }

    /** Of different files, what was done at one instant has no order. */
    private void countReordered() {
        remains.sort(Comparator.comparingLong(Remains::at));
        long firstGap = remains.stream().filter(one -> !one.all).mapToLong(Remains::at).findFirst()
                .orElse(Long.MAX_VALUE);
        reordered += remains.stream().filter(one -> one.some && (one.behindGap || one.at > firstGap)).count();
        remains.clear();
    }

    /**
     * What crashes have made of writes, changes of size and changes of names that were not safe.
     *
     * @param lost of which nothing arrived
     * @param torn of which a part arrived
     * @param reordered that arrived, at least in part, though something of an earlier one, of whatever file, did not
     */
    public record Unsafe(long lost, long torn, long reordered) {}

    /** What crashes have done so far. */
    public Unsafe unsafe() {
        return new Unsafe(lost, torn, reordered);
    }

    // Faults.

    private static final class Faulty {
        private final DiskFault fault;
        private final RandomStream random;
        private long affected;

        Faulty(DiskFault fault, RandomStream random) {
            this.fault = fault;
            this.random = random;
        }
    }

    /** Something that goes wrong. */
    public final class Impaired {
        private final Faulty faulty;

        private Impaired(Faulty faulty) {
            this.faulty = faulty;
        }

        /** How often it has. */
        public long affected() {
            return faulty.affected;
        }

        /** Ends it; idempotent. */
        public void lift() {
            faults.remove(faulty);
        }
    }

    /**
     * Makes something go wrong until it is lifted. Several may be in force; each decides for itself.
     *
     * @param chance where it is random; give each its own
     */
    public Impaired impair(DiskFault fault, RandomStream chance) {
        Faulty faulty = new Faulty(fault, chance);
        faults.add(faulty);
        return new Impaired(faulty);
    }

    boolean hasFaults() {
        return !faults.isEmpty();
    }

    /** Whether something goes wrong this time; if so, the random numbers for what it does. */
    @Nullable
    RandomStream happens(DiskFault.Effect effect) {
        for (Faulty faulty : faults) {
            if (faulty.fault.effect() == effect && faulty.random.chance(faulty.fault.rate())) {
                faulty.affected++;
                return faulty.random;
            }
        }
        return null;
    }

    /** How many of so many bytes there is room for, on a disk that may be full. */
    int room(int wanted) {
        RandomStream full = happens(DiskFault.Effect.FULL);
        return full == null || wanted == 0 ? wanted : full.nextInt(wanted);
    }

    /** How many of so many bytes a write has done when it is killed. */
    public int part(int length) {
        return random.nextInt(length + 1);
    }

    /** Whether there is room for another name. */
    public boolean hasRoom() {
        return happens(DiskFault.Effect.FULL) == null;
    }

    /** Whether a sync of names fails. */
    public boolean failsSync() {
        return happens(DiskFault.Effect.FAIL_FORCE) != null;
    }

    /** Whether a sync of names does nothing and says nothing. */
    public boolean skipsSync() {
        return happens(DiskFault.Effect.LIE) != null;
    }

    private List<DiskFile> filled() {
        List<DiskFile> filled = new ArrayList<>();
        root.forEachFile(file -> {
            if (file.size() > 0) {
                filled.add(file);
            }
        });
        return filled;
    }

    /** A write goes where it was not meant to go. */
    void misdirect(byte[] bytes, RandomStream chance) {
        DiskFile victim = chance.pick(filled());
        victim.overwrite(chance.nextInt((victim.size() - 1) / sectorBytes() + 1), bytes);
    }

    /** Changes bits of one file, most of them where something is written; returns how many, none if there is nothing. */
    public int flipBits(int count, RandomStream chance) {
        List<DiskFile> filled = filled();
        if (filled.isEmpty()) {
            return 0;
        }
        DiskFile victim = chance.pick(filled);
        for (int i = 0; i < count; i++) {
            int at = chance.nextInt(victim.size());
            for (int tries = 1; tries < FLIP_TRIES && victim.read(at, 1)[0] == 0; tries++) {
                at = chance.nextInt(victim.size());
            }
            victim.flip(at, chance.nextInt(Byte.SIZE));
        }
        return count;
    }

    /** Makes sectors unreadable until they are written anew; returns how many, none if there is nothing. */
    public int damageSectors(int count, RandomStream chance) {
        List<DiskFile> filled = filled();
        if (filled.isEmpty()) {
            return 0;
        }
        for (int i = 0; i < count; i++) {
            DiskFile victim = chance.pick(filled);
            victim.damage(chance.nextInt((victim.size() - 1) / sectorBytes() + 1));
        }
        return count;
    }

    /** What a disk holds, kept aside. */
    public record Image(Folder root) {}

    /** Copies all that is read now. */
    public Image image() {
        return new Image(root.copy());
    }

    /** Puts a copy in place of all that it holds whose name begins so; its host must be down. */
    public void restore(Image image, String prefix) {
        root.replace(prefix, image.root.copy());
    }

    /** Loses all that it holds whose name begins so, and returns how much that was; its host must be down. */
    public long wipe(String prefix) {
        return root.replace(prefix, new Folder(this));
    }

    /**
     * Has the process killed at an operation of the seam, in place of the operation, unless the host crashes before.
     *
     * @param operation the how-many-th from now, at least 1
     * @param action what kills it; called once
     */
    public void killAt(long operation, Runnable action) {
        kill = new Kill(operations + operation, action);
    }

    /**
     * Has the process killed at the next rare operation of a sort, or behind it, in place of the operation. It may be of a later
     * life of the process.
     *
     * @param operation the how-many-th from the rare one on, which is the first; at least 1
     * @param action what kills it; called once
     */
    public void killBehind(Rare rare, long operation, Runnable action) {
        killBehind = new KillBehind(rare, operation, action);
    }

    /** Lets the process live. */
    public void spare() {
        kill = null;
        killBehind = null;
    }

    /** An operation of the seam begins; returns what kills the process in place of it, or null. */
    public @Nullable Runnable operation(@Nullable Rare rare) {
        operations++;
        KillBehind armed = killBehind;
        if (armed != null && armed.rare == rare) {
            killBehind = null;
            kill = new Kill(operations + armed.operation - 1, armed.action);
        }
        Kill due = kill;
        if (due == null || operations < due.operation) {
            return null;
        }
        kill = null;
        return due.action;
    }
}
