package tutti.sim.fault;

import java.util.List;

/** The kinds of faults there are, each with the word for it and the words of its parameters, as plans have them. */
public enum FaultKind {
    /** Datagrams are lost at random. */
    LOSS("loss", "from", "to", "rate"),
    /** Datagrams are lost in bursts. */
    BURSTY_LOSS("bursty-loss", "from", "to", "lost", "received"),
    /** Datagrams arrive twice. */
    DUPLICATION("duplication", "from", "to", "rate", "after"),
    /** Datagrams arrive later. */
    DELAY("delay", "from", "to", "by"),
    /** Datagrams overtake each other. */
    REORDERING("reordering", "from", "to", "rate", "by"),
    /** Nothing arrives, in one direction or in both. */
    PARTITION("partition", "from", "to", "direction"),
    /** Nothing arrives until it is over, and then everything. */
    CLOGGING("clogging", "from", "to"),
    /** A clock is slow or fast. */
    CLOCK_DRIFT("clock-drift", "host", "rate"),
    /** Processes are scheduled late. */
    SCHEDULING_LATENCY("scheduling-latency", "host", "by"),
    /** A host stands still. */
    PAUSE("pause", "host"),
    /** A host crashes, and boots when it is over. */
    CRASH("crash", "host", "unsynced"),
    /** A disk is slow. */
    SLOW_DISK("slow-disk", "host", "factor"),
    /** The engine aborts transactions. */
    ENGINE_ABORTS("engine-aborts", "host", "rate"),
    /** The engine takes its time to commit. */
    SLOW_COMMITS("slow-commits", "host", "by");

    private final String word;
    /** Made by {@code List.of}, hence immutable. */
    @SuppressWarnings("ImmutableEnumChecker")
    private final List<String> parameters;

    FaultKind(String word, String... parameters) {
        this.word = word;
        this.parameters = List.of(parameters);
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
        throw Words.unknown("fault", word, words());
    }
}
