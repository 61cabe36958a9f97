package tutti.check.history;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import tutti.check.isolation.Isolation;
import tutti.check.isolation.IsolationCheck;
import tutti.check.isolation.PrefixSnapshotCheck;
import tutti.check.listappend.ListAppendCheck;
import tutti.check.model.ReplicatedModel;
import tutti.check.model.ReplicatedModel.Fault;
import tutti.check.model.ReplicatedModel.Run;
import tutti.check.model.ReplicatedModel.Snapshots;
import tutti.check.replica.CommitSequenceCheck;
import tutti.core.txn.TransactionId;
import tutti.workload.bank.BankHistory;
import tutti.workload.bank.BankOperation;
import tutti.workload.bank.BankTransaction;
import tutti.workload.client.ClientOutcome;

/** What is written is read back, and judged alike. */
class HistoryFilesTest {
    @TempDir
    private Path directory;

    private static String withoutTime(String text) {
        return text.replaceAll("\\d+\\.\\d+ s\\)", "s)");
    }

    @Test
    void aHistoryComesBackAsItWas() throws Exception {
        Path file = directory.resolve("history.jsonl");
        Path again = directory.resolve("again.jsonl");
        for (Fault fault : Fault.values()) {
            History history = ReplicatedModel.run(5, 200, 7, false, Snapshots.OLD, fault).history();
            HistoryFile.write(history, file);
            History read = HistoryFile.read(file);
            HistoryFile.write(read, again);
            assertEquals(history.transactions(), read.transactions());
            assertEquals(history.keys(), read.keys());
            assertEquals(history.replicas().size(), read.replicas().size());
            // Transactions and keys are numbered as they are first met, so a second file may have another order of lines.
            assertEquals(Files.readAllLines(file).stream().sorted().toList(),
                    Files.readAllLines(again).stream().sorted().toList());
            for (Isolation isolation : Isolation.values()) {
                assertEquals(IsolationCheck.check(history, isolation).violations().size(),
                        IsolationCheck.check(read, isolation).violations().size());
            }
            assertEquals(PrefixSnapshotCheck.check(history, PrefixSnapshotCheck.Freshness.PLAIN).violations().size(),
                    PrefixSnapshotCheck.check(read, PrefixSnapshotCheck.Freshness.PLAIN).violations().size());
            assertEquals(withoutTime(CommitSequenceCheck.check(history).text()),
                    withoutTime(CommitSequenceCheck.check(read).text()));
        }
    }

    @Test
    void namesOfKeysComeBack() throws Exception {
        Path file = directory.resolve("history.jsonl");
        HistoryRecorder recorder = new HistoryRecorder();
        recorder.read(new TransactionId(255, -1), -7, null);
        recorder.name(-7, "stock (1, 2)");
        HistoryFile.write(recorder.history(), file);
        History read = HistoryFile.read(file);
        assertEquals("stock (1, 2)", read.keyName(0));
        assertEquals(new TransactionId(255, -1), read.id(0));
        assertEquals(History.NO_INSTANT, read.begunNanos(0));
    }

    @Test
    void whatClientsSawComesBackAsItWas() throws Exception {
        Path file = directory.resolve("clients.jsonl");
        Run run = ReplicatedModel.run(5, 300, 7, false, Snapshots.OLD, Fault.NO_FIRST_COMMITTER_WINS);
        ClientHistoryFile.write(run.clients(), file);
        var read = ClientHistoryFile.readListAppend(file);
        assertEquals(run.clients().size(), read.size());
        for (int i = 0; i < read.size(); i++) {
            assertEquals(run.clients().transaction(i), read.transaction(i));
        }
        assertEquals(withoutTime(ListAppendCheck.check(run.clients(), Isolation.SERIALIZABLE).text()),
                withoutTime(ListAppendCheck.check(read, Isolation.SERIALIZABLE).text()));
    }

    @Test
    void aBankComesBackAsItWas() throws Exception {
        Path file = directory.resolve("bank.jsonl");
        BankHistory history = new BankHistory(2, 50, 10);
        assertTrue(history.add(new BankTransaction(1, 2, 3, 4, ClientOutcome.UNKNOWN,
                new BankOperation.Transfer(1L << 60, 0, 1, 7))));
        assertTrue(history.add(new BankTransaction(1, 2, 3, 4, ClientOutcome.OK,
                new BankOperation.Balances(new long[]{43, 57}))));
        assertTrue(history.add(
                new BankTransaction(1, 2, 3, 4, ClientOutcome.OK, new BankOperation.Refused(1, 99))));
        ClientHistoryFile.write(history, file);
        BankHistory read = ClientHistoryFile.readBank(file);
        assertEquals(history.transactions(), read.transactions());
        assertEquals(2, read.accounts());
        assertEquals(50, read.initialBalance());
    }

    @Test
    void anotherFileIsRefused() throws Exception {
        Path file = directory.resolve("other.jsonl");
        Files.writeString(file, "{\"format\":\"tutti-bank\",\"version\":1,\"accounts\":2,\"initialBalance\":5}\n{]\n");
        assertTrue(assertThrows(IOException.class, () -> HistoryFile.read(file)).getMessage().contains("format"));
        assertTrue(
                assertThrows(IOException.class, () -> ClientHistoryFile.readBank(file)).getMessage()
                        .contains("line 2"));
        Files.writeString(file, "");
        assertTrue(assertThrows(IOException.class, () -> HistoryFile.read(file)).getMessage().contains("empty"));
    }
}
