package tutti.sim.fault;

import java.util.List;
import tutti.core.text.NearestWord;

/** The kinds of faults there are, each with the word for it and the words of its parameters, as plans have them. */
public enum FaultKind {
    /** Datagrams are lost at random. */
    LOSS(Promise.RECOVERS, "loss", "from", "to", "rate"),
    /** Datagrams are lost in bursts. */
    BURSTY_LOSS(Promise.RECOVERS, "bursty-loss", "from", "to", "lost", "received"),
    /** Datagrams arrive twice. */
    DUPLICATION(Promise.RECOVERS, "duplication", "from", "to", "rate", "after"),
    /** Datagrams arrive later. */
    DELAY(Promise.RECOVERS, "delay", "from", "to", "by"),
    /** Datagrams overtake each other. */
    REORDERING(Promise.RECOVERS, "reordering", "from", "to", "rate", "by"),
    /** Nothing arrives, in one direction or in both. */
    PARTITION(Promise.RECOVERS, "partition", "from", "to", "direction"),
    /** Nothing arrives until it is over, and then everything. */
    CLOGGING(Promise.RECOVERS, "clogging", "from", "to"),
    /** The links of some hosts are clogged one by one, and unclogged one by one, both in random order. */
    SWIZZLED_CLOGGING(Promise.RECOVERS, "swizzled-clogging", "hosts"),
    /** A clock is slow or fast. */
    CLOCK_DRIFT(Promise.RECOVERS, "clock-drift", "host", "rate"),
    /** A wall clock jumps, and back when it is over. */
    CLOCK_JUMP(Promise.RECOVERS, "clock-jump", "host", "jump", "time"),
    /** Processes are scheduled late. */
    SCHEDULING_LATENCY(Promise.RECOVERS, "scheduling-latency", "host", "by"),
    /** A host stands still. */
    PAUSE(Promise.RECOVERS, "pause", "host"),
    /** A host crashes, and boots when it is over. */
    CRASH(Promise.RECOVERS, "crash", "host", "unsynced"),
    /** A host crashes in place of one of the next operations of its program's files, and boots when it is over. */
    KILL(Promise.RECOVERS, "kill", "host", "operation", "unsynced"),
    /** All hosts crash at once, and boot when it is over. */
    POWER_LOSS(Promise.RECOVERS, "power-loss", "unsynced"),
    /** A disk is slow. */
    SLOW_DISK(Promise.RECOVERS, "slow-disk", "host", "factor"),
    /** A disk is full. */
    FULL_DISK(Promise.STOPS, "full-disk", "host"),
    /** Forces and syncs of a disk fail. */
    FAILING_DISK(Promise.STOPS, "failing-disk", "host", "rate"),
    /** A host crashes, sectors of its disk become unreadable, and it boots when it is over. */
    BAD_SECTORS(Promise.REFUSES, "bad-sectors", "host", "count"),
    /** A host crashes, bits of its disk flip, and it boots when it is over. */
    FLIPPED_BITS(Promise.REFUSES, "flipped-bits", "host", "count"),
    /** A host crashes, one of its directories is gone, and it boots when it is over. */
    LOST_DIRECTORY(Promise.REFUSES, "lost-directory", "host", "directory"),
    /** When it is over a host crashes, has one of its directories as it was when it began, and boots. */
    OLD_DIRECTORY(Promise.REFUSES, "old-directory", "host", "directory"),
    /** The engine's server dies, and comes back at once from an older checkpoint. */
    ENGINE_OLD_CHECKPOINT(Promise.REFUSES, "engine-old-checkpoint", "host"),
    /** Forced writes do not reach the medium; when it is over the host crashes and boots. */
    LOST_WRITES(Promise.NONE, "lost-writes", "host", "rate"),
    /** Forced writes go to another place; when it is over the host crashes and boots. */
    MISDIRECTED_WRITES(Promise.NONE, "misdirected-writes", "host", "rate"),
    /** Forces say that they are done and do nothing; when it is over the host crashes and boots. */
    LYING_DISK(Promise.NONE, "lying-disk", "host", "rate"),
    /** A host crashes, its disk is empty, and it boots when it is over. */
    LOST_DISK(Promise.NONE, "lost-disk", "host"),
    /** When it is over a host crashes, has the files that it had when it began, and boots. */
    OLD_COPY(Promise.NONE, "old-copy", "host"),
    /** The engine aborts transactions. */
    ENGINE_ABORTS(Promise.RECOVERS, "engine-aborts", "host", "rate"),
    /** The engine takes its time to commit. */
    SLOW_COMMITS(Promise.RECOVERS, "slow-commits", "host", "by"),
    /** The engine does nothing. */
    ENGINE_HANG(Promise.RECOVERS, "engine-hang", "host"),
    /** The engine's server dies, and refuses connections until it is over. */
    ENGINE_DOWN(Promise.RECOVERS, "engine-down", "host"),
    /** The engine cannot make the effects of some transactions that all others can, each time that it tries. */
    ENGINE_REFUSES(Promise.RECOVERS, "engine-refuses", "host", "rate"),
    /** Some changes of a host's transactions only its own engine can make. */
    OWN_ROWS(Promise.REFUSES, "own-rows", "host", "rate"),
    /**
     * A host crashes in place of the next rare operation of its program's files of a sort, or of one soon behind it, and boots
     * when it is over.
     */
    KILL_BEHIND(Promise.RECOVERS, "kill-behind", "host", "rare", "operation", "unsynced"),
    /** A host crashes, and never boots again. */
    GONE(Promise.REFUSES, "gone", "host"),
    /** The clients of a host cannot reach it any more once it commits for them; most ask other nodes what became of that. */
    LOST_SIGHT(Promise.RECOVERS, "lost-sight", "host");

    /** What a system that keeps its data on a majority of disks promises under a kind of fault. */
    public enum Promise {
        /** It recovers by itself when it is over, however many hosts had it. */
        RECOVERS,
        /** Hosts that have it may stop themselves; started anew when it is over they recover, however many they are. */
        STOPS,
        /**
         * Hosts that had it may refuse to go on until they are replaced, since they can see the damage; the others go on, as
         * long as all that ever had it are a minority.
         */
        REFUSES,
        /** Nothing: safe data is gone, and the host cannot see it. One such host is beyond the bound. */
        NONE
    }

    private final String word;
    /** Made by {@code List.of}, hence immutable. */
    @SuppressWarnings("ImmutableEnumChecker")
    private final List<String> parameters;
    private final Promise promise;

    FaultKind(Promise promise, String word, String... parameters) {
        this.promise = promise;
        this.word = word;
        this.parameters = List.of(parameters);
    }

    /** What is promised under it. */
    public Promise promise() {
        return promise;
    }

    /** The word for it. */
    public String word() {
        return word;
    }

    /** The words of its parameters, in the order in which they are written; all are needed. */
    public List<String> parameters() {
        return parameters;
    }

    /** All words. */
    static List<String> words() {
        return List.of(values()).stream().map(FaultKind::word).toList();
    }

    /**
     * The kind of a word.
     *
     * @throws IllegalArgumentException if there is none; it names the nearest
     */
    static FaultKind of(String word) {
        for (FaultKind kind : values()) {
            if (kind.word.equals(word)) {
                return kind;
            }
        }
        throw unknown("fault", word, words());
    }

    /** To be thrown about a word that is none of the valid ones. */
    static IllegalArgumentException unknown(String what, String written, List<String> valid) {
        return new IllegalArgumentException("there is no " + what + " '" + written + "'; did you mean '"
                + NearestWord.of(written, valid) + "'? Valid: " + String.join(", ", valid));
    }
}
