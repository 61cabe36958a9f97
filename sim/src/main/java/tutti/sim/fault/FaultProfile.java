package tutti.sim.fault;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * Which faults a random plan may have, and how many. Immutable.
 *
 * @param kinds that it may have, in the order of the enum
 * @param faultsMax how many at most; a plan has one to so many, none if there are no kinds
 * @param downMax how many hosts may be crashed at the same time, unless the power is lost everywhere; -1 stands for less than
 *            half of them
 * @param share which part of the safety phase they last on average: one so-many-th, at least 1
 */
public record FaultProfile(List<FaultKind> kinds, int faultsMax, int downMax, int share) {
    private static final int FAULTS = 8;
    /** That less than half of the hosts may be down. */
    private static final int MINORITY = -1;
    private static final String LONG = "long";
    private static final int SHARE = 8;
    private static final int LONG_SHARE = 2;
    private static final Set<FaultKind> RARE = Set.of(FaultKind.KILL_BEHIND, FaultKind.GONE,
            FaultKind.LOST_SIGHT);
    private static final String MEMBERS = "members";
    private static final Set<FaultKind> ROWS = Set.of(FaultKind.ENGINE_REFUSES, FaultKind.OWN_ROWS);
    /** Only by their own words. */
    private static final Set<FaultKind> ALONE = Set.of(FaultKind.ENGINE_FULL, FaultKind.PARAMETERS);

    public FaultProfile {
        kinds = List.copyOf(EnumSet.copyOf(kinds.isEmpty() ? EnumSet.noneOf(FaultKind.class) : kinds));
        if (faultsMax < 0 || downMax < MINORITY || share < 1) {
            throw new IllegalArgumentException(
                    "a profile with " + faultsMax + " faults, " + downMax + " hosts down, for"
                            + " a part of 1/" + share);
        }
    }

    /** The same with another number of faults. */
    public FaultProfile withFaultsMax(int number) {
        return new FaultProfile(kinds, number, downMax, share);
    }

    /** The same with another number of hosts that may be down. */
    public FaultProfile withDownMax(int number) {
        return new FaultProfile(kinds, faultsMax, number, share);
    }

    /** Whether members may come and go. */
    public boolean changesMembers() {
        return kinds.stream().anyMatch(FaultKind.OF_MEMBERS::contains);
    }

    /** The same without some kinds. */
    public FaultProfile without(Set<FaultKind> some) {
        return new FaultProfile(kinds.stream().filter(kind -> !some.contains(kind)).toList(), faultsMax, downMax,
                share);
    }

    int downMax(int hosts) {
        return downMax == MINORITY ? (hosts - 1) / 2 : downMax;
    }

    /** How many hosts may have damaged disks in a plan: a minority. */
    int damagedMax(int hosts) {
        return (hosts - 1) / 2;
    }

    /**
     * Reads a list of kinds and of names for several, separated by commas: {@code none}, {@code network}, {@code hosts},
     * {@code engine}, {@code all} for these three, which a system recovers from by itself; {@code disks} for those of disks
     * and directories that it need not recover from by itself, {@code beyond} for those that nothing is promised under, {@code rare}
     * for hosts that are killed at rare operations of files, are gone for good, or are lost sight of by their clients,
     * {@code rows} for effects that some node cannot make, {@code members} for changes of the members of the cluster, which are also
     * among {@code all}, {@code parameters} for changes of the protocol's parameters; or words of kinds, like {@code loss,crash}. With {@code long} among them they last four times as long on average: longer than any timeout.
     *
     * @throws IllegalArgumentException if a word is none of these; it names the nearest
     */
    public static FaultProfile parse(String text) {
        Map<String, Set<FaultKind>> valid = words();
        EnumSet<FaultKind> kinds = EnumSet.noneOf(FaultKind.class);
        List<String> words = Arrays.asList(text.strip().split("\\s*,\\s*"));
        for (String word : words) {
            Set<FaultKind> meant = valid.get(word);
            if (meant == null) {
                throw FaultKind.unknown("fault", word, new ArrayList<>(valid.keySet()));
            }
            kinds.addAll(meant);
        }
        return new FaultProfile(List.copyOf(kinds), FAULTS, MINORITY, words.contains(LONG) ? LONG_SHARE : SHARE);
    }

    private static Map<String, Set<FaultKind>> words() {
        Map<String, Set<FaultKind>> words = new LinkedHashMap<>();
        words.put("none", EnumSet.noneOf(FaultKind.class));
        words.put(LONG, EnumSet.noneOf(FaultKind.class));
        words.put("network", EnumSet.range(FaultKind.LOSS, FaultKind.SWIZZLED_CLOGGING));
        words.put("hosts", EnumSet.range(FaultKind.CLOCK_DRIFT, FaultKind.SLOW_DISK));
        words.put("engine", EnumSet.range(FaultKind.ENGINE_ABORTS, FaultKind.ENGINE_DOWN));
        words.put("all", promising(FaultKind.Promise.RECOVERS));
        EnumSet<FaultKind> disks = promising(FaultKind.Promise.STOPS);
        disks.addAll(promising(FaultKind.Promise.REFUSES));
        words.put("disks", disks);
        words.put("beyond", promising(FaultKind.Promise.NONE));
        // In none of the others: what a seed means there stays so.
        words.values().forEach(kinds -> {
            kinds.removeAll(RARE);
            kinds.removeAll(ROWS);
            kinds.removeAll(ALONE);
        });
        words.put("rare", EnumSet.copyOf(RARE));
        words.put("rows", EnumSet.copyOf(ROWS));
        words.put(MEMBERS, EnumSet.copyOf(FaultKind.OF_MEMBERS));
        for (FaultKind kind : FaultKind.values()) {
            words.put(kind.word(), EnumSet.of(kind));
        }
        return words;
    }

    private static EnumSet<FaultKind> promising(FaultKind.Promise promise) {
        EnumSet<FaultKind> kinds = EnumSet.allOf(FaultKind.class);
        kinds.removeIf(kind -> kind.promise() != promise);
        return kinds;
    }
}
