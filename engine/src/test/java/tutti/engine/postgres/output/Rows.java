package tutti.engine.postgres.output;

import java.nio.charset.StandardCharsets;
import java.sql.ResultSet;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import tutti.core.txn.WriteSet;
import tutti.engine.postgres.LocalSession;
import tutti.engine.postgres.TestServer;
import tutti.engine.postgres.capture.Changes;
import tutti.pgwire.BackendConnection;

/** Rows as texts. */
final class Rows {
    private Rows() {}

    /** Rows that a write set inserts. */
    static List<String> inserted(WriteSet writes) {
        List<String> rows = new ArrayList<>();
        for (Changes.Change change : Changes.read(writes.changes())) {
            if (change instanceof Changes.Change.Insert(var _, byte[] row)) {
                rows.add(new String(row, StandardCharsets.UTF_8));
            }
        }
        return rows;
    }

    static List<String> of(LocalSession session, String query) throws Exception {
        List<String> all = new ArrayList<>();
        try (Statement statement = session.connection().createStatement();
                ResultSet rows = statement.executeQuery(query)) {
            while (rows.next()) {
                all.add(rows.getString(1));
            }
        }
        session.connection().rollback();
        return all;
    }

    static List<String> of(String database, String query) throws Exception {
        BackendConnection connection = TestServer.connect(database);
        List<String> all = TestServer.execute(connection, query).rows().stream()
                .map(row -> String.valueOf(row.getFirst()))
                .toList();
        connection.close();
        return all;
    }
}
