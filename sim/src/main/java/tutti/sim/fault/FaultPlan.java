package tutti.sim.fault;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import tutti.sim.kernel.Nanos;
import tutti.sim.kernel.RandomStream;

/**
 * All that goes wrong in one run: made from a seed and a profile, or read from text. Its text form has one line for each
 * thing and reads back to an equal plan; lines that are empty or begin with {@code #} say nothing.
 *
 * <pre>
 * fault-plan 1
 * seed 42
 * hosts n1,n2,n3
 * safety 10s
 * f1 at 1.2s for 300ms loss from n1 to n2,n3 rate 0.05
 * f2 at 4s for 1s crash host n2 unsynced torn
 * </pre>
 *
 * @param seed of what is random in the faults
 * @param hosts that faults can be about, at least one
 * @param spares hosts without a node in the beginning, that join the cluster or replace others, and that faults can be about, too; none
 *            where members stay the same. A line of the text only if there are any
 * @param safetyNanos how long things go wrong; then everything is healed, and the liveness phase begins
 * @param faults in the order of their beginning, then of their number
 */
public record FaultPlan(long seed, List<String> hosts, List<String> spares, long safetyNanos, List<Fault> faults) {
    private static final String FORMAT = "fault-plan";
    private static final String SPARES = "spares";
    private static final List<String> HEAD = List.of(FORMAT, "seed", "hosts", "safety");
    private static final String VERSION = "1";
    private static final int FAULTS_MAX = 10_000;

    public FaultPlan {
        hosts = List.copyOf(hosts);
        spares = List.copyOf(spares);
        List<Fault> sorted = new ArrayList<>(faults);
        sorted.sort(Comparator.comparingLong(Fault::atNanos).thenComparingInt(Fault::number));
        faults = List.copyOf(sorted);
        Set<Integer> numbers = new HashSet<>();
        for (Fault fault : faults) {
            if (!numbers.add(fault.number())) {
                throw new IllegalArgumentException("fault f" + fault.number() + " is there twice");
            }
        }
        for (String host : all(hosts, spares)) {
            if (!host.matches("[A-Za-z][A-Za-z0-9_.-]*")) {
                throw new IllegalArgumentException("'" + host + "' cannot be the name of a host in a plan");
            }
        }
        if (hosts.isEmpty() || safetyNanos < 1 || faults.size() > FAULTS_MAX) {
            throw new IllegalArgumentException("a plan has hosts, a safety phase and at most " + FAULTS_MAX
                    + " faults, not " + hosts + ", " + Nanos.text(safetyNanos) + ", " + faults.size());
        }
    }

    /** A plan without spare hosts. */
    public FaultPlan(long seed, List<String> hosts, long safetyNanos, List<Fault> faults) {
        this(seed, hosts, List.of(), safetyNanos, faults);
    }

    private static List<String> all(List<String> hosts, List<String> spares) {
        List<String> all = new ArrayList<>(hosts);
        all.addAll(spares);
        return all;
    }

    /** A plan in which nothing goes wrong. */
    public static FaultPlan none(List<String> hosts, long safetyNanos) {
        return new FaultPlan(0, hosts, safetyNanos, List.of());
    }

    /** The plan of a seed, in which the members stay the same. */
    public static FaultPlan random(long seed, FaultProfile profile, List<String> hosts, long safetyNanos) {
        return random(seed, profile, hosts, List.of(), safetyNanos);
    }

    /** The plan of a seed; without spare hosts, one in which the members stay the same. */
    public static FaultPlan random(long seed, FaultProfile profile, List<String> hosts, List<String> spares,
            long safetyNanos) {
        return new FaultPlan(seed, hosts, spares, safetyNanos,
                new FaultDice(new RandomStream(seed).fork("fault plan"), profile, hosts, spares, safetyNanos).faults());
    }

    /** The same with other faults. */
    public FaultPlan withFaults(List<Fault> others) {
        return new FaultPlan(seed, hosts, spares, safetyNanos, others);
    }

    /** All hosts, first those that have a node from the beginning on. */
    public List<String> allHosts() {
        return all(hosts, spares);
    }

    /** Whether members come and go. */
    public boolean changesMembers() {
        return faults.stream().anyMatch(fault -> fault.action() instanceof Action.OfMembers);
    }

    /**
     * Whether it goes beyond what a system that keeps its data on a majority of disks promises to survive: a majority of
     * hosts with damage that they can see, or one with damage that it cannot.
     */
    public boolean isBeyondPromise() {
        return faults.stream().anyMatch(fault -> fault.action().kind().promise() == FaultKind.Promise.NONE)
                || damaged(faults).size() > (hosts.size() - 1) / 2;
    }

    /** Whether what a node has acknowledged may be undone in the end: some host's data may be gone or differ from all others'. */
    public boolean mayUndo() {
        return !damaged(faults).isEmpty();
    }

    /** Whether it has a fault of a kind. */
    public boolean has(FaultKind kind) {
        return faults.stream().anyMatch(fault -> fault.action().kind() == kind);
    }

    /** Hosts whose safe data is damaged at some time. */
    static Set<String> damaged(List<Fault> faults) {
        Set<String> damaged = new TreeSet<>();
        for (Fault fault : faults) {
            FaultKind.Promise promise = fault.action().kind().promise();
            if (promise == FaultKind.Promise.REFUSES || promise == FaultKind.Promise.NONE) {
                // The first parameter of these kinds is the host.
                damaged.add(fault.action().values().getFirst());
            }
        }
        return damaged;
    }

    /** The same without what takes down more hosts, or the processes on them, all times together, than so many. */
    public FaultPlan withHostsDown(int most) {
        List<Fault> kept = new ArrayList<>();
        Set<String> down = new TreeSet<>();
        for (Fault fault : faults) {
            Set<String> more = new TreeSet<>(down);
            more.addAll(down(fault));
            if (more.equals(down) || more.size() <= most) {
                down = more;
                kept.add(fault);
            }
        }
        return withFaults(kept);
    }

    private Set<String> down(Fault fault) {
        return switch (fault.action().kind()) {
            case POWER_LOSS -> new TreeSet<>(hosts);
            case CRASH, KILL, FULL_DISK, FAILING_DISK, BAD_SECTORS, FLIPPED_BITS, LOST_DISK, LOST_WRITES,
                    MISDIRECTED_WRITES, LYING_DISK, OLD_COPY, LOST_DIRECTORY, OLD_DIRECTORY, ENGINE_DOWN,
                    ENGINE_OLD_CHECKPOINT, KILL_BEHIND, GONE ->
                // The first parameter of these kinds is the host.
                Set.of(fault.action().values().getFirst());
            default -> Set.of();
        };
    }

    /** Random numbers of one of its faults. */
    RandomStream random(Fault fault) {
        return new RandomStream(seed).fork("fault " + fault.number());
    }

    /**
     * Reads what {@link #toString} writes.
     *
     * @throws IllegalArgumentException if it cannot be read; it says in which line what is wrong, and what was probably
     *             meant
     */
    public static FaultPlan parse(String text) {
        Map<String, String> head = new LinkedHashMap<>();
        List<Fault> faults = new ArrayList<>();
        List<String> hosts = List.of();
        List<String> spares = List.of();
        List<String> lines = text.lines().toList();
        for (int i = 0; i < lines.size(); i++) {
            String line = lines.get(i).strip();
            if (line.isEmpty() || line.startsWith("#")) {
                continue;
            }
            try {
                if (hosts.size() > 0 && spares.isEmpty() && line.startsWith(SPARES + " ")) {
                    spares = Arrays.asList(line.substring(SPARES.length()).strip().split(",", -1));
                } else if (head.size() < HEAD.size()) {
                    headLine(line, HEAD.get(head.size()), head);
                    hosts = Arrays.asList(head.getOrDefault("hosts", "").split(",", -1));
                } else {
                    Fault fault = FaultReader.fault(line, all(hosts, spares));
                    faults.add(fault);
                    withHead(head, hosts, spares, faults);
                }
            } catch (IllegalArgumentException e) {
                throw new IllegalArgumentException("line " + (i + 1) + ": " + e.getMessage(), e);
            }
        }
        if (head.size() < HEAD.size()) {
            throw new IllegalArgumentException("line " + (lines.size() + 1) + ": the plan ends before its line '"
                    + HEAD.get(head.size()) + " ...'");
        }
        return withHead(head, hosts, spares, faults);
    }

    private static void headLine(String line, String expected, Map<String, String> head) {
        String[] words = line.split("\\s+", 2);
        if (!words[0].equals(expected) || words.length < 2) {
            throw FaultKind.unknown("line here that begins with", words[0], List.of(expected));
        }
        switch (expected) {
            case FORMAT -> {
                if (!words[1].equals(VERSION)) {
                    throw new IllegalArgumentException("this is version " + words[1] + " of the format, only " + VERSION
                            + " can be read");
                }
            }
            case "seed" -> {
                if (!words[1].matches("-?[0-9]{1,19}")) {
                    throw new IllegalArgumentException("'" + words[1] + "' is no seed: write a whole number");
                }
                Long.parseLong(words[1]);
            }
            case "safety" -> Nanos.parse(words[1]);
            default -> {
                // Hosts are looked at when the plan is made.
            }
        }
        head.put(expected, words[1]);
    }

    private static FaultPlan withHead(Map<String, String> head, List<String> hosts, List<String> spares,
            List<Fault> faults) {
        return new FaultPlan(Long.parseLong(head.getOrDefault("seed", "0")), hosts, spares,
                Nanos.parse(head.getOrDefault("safety", "0s")), faults);
    }

    @Override
    public String toString() {
        StringBuilder text = new StringBuilder();
        text.append(FORMAT).append(' ').append(VERSION).append('\n');
        text.append("seed ").append(seed).append('\n');
        text.append("hosts ").append(String.join(",", hosts)).append('\n');
        if (!spares.isEmpty()) {
            text.append(SPARES).append(' ').append(String.join(",", spares)).append('\n');
        }
        text.append("safety ").append(Nanos.text(safetyNanos)).append('\n');
        faults.forEach(fault -> text.append(fault).append('\n'));
        return text.toString();
    }
}
