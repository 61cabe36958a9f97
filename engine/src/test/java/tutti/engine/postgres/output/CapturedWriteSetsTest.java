package tutti.engine.postgres.output;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.io.IOException;
import java.sql.SQLException;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;
import tutti.core.txn.KeySet;
import tutti.core.txn.WriteSet;
import tutti.engine.CapturedWriteSets;
import tutti.engine.WriteSetService;
import tutti.engine.WriteSetService.Reader;
import tutti.engine.postgres.LocalSession;

/** Write sets that were captured before the commit, as the contract wants them, and within their bound. */
class CapturedWriteSetsTest extends WriteSetServiceContract {
    private static final int BYTES_MAX = 1 << 20;

    @Override
    Told open(String database) throws Exception {
        AtomicLong position = new AtomicLong();
        CapturedWriteSets service = new CapturedWriteSets(BYTES_MAX, position::get);
        service.read(WriteSetService.NOW).close();
        LocalSession session = new LocalSession(database);
        return new Told() {

            @Override
            public WriteSet commit(String... statements) throws Exception {
                WriteSet writes = session.commit(statements);
                service.committed(position.incrementAndGet(), writes);
                return writes;
            }

            @Override
            public LocalSession session() {
                return session;
            }

            @Override
            public WriteSetService service() {
                return service;
            }

            @Override
            public void close() throws SQLException {
                session.close();
            }
        };
    }

    @Override
    void forget(Told told, Reader reader, long position) {
        ((CapturedWriteSets) told.service()).committed(position + 1, new WriteSet(KeySet.EMPTY, new byte[BYTES_MAX]));
    }

    @Test
    void aReaderThatIsTooSlowHearsOfIt() throws Exception {
        CapturedWriteSets service = new CapturedWriteSets(1000, () -> 0);
        Reader reader = service.read(WriteSetService.NOW);
        for (int i = 1; i <= 10; i++) {
            service.committed(i, new WriteSet(KeySet.EMPTY, new byte[100]));
        }
        assertThrows(IOException.class, () -> reader.next(PATIENCE));
        assertEquals(7, next(service.read(6)).position());
        service.committed(11, new WriteSet(KeySet.EMPTY, new byte[5000]));
        assertEquals(11, next(service.read(WriteSetService.ALL)).position());
    }

    /** Positions up to the visible one may be announced late. */
    @Test
    void nothingIsKeptBeforeSomebodyAsks() throws Exception {
        CapturedWriteSets service = new CapturedWriteSets(1000, () -> 4);
        service.committed(3, new WriteSet(KeySet.EMPTY, new byte[10]));
        assertThrows(IOException.class, () -> service.read(2));
        try (Reader reader = service.read(4)) {
            service.committed(4, new WriteSet(KeySet.EMPTY, new byte[10]));
            service.committed(5, new WriteSet(KeySet.EMPTY, new byte[10]));
            assertEquals(5, next(reader).position());
        }
    }
}
