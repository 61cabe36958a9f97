package tutti.wire.sql;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.netty.channel.EventLoopGroup;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import tutti.engine.postgres.PostgresEngine;
import tutti.engine.postgres.capture.CaptureInstaller;
import tutti.pgwire.BackendConnection;
import tutti.pgwire.TestServer;
import tutti.pgwire.Transport;

/** What of a real database's may come out differently at another node, whatever it is declared as. */
@Timeout(90)
class VaryingStatementsTest {
    private static final Duration PATIENCE = Duration.ofSeconds(20);

    @Test
    void whatIsCalledUnseenIsLookedInto() throws Exception {
        EventLoopGroup loops = Transport.eventLoops(1, "varying-test");
        try (TestServer server = TestServer.start()) {
            BackendConnection admin = BackendConnection.connect(loops.next(), server.settings()).get(20,
                    TimeUnit.SECONDS);
            admin.execute(
                    """
                            CREATE TABLE plain (n float);
                            CREATE SEQUENCE numbers;
                            CREATE FUNCTION twice(float) RETURNS float LANGUAGE sql IMMUTABLE AS 'SELECT 2 * $1';
                            CREATE FUNCTION draws() RETURNS float LANGUAGE plpgsql AS 'BEGIN RETURN random(); END';
                            CREATE FUNCTION fixed() RETURNS float LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN draws(); END';
                            CREATE FUNCTION adds(float, float) RETURNS float LANGUAGE plpgsql AS 'BEGIN RETURN random(); END';
                            CREATE FUNCTION tutti_nextval(regclass) RETURNS bigint LANGUAGE sql STABLE AS 'SELECT 1';
                            CREATE FUNCTION draws_one() RETURNS float LANGUAGE sql STABLE AS $$ SELECT public.tutti_nextval('numbers') $$;
                            CREATE FUNCTION peeks() RETURNS float LANGUAGE sql STABLE AS $$ SELECT is_called::int FROM public."numbers" $$;
                            CREATE AGGREGATE chosen(float) (SFUNC = adds, STYPE = float);
                            CREATE TABLE noisy (n float);
                            CREATE FUNCTION fires() RETURNS trigger LANGUAGE plpgsql IMMUTABLE AS 'BEGIN PERFORM draws(); RETURN NEW; END';
                            CREATE TRIGGER firing BEFORE INSERT ON noisy FOR EACH ROW EXECUTE FUNCTION fires()""",
                    PATIENCE);
            try (PostgresEngine engine = PostgresEngine.open(loops, server.settings(),
                    new CaptureInstaller.Settings(0, 16, "cluster secret", 1 << 20))) {
                Map.of("insert into plain values (1)", "null", "insert into plain values (twice(1))", "null",
                        "insert into plain values (fixed())", "random()",
                        "insert into plain select chosen(n) from plain", "random()",
                        "insert into noisy values (1)", "random()",
                        "insert into plain select oid from pg_class", "pg_class",
                        "insert into plain select last_value from numbers", "sequence numbers",
                        "insert into plain values (peeks())", "sequence numbers",
                        "insert into plain values (draws_one())", "null")
                        .forEach((sql, varies) -> assertEquals(varies, varying(engine, sql), sql));
                admin.execute("""
                        SET event_triggers = off;
                        CREATE FUNCTION meets(float, float) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS
                            'BEGIN RETURN draws() > $1; END';
                        CREATE OPERATOR ~~~ (LEFTARG = float, RIGHTARG = float, FUNCTION = meets)""", PATIENCE);
                engine.refreshCatalog().get(20, TimeUnit.SECONDS);
                assertEquals("random()", varying(engine, "delete from plain where n ~~~ 1"));
            }
            admin.close();
        } finally {
            loops.shutdownGracefully(0, 5, TimeUnit.SECONDS).awaitUninterruptibly();
        }
    }

    private static String varying(PostgresEngine engine, String sql) {
        return String.valueOf(StatementClasses
                .statements(sql.getBytes(StandardCharsets.UTF_8), true, engine.references()).varying());
    }
}
