package tutti.report;

import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import tutti.command.Failure;

/**
 * CPU time, user and system, that families of processes have taken so far, read from {@code /proc}: of the processes that
 * are there, and of children that have ended and were waited for. What is the difference of two readings was spent in
 * between. Linux only.
 *
 * @param millisByProgram by the program's name as the kernel knows it, such as {@code java} or {@code postgres}; a child that
 *            has ended counts as its parent's program
 */
public record ProcessTimes(Map<String, Long> millisByProgram) {
    /** The kernel tells user space in hundredths of a second, on every architecture. */
    private static final long MILLIS_PER_TICK = 10;
    /** A process may come or go while we look; then we look again. */
    private static final int LOOKS_MAX = 8;
    private static final Path PROC = Path.of("/proc");
    // Positions of fields after the name, which is in parentheses; proc_pid_stat(5).
    private static final int PARENT = 1;
    private static final int USER = 11;
    private static final int CHILDREN_SYSTEM = 14;
    private static final int FIELDS_MIN = 15;

    public ProcessTimes {
        millisByProgram = Map.copyOf(millisByProgram);
    }

    private record Stat(long pid, long parent, String program, long ticks, long ticksOfChildren) {}

    /**
     * Time of these processes and all their descendants.
     *
     * @throws Failure if one of the roots is not there
     */
    public static ProcessTimes ofFamilies(Collection<Long> roots) throws IOException {
        List<Stat> last = family(roots);
        for (int look = 1; look < LOOKS_MAX; look++) {
            List<Stat> again = family(roots);
            boolean same = pids(last).equals(pids(again));
            last = again;
            if (same) {
                break;
            }
        }
        Map<String, Long> millis = new TreeMap<>();
        for (Stat stat : last) {
            millis.merge(stat.program, (stat.ticks + stat.ticksOfChildren) * MILLIS_PER_TICK, Long::sum);
        }
        return new ProcessTimes(millis);
    }

    /**
     * This process and all its descendants, as they are now.
     *
     * @throws Failure if it is not there
     */
    static Set<Long> family(long root) throws IOException {
        return pids(family(List.of(root)));
    }

    /**
     * Time of those threads of some processes whose names begin with something, in milliseconds; names as the kernel knows them, of 15 bytes at
     * most.
     */
    public static long ofThreads(Collection<Long> processes, String name) throws IOException {
        long ticks = 0;
        for (long process : processes) {
            try (DirectoryStream<Path> threads = Files.newDirectoryStream(PROC.resolve(Long.toString(process))
                    .resolve("task"))) {
                for (Path thread : threads) {
                    ticks += read(thread).filter(stat -> stat.program.startsWith(name)).map(Stat::ticks).orElse(0L);
                }
            } catch (NoSuchFileException gone) {
                throw new Failure("process " + process + " is gone while it is being measured",
                        "its log may say why it ended", gone);
            }
        }
        return ticks * MILLIS_PER_TICK;
    }

    /** Time of this process alone, in milliseconds. */
    public static long ownMillis() throws IOException {
        return read(PROC.resolve("self")).map(stat -> stat.ticks * MILLIS_PER_TICK)
                .orElseThrow(() -> new Failure("there is no /proc/self", "CPU time can be measured on Linux only"));
    }

    /** Time that all processors of the machine were busy, for whomever, in milliseconds since it started. */
    public static long machineBusyMillis() throws IOException {
        String[] fields = Files.readAllLines(PROC.resolve("stat")).getFirst().split(" +", -1);
        // cpu user nice system idle iowait irq softirq steal: guests are contained in user.
        long busy = 0;
        for (int i : new int[]{1, 2, 3, 6, 7}) {
            busy += Long.parseLong(fields[i]);
        }
        return busy * MILLIS_PER_TICK;
    }

    /** What was spent between an earlier reading and this one, by program. */
    public Map<String, Long> since(ProcessTimes earlier) {
        Map<String, Long> spent = new TreeMap<>();
        millisByProgram.forEach((program, millis) -> spent.put(program,
                Math.max(0, millis - earlier.millisByProgram.getOrDefault(program, 0L))));
        return spent;
    }

    private static Set<Long> pids(List<Stat> family) {
        Set<Long> pids = new HashSet<>();
        family.forEach(stat -> pids.add(stat.pid));
        return pids;
    }

    private static List<Stat> family(Collection<Long> roots) throws IOException {
        Map<Long, Stat> all = new HashMap<>();
        Map<Long, List<Stat>> children = new HashMap<>();
        try (DirectoryStream<Path> entries = Files.newDirectoryStream(PROC, "[0-9]*")) {
            for (Path entry : entries) {
                read(entry).ifPresent(stat -> {
                    all.put(stat.pid, stat);
                    children.computeIfAbsent(stat.parent, _ -> new ArrayList<>()).add(stat);
                });
            }
        }
        List<Stat> family = new ArrayList<>();
        ArrayDeque<Stat> open = new ArrayDeque<>();
        for (long root : roots) {
            Stat stat = all.get(root);
            if (stat == null) {
                throw new Failure("process " + root + " is gone while it is being measured",
                        "its log may say why it ended");
            }
            open.add(stat);
        }
        while (!open.isEmpty()) {
            Stat stat = open.remove();
            family.add(stat);
            open.addAll(children.getOrDefault(stat.pid, List.of()));
        }
        return family;
    }

    private static Optional<Stat> read(Path process) throws IOException {
        String text;
        try {
            text = Files.readString(process.resolve("stat"));
        } catch (NoSuchFileException _) {
            return Optional.empty();
        } catch (IOException e) {
            // A process that ends between opening and reading: "No such process".
            if (Files.exists(process)) {
                throw e;
            }
            return Optional.empty();
        }
        int open = text.indexOf('(');
        int close = text.lastIndexOf(')');
        String[] fields = text.substring(close + 2).split(" ", -1);
        if (fields.length < FIELDS_MIN) {
            throw new IOException("cannot understand " + process + "/stat: " + text);
        }
        long ticks = 0;
        long ticksOfChildren = 0;
        for (int i = USER; i <= CHILDREN_SYSTEM; i++) {
            if (i < USER + 2) {
                ticks += Long.parseLong(fields[i]);
            } else {
                ticksOfChildren += Long.parseLong(fields[i]);
            }
        }
        return Optional.of(new Stat(Long.parseLong(text.substring(0, open).strip()), Long.parseLong(fields[PARENT]),
                text.substring(open + 1, close), ticks, ticksOfChildren));
    }
}
