package tutti.report;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.BufferedReader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import tutti.command.Failure;

class ProcessorQuotaTest {
    private static final Path GROUPS = Path.of("/sys/fs/cgroup");

    private static String groupOf(long process) throws Exception {
        return Files.readString(Path.of("/proc/" + process + "/cgroup"));
    }

    private static long groupsOfThisProcess() throws Exception {
        String ours = "tutti-" + ProcessHandle.current().pid() + "-";
        try (Stream<Path> unified = Files.list(GROUPS);
                Stream<Path> first = Files.exists(GROUPS.resolve("cpu"))
                        ? Files.list(GROUPS.resolve("cpu"))
                        : Stream.empty()) {
            return Stream.concat(unified, first).filter(path -> path.getFileName().toString().startsWith(ours)).count();
        }
    }

    @Test
    void aFamilyIsBoundedWithItsChildrenAndFreeAgainAfterwards() throws Exception {
        assumeTrue(Files.isWritable(GROUPS) && ProcessHandle.current().info().user().orElse("").equals("root"),
                "makes control groups");
        // The child tells that it is there, and both end with their input.
        Process parent = new ProcessBuilder("sh", "-c", "sh -c 'echo there; cat'; true").start();
        try (BufferedReader told = parent.inputReader()) {
            assertEquals("there", told.readLine());
            try (ProcessorQuota quota = new ProcessorQuota(0.25)) {
                quota.limit(List.of(List.of(parent.pid())));
                List<ProcessHandle> children = parent.descendants().toList();
                assertFalse(children.isEmpty());
                String group = "tutti-" + ProcessHandle.current().pid() + "-1";
                assertTrue(groupOf(parent.pid()).contains(group), groupOf(parent.pid()));
                for (ProcessHandle child : children) {
                    assertTrue(groupOf(child.pid()).contains(group), groupOf(child.pid()));
                }
                assertEquals(1, groupsOfThisProcess());
            }
            assertTrue(parent.isAlive());
            assertFalse(groupOf(parent.pid()).contains("tutti-"), groupOf(parent.pid()));
            assertEquals(0, groupsOfThisProcess());
        } finally {
            parent.destroy();
        }
    }

    @Test
    void aShareOfNothingIsRefused() {
        assertThrows(Failure.class, () -> new ProcessorQuota(0));
    }
}
