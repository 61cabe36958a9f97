package tutti.node;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import tutti.core.spi.Group;
import tutti.core.txn.TablePlacement;
import tutti.runtime.real.PathDirectory;

/** What a new node, which does not decide with the others yet, lets its own log forget. */
class LogKeepingTest {
    private static final Set<Integer> OTHERS = Set.of(0, 1, 2);
    private static final int NEW = 3;

    @TempDir
    private Path directory;
    private final TestMachine machine = new TestMachine();
    private final Node node = new Node();
    private LogKeeping keeping;

    @BeforeEach
    void begin() throws IOException {
        keeping = new LogKeeping(ReplicaNode.Settings.defaults(NEW, OTHERS, ReplicaTrio.chosen("si")),
                new ListEngine(machine), machine, machine.loop("test", broken -> {
                    throw new AssertionError(broken);
                }), new NodeFiles(PathDirectory.of(directory)), new Placements(TablePlacement.EVERYWHERE), node);
        keeping.recovered(10);
        keeping.members(OTHERS);
    }

    private void othersNeedItFrom(long position) {
        OTHERS.forEach(each -> keeping.toldRestart(each, position));
    }

    /** Its own newest snapshot may be of an earlier position than those of the others. */
    @Test
    void isNotWhatItWouldNeedItself() {
        othersNeedItFrom(50);
        assertEquals(List.of(), node.truncated);
    }

    @Test
    void isWhatTheOthersDoNotNeedOnceItIsExcluded() {
        node.excluded = Set.of(NEW);
        othersNeedItFrom(50);
        assertEquals(List.of(49L), node.truncated);
    }

    private static final class Node implements LogKeeping.Node {
        private final List<Long> truncated = new ArrayList<>();
        private Set<Integer> excluded = Set.of();

        @Override
        public void send(Control control) {
            throw new AssertionError("it tells nothing before it is ready");
        }

        @Override
        public boolean isReady() {
            return false;
        }

        @Override
        public Group.View view() {
            return new Group.View(Set.of(0, 1, 2, NEW), true, 0);
        }

        @Override
        public Set<Integer> excluded() {
            return excluded;
        }

        @Override
        public long logBytes() {
            return 0;
        }

        @Override
        public void truncate(long position) {
            truncated.add(position);
        }

        @Override
        public long engineHoldsAtMost() {
            return 0;
        }

        @Override
        public void fail(Throwable cause, boolean restartable) {
            throw new AssertionError(cause);
        }
    }
}
