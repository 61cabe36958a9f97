package tutti.wire;

import static tutti.wire.FrontEndFixture.PATIENCE;

import java.net.InetSocketAddress;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import tutti.core.txn.AbortReason;
import tutti.pgwire.BackendConnection;
import tutti.pgwire.BackendSettings;

/** Tests of transactions that are run again, in front of a node that decides as it is told. */
abstract class OnRepeatingFrontEnd {
    static final AbortReason LOST = new AbortReason.LostCertification(0, 7);
    static final int TIMES = 3;

    static FrontEndFixture fixture;
    static ScriptedNode node;
    BackendConnection client;

    @BeforeAll
    static void start() throws Exception {
        fixture = new FrontEndFixture(FrontEndSettings
                .of(new InetSocketAddress(0), BackendSettings.of(new InetSocketAddress(0), "", "",
                        new BackendSettings.Credentials.Password("")))
                .withRepetitions(TIMES));
        node = fixture.node;
    }

    @AfterAll
    static void stop() throws Exception {
        fixture.close();
    }

    @AfterEach
    void closeClient() {
        client.close();
    }

    @BeforeEach
    void reset() throws Exception {
        fixture.reset();
        elsewhere("INSERT INTO account VALUES (1, 10), (2, 20)");
        client = fixture.client();
    }

    static void elsewhere(String sql) throws Exception {
        fixture.admin.execute("SET session_replication_role = replica; " + sql + "; RESET session_replication_role",
                PATIENCE);
    }
}
