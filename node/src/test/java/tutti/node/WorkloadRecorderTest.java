package tutti.node;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import tutti.core.recorded.RecordedNode;
import tutti.core.recorded.RecordedTransaction;
import tutti.core.txn.ConflictClasses;
import tutti.core.txn.KeyKind;
import tutti.core.txn.KeySet;
import tutti.core.txn.ReadSet;
import tutti.core.txn.WriteSet;
import tutti.runtime.real.PathDirectory;
import tutti.runtime.real.RealMachine;

class WorkloadRecorderTest {
    @TempDir
    private Path directory = Path.of("");

    private static RecordedNode read(WorkloadRecorder recorder) throws IOException {
        return RecordedNode.decode(ByteBuffer.wrap(Files.readAllBytes(Path.of(recorder.location()))));
    }

    private static void ask(WorkloadRecorder recorder, int key, int bytes) {
        recorder.asks(System.nanoTime(), false, System.nanoTime() - 1000, ConflictClasses.ALL,
                new WriteSet(new KeySet.Builder().add(key, KeyKind.UPDATE).build(), new byte[bytes]), ReadSet.EMPTY);
    }

    @Test
    void timesKeysAndSizesAreKeptAndNothingOfTheData() throws IOException {
        WorkloadRecorder recorder = new WorkloadRecorder(RealMachine.INSTANCE,
                PathDirectory.of(directory.resolve("workload")), 2, 1 << 20);
        ask(recorder, 77, 1000);
        recorder.read(System.nanoTime());
        recorder.close();
        ask(recorder, 78, 1);
        RecordedNode recorded = read(recorder);
        assertEquals(2, recorded.node());
        assertEquals(2, recorded.transactions().size());
        RecordedTransaction update = recorded.transactions().getFirst();
        assertEquals(77, update.writes().hash(0));
        assertEquals(1000, update.changedBytes());
        assertTrue(update.executionNanos() >= 1000, () -> update.executionNanos() + " ns");
        assertFalse(update.readOnly());
        assertTrue(recorded.transactions().get(1).readOnly());
        assertTrue(Files.size(Path.of(recorder.location())) < 1000);
    }

    @Test
    void whatComesWhenTheFileHasItsSizeIsLeftOut() throws IOException {
        WorkloadRecorder recorder = new WorkloadRecorder(RealMachine.INSTANCE, PathDirectory.of(directory), 0, 4096);
        for (int i = 0; i < 1000; i++) {
            ask(recorder, i, 10);
        }
        recorder.close();
        int kept = read(recorder).transactions().size();
        assertTrue(kept > 10 && kept < 100, () -> kept + " are kept");
        assertTrue(Files.size(Path.of(recorder.location())) <= 4096 + 20);
    }
}
