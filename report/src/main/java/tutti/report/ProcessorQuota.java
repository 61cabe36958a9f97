package tutti.report;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import tutti.command.Failure;

/**
 * Gives families of processes a bounded share of the processors each, as if each ran on a machine of its own: a control
 * group of Linux for each, of either version of that interface. A family that has used up its share of a period stands
 * still until the next period begins.
 *
 * <p>
 * One thread at a time. Linux only, and only with the right to make control groups, which root has.
 */
public final class ProcessorQuota implements AutoCloseable {
    /** The kernel's default, which services and containers have: with shorter ones the same work takes much more processor time (decision 234). */
    private static final long PERIOD_MICROS = 100_000;
    private static final Path ROOT = Path.of("/sys/fs/cgroup");
    private static final String PROCESSES = "cgroup.procs";

    private final double processors;
    private final Path parent;
    private final boolean unified;
    private final List<Path> groups = new ArrayList<>();
    private int made;

    /**
     * Looks for the kernel's interface.
     *
     * @param processors each family's share, such as 0.45 of one processor; 0.1 at least
     * @throws Failure if there is no such interface
     */
    public ProcessorQuota(double processors) {
        if (processors < 0.1) {
            throw Failure.usage("a quota of " + processors + " processors", "give 0.1 at least");
        }
        this.processors = processors;
        unified = Files.exists(ROOT.resolve("cgroup.controllers"));
        parent = unified ? ROOT : ROOT.resolve("cpu");
        if (!Files.isDirectory(parent)) {
            throw new Failure("processes cannot be given quotas: there is no " + parent,
                    "run it on Linux with control groups, or without quotas");
        }
    }

    /**
     * Bounds families that run.
     *
     * @param families each some processes, which with all that they have started and will start share one quota
     */
    public void limit(List<List<Long>> families) throws IOException {
        try {
            if (unified) {
                Files.writeString(parent.resolve("cgroup.subtree_control"), "+cpu");
            }
            for (List<Long> family : families) {
                Path group = Files.createDirectory(
                        parent.resolve("tutti-" + ProcessHandle.current().pid() + "-" + ++made));
                groups.add(group);
                long micros = Math.round(processors * PERIOD_MICROS);
                if (unified) {
                    Files.writeString(group.resolve("cpu.max"), micros + " " + PERIOD_MICROS);
                } else {
                    Files.writeString(group.resolve("cpu.cfs_period_us"), String.valueOf(PERIOD_MICROS));
                    Files.writeString(group.resolve("cpu.cfs_quota_us"), String.valueOf(micros));
                }
                for (long root : family) {
                    move(root, group);
                }
            }
        } catch (IOException e) {
            throw new Failure("processes cannot be given quotas: " + e, "run it as root, or without quotas", e);
        }
    }

    /** What a process starts while its family is moved is found by the next look, and what a moved one starts is there. */
    private static void move(long root, Path group) throws IOException {
        Set<Long> moved = new HashSet<>();
        boolean more = true;
        while (more) {
            more = false;
            for (long process : ProcessTimes.family(root)) {
                if (moved.add(process)) {
                    more = true;
                    put(process, group);
                }
            }
        }
    }

    private static void put(long process, Path group) throws IOException {
        try {
            Files.writeString(group.resolve(PROCESSES), String.valueOf(process));
        } catch (IOException e) {
            // One that has ended needs no group.
            if (ProcessHandle.of(process).isPresent()) {
                throw e;
            }
        }
    }

    /** Takes the quotas away; what still runs goes on without one. */
    @Override
    public void close() throws IOException {
        IOException failed = null;
        for (Path group : groups) {
            try {
                for (String left : Files.readAllLines(group.resolve(PROCESSES))) {
                    put(Long.parseLong(left), parent);
                }
                Files.delete(group);
            } catch (IOException e) {
                failed = e;
            }
        }
        groups.clear();
        if (failed != null) {
            throw failed;
        }
    }
}
