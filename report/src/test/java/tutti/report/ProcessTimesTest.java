package tutti.report;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.BufferedReader;
import java.io.PrintWriter;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Test;
import tutti.command.Failure;

class ProcessTimesTest {
    /** A shell whose child and grandchild work for a while and end; then a child that is still there. */
    @Test
    void countsWhatDescendantsSpentWhetherTheyAreThereOrNot() throws Exception {
        String busy = "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done";
        Process shell = new ProcessBuilder("sh", "-c", "echo begun; read line; sh -c '" + busy + "'; echo ended; "
                + "sh -c '" + busy + "; echo still there; read line'; true").start();
        try (BufferedReader said = shell.inputReader(StandardCharsets.UTF_8);
                PrintWriter told = new PrintWriter(shell.outputWriter(StandardCharsets.UTF_8), true)) {
            said.readLine();
            ProcessTimes before = ProcessTimes.ofFamilies(List.of(shell.pid()));
            told.println("go");
            said.readLine();
            ProcessTimes ended = ProcessTimes.ofFamilies(List.of(shell.pid()));
            said.readLine();
            ProcessTimes there = ProcessTimes.ofFamilies(List.of(shell.pid()));
            told.println("end");
            shell.onExit().join();
            assertTrue(sum(ended, before) >= 20, "a child that has ended: " + sum(ended, before));
            assertTrue(sum(there, ended) >= 20, "a child that is there: " + sum(there, ended));
        }
        assertThrows(Failure.class, () -> ProcessTimes.ofFamilies(List.of(shell.pid())));
    }

    @Test
    void seesThisProcessAndTheMachine() throws Exception {
        long own = ProcessTimes.ownMillis();
        long machine = ProcessTimes.machineBusyMillis();
        long until = System.nanoTime() + 200_000_000;
        long spun = 0;
        while (System.nanoTime() < until) {
            spun++;
        }
        assertTrue(ProcessTimes.ownMillis() > own, spun + " turns");
        assertTrue(ProcessTimes.machineBusyMillis() > machine);
    }

    @Test
    void threadsAreToldApartByTheirNames() throws Exception {
        CountDownLatch seen = new CountDownLatch(1);
        CountDownLatch spun = new CountDownLatch(1);
        Thread busy = Thread.ofPlatform().name("told-apart-by-its-name").start(() -> {
            long until = ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime() + 100_000_000;
            while (ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime() < until) {
                Thread.onSpinWait();
            }
            spun.countDown();
            try {
                seen.await();
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        });
        spun.await();
        List<Long> self = List.of(ProcessHandle.current().pid());
        long millis = ProcessTimes.ofThreads(self, "told-apart-");
        assertTrue(millis >= 80 && millis <= 120, () -> millis + " ms of 100");
        assertEquals(0, ProcessTimes.ofThreads(self, "no thread"));
        seen.countDown();
        busy.join();
        assertThrows(Failure.class, () -> ProcessTimes.ofThreads(List.of(Long.MAX_VALUE), ""));
    }

    private static long sum(ProcessTimes later, ProcessTimes earlier) {
        return later.since(earlier).values().stream().mapToLong(Long::longValue).sum();
    }
}
