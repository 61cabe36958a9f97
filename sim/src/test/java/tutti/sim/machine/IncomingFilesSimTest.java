package tutti.sim.machine;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.List;
import org.junit.jupiter.api.Test;
import tutti.node.copy.CopyReceiver;
import tutti.node.copy.IncomingFiles;
import tutti.runtime.DamagedFileException;
import tutti.runtime.DataFile;
import tutti.runtime.Directory;
import tutti.runtime.DurableFiles;
import tutti.sim.disk.Unsynced;
import tutti.sim.kernel.Nanos;

/** What becomes of a copy that a node is getting when its disk does not keep it. */
class IncomingFilesSimTest {
    private static final long NUMBER = 4711;
    private static final List<String> PARTS = List.of("rows", "node", "order");
    private static final IncomingFiles.Adopter READS = (order, _) -> DurableFiles.read(order, "log");

    private final SimWorld world = new SimWorld(1, 1);
    private Directory data;
    private IncomingFiles files;

    IncomingFilesSimTest() throws IOException {
        open();
        files.want(NUMBER);
    }

    private void open() throws IOException {
        data = world.directory(0);
        files = new IncomingFiles(data, PARTS, "order");
    }

    private void receive() throws IOException {
        Directory into = files.emptied();
        for (String part : PARTS) {
            DurableFiles.write(into.directory(part), "log", new byte[2000]);
        }
        DurableFiles.write(into, CopyReceiver.COMPLETE, new byte[0]);
    }

    private void damage(Directory directory, String name) throws IOException {
        try (DataFile file = directory.open(name, Directory.Open.EXISTING)) {
            file.write(ByteBuffer.wrap(new byte[]{77}), 10);
            file.force(false);
        }
    }

    private Directory copied(String part) throws IOException {
        return data.directory("incoming").directory("files").directory(part);
    }

    @Test
    void oneThatIsDamagedIsRemovedAndAnotherOneTakesItsPlace() throws IOException {
        receive();
        damage(copied("order"), "log");
        IOException removed = assertThrows(IOException.class, () -> files.install(READS));
        assertFalse(removed instanceof DamagedFileException, "another one may help");
        assertTrue(removed.getMessage().contains("files/order/log"), removed.getMessage());
        assertFalse(files.isWhole());
        assertTrue(files.isWanted());
        assertEquals(NUMBER, files.number());
        receive();
        files.install(READS);
        assertFalse(files.isWanted());
        assertEquals(2000, DurableFiles.read(data.directory("order"), "log").remaining());
    }

    @Test
    void oneThatCannotBePutInPlaceNowIsKept() throws IOException {
        receive();
        assertThrows(IOException.class, () -> files.install((_, _) -> {
            throw new IOException("No space left on device");
        }));
        assertTrue(files.isWhole());
        files.install(READS);
        assertTrue(data.exists("order"));
    }

    /** With half of it, the node would begin with a part of what it had before. */
    @Test
    void whatACrashLeavesOfOneThatIsBeingRemovedIsNotWhole() throws IOException {
        int operations = 1;
        while (!isEndedBefore(operations, Unsynced.TORN)) {
            isEndedBefore(operations, Unsynced.LOST);
            operations++;
        }
        assertTrue(operations > 10, operations + " operations");
    }

    /** Whether nothing was killed, since there are not so many operations. */
    private static boolean isEndedBefore(int operation, Unsynced fate) throws IOException {
        IncomingFilesSimTest killed = new IncomingFilesSimTest();
        killed.receive();
        killed.damage(killed.copied("order"), "log");
        killed.world.host(0).disk().killAt(operation,
                () -> killed.world.host(0).crash(fate, killed.world.kernel.random("kill " + operation)));
        boolean[] ended = {false};
        killed.world.machine(0).background("install", () -> {
            assertThrows(IOException.class, () -> killed.files.install(READS));
            ended[0] = true;
        });
        killed.world.pass(Nanos.SECOND);
        if (ended[0]) {
            return true;
        }
        killed.world.host(0).boot();
        killed.open();
        assertTrue(killed.files.isWanted());
        if (killed.files.isWhole()) {
            for (String part : PARTS) {
                assertTrue(killed.copied(part).exists("log"), part + " after a kill at " + operation);
            }
        }
        return false;
    }

    @Test
    void anOperatorIsToldWhichNoteIsDamaged() throws IOException {
        damage(data.directory("incoming"), "wanted");
        assertThrows(DamagedFileException.class, () -> files.number());
        assertEquals(1, world.host(0).disk().damageSectors(1, world.kernel.random("damage")));
        DamagedFileException unreadable = assertThrows(DamagedFileException.class, () -> files.number());
        String said = unreadable.getMessage();
        assertTrue(said.contains("incoming/wanted") && said.contains("--copy-from"), said);
    }
}
